"""Goals with the fastest timing, followed by the loop: as exactly as others, with the efforts as planned."""

import numpy as np
import pytest

from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.goals.admission import walk_through
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.process.planner import plan
from linkwork.machine import load
from linkwork.protocol.codes import ResultCode
from tests.controller.loop.goals_in_process import Planned, references
from tests.controller.loop.in_process import InProcess

AHEAD = 1.5
"""Periods from the state to the middle of the hold of the effort that is computed from it."""


@pytest.mark.parametrize("name", ["five_bar", pytest.param("platform_3rrs", marks=pytest.mark.slow)])
def test_the_fastest_goal_is_followed_with_the_planned_efforts(name):
    machine = load(name)
    names = machine.mechanism.coordinate_names
    rig = InProcess(machine)
    rig.enable()
    start = Start.at_pose(machine, rig.controller._now.q)
    target = {motor.joint: float(start.theta[names.index(motor.joint)]) + 0.2 for motor in machine.motors}
    made = plan("move", {"target": target, "timing": "fastest"}, machine, start)
    assert made.report["timing"]["duration_s"] == pytest.approx(made.duration_s)
    rig.start_goal(made.words)
    times, efforts = [], []
    while (sample := rig.tick())["goal_status"] != GoalStatus.SUCCEEDED:
        moving = np.isfinite(sample["reference"])
        assert np.abs((sample["reference"] - sample["coordinate"])[moving]).max() < 1e-4
        times.append(len(times) * rig.period_s)
        efforts.append(rig.outputs.effort.copy())
        assert len(times) < 5000
    assert sample["goal_code"] == ResultCode.SUCCESSFUL
    found = walk_through(machine, Path.of_block(made.words), start)
    index, most = zip(*((motor.index, motor.max_effort) for motor in machine.motors), strict=True)
    at = np.array(times) + (1.0 + AHEAD) * rig.period_s
    inside = at < made.duration_s - 2.0 * rig.period_s
    planned = np.stack([np.interp(at, found.walk.s, found.efforts.given()[:, j]) for j in index], axis=1)
    off = ((np.array(efforts) - planned) / most)[inside]
    steps = np.abs(np.diff(planned, axis=0)).max(axis=1) > 0.05 * max(most)
    kept = ~(np.append(steps, False) | np.insert(steps, 0, False))[inside]
    assert np.sqrt((off[kept] ** 2).mean(axis=0)).max() < 0.01


def test_the_fastest_goal_takes_over_in_motion_without_a_jump():
    machine = load("five_bar")
    rig = InProcess(machine)
    rig.enable()
    planned = Planned(rig)
    planned.order(planned.plan("move", target={"x": 0.08, "y": 0.36}, speed=0.5))
    ahead, end = 0.1, {"coordinates": ["x", "y"], "timing": "fastest"}
    rig.run(0.15)
    points = [{"time_from_start_s": 1.0, "positions": [0.06, 0.33]}]
    made = planned.plan("send", lead_s=ahead, trajectory={**end, "points": points})
    samples = [planned.order(made)]
    samples += rig.until(
        lambda sample: sample["goal_id"] == 2 and sample["goal_status"] == GoalStatus.SUCCEEDED
    )
    index = [machine.coordinate_index(name) for name in ("x", "y")]
    path = np.array([sample["reference"][index] for sample in samples])
    change = np.diff(path, axis=0) / rig.period_s
    most = [machine.coordinates[i].acceleration for i in index]
    assert np.all(np.abs(np.diff(change, axis=0)) / rig.period_s <= 1.001 * np.array(most))
    assert path[-1] == pytest.approx([0.06, 0.33], abs=1e-9)
    off = [np.abs((sample["reference"] - sample["coordinate"])[index]).max() for sample in samples]
    assert max(off) < 1e-4


@pytest.mark.parametrize("name", ["five_bar", pytest.param("delta", marks=pytest.mark.slow)])
def test_blended_corners_are_followed_within_their_radius(name):
    machine = load(name)
    names = ["x", "y", "z"][: 3 if name == "delta" else 2]
    rig = InProcess(machine)
    rig.enable()
    planned = Planned(rig)
    here = np.array([rig.tick()["coordinate"][machine.coordinate_index(each)] for each in names])
    ways = np.eye(len(names))[::-1] * 0.05
    places = here + np.cumsum([*ways, -ways[0]], axis=0)
    points = [{"positions": place.tolist()} for place in places]
    asked = {"coordinates": names, "timing": "fastest", "corner": {"radius_m": 0.02}, "points": points}
    samples = [planned.order(planned.plan("send", trajectory=asked))]
    samples += rig.until(lambda sample: sample["goal_status"] == GoalStatus.SUCCEEDED)
    index = [machine.coordinate_index(each) for each in names]
    path = references(samples, index)
    assert np.abs(path - [sample["coordinate"][index] for sample in samples]).max() < 2e-4
    assert path[-1] == pytest.approx(places[-1], abs=1e-9)
    for corner in places[:-1]:
        nearest = np.linalg.norm(path - corner, axis=1).min()
        assert 0.002 < nearest < 0.02
    change = np.diff(path, axis=0) / rig.period_s
    most = [machine.coordinates[i].acceleration for i in index]
    assert np.all(np.abs(np.diff(change, axis=0)) / rig.period_s <= 1.01 * np.array(most))
