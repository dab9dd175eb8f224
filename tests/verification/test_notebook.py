"""The notebook of docs/notebooks: its cells run in order, and its law follows as well as the shipped one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib.pyplot as pyplot
import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebooks" / "own_law.ipynb"


def cells() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    return found


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module in which the cells run, found by its name as `__main__` is in a notebook."""
    pyplot.switch_backend("Agg")
    module = ModuleType("notebook_session")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    yield module
    pyplot.close("all")


def test_the_cells_run_and_the_law_tracks(session: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    for cell in cells():
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), session.__dict__)
    largest = {name: error.max() for name, (_, error) in session.results.items()}
    assert largest["computed torque"] == pytest.approx(largest["pidc"], rel=1e-3)
    assert 1e-3 < largest["pidc"] < 1e-2  # the plant's further mass shows
    assert largest["robust"] < 0.5 * largest["pidc"]
    assert "degrees of freedom: 2" in capsys.readouterr().out
    (axes,) = session.figure.axes
    assert [line.get_label() for line in axes.get_lines()] == list(session.results)


def test_the_notebook_is_kept_without_outputs() -> None:
    code = [cell for cell in cells() if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
