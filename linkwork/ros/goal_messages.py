"""Messages of ROS as goals of linkwork, and results of goals with the codes of ros2_control.

The functions read messages by the names of their fields and import no ROS.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.results import GoalResult

UNLIMITED: Final = 1e6
"""Tolerance (rad or m) in place of a negative one, with which a message asks for none."""
PREEMPTED: Final = "Current goal cancelled due to new incoming action."
"""ros2_control's words for a goal that another one has replaced."""


class TrajectoryCode(IntEnum):
    """`error_code` of control_msgs/action/FollowJointTrajectory."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


@dataclass(frozen=True)
class TrajectoryOutcome:
    """End of a trajectory: code, text, and whether it was cancelled, by a request or by a newer one."""

    code: TrajectoryCode
    text: str
    cancelled: bool = False


class InvalidGoal(ValueError):
    """A message that cannot be a goal, with the code that the answer has."""

    def __init__(self, text: str, code: TrajectoryCode = TrajectoryCode.INVALID_GOAL) -> None:
        super().__init__(text)
        self.outcome = TrajectoryOutcome(code, f"{code.name}: {text}")


@dataclass(frozen=True)
class TrajectoryGoal:
    """A message as a goal. starts_in_s: time from now to its beginning; 0: at once.

    path_speeds, goal_speeds: largest differences (per s) of the velocity by joint, under way and at the end.
    """

    trajectory: dict[str, Any]
    starts_in_s: float = 0.0
    path_speeds: Mapping[str, float] = field(default_factory=dict)
    goal_speeds: Mapping[str, float] = field(default_factory=dict)


def seconds(message: Any) -> float:
    """Return a Time or Duration in s."""
    return float(message.sec + 1e-9 * message.nanosec)


def goal_of_trajectory(message: Any, now_s: float) -> TrajectoryGoal:
    """Return the goal that a trajectory_msgs/JointTrajectory asks for. Raises InvalidGoal.

    Its times count from its stamp, as in ros2_control: points in the past are left out, and a stamp of 0 is
    now. The controller checks the rest: names, lengths, times and limits.
    """
    stamp_s = seconds(message.header.stamp)
    late_s = now_s - stamp_s if stamp_s else 0.0
    points = [_waypoint(number, point, message.joint_names) for number, point in enumerate(message.points)]
    if not points:
        raise InvalidGoal("the trajectory has no points")
    past_s = max(0.0, late_s)
    if past_s and past_s >= points[-1]["time_from_start_s"]:
        raise InvalidGoal(
            f"the trajectory ended {past_s - points[-1]['time_from_start_s']:.3f} s ago: its stamp is "
            f"{stamp_s:.3f} s, and it is {now_s:.3f} s; a stamp of 0 means now",
            TrajectoryCode.OLD_HEADER_TIMESTAMP,
        )
    if past_s:
        points = [
            point | {"time_from_start_s": point["time_from_start_s"] - past_s}
            for point in points
            if point["time_from_start_s"] > past_s
        ]
    trajectory = {"coordinates": list(message.joint_names), "points": points}
    return TrajectoryGoal(trajectory, starts_in_s=max(0.0, -late_s))


def goal_of_action(request: Any, now_s: float) -> TrajectoryGoal:
    """Return the goal that a FollowJointTrajectory goal asks for. Raises InvalidGoal."""
    goal = goal_of_trajectory(request.trajectory, now_s)
    if request.multi_dof_trajectory.points or getattr(request, "component_path_tolerance", ()):
        raise InvalidGoal("multi_dof_trajectory is not supported; name joints or coordinates")
    tolerances: dict[str, dict[str, float]] = {}
    speeds: dict[str, dict[str, float]] = {"path": {}, "goal": {}}
    for kind, listed in (("path", request.path_tolerance), ("goal", request.goal_tolerance)):
        for each in listed:
            own = tolerances.setdefault(each.name, {})
            if each.position:
                own[kind] = UNLIMITED if each.position < 0.0 else float(each.position)
            if each.velocity > 0.0:
                speeds[kind][each.name] = each.velocity
    goal_time_s = seconds(request.goal_time_tolerance)
    trajectory = goal.trajectory | {"tolerances": tolerances}
    trajectory |= {"goal_time_s": goal_time_s} if goal_time_s > 0.0 else {}
    return TrajectoryGoal(trajectory, goal.starts_in_s, speeds["path"], speeds["goal"])


def _waypoint(number: int, point: Any, names: Sequence[str]) -> dict[str, Any]:
    if len(point.effort):
        raise InvalidGoal(f"points[{number}].effort is not supported; leave it empty")
    if len(point.positions) != len(names):
        raise InvalidGoal(
            f"points[{number}].positions has {len(point.positions)} numbers for {len(names)} joints "
            f"({', '.join(names)})"
        )
    rates = {"velocities": point.velocities, "accelerations": point.accelerations}
    given = {key: [float(each) for each in values] for key, values in rates.items() if len(values)}
    return {
        "time_from_start_s": seconds(point.time_from_start),
        "positions": [float(each) for each in point.positions],
        **given,
    }


_OF_REFUSALS: Final = {
    ResultCode.INVALID_COORDINATES: TrajectoryCode.INVALID_JOINTS,
    ResultCode.OLD_TIMESTAMP: TrajectoryCode.OLD_HEADER_TIMESTAMP,
}
_OF_RESULTS: Final = {
    ResultCode.PATH_TOLERANCE_VIOLATED: TrajectoryCode.PATH_TOLERANCE_VIOLATED,
    ResultCode.GOAL_TOLERANCE_VIOLATED: TrajectoryCode.GOAL_TOLERANCE_VIOLATED,
}


def outcome_of_refusal(error: RequestError) -> TrajectoryOutcome:
    """Return the outcome of a goal that the controller refused; the text names the refusal's code."""
    code = _OF_REFUSALS.get(error.code, TrajectoryCode.INVALID_GOAL)  # type: ignore[call-overload]
    return TrajectoryOutcome(code, f"{error.name}: {error.message}")


