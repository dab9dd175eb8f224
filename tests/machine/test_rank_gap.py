"""A warning where the rank of the constraints is a matter of the tolerance."""

from dataclasses import replace
from pathlib import Path

import pytest

from linkwork.machine import check, load
from linkwork.machine.checks.rank_gap import rank_warnings

FILE = Path(__file__).parents[2] / "configs" / "four_bar.yaml"


@pytest.mark.parametrize("tolerance", ["1e-14", "1e-2"])
def test_a_plain_rank_is_not_warned_of(tmp_path, tolerance):
    path = tmp_path / "four_bar.yaml"
    path.write_text(
        FILE.read_text().replace("name: four_bar", f"name: four_bar\nrank_tolerance: {tolerance}", 1)
    )
    assert load(path).mechanism.rank_tolerance == float(tolerance)
    assert not [problem for problem in check(path) if "nearly singular" in problem.message]


@pytest.mark.parametrize("found", [{"smallest": 5e-4}, {"limit": 1e-5, "largest_dropped": 9e-6}])
def test_a_narrow_gap_is_warned_of(found):
    machine = load(FILE)
    (problem,) = rank_warnings(replace(machine, assembly=replace(machine.assembly, **found)))
    assert problem.severity == "warning"
    assert problem.key == "constraints"
    assert "rank_tolerance" in problem.remedy


def test_small_singular_values_of_many_loops_are_ordinary():
    machine = load(FILE)
    found = replace(machine.assembly, smallest=5e-4)
    assert list(rank_warnings(replace(machine, assembly=found)))
    assert not list(rank_warnings(replace(machine, assembly=replace(found, rows=200))))
