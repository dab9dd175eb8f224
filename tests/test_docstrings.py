"""Docstrings give the shapes of arrays, and begin with an imperative or a noun phrase."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.test_names import PRODUCT, files_of

ARRAY = re.compile(r"\b(Floats|Integers|NDArray\[np|ArrayLike)\b")
REFERS = re.compile(r"(See|As) `\w|`[\w.]+` ")
"""A docstring that begins so has the arguments of the function it names."""
FIELDS = re.compile(r"dict\[str, (Floats|Integers)\]|Callable\[.*")
"""Arrays by name and in types of callables, which have no shape in common."""
_SIZE = r"(?:\d+|n[a-z]?|[kmr]|dof|count|(?!metres|radians|seconds|joules)[a-z]{3,}s)"
SHAPE = re.compile(
    rf"\((?!m[,;)]){_SIZE}(?: [×+-] \(?{_SIZE}\)?)*(?:[,;)]| each)"
    rf"|\b{_SIZE} × \(?{_SIZE}\b|\bflat\s+array|\b{_SIZE}² numbers"
)
"""A shape in prose: (nv), (3; m), (nv × k), nr × nv, (samples × 3, m); a lone (m) is a unit."""


def is_public(name: str) -> bool:
    return not name.startswith("_")


def documented(node: ast.AST) -> str:
    return (
        (ast.get_docstring(node) or "")
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Module)
        else ""
    )


def is_array(annotation: ast.expr) -> bool:
    return ARRAY.search(FIELDS.sub("", ast.unparse(annotation))) is not None


def arrays_of(function: ast.FunctionDef) -> tuple[list[str], bool]:
    """Return the names of arguments that are arrays, and whether the result is one."""
    given = function.args
    names = [
        each.arg
        for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)
        if each.annotation is not None and is_array(each.annotation)
    ]
    returned = function.returns is not None and is_array(function.returns)
    return names, returned


def gives_shape(function: ast.FunctionDef, around: str) -> bool:
    """Whether the docstring names a shape or, for arguments, that of the class or module does by name."""
    text = documented(function)
    if SHAPE.search(text) or REFERS.match(text):
        return True
    names, returned = arrays_of(function)
    return not returned and all(re.search(rf"\b{name}`? \({_SIZE}", around) for name in names)


def public_functions(
    body: list[ast.stmt], around: str, prefix: str = ""
) -> Iterator[tuple[str, ast.FunctionDef, str]]:
    """Return name, function, and the docstrings of class and module around it."""
    for node in body:
        if isinstance(node, ast.FunctionDef) and is_public(node.name):
            yield prefix + node.name, node, around
        elif isinstance(node, ast.ClassDef) and is_public(node.name):
            yield from public_functions(node.body, around + documented(node), f"{node.name}.")


def without_shapes(source: str) -> list[str]:
    """Return the public functions of a module that take or return arrays and give no shape."""
    if not ARRAY.search(source):
        return []
    tree = ast.parse(source)
    return [
        name
        for name, function, around in public_functions(tree.body, documented(tree))
        if any(arrays_of(function)) and not gives_shape(function, around)
    ]


@pytest.mark.parametrize("package", PRODUCT)
def test_public_functions_of_arrays_give_their_shapes(package: str) -> None:
    modules = {path: without_shapes(path.read_text("utf-8")) for path in files_of((package,))}
    assert modules
    assert {str(path): names for path, names in modules.items() if names} == {}


@pytest.mark.parametrize(
    ("doc", "has_shape"),
    [
        ("Return M (nv × nv; kg m²).", True),
        ("Positions (3, m) of a point.", True),
        ("Rates A (rows × nv) of q.", True),
        ("The cross product a × b.", False),
        ("The height (m) and the time (seconds).", False),
    ],
)
def test_the_check_tells_shapes_from_units(doc: str, has_shape: bool) -> None:
    module = f'def f(q: Floats) -> Floats:\n    """{doc}"""\n'
    assert without_shapes(module) == ([] if has_shape else ["f"])


def test_the_check_accepts_arguments_that_the_class_describes() -> None:
    module = '''
class Example:
    """Example; q (nq) and v (nv) are the state."""
    def step(self, q: Floats, v: Floats) -> None:
        """Make a step."""
    def energy(self, x: Floats) -> float:
        """Return the energy."""
'''
    assert without_shapes(module) == ["Example.energy"]


def references(source: str) -> list[str]:
    """Return docstrings that say nothing but where to look."""
    texts = [documented(node) for node in ast.walk(ast.parse(source))]
    return [text for text in texts if re.match(r"See `[^`]*`[.:;]", text) and len(text) < 100]


@pytest.mark.parametrize("package", PRODUCT)
def test_docstrings_say_what_they_mean(package: str) -> None:
    assert [text for path in files_of((package,)) for text in references(path.read_text("utf-8"))] == []


HEADLESS = re.compile(r"(What|Whatever|Who|Whom|Whoever|Where|How|Which|Of)\b")
"""First words of headless clauses, which name no subject: write the noun or the imperative instead."""


def headless(source: str) -> list[str]:
    """Return the summaries of docstrings of modules, classes and functions that are headless clauses."""
    if not re.search(rf'"""{HEADLESS.pattern}', source):  # most modules need no parser
        return []
    nodes = [node for node in ast.walk(ast.parse(source)) if documented(node)]
    return [text.splitlines()[0] for node in nodes if HEADLESS.match(text := documented(node))]


@pytest.mark.parametrize("package", PRODUCT)
def test_summaries_are_imperatives_or_noun_phrases(package: str) -> None:
    modules = {path: headless(path.read_text("utf-8")) for path in files_of((package,))}
    assert {str(path): summaries for path, summaries in modules.items() if summaries} == {}


def test_headless_summaries_are_found() -> None:
    assert headless('"""Where it is."""\n\ndef f():\n    """Return the place."""\n') == ["Where it is."]
