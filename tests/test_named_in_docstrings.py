"""Names of code and of files in docstrings exist: in backticks, and as file names in prose."""

import ast
import builtins
import keyword
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.test_names import PRODUCT, ROOT, files_of

QUOTED = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"(?<![\w*/.<{-])((?:[\w-]+/)*\w+\.(?:py|c|h|md|js|css|html|yaml|json|toml))\b(?!\.\w)")
NAME = re.compile(r"([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)*)(?:\(\))?")
WORD = re.compile(r"[A-Za-z_]\w*")
SCHEMA = "configs/machine.schema.json"
PLACEHOLDER = re.compile(r"[A-Z]{3,}")
"""Names of users, as in `output.NAME` and NAME.h."""
HEADERS = {"Host", "Origin"}
"""Names of HTTP."""


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of each docstring: of modules, classes, functions, attributes and constants."""
    for node in ast.walk(tree):
        body = getattr(node, "body", ())
        for each in body if isinstance(body, list) else ():
            if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                yield each.lineno, str(each.value.value)


def words_of(tree: ast.AST) -> Iterator[str]:
    """Yield the names and words of code, and the files that it names: all but docstrings and comments."""
    prose = {line for line, _ in texts(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg | ast.keyword) and node.arg:
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield from WORD.findall(f"{node.name} {node.asname}")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.lineno not in prose:
            yield from (*WORD.findall(node.value), *FILE.findall(node.value))


@cache
def read(path: Path) -> tuple[frozenset[str], tuple[tuple[int, str], ...]]:
    """Return the words of a file's code, and its docstrings with their lines."""
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(words_of(tree)), tuple(texts(tree))


@cache
def known() -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of the product's code and data, and the paths and dotted names of its files."""
    words = {*dir(builtins), *keyword.kwlist, *sys.stdlib_module_names, *HEADERS}
    places: set[str] = set()
    for path in files_of(PRODUCT):
        words.update(read(path)[0])
        dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        places.add(dotted.removesuffix(".__init__"))
        words.update(dotted.split("."))
    for top in (*PRODUCT, "configs", "docs", "benchmarks", "tests"):
        for path in (ROOT / top).rglob("*"):
            if path.suffix in (".yaml", ".json", ".c", ".h", ".js", ".css", ".html") and path.is_file():
                words.update(WORD.findall(path.read_text("utf-8", errors="replace")))
            if path.suffix:
                places.add(str(path.relative_to(ROOT)))
    words.update(WORD.findall((ROOT / "pyproject.toml").read_text("utf-8")))
    return frozenset(words), frozenset(places)


def unknown_in(text: str) -> Iterator[str]:
    """Yield the names and files of a text that do not exist."""
    words, places = known()
    for file in FILE.findall(text):
        there = file in words or any(f"/{place}".endswith(f"/{file}") for place in places)
        if not there and not PLACEHOLDER.search(file):
            yield file
    for quoted in QUOTED.findall(text):
        found = NAME.fullmatch(quoted)
        if found is None or FILE.fullmatch(quoted) or PLACEHOLDER.search(quoted):
            continue
        dotted = quoted.removesuffix("()").removeprefix("linkwork.")
        if not set(WORD.findall(quoted)) <= words or not exists(dotted, places):
            yield quoted


@cache
def keys() -> frozenset[str]:
    """Return the keys of machine files."""
    return frozenset(re.findall(r'"(\w+)": \{', (ROOT / SCHEMA).read_text("utf-8")))


def exists(dotted: str, places: frozenset[str]) -> bool:
    """Return whether a name that begins with a module leads to something; True for other dotted names.

    Keys of machine files are known by their sections: `controller.gains`.
    """
    first, *rest = dotted.split(".")
    if not rest or (first in keys() and rest[0] in keys()):
        return True
    roots = [place for place in places if f".{place}".endswith(f".{first}") and "/" not in place]
    if not roots:
        return True
    for root in roots:
        at, left = root, list(rest)
        while left and f"{at}.{left[0]}" in places:
            at = f"{at}.{left.pop(0)}"
        if not left:
            return True
        path = ROOT / at.replace(".", "/")
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if path.exists() and left[0] in read(path)[0]:
            return True
    return False


def test_names_in_docstrings_exist() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in files_of(PRODUCT)
        for line, text in read(path)[1]
        for name in unknown_in(text)
    ]
    assert wrong == []


def test_a_name_that_is_gone_is_found() -> None:
    text = "As `Machine` of `machine.loading.load`; see `no_such_name`, nothing.py, `machine.loading.gone`."
    assert list(unknown_in(text)) == ["nothing.py", "no_such_name", "machine.loading.gone"]
