"""Pages, docstrings, comments and messages avoid words that the style replaces by plain technical terms."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("controller", "linkwork", "plant", "protocol")
PAGES = [
    page
    for pattern in ("*.md", "docs/*.md", "docs/machine_file/*.md", "docs/machines/*.md", "protocol/README.md")
    for page in sorted(ROOT.glob(pattern))
]
AVOIDED = {
    "nobody": "no daemon, no client, no process, or the passive voice",
    "somebody": "a client, a user, or the passive voice",
    "anybody": "any client, any user, or the passive voice",
    "whoever": "the client that, the program that",
    "anew": "again",
    "for ever": "without end",
    "to and fro": "back and forth",
    "let go": "release",
    "gives way": "begins to slip, yields",
    "lest": "so that … not",
    "freedoms": "degrees of freedom, DOF",
}
"""Each word or phrase with what to write instead, in pages, docstrings, comments and messages."""
AVOIDED_IN_PAGES_AND_MESSAGES = {
    **AVOIDED,
    "is told": "receives, is notified",
    "are told": "receive, are notified",
    "goes on": "continues",
}
"""The same in pages and messages, where names of the code do not occur."""
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def found(
    text: str, avoided: dict[str, str] = AVOIDED_IN_PAGES_AND_MESSAGES, first_line: int = 1
) -> list[str]:
    """Return each avoided word in a text, with line and replacement; code is ignored."""
    prose = CODE.sub(lambda code: "\n" * code[0].count("\n"), text)
    return [
        f"line {prose.count(chr(10), 0, match.start()) + first_line}: instead of '{word}' write: {better}"
        for word, better in avoided.items()
        for match in re.finditer(r"\b" + word.replace(" ", r"\s+") + r"\b", prose, re.IGNORECASE)
    ]


def modules(package: str) -> Iterator[Path]:
    """Return the product's source files in a package; in `linkwork`, links to other packages are left out."""
    for path in sorted((ROOT / package).rglob("*.py")):
        if path.resolve().relative_to(ROOT).parts[0] == package:
            yield path


def words_of(path: Path) -> list[str]:
    """Return the avoided words in docstrings, comments and messages of a module."""
    source = path.read_text("utf-8")
    plain = " ".join(source.lower().split()).replace("for every", "")
    if not any(word in plain for word in AVOIDED_IN_PAGES_AND_MESSAGES):  # most modules need no parser
        return []
    complaints: list[str] = []
    documentation = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            documentation.add(node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A message has several words; a single one is a key or a name.
            is_message = " " in node.value and node not in documentation
            avoided = AVOIDED_IN_PAGES_AND_MESSAGES if is_message else AVOIDED
            complaints += found(node.value, avoided, node.lineno)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            complaints += found(token.string, AVOIDED, token.start[0])
    return complaints


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_avoid_the_words_of_the_list(page: Path) -> None:
    assert found(page.read_text("utf-8")) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_comments_and_messages_avoid_the_words_of_the_list(package: str) -> None:
    complaints = {str(path.relative_to(ROOT)): words_of(path) for path in modules(package)}
    assert complaints
    assert {name: words for name, words in complaints.items() if words} == {}


def test_the_check_finds_words_in_prose_and_ignores_code() -> None:
    text = "`nobody`\n```\nanew\n```\nThe motor is\ntold. Nobodys. Two Freedoms."
    assert [line.split(":")[0] for line in found(text)] == ["line 6", "line 5"]


def test_the_check_reads_docstrings_comments_and_messages(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text('"""Done anew."""\nmotor = "told"  # whoever\nraise ValueError(f"{motor} is told")\n')
    assert sorted(line.split(":")[0] for line in words_of(path)) == ["line 1", "line 2", "line 3"]
