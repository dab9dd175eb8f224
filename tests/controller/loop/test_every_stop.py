"""Every stop from full speed: on the path and the manifold, within its limits, as long as documented."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkwork.controller.exchange.orders import CancelGoal, LeaseLost, Pause, Shutdown, Stop
from linkwork.controller.motion.references.reference import Follow, GoalStatus
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.walk.walk import walk
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import Machine, load
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.projection import position_residual
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.protocol.codes import ResultCode
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.in_process import InProcess, Sample
from tests.controller.motion.test_goal_splices import FIRST

STOPS = {
    "cancel": CancelGoal(),
    "stop": Stop(),
    "pause": Pause(),
    "lease lost": LeaseLost(),
    "shutdown": Shutdown(),
    "path tolerance": None,
}
CODES = {
    "cancel": ResultCode.CANCELLED,
    "stop": ResultCode.CANCELLED,
    "lease lost": ResultCode.LEASE_LOST,
    "shutdown": ResultCode.CANCELLED,
    "path tolerance": ResultCode.PATH_TOLERANCE_VIOLATED,
}


def stopping_way(rate: float, deceleration: float, jerk: float) -> float:
    """How far the path parameter goes on: with a constant deceleration in the middle, or without."""
    if rate >= deceleration**2 / jerk:
        return 0.5 * rate * (rate / deceleration + deceleration / jerk)
    return rate * math.sqrt(rate / jerk)


def begin_stop(rig: InProcess, how: str) -> Sample:
    """The first tick of the stop."""
    order = STOPS[how]
    if order is not None:
        return rig.order(order)
    goal = rig.supervisor.executor.motion
    assert isinstance(goal, Follow)
    goal.block.path_tolerance[:] = 1e-15  # whatever the tracking error is, it is too much now
    return rig.tick()


@pytest.mark.parametrize("how", list(STOPS))
@pytest.mark.parametrize("name", list(FIRST))
def test_a_stop_from_full_speed(name: str, how: str) -> None:
    rig = InProcess(load(name))
    rig.enable()
    planned = Planned(rig)
    made = planned.plan("move", target=FIRST[name])
    planned.order(made)
    before = rig.run(0.5 * made.duration_s)[-1]
    assert before["path_rate"] == 1.0
    goal = rig.supervisor.executor.motion
    assert isinstance(goal, Follow)
    samples = [begin_stop(rig, how)]
    deceleration, jerk = goal.block.stop_limits(float(samples[0]["path_s"]))
    while samples[-1]["path_rate"] > 0.0:
        samples.append(rig.tick())
    end_s = goal.path.rate_at(0.0)[0]
    check_the_timing(rig, samples, end_s, deceleration, jerk)
    check_the_place(rig.machine, Path.of_block(made.words), before, samples, end_s)
    if how == "pause":
        assert samples[-1]["goal_status"] == GoalStatus.PAUSED
    else:
        last = rig.until(lambda sample: sample["goal_status"] == GoalStatus.ENDED)[-1]
        assert last["goal_code"] == CODES[how]
        assert last["state"] in (State.ACTIVE, State.STOPPING)


def check_the_timing(
    rig: InProcess, samples: list[Sample], end_s: float, deceleration: float, jerk: float
) -> None:
    """Deceleration and jerk of the path parameter, and its way, against what the goal was admitted for."""
    rates = np.array([1.0, *(float(sample["path_rate"]) for sample in samples)])
    assert np.all(np.diff(rates) <= 1e-12)
    assert np.diff(rates).min() >= -deceleration * rig.period_s * (1.0 + 1e-9)
    assert np.abs(np.diff(rates, 2)).max() <= jerk * rig.period_s**2 * (1.0 + 1e-6) + 1e-12
    way = stopping_way(1.0, deceleration, jerk)
    assert end_s - float(samples[0]["path_s"]) == pytest.approx(way, abs=1e-9)


def check_the_place(
    machine: Machine, path: Path, before: Sample, samples: list[Sample], end_s: float
) -> None:
    """References lie on the path; poses on it meet the constraints; nothing has changed its branch."""
    chosen = list(path.coordinates)
    for sample in samples[:-1]:
        np.testing.assert_allclose(
            sample["reference"][chosen], path.evaluate(sample["path_s"])[0], atol=1e-12
        )
        np.testing.assert_allclose(sample["coordinate"][chosen], sample["reference"][chosen], atol=1e-4)
        assert sample["branch"] == before["branch"]
    part = path.part(float(before["path_s"]), end_s)
    walked = walk(machine, part, before["q"])
    assert walked.reached == len(walked.s)
    np.testing.assert_allclose(walked.q[-1], samples[-1]["q"], atol=2e-3)
    if machine.is_constrained:
        workspace = machine.workspace()
        for q in walked.q:
            workspace.q[:] = q
            kinematics(*workspace.arguments)
            constraint_rows(*workspace.arguments)
            assert position_residual(*workspace.arguments) < 1e-9
