"""Trajectories from ROS, with the names and the behaviour of ros2_control's joint_trajectory_controller."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import numpy as np
from rclpy.action.server import GoalEvent
from rclpy.qos import DurabilityPolicy, QoSProfile

from linkwork.client.goal import Goal, GoalFailed
from linkwork.client.robot import Robot
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import EndpointError, NobodyThere, ProtocolError, RequestError
from linkwork.ros.goal_messages import (
    InvalidGoal,
    TrajectoryCode,
    TrajectoryGoal,
    TrajectoryOutcome,
    differences_of_speed,
    excess_of_speed,
    goal_of_action,
    goal_of_trajectory,
    outcome_of_refusal,
    outcome_of_result,
)
from linkwork.ros.interfaces import NEWEST, Interfaces, message_class

UNREACHED: Final = (NobodyThere, EndpointError, ProtocolError)
_MONITOR_S: Final = 0.05
"""Between two looks at a goal, with feedback: ros2_control's action_monitor_rate of 20 Hz."""
_REPORT_S: Final = 0.2
_TRIES: Final = 3
_SCALING: Final = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class TrajectoryInterface:
    """The action `follow_joint_trajectory`, the topic `joint_trajectory` and speed scaling.

    A goal takes the lease of the controller while it moves the machine; a newer goal replaces it without a
    stop.
    """

    def __init__(self, node: Any, robot: Robot, interfaces: Interfaces, name: str, period_s: float) -> None:
        self._node, self._robot, self._period_s = node, robot, period_s
        self._admission = threading.Lock()
        self._factor = 1.0
        self._active: Goal | None = None
        self._of_topic: Goal | None = None
        self._executing = 0
        self._sample: Mapping[str, Any] | None = None
        self._limits: Mapping[str, float] = {}
        """Tolerances of the active goal's velocities under way."""
        self._excess = ""
        kind = "control_msgs/action/FollowJointTrajectory"
        self._action = message_class(kind)
        self._point = message_class("trajectory_msgs/msg/JointTrajectoryPoint")
        interfaces.action(kind, f"{name}/follow_joint_trajectory", self._execute)
        topic = "trajectory_msgs/msg/JointTrajectory"
        interfaces.subscription(topic, f"{name}/joint_trajectory", self._take_message, NEWEST)
        scaling = "control_msgs/msg/SpeedScalingFactor"
        interfaces.subscription(
            scaling, f"{name}/speed_scaling_input", lambda each: self._scale(each.factor), _SCALING
        )
        interfaces.subscription(
            "std_msgs/msg/Float64", "~/speed_scaling", lambda each: self._scale(each.data), NEWEST
        )
        node.create_timer(_REPORT_S, self._report_topic)

    def observe(self, sample: Mapping[str, Any]) -> None:
        """Take a sample of telemetry: for feedback, and tolerances of velocities."""
        self._sample = sample
        if self._limits and not self._excess:
            differences = differences_of_speed(sample)
            self._excess = excess_of_speed(self._limits, differences, "differs from its reference")

    @property
    def moving(self) -> bool:
        """Whether a goal of this node has not ended, or its answer is not given yet."""
        goal = self._active
        return self._executing > 0 or (goal is not None and goal.result is None)

    def end(self) -> None:
        """Cancel the goal under way, if it is one of this node."""
        goal = self._active
        with suppress(RequestError, *UNREACHED):
            if goal is not None and goal.result is None:
                goal.cancel()

    def _now_s(self) -> float:
        return float(1e-9 * self._node.get_clock().now().nanoseconds)

    # The topic.

    def _take_message(self, message: Any) -> None:
        outcome = self._accepted(lambda: goal_of_trajectory(message, self._now_s()))
        if isinstance(outcome, TrajectoryOutcome):
            self._node.get_logger().error(f"joint_trajectory: {outcome.text}")
        else:
            self._of_topic = outcome[0]

    def _report_topic(self) -> None:
        """Log the end of a trajectory that came by the topic, which has no other answer."""
        goal = self._of_topic
        if goal is not None and goal.result is not None:
            self._of_topic = None
            outcome = outcome_of_result(goal.result)
            if outcome.code != TrajectoryCode.SUCCESSFUL and not outcome.cancelled:
                self._node.get_logger().error(f"joint_trajectory: {outcome.text}")

    # Acceptance, for both.

    def _accepted(
        self, read: Callable[[], TrajectoryGoal]
    ) -> tuple[Goal, TrajectoryGoal] | TrajectoryOutcome:
        """Hand a goal to the controller; return it, or why it was refused. Goals come in their order."""
        with self._admission:
            try:
                asked = read()
                goal = self._sent(asked)
                self._active = goal
                self._limits, self._excess = asked.path_speeds, ""
            except InvalidGoal as invalid:
                return invalid.outcome
            except RequestError as error:
                return outcome_of_refusal(error)
            except UNREACHED as error:
                return TrajectoryOutcome(TrajectoryCode.INVALID_GOAL, str(error))
            if self._factor != 1.0:
                self._scale(self._factor)
        return goal, asked

    def _sent(self, asked: TrajectoryGoal) -> Goal:
        """Send a goal, in place of the one under way; again where that one has begun only meanwhile."""
        for left in reversed(range(_TRIES)):
            try:
                return self._robot.send(asked.trajectory, at_tick=self._tick_of(asked), replace=True)
            except RequestError as error:
                begun = self._active is not None and self._active.result is None
                if error.code != ResultCode.INVALID_GOAL or not begun or not left:
                    raise
        raise AssertionError

    def _tick_of(self, asked: TrajectoryGoal) -> int | None:
        if asked.starts_in_s <= 0.0:
            return None
        return int(self._robot.state["tick"] + round(asked.starts_in_s / self._period_s))

    # The action.

    def _execute(self, handle: Any) -> Any:
        self._executing += 1
        try:
            return self._answered(handle, self._followed(handle))
        finally:
            self._executing -= 1

    def _answered(self, handle: Any, outcome: TrajectoryOutcome) -> Any:
        """End a goal of the action; return its result."""
        if outcome.cancelled:
            if not handle.is_cancel_requested:  # as ros2_control ends a goal that another one replaces
                handle._update_state(GoalEvent.CANCEL_GOAL)
            handle.canceled()
        elif outcome.code == TrajectoryCode.SUCCESSFUL:
            handle.succeed()
        else:
            self._node.get_logger().error(f"follow_joint_trajectory: {outcome.text}")
            handle.abort()
        assert self._action is not None
        return self._action.Result(error_code=int(outcome.code), error_string=outcome.text)

    def _followed(self, handle: Any) -> TrajectoryOutcome:
        """Follow a goal of the action to its end."""
        if handle.is_cancel_requested:
            return TrajectoryOutcome(TrajectoryCode.SUCCESSFUL, "CANCELLED: before it began", cancelled=True)
        accepted = self._accepted(lambda: goal_of_action(handle.request, self._now_s()))
        if isinstance(accepted, TrajectoryOutcome):
            return accepted
        goal, asked = accepted
        ending = False
        while True:
            excess = self._excess if goal is self._active else ""
            try:
                if (handle.is_cancel_requested or excess) and not ending:
                    ending = True
                    with suppress(RequestError):  # it has just ended by itself
                        goal.cancel()
                goal.wait(_MONITOR_S)
            except TimeoutError:
                self._publish_feedback(handle, asked.trajectory["coordinates"])
                continue
            except GoalFailed as failed:
                outcome = outcome_of_result(failed.result, cancel_requested=handle.is_cancel_requested)
                return _violated(TrajectoryCode.PATH_TOLERANCE_VIOLATED, excess) if excess else outcome
            except (RequestError, *UNREACHED) as error:
                return TrajectoryOutcome(TrajectoryCode.INVALID_GOAL, str(error))
            if excess:
                return _violated(TrajectoryCode.PATH_TOLERANCE_VIOLATED, excess)
            velocities = self._robot.state["v"] if asked.goal_speeds else {}
            excess = excess_of_speed(asked.goal_speeds, velocities, "at the end differs from 0")
            if excess:
                return _violated(TrajectoryCode.GOAL_TOLERANCE_VIOLATED, excess)
            return TrajectoryOutcome(TrajectoryCode.SUCCESSFUL, "Goal successfully reached!")

    def _publish_feedback(self, handle: Any, names: list[str]) -> None:
        sample = self._sample
        if sample is None or self._action is None or self._point is None:
            return
        channels = [sample[each] for each in ("reference", "reference_velocity", "coordinate", "v")]
        values = np.array([[each.get(name, math.nan) for name in names] for each in channels])
        feedback = self._action.Feedback(joint_names=names)
        feedback.header.stamp = self._node.get_clock().now().to_msg()
        parts = {"desired": values[:2], "actual": values[2:], "error": values[:2] - values[2:]}
        for part, (positions, velocities) in parts.items():
            point = self._point(positions=positions.tolist(), velocities=velocities.tolist())
            setattr(feedback, part, point)
        with suppress(RuntimeError):  # the goal has ended meanwhile
            handle.publish_feedback(feedback)

    # Speed.

    def _scale(self, factor: float) -> None:
        """Scale the speed of the goal under way and of all later ones, 0 … 2; 0 stops on the path."""
        if not 0.0 <= factor <= 2.0:
            self._node.get_logger().error(f"speed scaling: the factor is {factor}, allowed is 0 to 2")
            return
        self._factor = factor
        goal = self._active
        if goal is None or goal.result is not None:
            return
        try:
            given = self._robot.speed(factor, limit=True)
            if given.get("limited"):
                self._node.get_logger().warning(f"speed scaling: {given['fraction']:.3f}, {given['limited']}")
        except (RequestError, *UNREACHED) as error:
            self._node.get_logger().error(f"speed scaling: {error}")


def _violated(code: TrajectoryCode, excess: str) -> TrajectoryOutcome:
    return TrajectoryOutcome(code, f"{code.name}: {excess}")
