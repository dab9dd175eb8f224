"""Streamed references in the tick: limits, stops, missing and senseless set-points."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from linkwork.arrays import Floats
from linkwork.controller.exchange.orders import Finish, JogCoordinates, OrderOutcome, StartStream, Stop
from linkwork.controller.exchange.set_points import SetPoint, StreamState
from linkwork.controller.motion.limits.effort_limits import HeldBack
from linkwork.machine import Machine, load, shipped_path
from linkwork.multibody.functions import mass_matrix
from linkwork.protocol.codes import ResultCode
from tests.controller.loop.in_process import InProcess, Sample, enabled

STREAMED = {
    "scara": ("shoulder", "elbow", "wrist", "lift"),
    "five_bar": ("x", "y"),
    "platform_3rrs": ("motor_1", "motor_2", "motor_3"),
}
INTERVAL_S, DELAY_S = 0.01, 0.033
TICKS = 10
"""Ticks of an interval."""


@cache
def machine(name: str) -> Machine:
    return load(name)


class StreamRig(InProcess):
    """A machine that holds, and then streams these coordinates."""

    def __init__(self, name: str, coordinates: Sequence[str], *, ends: bool = False) -> None:
        super().__init__(machine(name))
        self.enable()
        names = list(self.machine.mechanism.coordinate_names)
        self.index = [names.index(each) for each in coordinates]
        self.samples: list[Sample] = []
        order = StartStream(1, tuple(self.index), len(self.index), 1, INTERVAL_S, DELAY_S, ends)
        begun = self.order(order)
        assert begun["order_outcome"] == OrderOutcome.DONE
        self.start = np.array(begun["reference"][self.index])
        self.sent = 0

    def put(self, stamp_s: float, positions: Floats, velocities: Sequence[float] = ()) -> Sample:
        """One tick in which a set-point arrives."""
        self.sent += 1
        self.inputs.set_point = SetPoint(self.sent, 1, stamp_s, tuple(positions), tuple(velocities))
        sample = self.tick()
        self.inputs.set_point = None
        return sample

    def tick(self, order: object = None) -> Sample:
        sample = super().tick(order)  # type: ignore[arg-type]
        if hasattr(self, "samples"):
            self.samples.append(sample)
        return sample

    def series(self, channel: str) -> Floats:
        return np.array([sample[channel][self.index] for sample in self.samples])


def within_limits(rig: StreamRig) -> None:
    """Of the reference: positions, velocities, accelerations, jerks; of the machine: joints, no fault."""
    period = rig.period_s
    position, velocity = rig.series("reference"), rig.series("reference_velocity")
    acceleration, jerk = np.diff(velocity, axis=0) / period, np.diff(velocity, 2, axis=0) / period**2
    for at, index in enumerate(rig.index):
        limits = rig.machine.coordinates[index]
        assert position[:, at].max() <= limits.position[1] + 1e-9
        assert position[:, at].min() >= limits.position[0] - 1e-9
        for values, limit in (
            (velocity, limits.velocity), (acceleration, limits.acceleration), (jerk, limits.jerk),
        ):  # fmt: skip
            assert np.abs(values[:, at]).max() <= limit + 1e-9
    for sample in rig.samples:
        assert not sample["fault"]
        assert sample["closure_residual"] <= 1e-9
    for at, joint in enumerate(rig.machine.joints):
        q = np.array([sample["q"][at] for sample in rig.samples])
        assert joint.position[0] - 1e-3 <= q.min()
        assert q.max() <= joint.position[1] + 1e-3


HARD = [
    ("silence", 0.0, 0.0, 1), ("jump", 0.0, 1.0, 8), ("jump", 0.0, 0.0, 1), ("wave", 0.0, 1.0, 9),
    ("walk", 0.0, 0.0, 1), ("jump", 0.0, 0.0, 1), ("jump", 1.0, 1.0, 4), ("jump", 0.0, 1.0, 1),
    ("jump", 0.0, 0.0, 1), ("jump", 0.0, 1.0, 5), ("jump", 1.0, 1.0, 5),
]  # fmt: skip
"""Set-points that drove a joint of the five-bar beyond its limit, near a stretched pose."""


numbers = st.floats(-1.5, 1.5)
acts = st.lists(
    st.tuples(
        st.sampled_from(["jump", "walk", "wave", "silence", "back", "twice", "nan", "rates"]),
        st.lists(numbers, min_size=4, max_size=4),
        st.integers(1, 12),
    ),
    min_size=4,
    max_size=12,
)


@pytest.mark.parametrize("name", STREAMED)
@settings(max_examples=4, derandomize=True, phases=[Phase.explicit, Phase.generate])
@given(acts=acts)
@example(acts=[(kind, [x, y, 0.0, 0.0], count) for kind, x, y, count in HARD])
def test_no_limit_is_exceeded_whatever_is_sent(name: str, acts: list[tuple[str, list[float], int]]) -> None:
    rig = StreamRig(name, STREAMED[name])
    k, stamp, at = len(rig.index), 0.0, rig.start.copy()
    rig.put(stamp, at)
    for kind, chosen, count in acts:
        way = np.array(chosen[:k])
        for n in range(count):
            if kind == "jump":
                at = rig.start + way
            elif kind in ("walk", "rates"):
                at = at + 0.02 * way
            elif kind == "wave":
                at = rig.start + 0.2 * way * np.sin(0.7 * n)
            stamp += INTERVAL_S
            sent = {"back": stamp - 1.0, "twice": stamp - INTERVAL_S}.get(kind, stamp)
            if kind != "silence":
                wrong = kind == "nan"
                rig.put(sent, np.full(k, np.nan) if wrong else at, chosen[:k] if kind == "rates" else ())
            rig.run((TICKS - 1) * rig.period_s)
    rig.order(Stop())
    rig.until(lambda sample: sample["goal_code"] == ResultCode.CANCELLED, most_s=3.0)
    within_limits(rig)


def circle(rig: StreamRig, seconds: float, radius: float = 0.03) -> tuple[Floats, Floats]:
    """Streams a circle at 1 Hz that begins slowly; the reference, and where it should be."""

    def there(time_s: Floats) -> Floats:
        turned = 2.0 * np.pi * np.maximum(time_s - 0.5 * (1.0 - np.exp(-2.0 * np.maximum(time_s, 0.0))), 0.0)
        return rig.start + radius * np.column_stack([np.sin(turned), np.cos(turned) - 1.0])

    rig.samples.clear()
    for n in range(round(seconds / INTERVAL_S)):
        rig.put(n * INTERVAL_S, there(np.array([n * INTERVAL_S]))[0])
        rig.run((TICKS - 1) * rig.period_s)
    reference = rig.series("reference")
    return reference, there(np.arange(len(reference)) * rig.period_s - DELAY_S)


def test_a_circle_is_followed_after_the_delay() -> None:
    rig = StreamRig("five_bar", ("x", "y"))
    reference, wanted = circle(rig, 1.5)
    assert np.abs(reference - wanted)[300:].max() < 50e-6
    ripple = np.diff(rig.series("reference_velocity") / rig.period_s, 3, axis=0)[300:]
    assert np.abs(ripple).max() < 0.05, "m/s²: the acceleration does not jump at the set-points"
    assert not any(sample["stream_held_back"] for sample in rig.samples[300:])
    within_limits(rig)


def test_at_the_side_of_a_box_the_point_slides_along(tmp_path: Path) -> None:
    path = tmp_path / "boxed.yaml"
    box = "workspace:\n  tool: {x_m: [-0.09, 0.05]}\n"
    path.write_text(shipped_path("five_bar").read_text() + box)
    rig = StreamRig(str(path), ("x", "y"))
    wanted = []
    for n in range(150):
        x, y = min(0.001 * n, 0.1), -0.02 * (1.0 - np.cos(0.03 * n))
        wanted.append(rig.start[1] + y)
        rig.put(n * INTERVAL_S, rig.start + np.array([x, y]))
        rig.run((TICKS - 1) * rig.period_s)
    reference = rig.series("reference")
    assert 0.049 < reference[-1, 0] <= 0.05
    behind = np.interp(
        np.arange(len(reference)) * rig.period_s - DELAY_S, np.arange(150) * INTERVAL_S, wanted
    )
    assert np.abs(reference[:, 1] - behind)[700:].max() < 1e-4
    within_limits(rig)


def test_without_set_points_it_rests_on_the_line_and_picks_up_again() -> None:
    rig = StreamRig("five_bar", ("x", "y"))
    for n in range(30):
        rig.put(n * INTERVAL_S, rig.start + np.array([0.001, 0.0005]) * n)
        rig.run((TICKS - 1) * rig.period_s)
    rig.run(0.4)
    assert rig.samples[-1]["stream_state"] == StreamState.STALE
    assert not np.abs(rig.samples[-1]["reference_velocity"][rig.index]).max() > 1e-3
    way = rig.series("reference")[200:] - rig.start
    across = np.abs(way @ np.array([-0.0005, 0.001])) / np.hypot(0.001, 0.0005)
    assert across.max() < 1e-4
    here = rig.samples[-1]["reference"][rig.index]
    for n in range(20):
        rig.put(1.0 + n * INTERVAL_S, here + np.array([-0.0005, 0.0]) * n)
        rig.run((TICKS - 1) * rig.period_s)
    assert rig.samples[-1]["stream_state"] == StreamState.RUNNING
    assert rig.samples[-1]["reference"][rig.index[0]] < here[0] - 0.004
    within_limits(rig)


def test_a_stale_stream_ends_when_asked_to() -> None:
    rig = StreamRig("scara", STREAMED["scara"], ends=True)
    rig.put(0.0, rig.start)
    last = rig.until(lambda sample: sample["goal_code"] == ResultCode.STREAM_STALE, most_s=2.0)[-1]
    assert last["stream_state"] == StreamState.NONE


def test_finish_ends_at_the_last_set_point() -> None:
    rig = StreamRig("scara", STREAMED["scara"])
    for n in range(20):
        rig.put(n * INTERVAL_S, rig.start + 0.0002 * min(n, 10) * np.ones(4))
        rig.run((TICKS - 1) * rig.period_s)
    assert rig.order(Finish())["order_outcome"] == OrderOutcome.DONE
    rig.until(lambda sample: sample["goal_status"] == 5, most_s=2.0)
    rig.run(0.05)
    assert rig.samples[-1]["reference"][rig.index] == pytest.approx(rig.start + 0.002, abs=2e-5)
    within_limits(rig)


def test_set_points_on_their_way_count_when_it_is_finished() -> None:
    rig = StreamRig("scara", STREAMED["scara"])
    rig.put(0.0, rig.start)
    rig.order(Finish())
    for n in range(1, 11):
        rig.put(0.001 * n, rig.start + 0.0001 * min(n, 7))
    rig.until(lambda sample: sample["goal_status"] == 5, most_s=2.0)
    rig.run(0.05)
    assert rig.samples[-1]["reference"][rig.index] == pytest.approx(rig.start + 0.0007, abs=2e-5)


def test_a_first_set_point_far_away_has_no_effect() -> None:
    rig = StreamRig("scara", STREAMED["scara"])
    rig.put(0.0, rig.start + 0.01)
    rig.run(0.2)
    assert rig.samples[-1]["stream_state"] == StreamState.WAITING
    assert rig.samples[-1]["reference"][rig.index] == pytest.approx(rig.start, abs=1e-12)


def test_a_position_limit_is_approached_and_left_again() -> None:
    rig = StreamRig("scara", STREAMED["scara"])
    beyond = rig.start + np.array([0.0, 0.0, 0.0, 1.0])
    rig.put(0.0, rig.start)
    for n in range(1, 220):
        rig.put(n * INTERVAL_S, beyond)
        rig.run((TICKS - 1) * rig.period_s)
    lift = rig.machine.coordinates[3].position[1]
    assert lift - 1e-3 < rig.samples[-1]["reference"][3] <= lift + 1e-9
    assert rig.samples[-1]["stream_held_back"] == 1
    assert rig.samples[-1]["stream_held_index"] == 3
    for n in range(220, 300):
        rig.put(n * INTERVAL_S, rig.start)
        rig.run((TICKS - 1) * rig.period_s)
    assert rig.samples[-1]["reference"][3] < lift - 0.05
    within_limits(rig)


def test_the_motors_keep_effort_in_reserve_for_feedback() -> None:
    """Regression: shaken near a weak pose, the platform left its reference, and gravity took it away."""
    rig, rng = StreamRig("platform_3rrs", STREAMED["platform_3rrs"]), np.random.default_rng(2)
    weak, at, period = 1.05 * np.array([-0.7266, -0.1801, 0.2778]), rig.start, rig.period_s
    held_back: set[int] = set()
    for n in range(2300):
        at = rig.start + (weak - rig.start) * n / 1000 if n <= 1000 else at
        at = at + 0.002 * np.sign(rng.normal(size=3)) if n >= 1200 else at
        held_back.add(int(rig.put(n * period, at)["stream_held_back"]))
    assert HeldBack.EFFORT in held_back
    off = rig.series("reference") - rig.series("coordinate")
    assert np.abs(off).max() < 2e-3
    within_limits(rig)


def test_dependent_coordinates_are_refused() -> None:
    rig = InProcess(machine("five_bar"))
    rig.enable()
    order = StartStream(1, (0, 0), 2, 1, INTERVAL_S, DELAY_S)
    assert rig.order(order)["order_outcome"] == OrderOutcome.REFUSED_SINGULAR
    order = StartStream(1, (0, 1, 2), 3, 1, INTERVAL_S, DELAY_S)
    assert rig.order(order)["order_outcome"] == OrderOutcome.REFUSED_VALUE


@pytest.mark.parametrize("at_once", [True, False])
def test_a_stream_waits_at_a_pose_without_inertia_and_comes_back(at_once: bool) -> None:
    """First and third axis of the wrist are in line where the second one is at a right angle."""
    arm = machine("arm_6dof")
    rig = StreamRig("arm_6dof", arm.mechanism.joint_names)
    way = np.zeros(6)
    for number in range(150):
        way[4] = 2.0 if at_once and number else min(2.0, 0.02 * number)
        rig.put(INTERVAL_S * number, rig.start + way)
        rig.run((TICKS - 1) * rig.period_s)
    wrist = rig.series("reference")[:, 4]
    assert {HeldBack(int(sample["stream_held_back"])) for sample in rig.samples} >= {HeldBack.INERTIA}
    assert 1.2 < wrist.max() < np.pi / 2
    for sample in rig.samples[:: 10 * TICKS]:
        mass = mass_matrix(arm.mechanism, sample["q"])
        assert 1.0 / (np.diag(np.linalg.inv(mass)) * np.diag(mass)).max() > 1e-4
    for number in range(150, 230):
        rig.put(INTERVAL_S * number, rig.start)
        rig.run((TICKS - 1) * rig.period_s)
    assert rig.series("reference")[-1, 4] < 0.8 * wrist.max()
    assert not any(sample["fault"] for sample in rig.samples)


@pytest.mark.slow
def test_a_jog_waits_at_a_pose_without_inertia_and_comes_back() -> None:
    rig, ends = enabled(machine("arm_6dof")), []
    for speed in (1.0, -1.0):
        for _ in range(50):
            rig.order(JogCoordinates(((4, speed),)))
            rig.run(0.049)
        ends.append(float(rig.record["reference"][4]))
        assert not rig.record["fault"]
    assert 1.4 < ends[0] < np.pi / 2
    assert ends[1] < 0.5
