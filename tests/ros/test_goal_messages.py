"""Messages become goals, and results get ros2_control's codes, at a running controller; no ROS is needed."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork import Robot
from linkwork.client.goal import GoalFailed
from linkwork.launch.daemons import Rig
from linkwork.protocol.errors import RequestError
from linkwork.ros.diagnostic_values import ERROR, OK, STALE, diagnostics, no_answer
from linkwork.ros.goal_messages import (
    PREEMPTED,
    UNLIMITED,
    InvalidGoal,
    TrajectoryCode,
    TrajectoryOutcome,
    differences_of_speed,
    excess_of_speed,
    goal_of_action,
    goal_of_trajectory,
    outcome_of_refusal,
    outcome_of_result,
)
from tests.ros.messages import action_goal, point, tolerance, trajectory

NOW_S = 1000.0
AWAY = (point(1.0, [0.1]), point(2.0, [0.2]), point(3.0, [0.3]))


@pytest.fixture(scope="module")
def robot() -> Iterator[Robot]:
    arguments = ["five_bar", "--pace", "lockstep", "--realtime", "ignore"]
    with (
        tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made,
        Rig("five_bar", arguments, [*arguments, "--no-log"], Path(made)) as rig,
    ):
        rig.wait_ready(lambda _: None)
        with Robot(endpoint=rig.requests) as connected:
            connected.enable()
            yield connected


def ended(
    robot: Robot, request: SimpleNamespace, cancel: bool = False, replace: Any = None
) -> TrajectoryOutcome:
    """Send what an action goal asks for; return how it ends."""
    try:
        goal = robot.send(goal_of_action(request, NOW_S).trajectory, replace=True)
    except RequestError as error:
        return outcome_of_refusal(error)
    if cancel:
        goal.cancel()
    if replace is not None:
        robot.send(goal_of_action(replace, NOW_S).trajectory, replace=True).wait()
    try:
        return outcome_of_result(goal.wait())
    except GoalFailed as failed:
        return outcome_of_result(failed.result, cancel_requested=cancel)


def there(robot: Robot, *names: str) -> list[float]:
    state = robot.state
    return [(state["q"] | state["coordinates"])[name] for name in names]


@pytest.mark.parametrize("names", [("left", "right"), ("right", "left_elbow")])
def test_a_goal_names_motors_or_any_independent_coordinates(robot: Robot, names: tuple[str, str]) -> None:
    a, b = there(robot, *names)
    motion = trajectory(names, point(0.4, [a + 0.02, b]), point(0.8, [a, b]))
    outcome = ended(robot, action_goal(motion))
    assert (outcome.code, outcome.cancelled) == (TrajectoryCode.SUCCESSFUL, False)


def test_refusals_have_a_code_and_name_joint_value_and_limit(robot: Robot) -> None:
    left, right = there(robot, "left", "right")
    fast = ended(robot, action_goal(trajectory(["left", "right"], point(0.05, [left + 0.5, right]))))
    assert fast.code == TrajectoryCode.INVALID_GOAL
    assert re.match(r"INFEASIBLE: (left|right) would need \w+ [\d.]+ \S+.* is allowed", fast.text)
    unknown = ended(robot, action_goal(trajectory(["knee"], point(1.0, [0.0]))))
    assert unknown.code == TrajectoryCode.INVALID_JOINTS
    assert "'knee'" in unknown.text
    motion = trajectory(["left"], point(1.0, [left]))
    for wrong in (tolerance("right", 0.1), tolerance("right", velocity=0.1)):
        strange = ended(robot, action_goal(motion, path=[wrong]))
        assert strange.code == TrajectoryCode.INVALID_JOINTS
    no_number = ended(robot, action_goal(motion, path=[tolerance("left", float("nan"))]))
    assert no_number.code == TrajectoryCode.INVALID_GOAL
    assert "tolerances.left.path" in no_number.text


def test_a_violated_tolerance_is_named_with_joint_value_and_limit(robot: Robot) -> None:
    left, right = there(robot, "left", "right")
    motion = trajectory(["left", "right"], point(0.5, [left + 0.2, right]), point(1.0, [left, right]))
    outcome = ended(robot, action_goal(motion, path=[tolerance("left", 1e-9)]))
    assert outcome.code == TrajectoryCode.PATH_TOLERANCE_VIOLATED
    assert "left was" in outcome.text
    assert "1e-09 rad" in outcome.text
    left, right = there(robot, "left", "right")
    motion = trajectory(["left", "right"], point(1.0, [left + 0.2, right]))
    none = ended(robot, action_goal(motion, path=[tolerance("left", -1.0)], goal=[tolerance("left", -1.0)]))
    assert none.code == TrajectoryCode.SUCCESSFUL


def test_cancelled_stopped_and_replaced_goals(robot: Robot) -> None:
    left, right = there(robot, "left", "right")
    slow = action_goal(trajectory(["left", "right"], point(20.0, [left + 0.1, right])))
    cancelled = ended(robot, slow, cancel=True)
    assert (cancelled.code, cancelled.cancelled) == (TrajectoryCode.SUCCESSFUL, True)
    back = action_goal(trajectory(["left", "right"], point(1.0, [left, right])))
    replaced = ended(robot, slow, replace=back)
    assert replaced == TrajectoryOutcome(TrajectoryCode.INVALID_GOAL, PREEMPTED, cancelled=True)
    goal = robot.send(goal_of_action(slow, NOW_S).trajectory)
    robot.stop()
    with pytest.raises(GoalFailed) as failed:
        goal.wait()
    stopped = outcome_of_result(failed.value.result)
    assert (stopped.code, stopped.cancelled) == (TrajectoryCode.INVALID_GOAL, False)
    assert stopped.text.startswith("CANCELLED: ")


def test_a_machine_that_is_not_enabled_refuses_with_what_to_do(robot: Robot) -> None:
    robot.disable()
    outcome = ended(robot, action_goal(trajectory(["left", "right"], point(1.0, [2.0, 1.0]))))
    assert outcome.code == TrajectoryCode.INVALID_GOAL
    assert "enable it first" in outcome.text
    robot.enable()


def test_state_and_status_as_diagnostics(robot: Robot) -> None:
    found = {each.name: each for each in diagnostics(robot.state, robot.status)}
    assert {name: each.level for name, each in found.items()} == {"controller": OK, "plant": OK}
    assert found["controller"].values["state"] == "active"
    robot.estop()
    (controller, _) = diagnostics(robot.state, robot.status)
    assert (controller.level, controller.message) == (ERROR, "estop")
    robot.reset()
    robot.enable()
    (gone,) = no_answer("no answer from there")
    assert (gone.level, gone.message) == (STALE, "no answer from there")


def test_drives_that_report_a_fault_are_errors_of_their_motor(robot: Robot) -> None:
    state = robot.state
    state["device"] |= {
        "motors": {"left": {"status": 3, "fault": 4, "mode": 0}},
        "temperature": {"left": 81.5},
    }
    *_, motor = diagnostics(state, robot.status)
    assert (motor.name, motor.level, motor.message) == ("motor left", ERROR, "OVER_TEMPERATURE")
    assert motor.values["temperature (°C)"] == 81.5


def test_times_count_from_the_stamp() -> None:
    at_once = goal_of_trajectory(trajectory(["z"], *AWAY), NOW_S)
    assert at_once.starts_in_s == 0.0
    assert [each["time_from_start_s"] for each in at_once.trajectory["points"]] == [1.0, 2.0, 3.0]
    later = goal_of_trajectory(trajectory(["z"], *AWAY, stamp_s=NOW_S + 5.0), NOW_S)
    assert later.starts_in_s == pytest.approx(5.0)
    begun = goal_of_trajectory(trajectory(["z"], *AWAY, stamp_s=NOW_S - 1.5), NOW_S)
    times = [each["time_from_start_s"] for each in begun.trajectory["points"]]
    assert times == pytest.approx([0.5, 1.5])
    assert begun.starts_in_s == 0.0
    with pytest.raises(InvalidGoal, match=r"ended 7\.000 s ago") as late:
        goal_of_trajectory(trajectory(["z"], *AWAY, stamp_s=NOW_S - 10.0), NOW_S)
    assert late.value.outcome.code == TrajectoryCode.OLD_HEADER_TIMESTAMP


@given(
    late_s=st.floats(0.0, 4.0),
    times=st.lists(st.floats(0.001, 4.0), min_size=1, max_size=6, unique=True).map(sorted),
)
def test_what_is_left_of_a_late_trajectory_keeps_its_moments(late_s: float, times: list[float]) -> None:
    stamp_s = NOW_S - late_s
    message = trajectory(["z"], *(point(each, [each]) for each in times), stamp_s=stamp_s)
    try:
        goal = goal_of_trajectory(message, NOW_S)
    except InvalidGoal:
        goal = None
    if goal is None:
        assert times[-1] <= late_s + 1e-6
        return
    for each in goal.trajectory["points"]:
        assert each["time_from_start_s"] > 0.0
        assert NOW_S + each["time_from_start_s"] == pytest.approx(stamp_s + each["positions"][0], abs=1e-6)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (trajectory(["a"]), "no points"),
        (
            trajectory(["a", "b"], point(1.0, [0.0])),
            r"points\[0\].positions has 1 numbers for 2 joints \(a, b\)",
        ),
        (trajectory(["a"], point(1.0, [0.0], effort=[1.0])), r"points\[0\].effort"),
    ],
)
def test_messages_without_a_meaning_are_refused(message: SimpleNamespace, text: str) -> None:
    with pytest.raises(InvalidGoal, match=text) as refused:
        goal_of_trajectory(message, NOW_S)
    assert refused.value.outcome.code == TrajectoryCode.INVALID_GOAL


def test_tolerances_of_zero_are_the_machine_s_and_negative_ones_none() -> None:
    request = action_goal(
        trajectory(["a", "b"], point(1.0, [0.0, 0.0])),
        path=[tolerance("a", 0.1), tolerance("b", -1.0, velocity=0.5)],
        goal=[tolerance("a"), tolerance("b", 0.01, velocity=-1.0)],
        goal_time_s=0.5,
    )
    goal = goal_of_action(request, NOW_S)
    assert goal.trajectory["tolerances"] == {"a": {"path": 0.1}, "b": {"path": UNLIMITED, "goal": 0.01}}
    assert goal.trajectory["goal_time_s"] == 0.5
    assert goal.path_speeds == {"b": 0.5}
    assert goal.goal_speeds == {}


def test_velocities_beyond_their_tolerance_are_named() -> None:
    sample = {"v": {"a": 1.0, "b": 2.0}, "reference_velocity": {"a": 1.2, "b": float("nan"), "x": 3.0}}
    differences = differences_of_speed(sample)
    assert differences == {"a": pytest.approx(0.2)}
    assert excess_of_speed({"a": 0.3}, differences, "differs") == ""
    assert excess_of_speed({"a": 0.1}, differences, "differs").startswith("a: the velocity differs by 0.2,")
