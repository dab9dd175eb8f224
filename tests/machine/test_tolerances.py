"""Tolerances of the machine file: what holds for a coordinate, and what contradicts itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkwork.machine import Machine, MachineError, load, shipped_path

GIVEN = "  tolerances: {path: 0.01, goal: 0.001, goal_time_s: 1}\n"


def with_tolerances(folder: Path, text: str) -> Machine:
    """The SCARA with these tolerances."""
    content = shipped_path("scara").read_text(encoding="utf-8")
    assert GIVEN in content
    file = folder / "machine.yaml"
    file.write_text(content.replace(GIVEN, f"  tolerances: {text}\n"), encoding="utf-8")
    return load(str(file))


def test_the_following_error_is_ten_path_tolerances_unless_the_file_says_more(tmp_path: Path) -> None:
    machine = with_tolerances(
        tmp_path, "{path: 0.02, coordinates: {elbow: {path: 0.05}, shoulder: {following: 0.3, goal: 0.002}}}"
    )
    of = dict(zip(machine.mechanism.coordinate_names, machine.tolerances, strict=True))
    found = {name: (each.path, each.goal, each.start, each.following_limit) for name, each in of.items()}
    assert found["lift"] == (0.02, 0.001, 0.001, pytest.approx(0.2))
    assert found["elbow"] == (0.05, 0.001, 0.001, pytest.approx(0.5))
    assert found["shoulder"] == (0.02, 0.002, 0.001, 0.3)


@pytest.mark.parametrize(
    ("text", "at", "allowed"),
    [
        ("{path: 0.02, following: 0.01}", "controller.tolerances.following", "0.02 or above"),
        (
            "{following: 0.03, coordinates: {elbow: {path: 0.05}}}",
            "controller.tolerances.coordinates.elbow.path",
            "0.03 or below",
        ),
        (
            "{coordinates: {elbow: {following: 0.005}}}",
            "controller.tolerances.coordinates.elbow.following",
            "0.01 or above",
        ),
    ],
)
def test_one_below_the_path_tolerance_is_refused(tmp_path: Path, text: str, at: str, allowed: str) -> None:
    with pytest.raises(MachineError) as refused:
        with_tolerances(tmp_path, text)
    (problem,) = refused.value.problems
    assert (problem.key, problem.allowed) == (at, allowed)
    assert problem.line == 114
