"""Expressions without effect, which ruff's B018 does not see in texts: a sentence that is never used."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("linkwork", "controller", "plant", "protocol", "tests", "benchmarks", "docs")


def useless_texts(source: str) -> list[int]:
    """Return the lines of texts that stand as statements and are no docstrings."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    allowed = set()
    for node in ast.walk(tree):
        for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if isinstance(block, list) and block:
                if isinstance(node, documented):
                    allowed.add(block[0])
                pairs = itertools.pairwise(block)
                allowed |= {text for first, text in pairs if isinstance(first, (ast.Assign, ast.AnnAssign))}
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and node not in allowed and _is_text(node.value)
    ]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def test_no_text_stands_as_a_statement() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        for line in useless_texts(path.read_text("utf-8"))
    ]
    assert not found


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('def f():\n    """Doc."""\n    yield f"a"\n    f"b {1}"\n', [4]),
        ('x = 1\n"""What x is."""\n', []),
        ('def f(a):\n    print(a)\n    "lost"\n', [3]),
        ('if True:\n    pass\nelse:\n    f"lost"\n', [4]),
    ],
)
def test_what_counts_as_useless(source: str, lines: list[int]) -> None:
    assert useless_texts(source) == lines
