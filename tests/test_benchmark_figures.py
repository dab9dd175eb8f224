"""Figures of several processes become one table, with spread and errors, and a page of the documentation."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.__main__ import COMPARISONS, ROOT, Figure, _combined, _why, main, page, tables

FIGURE = Figure("kernels", "four_bar", "dynamics", "µs", 1.0, "Pinocchio", 2.0, 0.5, "residual", 1e-15, 2e-12)


def test_medians_and_spread_of_the_processes():
    runs = [replace(FIGURE, linkwork=us, ratio=us / 2.0) for us in (1.0, 3.0, 1.2)]
    (found,) = _combined(runs)
    assert (found.linkwork, found.ratio, found.low, found.high) == (1.2, 0.6, 0.5, 1.5)
    row = ("four_bar", "Pinocchio", "1.2 µs", "2 µs", "0.60", "0.50-1.50", "1e-15", "2e-12")
    assert tables([found]) == {"kernels": [row]}


def test_a_quantity_that_one_process_lacks_has_the_figures_of_the_others():
    other = replace(FIGURE, machine="delta", ratio=0.7)
    found = list(_combined([FIGURE, other, replace(FIGURE, ratio=0.9)]))
    assert [(figure.machine, figure.low, figure.high) for figure in found] == [
        ("four_bar", 0.5, 0.9),
        ("delta", 0.7, 0.7),
    ]


def test_a_missing_peer_is_the_reason_and_not_a_traceback():
    lines = (
        "Traceback (most recent call last):\n  import casadi\nModuleNotFoundError: No module named 'casadi'\n"
    )
    assert _why(lines) == "casadi is not installed: pip install 'linkwork[bench]'"
    assert _why("neither peer is installed\n") == "neither peer is installed"
    assert _why("") == ""


def test_the_page_names_date_versions_and_what_was_left_out():
    found = {
        "figures": [FIGURE],
        "yardstick_ms": [30.0, 31.0],
        "left_out": {"codegen": "no casadi"},
        "how": "up to 3 fresh processes each",
    }
    text = page(found, datetime(2026, 11, 24, tzinfo=UTC))
    assert "24 November 2026" in text
    assert "numpy 2." in text
    assert "| four_bar | Pinocchio | 1 µs | 2 µs | 0.50 |" in text
    assert "- codegen: no casadi" in text
    assert str(Path.home()) not in text


def test_every_comparison_is_a_script(capsys, monkeypatch):
    assert all((ROOT / "benchmarks" / f"{name}.py").exists() for name in COMPARISONS)
    monkeypatch.setattr("sys.argv", ["benchmarks", "nothing"])
    with pytest.raises(SystemExit):
        main()
    assert "no benchmark nothing; there are kernels" in capsys.readouterr().err


def test_the_words_of_the_page_are_those_of_its_generator():
    """Its figures are measurements, which no test can repeat."""
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    written = text.splitlines()
    empty = {"figures": [], "yardstick_ms": [0.0, 0.0], "left_out": {}, "how": ""}
    constant = [
        line for line in page(empty, datetime(2026, 1, 1, tzinfo=UTC)).splitlines() if "0" not in line
    ]
    assert [line for line in constant if line not in written] == []
    titles = {line.removeprefix("## ") for line in written if line.startswith("## ")} - {"Left out"}
    chosen = [one for one in COMPARISONS.values() if one.title in titles]
    assert {one.title for one in chosen} == titles
    assert [one.remark for one in chosen if one.remark not in text] == []
