"""Goals that take over from one under way, follow it, or are sped up: without a jump, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.controller.exchange.orders import (
    After,
    Order,
    OrderOutcome,
    Pause,
    Retime,
    SetSpeed,
    Splice,
    Stop,
)
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.process.planner import Plan
from linkwork.machine import load
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.in_process import InProcess, Sample

FIRST = {
    "scara": {"shoulder": 1.2, "elbow": -0.3},
    "five_bar": {"left": 1.9, "right": 1.2},
    "slider_crank": {"crank": 1.2},
    "delta": {"x": 0.05, "y": -0.03, "z": -0.42},
    "four_bar": {"a1": 2.2},
    "platform_3rrs": {"motor_1": 0.1, "motor_2": 0.05, "motor_3": -0.05},
}
THEN = {
    "scara": {"elbow": -1.4},
    "five_bar": {"left": 2.3, "right": 0.9},
    "slider_crank": {"crank": 0.2},
    "delta": {"x": 0.0, "y": 0.04, "z": -0.42},
    "four_bar": {"a1": 1.9},
    "platform_3rrs": {"motor_1": 0.0, "motor_2": 0.05, "motor_3": -0.05},
}
ENDED = (GoalStatus.SUCCEEDED, GoalStatus.ENDED)


def under_way(name: str, share: float = 0.35) -> tuple[InProcess, Planned, Plan, list[Sample]]:
    """A rig whose first move has come so far."""
    rig = InProcess(load(name))
    rig.enable()
    planned = Planned(rig)
    made = planned.plan("move", target=FIRST[name], speed=0.3)
    samples = [planned.order(made)]
    samples += rig.run(share * made.duration_s)
    return rig, planned, made, samples


def until_ended(rig: InProcess, goal: int) -> list[Sample]:
    return rig.until(lambda sample: sample["goal_id"] == goal and sample["goal_status"] in ENDED)


def jerks_of_the_reference(rig: InProcess, samples: list[Sample]) -> np.ndarray:
    """Second differences of the reference's velocity, over the jerk limits of its coordinates."""
    moving = np.isfinite(samples[0]["reference"])
    limits = np.array([one.jerk for one in rig.machine.coordinates])[moving]
    limits = np.where(np.isfinite(limits), limits, np.inf)
    rates = np.array([sample["reference_velocity"][moving] for sample in samples])
    return np.abs(np.diff(rates, 2, axis=0)) / rig.period_s**2 / limits


@pytest.mark.parametrize("name", list(FIRST))
def test_a_goal_takes_over_without_a_jump(name: str) -> None:
    rig, planned, _, samples = under_way(name)
    made = planned.plan("move", 0.0502, target=THEN[name])
    assert isinstance(made.begin, Splice)
    samples.append(planned.order(made))
    assert samples[-1]["order_id"] == 0
    samples += until_ended(rig, 2)
    at = next(n for n, sample in enumerate(samples) if sample["goal_id"] == 2)
    told = samples[at]
    assert (told["order_outcome"], told["replaced_goal"]) == (OrderOutcome.DONE, 1)
    assert told["replaced_code"] == ResultCode.REPLACED
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    assert jerks_of_the_reference(rig, samples).max() < 1.001
    moving = np.isfinite(told["reference"])
    for sample in samples:
        np.testing.assert_allclose(sample["coordinate"][moving], sample["reference"][moving], atol=2e-4)


def test_a_goal_takes_over_in_other_coordinates() -> None:
    rig, planned, _, samples = under_way("five_bar")
    made = planned.plan("move", 0.05, target={"x": 0.02, "y": 0.33})
    planned.order(made)
    samples = until_ended(rig, 2)
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    tracked = [sample for sample in samples if sample["goal_id"] == 2]
    assert np.isfinite(tracked[0]["reference"]).tolist() == [False] * 4 + [True] * 2
    for sample in tracked:
        np.testing.assert_allclose(sample["coordinate"][-2:], sample["reference"][-2:], atol=1e-4)
    speeds = np.array([sample["v"] for sample in samples])
    assert np.abs(np.diff(speeds, axis=0)).max() < 1.5 * 60.0 * rig.period_s


