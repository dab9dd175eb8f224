"""Pages of the documentation site that are generated from the code."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import linkwork
from linkwork.cli.app import command_helps

HOOKS = Path(__file__).parents[1] / "docs" / "site" / "hooks.py"


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_hooks", HOOKS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_of_commands_has_every_command_with_its_options(hooks: ModuleType) -> None:
    parts = re.split(r"^##+ linkwork ", hooks.commands_page(), flags=re.MULTILINE)[1:]
    assert [part.partition("\n")[0] for part in parts] == [each.words for each in command_helps()]
    for part, command in zip(parts, command_helps(), strict=True):
        rows = re.findall(r"^\| `(--?[\w-]+)", part, flags=re.MULTILINE)
        assert rows == [words.split()[0].rstrip(",").partition("/")[0] for words, _ in command.parameters
                        if words.startswith("-")]  # fmt: skip
        cells = [line for line in part.splitlines() if line.startswith("|")]
        assert all(len(re.findall(r"(?<!\\)\|", line)) == 3 for line in cells)


def test_the_reference_of_python_has_every_public_name(hooks: ModuleType) -> None:
    page = hooks.python_page()
    assert all(f"## {name}\n" in page for name in linkwork.__all__)


def test_a_notebook_is_a_page_of_text_and_code(hooks: ModuleType) -> None:
    page = hooks.page_of(HOOKS.parents[1] / "notebooks" / "own_law.ipynb")
    assert page.startswith("# Your own law in a notebook\n")
    assert page.count("```python\n") == page.count("\n```\n") + page.endswith("\n```") == 6
    assert "class ComputedTorque:" in page
