"""Place and tick of events on the path, at any course of the goal's speed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from linkwork.controller.exchange.goal_block import GoalBlock
from linkwork.controller.exchange.orders import (
    CancelGoal,
    EmergencyStop,
    OrderOutcome,
    Pause,
    Resume,
    SetOutputs,
    SetSpeed,
)
from linkwork.machine import Machine
from linkwork.protocol.errors import RequestError
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.in_process import InProcess, Sample
from tests.signal_machine import signal_machine

GRIPPER, LAMP, FLOW = range(3)
TOOL = [4, 5, 6]
PERIOD_S = 0.001
FEW = settings(max_examples=6, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return signal_machine(tmp_path_factory.mktemp("machine"))


def enabled(machine: Machine) -> Planned:
    run = InProcess(machine)
    run.enable()
    return Planned(run)


def wave(run: InProcess, steps: list[tuple[float, float]], duration_s: float) -> dict[str, Any]:
    """Way-points of the tool around where it is, steps in mm."""
    here = run.tick()["coordinate"]
    times = np.linspace(0.0, duration_s, len(steps) + 1)[1:]
    points = [
        {"time_from_start_s": float(t), "positions": [here[4] + 1e-3 * dx, here[5] + 1e-3 * dy]}
        for t, (dx, dy) in zip(times, steps, strict=True)
    ]
    return {"coordinates": ["x", "y"], "points": points}


def feasible(planned: Planned, steps: list[tuple[float, float]], duration_s: float) -> float:
    """The duration with which these steps are accepted."""
    while True:
        try:
            planned.plan("send", trajectory=wave(planned.rig, steps, duration_s))
            return duration_s
        except RequestError as refused:
            duration_s *= 1.01 * refused.data["min_time_stretch"]


def goal_coordinates(machine: Machine) -> list[int]:
    names = list(machine.mechanism.coordinate_names)
    return [names.index("x"), names.index("y")]


def toggles(places: list[dict[str, Any]], lead_s: float = 0.0) -> list[dict[str, Any]]:
    """An event at each place, which switches the gripper."""
    return [
        {"at": place, "set": {"gripper": number % 2 == 0}, "lead_s": lead_s}
        for number, place in enumerate(places)
    ]


def switched(samples: list[Sample], output: int = GRIPPER) -> list[int]:
    """The samples from which on another value is in force."""
    values = [sample["output"][output] for sample in samples]
    return [k for k in range(1, len(values)) if values[k] != values[k - 1]]


def nearest(samples: list[Sample], k: int, s: float, lead_s: float = 0.0) -> bool:
    """Whether sample k, and so much later, is the one nearest to a place of the path."""
    k += round(lead_s / PERIOD_S)
    before, here, after = (float(samples[k + step]["path_s"]) for step in (-1, 0, 1))
    early, late = 0.5 * (here - before), 0.5 * (after - here)
    slack = 1e-9 + 1e-3 * PERIOD_S  # the rate may change within the period
    return -late - slack <= here - s <= early + slack


@FEW
@given(
    steps=st.lists(st.tuples(st.floats(-20, 20), st.floats(-20, 20)), min_size=1, max_size=3),
    places=st.lists(st.floats(0.005, 0.995), min_size=1, max_size=5),
    duration_s=st.floats(0.4, 0.6),
)
def test_an_event_is_within_half_a_period_of_its_place(
    machine: Machine, steps: list[tuple[float, float]], places: list[float], duration_s: float
) -> None:
    planned = enabled(machine)
    run = planned.rig
    duration_s = feasible(planned, steps, duration_s)
    apart: list[float] = []
    for s in sorted(place * duration_s for place in places):
        if not apart or s - apart[-1] > 2.5 * PERIOD_S:
            apart.append(s)
    trajectory = wave(run, steps, duration_s) | {"events": toggles([{"time_s": s} for s in apart])}
    made = planned.plan("send", trajectory=trajectory)
    samples = [planned.order(made), *run.until(lambda sample: sample["goal_status"] >= 5), run.tick()]
    found = switched(samples)
    assert len(found) == len(apart)
    path, axes = GoalBlock(made.words), goal_coordinates(machine)
    own = path.coordinates.tolist()
    for k, s in zip(found, apart, strict=True):
        assert nearest(samples, k, s)
        theta = np.zeros((3, len(own)))
        path.evaluate(s, *theta)
        place = theta[0][[own.index(axis) for axis in axes]]
        track = np.array([sample["reference"][axes] for sample in samples[k - 1 : k + 2]])
        speed = max(np.linalg.norm(np.diff(track, axis=0), axis=1)) / PERIOD_S
        error = float(np.linalg.norm(track[1] - place))
        assert error <= 0.5 * PERIOD_S * speed * 1.02 + 1e-9, "speed × half a period"


def straight(run: InProcess, seconds: float = 1.0) -> dict[str, Any]:
    """A line of the tool, slow at its ends."""
    return wave(run, [(20.0, 0.0), (40.0, 10.0)], seconds)


@FEW
@given(
    lead_s=st.sampled_from([0.0, 0.012, 0.08]),
    speed=st.floats(0.3, 1.0),
    at=st.integers(50, 800),
    place=st.floats(0.1, 0.9),
)
def test_leads_and_speed_overrides(
    machine: Machine, lead_s: float, speed: float, at: int, place: float
) -> None:
    """The lead is real time: the output is in force so much before the nearest sample, at any speed."""
    planned = enabled(machine)
    run = planned.rig
    events = [{"at": {"time_s": place}, "set": {"gripper": True, "flow": 1.5}, "lead_s": lead_s}]
    samples = [planned.order(planned.plan("send", trajectory=straight(run) | {"events": events}))]
    samples += [run.tick() for _ in range(at)]
    samples += [run.order(SetSpeed(fraction=speed))]
    samples += run.until(lambda sample: sample["goal_status"] >= 5)
    gripper, flow = switched(samples), switched(samples, FLOW)
    assert len(gripper) == 1
    assert gripper == flow, "all outputs of an event act at one tick"
    decided = gripper[0] - 1
    if not decided < at + 1 <= decided + round(lead_s / PERIOD_S) + 2:  # the override came within the lead
        assert nearest(samples, gripper[0], place, lead_s)


def test_a_pause_before_an_event_holds_it_back_and_it_acts_once(machine: Machine) -> None:
    planned = enabled(machine)
    run = planned.rig
    trajectory = straight(run) | {"events": toggles([{"time_s": 0.2}, {"time_s": 0.7}])}
    samples = [planned.order(planned.plan("send", trajectory=trajectory))]
    for _ in range(3):
        begin_s = float(samples[-1]["path_s"])
        samples += run.until(lambda sample, s=begin_s: sample["path_s"] > 0.15 + s)
        samples += [run.order(Pause())]
        samples += run.until(lambda sample: sample["path_rate"] == 0.0)
        samples += run.run(0.1)
        samples += [run.order(Resume())]
    samples += run.until(lambda sample: sample["goal_status"] >= 5)
    found = switched(samples)
    assert [bool(samples[k]["output"][GRIPPER]) for k in found] == [True, False]
    for k, s in zip(found, (0.2, 0.7), strict=True):
        assert nearest(samples, k, s)
    assert samples[-1]["output_events"].tolist() == [2.0, 0.0, 0.0]


def test_a_cancelled_goal_leaves_the_events_behind_it(machine: Machine) -> None:
    planned = enabled(machine)
    run = planned.rig
    trajectory = straight(run) | {"events": toggles([{"time_s": 0.2}, {"time_s": 0.8}], lead_s=0.05)}
    planned.order(planned.plan("send", trajectory=trajectory))
    run.until(lambda sample: sample["path_s"] > 0.3)
    samples = [run.order(CancelGoal()), *run.until(lambda sample: sample["goal_status"] == 6)]
    samples += run.run(1.0)
    assert samples[-1]["output"][GRIPPER] == 1.0
    assert samples[-1]["output_events"].tolist() == [1.0, 0.0, 0.0]


def test_an_emergency_stop_ends_the_events_and_a_later_goal_counts_from_zero(machine: Machine) -> None:
    planned = enabled(machine)
    run = planned.rig
    events = [{"at": {"time_s": 0.1}, "set": {"lamp": "off"}}, {"at": {"time_s": 0.5}, "set": {"flow": 2.0}}]
    planned.order(planned.plan("send", trajectory=straight(run) | {"events": events}))
    run.until(lambda sample: sample["path_s"] > 0.3)
    assert run.order(EmergencyStop())["output_command"].tolist() == [0.0, 1.0, 0.0]
    assert run.run(1.0)[-1]["output"].tolist() == [0.0, 1.0, 0.0]


def test_another_goal_takes_over_with_its_own_events(machine: Machine) -> None:
    planned = enabled(machine)
    run = planned.rig
    first = straight(run) | {"events": toggles([{"time_s": 0.2}, {"time_s": 0.9}])}
    samples = [planned.order(planned.plan("send", trajectory=first))]
    samples += run.until(lambda sample: sample["path_s"] > 0.4)
    second = straight(run) | {"events": [{"at": {"time_s": 0.3}, "set": {"lamp": True}}]}
    samples += [planned.order(planned.plan("send", lead_s=0.05, trajectory=second))]
    samples += run.until(lambda sample: sample["goal_status"] >= 5)
    assert len(switched(samples)) == 1, "the second event of the first goal is not reached"
    (lamp,) = switched(samples, LAMP)
    assert samples[lamp]["goal_id"] == 2
    assert nearest(samples, lamp, 0.3)


def test_a_faster_goal_keeps_its_places(machine: Machine) -> None:
    planned = enabled(machine)
    run = planned.rig
    trajectory = wave(run, [(5.0, 0.0)], 2.0) | {"events": toggles([{"time_s": 0.5}, {"time_s": 1.5}])}
    samples = [planned.order(planned.plan("send", trajectory=trajectory))]
    samples += run.until(lambda sample: sample["path_s"] > 0.3)
    samples += [planned.order(planned.plan("speed", lead_s=0.0, fraction=1.6))]
    samples += run.until(lambda sample: sample["goal_status"] >= 5)
    first, second = switched(samples)
    faster = [k for k, sample in enumerate(samples) if sample["path_length_s"] == pytest.approx(2.0 / 1.6)]
    for k, s in ((first, 0.5), (second, 1.5)):
        assert k in faster
        assert nearest(samples, k, s / 1.6)


def test_an_output_follows_the_speed_of_a_point(machine: Machine) -> None:
    planned = enabled(machine)
    run = planned.rig
    follow = {"flow": {"speed_of": "tool", "per_m_s": 12.0, "offset": 0.2, "max": 0.8}}
    samples = [planned.order(planned.plan("send", trajectory=straight(run) | {"follow": follow}))]
    samples += [run.order(SetOutputs(((FLOW, 2.0),)))]
    assert samples[-1]["order_outcome"] == OrderOutcome.REFUSED_BUSY
    samples += run.until(lambda sample: sample["path_s"] > 0.5)
    samples += [run.order(Pause()), *run.until(lambda sample: sample["path_rate"] == 0.0), *run.run(0.01)]
    assert samples[-1]["output"][FLOW] == 0.2, "at rest"
    samples += [run.order(Resume()), *run.until(lambda sample: sample["goal_status"] >= 5), *run.run(0.005)]
    axes = goal_coordinates(machine)
    for k in range(5, len(samples) - 6):
        track = np.array([sample["reference"][axes] for sample in (samples[k], samples[k + 1])])
        speed = float(np.linalg.norm(track[1] - track[0])) / PERIOD_S
        assert samples[k]["output"][FLOW] == pytest.approx(min(0.2 + 12.0 * speed, 0.8), abs=2e-3)
    assert max(sample["output"][FLOW] for sample in samples) == 0.8
    assert (samples[-1]["output"][FLOW], samples[-1]["output_followed"].tolist()) == (0.2, [0.0, 0.0, 0.0])


def met(samples: list[Sample]) -> int:
    """The sample in which the condition has been met first."""
    return next(k for k, sample in enumerate(samples) if sample["until_met"])


@pytest.mark.parametrize(("then", "status"), [("end", 5), ("pause", 3)])
def test_a_condition_ends_or_pauses_a_goal_one_tick_after_it_holds(
    machine: Machine, then: str, status: int
) -> None:
    planned = enabled(machine)
    run = planned.rig
    trajectory = straight(run) | {"until": "part_present and pressure > 0.5", "then": then}
    samples = [planned.order(planned.plan("send", trajectory=trajectory)), *run.run(0.3)]
    run.simulator.measured.inputs[:] = 1.0, 2.0
    samples += run.until(lambda sample: sample["goal_status"] == status and sample["path_rate"] == 0.0)
    assert met(samples) == next(k for k, sample in enumerate(samples) if sample["input"][0]) + 1
    assert samples[-1]["goal_code"] == 0
    resting = samples[-1]["coordinate"][4]
    assert samples[0]["coordinate"][4] < resting < samples[0]["coordinate"][4] + 0.039
    if then == "pause":
        assert run.order(Resume())["goal_status"] == 1
        assert run.run(0.05)[-1]["until_met"] == 1, "it holds on: no second pause"
        run.simulator.measured.inputs[0] = 0.0
        run.run(0.01)
        run.simulator.measured.inputs[0] = 1.0
        assert run.run(0.01)[-1]["goal_status"] == 3