def test_way_points_take_over_with_velocity_and_acceleration() -> None:
    rig, planned, _, samples = under_way("scara")
    points = [
        {"time_from_start_s": 0.8, "positions": [0.9, -0.5]},
        {"time_from_start_s": 1.6, "positions": [0.8, -0.7]},
    ]
    made = planned.plan("send", 0.05, trajectory={"coordinates": ["shoulder", "elbow"], "points": points})
    assert isinstance(made.begin, Splice)
    before = made.begin.s
    samples.append(planned.order(made))
    samples += until_ended(rig, 2)
    at = next(n for n, sample in enumerate(samples) if sample["goal_id"] == 2)
    assert samples[at - 1]["path_s"] < before <= samples[at - 1]["path_s"] + rig.period_s
    rates = np.array([sample["reference_velocity"][:2] for sample in samples[at - 3 : at + 3]])
    assert np.abs(np.diff(rates, 2, axis=0)).max() < 60.0 * rig.period_s**2
    np.testing.assert_allclose(samples[-1]["q"][:2], [0.8, -0.7], atol=1e-4)


def test_a_goal_planned_too_late_is_refused_and_the_other_goes_on() -> None:
    rig, planned, _, _ = under_way("scara")
    made = planned.plan("move", 0.01, target=THEN["scara"])
    rig.run(0.05)
    assert planned.order(made)["order_outcome"] == OrderOutcome.REFUSED_SPLICE
    assert rig.run(0.01)[-1]["goal_status"] == GoalStatus.RUNNING


def test_lost_states_at_the_junction_leave_the_goal_under_way_its_own_path() -> None:
    rig, planned, _, _ = under_way("scara")
    planned.order(planned.plan("move", 0.05, target=THEN["scara"]))
    rig.run(0.047)
    for _ in range(6):  # the junction passes while no state arrives
        rig.simulator.latch(rig._mode, rig._effort)
        rig.simulator.integrate()
    refused = rig.tick()
    assert (refused["order_outcome"], refused["goal_id"]) == (OrderOutcome.REFUSED_SPLICE, 1)
    rig.slot_of(planned.slot_of[2])[:] = np.nan  # the slot is free for another goal
    samples = until_ended(rig, 1)
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    moving = [0, 1]
    assert np.all(np.isfinite([sample["reference"][moving] for sample in samples[:-1]]))


@pytest.mark.parametrize("order", [SetSpeed(0.5), Pause()], ids=lambda order: order.name)
def test_a_goal_that_waits_is_refused_when_the_one_under_way_changes_its_pace(order: Order) -> None:
    rig, planned, _, _ = under_way("scara")
    planned.order(planned.plan("move", 0.1, target=THEN["scara"]))
    rig.order(order)
    last = rig.until(lambda sample: sample["order_id"] == rig._orders - 1)[-1]
    assert last["order_outcome"] in (OrderOutcome.REFUSED_SPLICE, OrderOutcome.REFUSED_STATE)
    assert last["goal_id"] == 1


def test_a_stop_drops_the_goal_that_waits() -> None:
    rig, planned, _, _ = under_way("scara")
    planned.order(planned.plan("move", 0.1, target=THEN["scara"]))
    before = int(rig.tick()["authority"])
    rig.order(Stop())
    samples = [*until_ended(rig, 1), *rig.run(0.5)]
    assert samples[-1]["authority"] == before + 1
    assert {int(sample["goal_id"]) for sample in samples} == {1}
    assert samples[-1]["goal_status"] == GoalStatus.ENDED


def test_a_paused_goal_can_be_replaced() -> None:
    rig, planned, _, _ = under_way("scara")
    rig.order(Pause())
    rig.until(lambda sample: sample["path_rate"] == 0.0)
    taken = planned.order(planned.plan("move", 0.1, target=THEN["scara"]))
    assert (taken["order_outcome"], taken["replaced_code"]) == (OrderOutcome.DONE, ResultCode.REPLACED)
    assert until_ended(rig, 2)[-1]["goal_code"] == ResultCode.SUCCESSFUL


def test_an_appended_goal_begins_when_the_one_before_has_succeeded() -> None:
    rig, planned, _, _ = under_way("five_bar")
    trajectory = {"coordinates": ["left"], "points": [{"time_from_start_s": 0.5, "positions": [2.1]}]}
    made = planned.plan("append", 0.0, trajectory=trajectory)
    assert isinstance(made.begin, After)
    planned.order(made)
    samples = until_ended(rig, 2)
    first = next(sample for sample in samples if sample["goal_id"] == 2)
    assert (first["replaced_goal"], first["replaced_code"]) == (1, ResultCode.SUCCESSFUL)
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL


