"""Taught points: a list in order, one trajectory, and a file that can be read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.controller.gateway.requests.describe import describe
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import judge
from linkwork.machine import Machine, load
from linkwork.protocol.codes import Pace
from linkwork.trajectories.teach import TaughtPoints, stretched
from linkwork.trajectories.trajectory_file import read_trajectory_file


@pytest.fixture(scope="module")
def five_bar() -> Machine:
    return load("five_bar")


@pytest.fixture
def taught(five_bar: Machine) -> TaughtPoints:
    made = TaughtPoints.from_description(describe(five_bar, Pace.DEVICE))
    here = state(five_bar, 0.0, 0.0)
    for name, way in (("pick", (0.1, -0.1)), ("", (0.2, 0.1)), ("pick", (0.0, 0.0))):
        made.teach(name, state(five_bar, *way))
    assert made.position(here) == tuple(here["q"][name] for name in made.coordinates)
    return made


def state(machine: Machine, left: float, right: float) -> dict[str, Any]:
    q = dict(zip(machine.mechanism.joint_names, machine.initial_q.tolist(), strict=True))
    names = [motor.joint for motor in machine.motors]
    q[names[0]] += left
    q[names[1]] += right
    return {"q": q, "coordinates": {"x": 0.1 + left, "y": 0.3}}


def test_the_list_is_named_ordered_and_changed(taught: TaughtPoints) -> None:
    assert [point.name for point in taught.points] == ["pick", "P2", "pick 2"]
    taught.shift(2, -1)
    taught.rename(0, "home")
    taught.delete(2)
    assert [point.name for point in taught.points] == ["home", "pick 2"]
    with pytest.raises(ValueError, match="no other point"):
        taught.rename(1, "home")
    with pytest.raises(ValueError, match="no other point"):
        taught.rename(1, " ")


def test_points_keep_the_task_coordinates_of_where_they_were_taught(taught: TaughtPoints) -> None:
    assert [point.task["x"] for point in taught.points] == pytest.approx([0.2, 0.3, 0.1])


@pytest.mark.parametrize("at_rest", [True, False])
def test_played_points_are_feasible_and_rest_where_they_should(
    at_rest: bool, taught: TaughtPoints, five_bar: Machine
) -> None:
    here = taught.position(state(five_bar, 0.0, 0.0))
    made = taught.trajectory(here, at_rest=at_rest, speed=0.5)
    start = Start.at_pose(five_bar, five_bar.initial_q)
    found = judge({"trajectory": made}, five_bar, start)
    assert found["feasible"], found["violations"]
    quick = taught.trajectory(here, at_rest=at_rest)
    assert found["duration_s"] == pytest.approx(2.0 * quick["points"][-1]["time_from_start_s"])
    assert all(("velocities" in point) == at_rest for point in made["points"])


def test_a_saved_file_is_read_back_and_other_files_are_refused(taught: TaughtPoints, tmp_path: Path) -> None:
    path = tmp_path / "points.yaml"
    path.write_text(taught.text("five_bar", at_rest=True), encoding="utf-8")
    read = read_trajectory_file(path).trajectory.model_dump(exclude_none=True)
    points, changes = list(taught.points), taught.changes
    taught.load(read)
    assert [point.name for point in taught.points] == [point.name for point in points]
    for loaded, point in zip(taught.points, points, strict=True):
        np.testing.assert_allclose(loaded.positions, point.positions, atol=1e-8)
    assert taught.changes > changes
    with pytest.raises(ValueError, match="points of this machine are"):
        taught.load({"coordinates": ["shoulder"], "points": [{"positions": [0.0]}]})
    with pytest.raises(ValueError, match="no way-points"):
        taught.load({"curve": {}})


def test_a_stretched_trajectory_follows_the_same_path() -> None:
    given = {
        "coordinates": ["a"],
        "points": [
            {"time_from_start_s": 1.0, "positions": [2.0], "velocities": [3.0], "accelerations": [4.0]}
        ],
        "events": [{"at": {"time_s": 0.5}, "set": {"grip": True}, "lead_s": 0.1}],
        "force": {"tip": [{"time_from_start_s": 1.0, "force": 5.0}]},
        "entry": {"ramp_s": 1.0},
        "curve": {"helix": {"duration_s": 1.0, "rate_rad_s": 2.0, "pitch_speed_m_s": 0.5, "radius_m": 0.1}},
    }
    made = stretched(given, 2.0)
    assert made["points"] == [
        {"time_from_start_s": 2.0, "positions": [2.0], "velocities": [1.5], "accelerations": [1.0]}
    ]
    assert made["events"] == [{"at": {"time_s": 1.0}, "set": {"grip": True}, "lead_s": 0.1}]
    assert made["force"]["tip"][0]["time_from_start_s"] == 2.0
    assert made["entry"]["ramp_s"] == 2.0
    helix = {"duration_s": 2.0, "rate_rad_s": 1.0, "pitch_speed_m_s": 0.25, "radius_m": 0.1}
    assert made["curve"]["helix"] == helix
    assert given["points"][0]["time_from_start_s"] == 1.0
