"""Names have one meaning, across the repository; and no class or function of the product is too wide."""

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = ("controller", "linkwork", "plant", "protocol")
OTHERS = ("benchmarks", "tests")
USED_TWICE: dict[str, str] = {}
"""File stems that stand twice in the product, with what both files are about; at most five."""


def files_of(packages: tuple[str, ...]) -> list[Path]:
    return [
        path
        for package in packages
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.resolve().relative_to(ROOT).parts[0] == package
    ]


def classes_of(packages: tuple[str, ...]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = defaultdict(list)
    for path in files_of(packages):
        for name in re.findall(r"^class ([A-Za-z]\w*)", path.read_text("utf-8"), re.MULTILINE):
            places[name].append(str(path.relative_to(ROOT)))
    return places


def test_a_class_name_has_one_meaning() -> None:
    product, others = classes_of(PRODUCT), classes_of(OTHERS)
    assert {name: places for name, places in product.items() if len(places) > 1} == {}
    assert {name: [*product[name], *places] for name, places in others.items() if name in product} == {}


def test_file_stems_are_unique_but_for_a_few() -> None:
    stems: dict[str, list[str]] = defaultdict(list)
    for path in files_of(PRODUCT):
        if not path.stem.startswith("__"):
            stems[path.stem].append(str(path.relative_to(ROOT)))
    assert {stem for stem, places in stems.items() if len(places) > 1} == set(USED_TWICE)
    assert len(USED_TWICE) <= 5


UNLIKE_ITS_FILE = {
    "Bench": "plugin.py: the fixture's state, in a file about options and hooks of pytest",
    "CommandHelp": "app.py: what the documentation shows of a command",
    "Drawable": "loading.py: a machine that is loaded only to be drawn",
    "Misuse": "failures.py: the one error of many exit statuses",
    "NoCompiler": "library.py: the one error of a file of functions",
}
"""Classes that share no word with their file although it has no other public class; at most five."""


def words(name: str) -> set[str]:
    """Return the stems of a name's words, four letters at most: `limit_monitor`, `LimitMonitoring` agree."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
    return {re.sub(r"(?<=\w{3})(ging|ing|es|s|e)$", "", part.lower())[:4] for part in parts}


def test_a_class_shares_a_word_with_its_file() -> None:
    unlike = set()
    for path in files_of(PRODUCT):
        classes = re.findall(r"^class ([A-Za-z]\w*)", path.read_text("utf-8"), re.MULTILINE)
        if len(classes) == 1 and not path.stem.startswith("__") and not words(classes[0]) & words(path.stem):
            unlike.add(classes[0])
    assert unlike == set(UNLIKE_ITS_FILE)
    assert len(UNLIKE_ITS_FILE) <= 5


MOST_ATTRIBUTES, MOST_ARGUMENTS = 25, 10
WIDE_CLASSES = {
    "Model": "a mechanism's topology and parameters: the argument of kernels",
    "Workspace": "the state and results of a mechanism: the argument of kernels",
    "PlantState": "the plant's own numbers: the argument of its kernels",
    "Machine": "the content of a machine file, frozen",
    "MachineFile": "the sections of a machine file, one attribute each",
    "StreamStep": "the arrays of one compiled kernel",
}
WIDE_FUNCTIONS = {
    "check": "the request's parameters, by name",
    "move": "the request's parameters, by name",
    "pack_block": "the parts of a goal's block",
    "simulate": "keyword options of an integration, in Python and on the command line",
}
"""Those above the limits, with the reason. Compiled kernels take the arrays they work on as arguments."""


def attributes(node: ast.ClassDef) -> set[str]:
    """Attributes that a class declares, or that its methods set on self."""
    declared = {each.target.id for each in node.body if _declares(each)}  # type: ignore[attr-defined]
    return declared | {
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute)
        and isinstance(each.ctx, ast.Store)
        and isinstance(each.value, ast.Name)
        and each.value.id == "self"
    }


def _declares(node: ast.stmt) -> bool:
    return isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)


def arguments(node: ast.FunctionDef) -> int:
    """Arguments of a function, without self; 0 of a compiled kernel."""
    given = node.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    compiled = any(re.match(r"(kernel|part)\b", ast.unparse(each)) for each in node.decorator_list)
    return 0 if compiled else len(names) - (names[:1] in (["self"], ["cls"]))


def test_no_class_and_no_function_is_too_wide_without_a_reason() -> None:
    nodes = [node for path in files_of(PRODUCT) for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    classes = {
        node.name
        for node in nodes
        if isinstance(node, ast.ClassDef) and len(attributes(node)) > MOST_ATTRIBUTES
    }
    functions = {
        node.name for node in nodes if isinstance(node, ast.FunctionDef) and arguments(node) > MOST_ARGUMENTS
    }
    assert classes == set(WIDE_CLASSES)
    assert functions == set(WIDE_FUNCTIONS)