def test_goals_wait_for_one_another() -> None:
    rig, planned, _, _ = under_way("scara")
    slots = []
    for place in (-0.5, -0.6):
        trajectory = {"coordinates": ["elbow"], "points": [{"time_from_start_s": 0.8, "positions": [place]}]}
        made = planned.plan("append", 0.0, trajectory=trajectory)
        slots.append(planned.order(made))
    assert not any(sample["order_id"] for sample in slots)
    samples = until_ended(rig, 3)
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL


def test_an_appended_goal_whose_first_sample_fits_goes_on_without_stopping() -> None:
    rig, planned, before, _ = under_way("scara", 0.1)
    path = planned.running(0.0).path
    place, rate, _ = path.evaluate(0.6 * before.duration_s)
    points = [
        {"time_from_start_s": 0.0, "positions": place[:2].tolist(), "velocities": rate[:2].tolist()},
        {"time_from_start_s": 0.9, "positions": (place + 0.5 * rate)[:2].tolist()},
    ]
    made = planned.plan("append", 0.0, trajectory={"coordinates": ["shoulder", "elbow"], "points": points})
    assert isinstance(made.begin, Splice)
    assert made.begin.s == pytest.approx(0.6 * before.duration_s, abs=1e-6)
    planned.order(made)
    samples = until_ended(rig, 2)
    at = next(n for n, sample in enumerate(samples) if sample["goal_id"] == 2)
    speeds = np.array([np.abs(sample["reference_velocity"][:2]).max() for sample in samples[at - 5 : at + 5]])
    assert speeds.min() > 0.9 * np.abs(rate[:2]).max()
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL


@pytest.mark.parametrize("name", ["scara", "five_bar", "delta"])
def test_a_goal_is_sped_up_within_its_limits(name: str) -> None:
    rig, planned, made, samples = under_way(name)
    faster = planned.plan("speed", 0.0, fraction=1.7)
    samples.append(planned.order(faster))
    assert samples[-1]["order_outcome"] == OrderOutcome.DONE
    samples += until_ended(rig, 1)
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    assert len(samples) * rig.period_s < 0.85 * made.duration_s
    assert max(sample["path_rate"] for sample in samples) == pytest.approx(1.0, abs=1e-9)
    moving = np.isfinite(samples[0]["reference"])
    places = np.array([sample["reference"][moving] for sample in samples[:-5]])
    limits = np.array([one.velocity for one in rig.machine.coordinates])[moving]
    rates = np.diff(places, axis=0) / rig.period_s
    assert np.all(np.abs(rates) <= limits * 1.001)
    steps = np.abs(np.diff(rates, axis=0)).max(axis=0)
    accelerations = np.array([one.acceleration for one in rig.machine.coordinates])[moving]
    assert np.all(steps <= np.where(np.isfinite(accelerations), 1.05 * accelerations, np.inf) * rig.period_s)


def test_more_speed_than_the_limits_allow_is_refused_with_the_largest() -> None:
    rig, planned, _, _ = under_way("scara")
    swift = planned.plan("move", 0.05, target=FIRST["scara"])
    planned.order(swift)
    rig.until(lambda sample: sample["goal_id"] == 2)
    with pytest.raises(RequestError, match=r"1\.5 times its speed .* at most .* is feasible") as caught:
        planned.plan("speed", 0.0, fraction=1.5)
    assert caught.value.path == ("fraction",)
    assert caught.value.data["largest_speed"] < 1.5


def test_a_speed_may_be_limited_instead() -> None:
    rig = InProcess(load("scara"))
    rig.enable()
    planned = Planned(rig)
    planned.order(planned.plan("move", target=FIRST["scara"], speed=0.7))
    rig.run(0.3)
    made = planned.plan("speed", 0.0, fraction=2.0, limit=True)
    assert isinstance(made.begin, Retime)
    assert 1.0 < made.begin.speed < 2.0
    assert made.limited is not None
    assert made.limited["coordinate"] in ("shoulder", "elbow")
    assert planned.order(made)["order_outcome"] == OrderOutcome.DONE
    assert until_ended(rig, 1)[-1]["goal_code"] == ResultCode.SUCCESSFUL
