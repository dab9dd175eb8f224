"""Goals in a moving frame: a tool that meets a running belt, moves with it, and leaves it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.controller.exchange.goal_block import GoalBlock
from linkwork.controller.exchange.orders import OrderOutcome, Pause, Stop
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import Plan, judge, plan
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import Machine
from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.recordings.recording import read_recording
from linkwork.recordings.replay import replay
from tests.belt_machine import belt_machine
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.in_process import InProcess, Sample
from tests.recordings.recorded import InProcessRecorder

X, Y = 4, 5
MEETS_S, LEAVES_S, ENDS_S = 0.8, 1.2, 2.0
"""The goal is wholly in the frame from the first to the second; then it moves back."""


def points(part: float, last: str | None = None) -> list[dict[str, Any]]:
    """To a part on the belt (its x, m, in the frame), with it for a while, and back."""
    rest = {"velocities": [0.0, 0.0], "accelerations": [0.0, 0.0]}
    return [
        {"time_from_start_s": MEETS_S, "positions": [part, 0.33], **rest, "in": "belt"},
        {"time_from_start_s": LEAVES_S, "positions": [part, 0.33], **rest, "in": "belt"},
        {"time_from_start_s": ENDS_S, "positions": [0.0, 0.32], **rest, **({"in": last} if last else {})},
    ]


def start_of(rig: InProcess) -> Start:
    """The start of a goal, as the gateway tells the planner."""
    now, names = rig.supervisor.executor.now, rig.machine.mechanism.coordinate_names
    held = {names[i]: float(x) for i, x in zip(now.index, now.theta, strict=True)}
    start = Start.at_pose(rig.machine, rig.controller._now.q, None, held)
    object.__setattr__(start, "inputs", tuple(rig.inputs.input.tolist()))
    return start


def planned(rig: InProcess, given: list[dict[str, Any]], **more: Any) -> Plan:
    """A goal in x and y."""
    trajectory = {"coordinates": ["x", "y"], "points": given, **more}
    return plan("send", {"trajectory": trajectory}, rig.machine, start_of(rig))


def enabled(machine: Machine, seconds: float = 0.3) -> InProcess:
    """The machine holds, and has seen the belt for a while."""
    rig = InProcess(machine)
    rig.enable()
    rig.run(seconds)
    return rig


def belt(rig: InProcess) -> float:
    """Displacement of the belt, m."""
    return float(rig.inputs.input[0])


def within(samples: list[Sample], part: float) -> np.ndarray:
    """Distance of tool and part along the belt while the goal is in the frame (n; m)."""
    there = [each for each in samples if MEETS_S + 0.01 <= each["path_s"] <= LEAVES_S - 0.01]
    return np.array([float(each["coordinate"][X]) - part - float(each["input"][0]) for each in there])


def test_the_tool_moves_with_a_part_on_the_belt_and_the_reference_is_smooth(tmp_path: Path) -> None:
    rig = enabled(belt_machine(tmp_path))
    part = -0.1 - belt(rig)  # in the frame: 0.1 m before the middle of the machine
    made = planned(rig, points(part))
    assert made.report["frame"]["name"] == "belt"
    assert rig.start_goal(made.words)["order_outcome"] == OrderOutcome.DONE
    samples = rig.until(lambda sample: sample["goal_status"] == GoalStatus.SUCCEEDED, most_s=3.0)
    assert np.abs(within(samples, part)).max() < 2e-5
    velocity = np.array([sample["reference_velocity"][[X, Y]] for sample in samples[:-1]])
    acceleration = np.diff(velocity, axis=0) / rig.period_s
    limits = rig.machine.coordinates[X]
    assert np.abs(velocity).max() < limits.velocity
    assert np.abs(acceleration).max() < limits.acceleration
    assert np.abs(np.diff(acceleration, axis=0)).max() / rig.period_s < 1.02 * limits.jerk
    reference = np.array([sample["reference"][[X, Y]] for sample in samples[:-1]])
    np.testing.assert_allclose(np.diff(reference, axis=0), velocity[1:] * rig.period_s, atol=1e-5)
    assert samples[-1]["coordinate"][X] == pytest.approx(0.0 + 0.0, abs=1e-3)


def test_a_belt_that_changes_its_speed_and_a_noisy_encoder_are_followed(tmp_path: Path) -> None:
    machine = belt_machine(tmp_path, "0.1*time_s - 0.02*cos(2.0*time_s)/2.0", noise=5e-5)
    rig = enabled(machine)
    part = -0.1 - belt(rig)
    rig.start_goal(planned(rig, points(part)).words)
    samples = rig.until(lambda sample: sample["goal_status"] == GoalStatus.SUCCEEDED, most_s=3.0)
    off = within(samples, part)
    assert np.sqrt(np.mean(off**2)) < 1e-4


def test_the_goal_ends_and_comes_to_rest_when_the_belt_is_too_fast(tmp_path: Path) -> None:
    rig = enabled(belt_machine(tmp_path, "0.1*time_s + 0.2*max(time_s - 1.4, 0)"))
    rig.start_goal(planned(rig, points(-0.1 - belt(rig))).words)
    samples = rig.until(lambda sample: sample["goal_status"] == GoalStatus.ENDED, most_s=3.0)
    last = samples[-1]
    assert last["goal_code"] == ResultCode.FRAME_LEFT
    assert last["goal_value"] > last["goal_limit"] == 0.15
    assert last["state"] in (State.ACTIVE, State.STOPPING)
    velocity = np.array([sample["reference_velocity"][X] for sample in samples[:-1]])
    assert np.abs(np.diff(velocity)).max() / rig.period_s < rig.machine.coordinates[X].acceleration
    rest = rig.run(0.25)[-1]
    assert np.abs(rest["v"]).max() < 1e-3


def test_a_paused_goal_rides_along_until_the_window_ends(tmp_path: Path) -> None:
    rig = enabled(belt_machine(tmp_path))
    rig.start_goal(planned(rig, points(-0.1 - belt(rig))).words)
    rig.until(lambda sample: sample["path_s"] > 1.0, most_s=2.0)
    rig.order(Pause())
    riding = rig.run(0.5)[-1]
    assert riding["reference_velocity"][X] == pytest.approx(0.1, abs=1e-3)
    last = rig.until(lambda sample: sample["goal_status"] == GoalStatus.ENDED, most_s=3.0)[-1]
    assert last["goal_code"] == ResultCode.FRAME_LEFT
    assert last["goal_limit"] == 0.12


def test_a_stop_in_the_frame_comes_to_rest(tmp_path: Path) -> None:
    rig = enabled(belt_machine(tmp_path))
    rig.start_goal(planned(rig, points(-0.1 - belt(rig))).words)
    rig.until(lambda sample: sample["path_s"] > 1.0, most_s=2.0)
    rig.order(Stop())
    stopping = rig.until(lambda sample: sample["goal_status"] == GoalStatus.ENDED, most_s=1.0)
    assert len(stopping) * rig.period_s > 0.1
    rest = rig.run(0.25)[-1]
    assert rest["goal_code"] == ResultCode.CANCELLED
    assert np.abs(rest["v"]).max() < 1e-3


def test_a_goal_that_begins_too_late_is_refused(tmp_path: Path) -> None:
    rig = enabled(belt_machine(tmp_path))
    made = planned(rig, points(-0.1 - belt(rig)))
    rig.run(0.5)
    assert rig.start_goal(made.words)["order_outcome"] == OrderOutcome.REFUSED_FRAME


def test_what_cannot_be_followed_is_refused_with_the_field(tmp_path: Path) -> None:
    rig = enabled(belt_machine(tmp_path))

    def refused(given: list[dict[str, Any]], **more: Any) -> RequestError:
        with pytest.raises(RequestError) as found:
            planned(rig, given, **more)
        return found.value

    part = -0.1 - belt(rig)
    unknown = points(part)
    unknown[0]["in"] = unknown[1]["in"] = "chain"
    error = refused(unknown)
    assert (error.code, tuple(error.path)[-3:]) == (ResultCode.INVALID_GOAL, ("points", 0, "in"))
    assert "belt" in error.message
    assert "ends at rest" in refused(points(part, "belt")).message
    error = refused(points(part), coordinates=["left", "right"])
    assert error.code == ResultCode.INVALID_COORDINATES
    assert "x" in error.message
    error = refused(points(part + 0.15))
    assert (error.code, error.data["quantity"]) == (ResultCode.INFEASIBLE, "frame window")
    hasty = [{**point, "time_from_start_s": 0.25 * point["time_from_start_s"]} for point in points(part)]
    error = refused(hasty)
    assert error.code == ResultCode.INFEASIBLE
    assert "frame_motion" in error.data
    trajectory = {"trajectory": {"coordinates": ["x", "y"], "points": hasty}}
    assert not judge(trajectory, rig.machine, start_of(rig))["feasible"]
    trajectory["trajectory"]["points"] = points(part)
    assert judge(trajectory, rig.machine, start_of(rig))["feasible"]


def test_a_run_in_a_frame_is_replayed_to_the_last_bit(tmp_path: Path) -> None:
    machine = belt_machine(tmp_path, noise=5e-5)
    run = InProcessRecorder(machine, tmp_path / "log")
    run.enable()
    run.run(0.3)
    made = planned(run, points(-0.1 - belt(run)))
    assert GoalBlock(made.words).frame is not None
    run.start_goal(made.words)
    run.run(2.3)
    recording = read_recording(run.close())
    assert recording.table["goal_status"][-1] == GoalStatus.SUCCEEDED
    found = replay(recording, machine)
    assert (found.ticks, found.difference) == (len(recording.table), None)


def test_a_goal_states_the_motion_of_the_frame_for_which_it_is_admitted(tmp_path: Path) -> None:
    rig = enabled(belt_machine(tmp_path))
    near = points(-belt(rig))  # at 0.15 m/s it would leave the window
    with pytest.raises(RequestError) as refused:
        planned(rig, near)
    assert refused.value.data["quantity"] == "frame window"
    narrow = {"speed_m_s": [0.09, 0.11], "begin_within_s": 0.0}
    with pytest.raises(RequestError) as refused:
        planned(rig, near, frame=narrow)
    assert refused.value.data["frame_motion"].startswith("at 0.11 m/s")
    near = points(-0.02 - belt(rig))
    with pytest.raises(RequestError, match="late begin"):
        planned(rig, near, frame={**narrow, "begin_within_s": 0.25})
    made = planned(rig, near, frame=narrow)
    part = GoalBlock(made.words).frame
    assert part is not None
    assert (part.speed, part.window, part.begins_s) == ((0.09, 0.11), (-0.1, 0.12), (0.0, 0.0))
    rig.run(0.05)
    assert rig.start_goal(made.words)["order_outcome"] == OrderOutcome.REFUSED_FRAME, "it began too late"
    rig.start_goal(planned(rig, points(-0.02 - belt(rig)), frame=narrow).words)
    last = rig.until(lambda sample: sample["goal_status"] in (GoalStatus.SUCCEEDED, GoalStatus.ENDED))[-1]
    assert last["goal_code"] == ResultCode.SUCCESSFUL


def test_the_goal_ends_where_the_frame_leaves_the_stated_range(tmp_path: Path) -> None:
    rig = enabled(belt_machine(tmp_path, motion="0.1*time_s + 0.02*max(time_s - 1.2, 0)"))
    made = planned(rig, points(-0.05 - belt(rig)), frame={"speed_m_s": [0.09, 0.11]})
    rig.start_goal(made.words)
    last = rig.until(lambda sample: sample["goal_status"] in (GoalStatus.SUCCEEDED, GoalStatus.ENDED))[-1]
    assert (last["goal_code"], last["goal_limit"]) == (ResultCode.FRAME_LEFT, 0.11)


@pytest.mark.parametrize(
    ("frame", "where"),
    [
        ({"speed_m_s": [0.01, 0.1]}, ("frame", "speed_m_s")),
        ({"speed_m_s": [0.1, 0.1]}, ("frame", "speed_m_s")),
        ({"window_m": [-0.05, 0.2]}, ("frame", "window_m")),
        ({"begin_within_s": 0.3}, ("frame", "begin_within_s")),
    ],
)
def test_a_range_outside_that_of_the_machine_is_refused(
    tmp_path: Path, frame: dict[str, Any], where: tuple[str, str]
) -> None:
    rig = enabled(belt_machine(tmp_path), 0.0)
    with pytest.raises(RequestError) as refused:
        planned(rig, points(-0.1 - belt(rig)), frame=frame)
    assert tuple(refused.value.path)[-2:] == where
    without = [{key: value for key, value in point.items() if key != "in"} for point in points(0.0)]
    with pytest.raises(RequestError, match="no way-point is in a moving frame"):
        planned(rig, without, frame={})


def test_events_are_set_at_places_of_a_path_in_a_frame(tmp_path: Path) -> None:
    rig = enabled(belt_machine(tmp_path))
    given = points(-0.1 - belt(rig))
    events = [{"at": {"point": 0}, "set": {"lamp": True}}, {"at": {"time_s": 1.0}, "set": {"lamp": False}}]
    made = planned(rig, given, events=events, capture={"begun": {"input": "passed"}})
    assert [each["time_s"] for each in made.report["events"]] == [MEETS_S, 1.0]
    rig.start_goal(made.words)
    samples = rig.until(lambda sample: sample["goal_status"] == GoalStatus.SUCCEEDED)
    lit = [float(each["path_s"]) for each in samples if each["output"][0] > 0.5]
    assert (lit[0], lit[-1]) == (pytest.approx(MEETS_S, abs=1e-3), pytest.approx(1.0, abs=2e-3))
    for more, at in (
        ({"events": [{"at": {"path_m": 0.1, "of": "tool"}, "set": {"lamp": True}}]}, "path_m"),
        ({"follow": {"flow": {"speed_of": "tool", "per_m_s": 1.0}}}, "flow"),
        ({"capture": {"begun": {"input": "passed", "of": "tool"}}}, "of"),
    ):
        with pytest.raises(RequestError, match="depends on the motion of the frame") as refused:
            planned(rig, points(-0.1 - belt(rig)), **more)
        assert refused.value.path[-1] == at


@pytest.mark.parametrize("method", ["append", "send"])
def test_a_goal_in_a_frame_follows_or_replaces_another_one(tmp_path: Path, method: str) -> None:
    """Appended at its end, or from its path in motion; the reference stays smooth."""
    rig = enabled(belt_machine(tmp_path))
    chain = Planned(rig)
    chain.order(chain.plan("move", target={"x": -0.06, "y": 0.31}))
    rig.run(0.1)
    goal = rig.supervisor.executor.goal
    assert goal is not None
    left_s = goal.block.duration_s - 0.1 if method == "append" else 0.05
    part = -0.1 - belt(rig) - 0.1 * left_s
    given = {"coordinates": ["x", "y"], "points": points(part), "frame": {"speed_m_s": [0.09, 0.11]}}
    chain.order(chain.plan(method, 0.05, trajectory=given))
    samples = rig.until(lambda sample: sample["goal_id"] == 2, most_s=3.0)
    samples += rig.until(lambda sample: sample["goal_status"] == GoalStatus.SUCCEEDED, most_s=3.0)
    assert samples[-1]["replaced_code"] == (
        ResultCode.SUCCESSFUL if method == "append" else ResultCode.REPLACED
    )
    off = within([each for each in samples if each["goal_id"] == 2], part)
    assert len(off) > 300
    assert np.abs(off).max() < 2e-5
    velocity = np.array([sample["reference_velocity"][[X, Y]] for sample in samples[:-1]])
    limits = rig.machine.coordinates[X]
    assert np.abs(np.diff(velocity, axis=0)).max() / rig.period_s < 1.001 * limits.acceleration
    assert np.abs(np.diff(velocity, 2, axis=0)).max() / rig.period_s**2 < 1.02 * limits.jerk


def test_goals_follow_a_goal_in_a_frame_at_its_end(tmp_path: Path) -> None:
    """In the world, and in the frame again; what would take over in motion is refused."""
    rig = enabled(belt_machine(tmp_path))
    chain = Planned(rig)
    chain.order(planned(rig, points(-0.1 - belt(rig))))
    rig.run(0.9)
    back = {"coordinates": ["x", "y"], "points": points(0.0)[2:]}
    with pytest.raises(RequestError, match="append behind it") as refused:
        chain.plan("send", 0.05, trajectory=back)
    assert refused.value.code == RequestCode.BUSY
    part = -0.1 - belt(rig) - 0.1 * (ENDS_S - 0.9)
    again = {
        "coordinates": ["x", "y"], "points": points(part), "frame": {"speed_m_s": [0.09, 0.11]},
    }  # fmt: skip
    chain.order(chain.plan("append", 0.05, trajectory=again))
    with pytest.raises(RequestError, match="a goal that waits") as refused:
        chain.plan("append", 0.05, trajectory=again)
    assert refused.value.path[-1] == "in"
    chain.order(chain.plan("append", 0.05, trajectory=back))
    samples = rig.until(lambda sample: sample["goal_id"] == 3, most_s=5.0)
    samples += rig.until(lambda sample: sample["goal_status"] == GoalStatus.SUCCEEDED, most_s=3.0)
    off = within([each for each in samples if each["goal_id"] == 2], part)
    assert len(off) > 300
    assert np.abs(off).max() < 2e-5
    assert samples[-1]["fault"] == 0
