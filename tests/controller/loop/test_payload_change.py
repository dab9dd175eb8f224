"""A payload set while a goal runs: its rest is walked through again, and goes on, slower, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from linkwork.controller.exchange.orders import CancelGoal, OrderOutcome, Retime, SetPayload, SetSpeed
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.process.planner import Plan
from linkwork.controller.supervision.live_tuning import LOAD_RAMP_S, smooth
from linkwork.machine import Machine, load
from linkwork.machine.payloads import loaded
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.in_process import InProcess, Sample

ENDED = (GoalStatus.SUCCEEDED, GoalStatus.ENDED)
LOAD = (2.0, 0.0, 0.1, 0.0, *(0.0,) * 6)


def weaker(joint: str, most: float) -> Machine:
    """The SCARA with another motor at one joint."""
    machine = load("scara")
    motors = tuple(
        motor.with_values(max_effort=most) if motor.joint == joint else motor for motor in machine.motors
    )
    return replace(machine, motors=motors)


def under_way(machine: Machine, target: dict[str, float], share: float) -> tuple[InProcess, Planned, Plan]:
    rig = InProcess(machine)
    rig.enable()
    planned = Planned(rig)
    made = planned.plan("move", target=target)
    planned.order(made)
    rig.run(share * made.duration_s)
    return rig, planned, made


def carry(rig: InProcess, planned: Planned) -> None:
    """The machine is told of its load, and so is whoever plans."""
    point = rig.machine.payloads[0]
    assert rig.order(SetPayload(point.index, LOAD[0], LOAD[1:4], LOAD[4:]))["order_outcome"] == 1
    planned.carried = {point.name: LOAD}


def to_the_end(rig: InProcess) -> list[Sample]:
    """The plant takes the load up as the model does: it is heavier by and by."""
    samples = []
    for tick in range(10_000):
        share = smooth(min(1.0, (tick + 1) * rig.period_s / LOAD_RAMP_S))
        if share <= 1.0:
            part = (LOAD[0] * share, *LOAD[1:])
            heavier = loaded(rig.machine, {"tool": part}).mechanism.model
            rig.simulator._arguments = (heavier, *rig.simulator._arguments[1:])
        samples.append(rig.tick())
        if samples[-1]["goal_status"] in ENDED:
            return samples
    raise AssertionError("the goal never ended")


def stop_limits(rig: InProcess) -> Callable[[float], float]:
    """How hard the goal under way may be slowed down, by where it is on its path."""
    goal = rig.supervisor.executor.goal
    assert goal is not None
    block = goal.block
    return lambda s: float(block.stop_limits(s)[0])


def test_a_goal_that_stays_feasible_goes_on_as_fast_as_it_was_told() -> None:
    rig, planned, _ = under_way(load("scara"), {"shoulder": 0.9}, 0.3)
    rig.order(SetSpeed(0.6))
    rig.run(0.3)
    assert planned.order(planned.plan("rewalk", 0.0))["order_outcome"] == OrderOutcome.DONE
    before = stop_limits(rig)
    carry(rig, planned)
    again = planned.plan("rewalk", 0.0)
    assert (again.begin, again.limited) == (Retime(1, 1.0, keep_speed=True), None)
    assert planned.order(again)["order_outcome"] == OrderOutcome.DONE
    goal = rig.supervisor.executor.goal
    assert goal is not None
    here = goal.path.rate_at(0.0)[0]
    assert stop_limits(rig)(here) <= before(here)
    samples = to_the_end(rig)
    assert max(sample["path_rate"] for sample in samples) == pytest.approx(0.6)
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL


def test_a_goal_that_is_too_fast_for_the_load_goes_on_slower_and_says_why() -> None:
    rig, planned, made = under_way(weaker("elbow", 7.0), {"shoulder": 1.6, "elbow": -0.2}, 0.3)
    carry(rig, planned)
    again = planned.plan("rewalk", 0.0)
    assert isinstance(again.begin, Retime)
    why = again.limited
    assert why is not None
    assert 0.05 < again.begin.speed < 0.99
    assert why["coordinate"] == "elbow"
    assert "elbow would need effort" in why["text"]
    peak = again.report["effort_peaks"]["elbow"]
    assert abs(peak["value"]) <= peak["limit"]
    assert planned.order(again)["order_outcome"] == OrderOutcome.DONE
    samples = to_the_end(rig)
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    places = np.array([sample["reference"][:2] for sample in samples])
    limits = [limits.acceleration for limits in rig.machine.joints[:2]]
    assert np.all(np.abs(np.diff(places, 2, axis=0)).max(axis=0) < 1.05e-6 * np.array(limits))
    assert len(samples) * rig.period_s > 0.7 * made.duration_s


def test_a_goal_that_no_speed_makes_feasible_stops_on_its_path() -> None:
    rig, planned, _ = under_way(weaker("lift", 24.0), {"lift": 0.12}, 0.4)
    carry(rig, planned)
    with pytest.raises(RequestError, match="lift would need effort") as caught:
        planned.plan("rewalk", 0.0)
    assert caught.value.code == ResultCode.INFEASIBLE
    stop = rig.order(CancelGoal(1, ResultCode.INFEASIBLE))
    assert stop["order_outcome"] == OrderOutcome.DONE
    last = to_the_end(rig)[-1]
    assert (last["goal_code"], last["goal_status"]) == (ResultCode.INFEASIBLE, GoalStatus.ENDED)
    assert rig.supervisor.executor.now.velocity[3] == 0.0