def outcome_of_result(result: GoalResult, *, cancel_requested: bool = False) -> TrajectoryOutcome:
    """Return the outcome of a goal that has ended; the text names joint, value and limit of a violation.

    cancel_requested: by the client of this goal; a goal that another client stops is not cancelled for ROS.

    FollowJointTrajectory has no code for a goal that ended by a fault, a lost lease or a stop: it is
    INVALID_GOAL, as when ros2_control deactivates a controller, and the text says what happened.
    """
    code, text = result["code"], f"{result['name']}: {result['text']}"
    if code == ResultCode.SUCCESSFUL:
        return TrajectoryOutcome(TrajectoryCode.SUCCESSFUL, text)
    if code == ResultCode.REPLACED:
        return TrajectoryOutcome(TrajectoryCode.INVALID_GOAL, PREEMPTED, cancelled=True)
    if code == ResultCode.CANCELLED and cancel_requested:
        return TrajectoryOutcome(TrajectoryCode.SUCCESSFUL, text, cancelled=True)
    named = _OF_RESULTS.get(code, TrajectoryCode.INVALID_GOAL)  # type: ignore[call-overload]
    return TrajectoryOutcome(named, text)


def excess_of_speed(limits: Mapping[str, float], differences: Mapping[str, float], words: str) -> str:
    """Return which joint's velocity differs from its reference by more than its tolerance; '' for none."""
    for name, limit in limits.items():
        value = abs(differences.get(name, 0.0))
        if value > limit:
            return f"{name}: the velocity {words} by {value:.6g}, more than its tolerance {limit:.6g} (per s)"
    return ""


def differences_of_speed(sample: Mapping[str, Any]) -> dict[str, float]:
    """Return by joint the reference's velocity minus the joint's, of a sample of telemetry."""
    reference: Mapping[str, float] = sample.get("reference_velocity", {})
    measured: Mapping[str, float] = sample["v"]
    pairs = ((name, reference.get(name, math.nan), value) for name, value in measured.items())
    return {name: wanted - value for name, wanted, value in pairs if math.isfinite(wanted)}
