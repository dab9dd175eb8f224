"""The page of the library: every block runs as printed, and prints what the page says."""

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "library.md"
_BLOCKS = re.compile(r"^```python\n(.*?)^```\n(?:\s*^```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


def blocks() -> list[tuple[str, str]]:
    return _BLOCKS.findall(PAGE.read_text(encoding="utf-8"))


def test_every_block_runs_and_prints_what_stands_below_it():
    names: dict[str, object] = {}
    for code, printed in blocks():
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(code, str(PAGE), "exec"), names)
        assert _words(said.getvalue()) == _words(printed), code
        assert _numbers(said.getvalue()) == pytest.approx(_numbers(printed), rel=2e-5, abs=2e-6), code


def test_the_page_has_blocks_and_each_prints():
    found = blocks()
    assert len(found) >= 10
    assert all(printed.strip() for _, printed in found)
    assert len(re.findall(r"^```python", PAGE.read_text(encoding="utf-8"), re.MULTILINE)) == len(found)


def _words(text: str) -> list[str]:
    return re.sub(r"[\s\[\]]+", " ", _NUMBER.sub(" ", text)).split()


def _numbers(text: str) -> list[float]:
    return [float(number) for number in _NUMBER.findall(text)]
