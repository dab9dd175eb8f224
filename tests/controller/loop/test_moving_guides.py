"""Constraints that move with time: planned, followed and stopped in one process with the simulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.exchange.orders import Disable, EmergencyStop
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path as GoalPath
from linkwork.controller.planning.process.planner import plan
from linkwork.controller.planning.walk.walk import walk
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import Machine, load
from linkwork.machine.catalogue import shipped_path
from linkwork.protocol.errors import RequestError
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.in_process import InProcess, with_encoders

ENDED = (GoalStatus.SUCCEEDED, GoalStatus.ENDED)
GUIDES = {"scara": "0.3474 + 0.02*sin(3*t)", "slider_crank": "0.05*sin(3*t)"}
FOLLOWED = {"scara": ("x", 0.05), "slider_crank": ("slider", -0.05)}

NAMED = {"scara": ("x", "wrist", "lift"), "slider_crank": ("slider",)}


def guided(folder: Path, name: str, guide: str = "") -> Machine:
    """A shipped machine with exact sensors, the y of its tool or tip on a guide that moves."""
    text = shipped_path(name).read_text(encoding="utf-8")
    guide = guide or GUIDES[name]
    if name == "scara":
        text = text.replace(
            "motors:",
            f'constraints: {{guide: {{type: coordinate, of: tool.y, equals_m: "{guide}"}}}}\nmotors:',
            1,
        )
        text = text.replace("goal_coordinates: [shoulder, elbow,", "goal_coordinates: [x,")
    else:
        text = text.replace("equals_m: 0}", f'equals_m: "{guide}"}}').replace("[crank]", "[slider]")
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return with_encoders(load(str(path)), 0)


@pytest.mark.parametrize("name", GUIDES)
def test_a_goal_is_followed_while_the_guide_moves(tmp_path: Path, name: str) -> None:
    rig = InProcess(guided(tmp_path, name))
    rig.enable()
    rig.run(1.5)  # with the brakes on the guide has moved x: it comes to rest
    planned, names = Planned(rig), rig.machine.mechanism.coordinate_names
    coordinate, by = FOLLOWED[name]
    place = names.index(coordinate)
    target = {each: float(rig.controller._now.theta[names.index(each)]) for each in NAMED[name]}
    target[coordinate] += by
    first = planned.order(planned.plan("move", target=target, speed=0.2))
    samples = [first, *rig.until(lambda sample: sample["goal_status"] in ENDED)]
    off = [float(each["reference"][place] - each["coordinate"][place]) for each in samples[:-3]]
    assert np.nanmax(np.abs(off)) < 1e-7
    assert samples[-1]["goal_code"] == 0
    held = rig.run(1.0)
    there = Start.at_pose(rig.machine, rig.simulator.q).theta  # of the plant, not of the estimate
    assert there[place] == pytest.approx(target[coordinate], abs=1e-7)
    assert np.ptp([float(each["coordinate"][place]) for each in held]) < 1e-6
    assert np.ptp([each["q"] for each in held], axis=0).max() > 0.02  # the joints follow the guide
    assert max(float(each["closure_residual"]) for each in held) < 1e-9


@pytest.mark.parametrize("name", GUIDES)
def test_admission_walks_the_guide_s_motion(tmp_path: Path, name: str) -> None:
    machine = guided(tmp_path, name)
    start = Start.at_pose(machine, machine.initial_q, time_s=0.0)
    coordinate, by = FOLLOWED[name]
    names = machine.mechanism.coordinate_names
    target = {each: float(start.theta[names.index(each)]) for each in NAMED[name]}
    target[coordinate] += by
    found = plan("move", {"target": target, "speed": 0.3}, machine, start)
    path = GoalPath.of_block(found.words)
    walked = walk(machine, path, start.q, 0.0)
    inside = walked.joined[:-1] & walked.joined[1:]
    rates = (walked.q[2:] - walked.q[:-2]) / (walked.s[2:] - walked.s[:-2])[:, None]
    change = (walked.q1[2:] - walked.q1[:-2]) / (walked.s[2:] - walked.s[:-2])[:, None]
    assert inside.sum() > 20
    np.testing.assert_allclose(walked.q1[1:-1][inside], rates[inside], atol=2e-3)
    np.testing.assert_allclose(walked.q2[1:-1][inside], change[inside], atol=0.05)


def test_a_guide_that_moves_a_joint_too_fast_is_refused_by_name(tmp_path: Path) -> None:
    machine = guided(tmp_path, "slider_crank", "0.05*sin(600*t)")
    start = Start.at_pose(machine, machine.initial_q, time_s=0.0)
    with pytest.raises(RequestError, match="knee would need"):
        plan("move", {"target": {"crank": 0.6}}, machine, start)


@pytest.mark.parametrize("order", [Disable(), EmergencyStop()])
def test_a_machine_on_a_moving_guide_ends_braked(tmp_path: Path, order: Disable | EmergencyStop) -> None:
    rig = InProcess(guided(tmp_path, "slider_crank"))
    rig.enable()
    rig.run(0.2)
    rig.order(order)
    rig.until(lambda sample: State(int(sample["state"])) not in (State.ACTIVE, State.STOPPING))
    braked = rig.run(0.5)
    assert np.ptp([float(each["q"][0]) for each in braked]) < 1e-4  # the crank
    assert all(int(each["fault"]) == 0 for each in braked)
