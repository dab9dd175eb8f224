"""The ROS 2 node of a machine: state, description, transforms, services, diagnostics and trajectories."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import rclpy
from rclpy.executors import MultiThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from linkwork.client.robot import Robot
from linkwork.convert.robots.exporting import UnwritableMachine
from linkwork.machine.loading import machine_in
from linkwork.machine.problems import MachineError
from linkwork.machine.repeats import parse_machine
from linkwork.protocol.codes import Pace
from linkwork.protocol.errors import RequestError
from linkwork.ros.diagnostic_values import Diagnostic, diagnostics, no_answer
from linkwork.ros.interfaces import LATCHED, Interfaces, message_class, ros_name
from linkwork.ros.robot_frames import LinkTransform, RobotFrames
from linkwork.ros.trajectory_interface import UNREACHED, TrajectoryInterface
from linkwork.terminal.failures import Misuse
from linkwork.timing.signals import SignalInterrupts

NAME: Final = "linkwork"
"""Name of the node, unless it is remapped."""
REQUESTS: Final = ("enable", "disable", "stop", "recover", "estop", "reset")
"""Requests that are services without parameters."""
_POLL_S, _STATUS_S, _RETRY_S, _SILENT_S = 0.2, 1.0, 0.5, 0.2
_END_S: Final = 5.0
"""How long the end of a goal, and of threads, is waited for."""
_THREADS: Final = 8


class MachineNode:
    """A node between ROS and a running controller.

    robot: for requests and goals; watch: for state and telemetry; both without a lease of their own, by the
    same owner: a goal takes the lease while it moves the machine, and `watch` renews it. ros_args: after
    `--ros-args`, such as remappings. controller: name in front of the topics of trajectories.
    """

    def __init__(self, robot: Robot, watch: Robot, ros_args: Sequence[str], controller: str) -> None:
        """Raises NobodyThere, RequestError, and Misuse for arguments that ROS refuses."""
        self._robot, self._watch = robot.connect(), watch.connect()
        described = self._watch.describe()
        try:
            rclpy.init(args=list(ros_args), signal_handler_options=SignalHandlerOptions.NO)
            self.node: Any = rclpy.create_node(NAME)
        except (RuntimeError, ValueError) as problem:
            raise Misuse(f"ROS does not take {' '.join(ros_args) or 'this'}: {problem}") from None
        self.log = self.node.get_logger()
        self.interfaces = made = Interfaces(self.node)
        self._leaving, self._heard_s, self._config = threading.Event(), -math.inf, ""
        self._frames: RobotFrames | None = None
        self._own_clock = True
        self._joint_states = made.publisher("sensor_msgs/msg/JointState", "joint_states")
        self._description = made.publisher("std_msgs/msg/String", "robot_description", LATCHED)
        self._tf = made.publisher("tf2_msgs/msg/TFMessage", "tf", 100)
        self._tf_static = made.publisher("tf2_msgs/msg/TFMessage", "tf_static", LATCHED)
        self._diagnostics = made.publisher("diagnostic_msgs/msg/DiagnosticArray", "diagnostics")
        self._has_tf = message_class("tf2_msgs/msg/TFMessage") is not None
        for request in REQUESTS:
            made.service("std_srvs/srv/Trigger", f"~/{request}", self._trigger(request))
        for signal in described["signals"]:
            if signal["direction"] == "output":
                self._offer(signal["name"], digital=signal["type"] == "digital")
        self.trajectories = TrajectoryInterface(self.node, robot, made, controller, described["period_s"])
        self._learn(described)

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM; then cancel the goal under way."""
        threads = [threading.Thread(target=each, daemon=True) for each in (self._poll, self._listen)]
        executor = MultiThreadedExecutor(_THREADS)
        executor.add_node(self.node)
        interrupts = SignalInterrupts().install()
        for thread in threads:
            thread.start()
        try:
            while not interrupts.requested:
                self._spin(executor)
            self.trajectories.end()
            deadline = time.monotonic() + _END_S
            while self.trajectories.moving and time.monotonic() < deadline and not interrupts.insisted:
                self._spin(executor)
        finally:
            self._leaving.set()
            for thread in threads:
                thread.join(_END_S)
            executor.shutdown(timeout_sec=_END_S)
            self._watch.close()
            self._robot.close()
            rclpy.try_shutdown()
            interrupts.close()

    def _spin(self, executor: Any) -> None:
        """Serve for a moment; a defect in one callback does not end the others."""
        try:
            executor.spin_once(timeout_sec=_POLL_S)
        except Exception as problem:
            self.log.error(f"callback: {problem!r}")

    # The machine.

    def _learn(self, described: Mapping[str, Any]) -> None:
        """Publish the description of a machine, if it is another one than before."""
        use_sim_time = self.node.get_parameter("use_sim_time").value
        self._own_clock = use_sim_time or described["pace"] == Pace.LOCKSTEP
        if described["config"] == self._config:
            return
        self._config, file, self._frames = described["config"], described["file"], None
        try:
            frames = RobotFrames(machine_in(parse_machine(file["text"], file["path"])))
        except (MachineError, UnwritableMachine) as problem:
            self.log.error(f"robot_description, tf: {problem}")
            return
        for loss in frames.losses:
            self.log.warning(f"robot_description leaves out {loss}")
        self._description(_made("std_msgs/msg/String", data=frames.description))
        self._publish_transforms(self._tf_static, frames.constant(), self.node.get_clock().now().to_msg())
        self._frames = frames

    def _poll(self) -> None:
        """Thread: diagnostics, and state where no telemetry comes, as while lockstep time stands."""
        status: Mapping[str, Any] | None = None
        due = 0.0
        while not self._leaving.is_set():
            try:
                state = self._watch.state  # renews the lease while a goal has it
                if time.monotonic() >= due:
                    known, status = status, self._watch.status
                    if known is None or known["gateway_pid"] != status["gateway_pid"]:
                        self._learn(self._watch.describe())
                    due = time.monotonic() + _STATUS_S
                    self._diagnose(diagnostics(state, status))
                if time.monotonic() > self._heard_s + _SILENT_S and state["device"]["connected"]:
                    self._publish(state["q"], state["v"], state["effort"], self._stamp(None))
                self._leaving.wait(_POLL_S)
            except (RequestError, *UNREACHED) as problem:
                status = None
                self._diagnose(no_answer(str(problem)))
                self._leaving.wait(_RETRY_S)
            except Exception as problem:
                if not self._leaving.is_set():
                    self.log.error(f"state: {problem!r}")
                self._leaving.wait(_RETRY_S)

    def _listen(self) -> None:
        """Thread: each sample of telemetry."""
        while not self._leaving.is_set():
            try:
                for sample in self._watch.telemetry():
                    if self._leaving.is_set():
                        return
                    if sample.get("connected"):
                        self._heard_s = time.monotonic()
                        self.trajectories.observe(sample)
                        self._publish(sample["q"], sample["v"], sample["effort"], self._stamp(sample))
            except (RequestError, *UNREACHED):
                self._leaving.wait(_RETRY_S)
            except Exception as problem:
                if not self._leaving.is_set():
                    self.log.error(f"telemetry: {problem!r}")
                self._leaving.wait(_RETRY_S)

    # Publishing.

    def _stamp(self, sample: Mapping[str, Any] | None) -> Any:
        """Return the time of a sample; by the node's clock in lockstep, and with use_sim_time."""
        if sample is None or self._own_clock:
            return self.node.get_clock().now().to_msg()
        ns = round(1e9 * sample["timestamp"])
        return _made("builtin_interfaces/msg/Time", sec=ns // 10**9, nanosec=ns % 10**9)

    def _publish(
        self, q: Mapping[str, float], v: Mapping[str, float], effort: Mapping[str, float], stamp: Any
    ) -> None:
        message = _made(
            "sensor_msgs/msg/JointState", name=list(q), position=list(q.values()),
            velocity=[v.get(name, math.nan) for name in q], effort=[effort.get(name, math.nan) for name in q],
        )  # fmt: skip
        if message is not None:
            message.header.stamp = stamp
            self._joint_states(message)
        values = np.fromiter(q.values(), float)
        frames = self._frames
        if self._has_tf and frames is not None and np.isfinite(values).all():
            self._publish_transforms(self._tf, frames.transforms(values), stamp)

    def _publish_transforms(
        self, publish: Callable[[Any], None], transforms: Iterable[LinkTransform], stamp: Any
    ) -> None:
        if not self._has_tf:
            return
        listed = []
        for each in transforms:
            made = _made("geometry_msgs/msg/TransformStamped", child_frame_id=each.child)
            made.header.stamp, made.header.frame_id = stamp, each.parent
            place, rotation = made.transform.translation, made.transform.rotation
            place.x, place.y, place.z = each.place_m
            rotation.x, rotation.y, rotation.z, rotation.w = each.quaternion
            listed.append(made)
        publish(_made("tf2_msgs/msg/TFMessage", transforms=listed))

    def _diagnose(self, entries: Iterable[Diagnostic]) -> None:
        message = _made("diagnostic_msgs/msg/DiagnosticArray")
        if message is None or self._leaving.is_set():
            return
        message.header.stamp = self.node.get_clock().now().to_msg()
        for entry in entries:
            values = [
                _made("diagnostic_msgs/msg/KeyValue", key=key, value=str(value))
                for key, value in entry.values.items()
            ]
            one = _made("diagnostic_msgs/msg/DiagnosticStatus", name=f"{NAME}: {entry.name}", values=values)
            one.level, one.message = bytes([entry.level]), entry.message
            message.status.append(one)
        self._diagnostics(message)

    # Services.

    def _trigger(self, request: str) -> Callable[[Any, Any], Any]:
        def answer(_: Any, response: Any) -> Any:
            return self._answered(response, getattr(self._robot, request))

        return answer

    def _offer(self, output: str, *, digital: bool) -> None:
        """Offer to set an output signal: a service for a digital one, a topic for an analog one."""
        name = f"~/set/{ros_name(output)}"

        def answer(asked: Any, response: Any) -> Any:
            return self._answered(response, lambda: self._robot.set({output: asked.data}))

        def take(message: Any) -> None:
            try:
                self._robot.set({output: message.data})
            except (RequestError, *UNREACHED) as error:
                self.log.error(f"{output}: {error}")

        if digital:
            self.interfaces.service("std_srvs/srv/SetBool", name, answer)
        else:
            self.interfaces.subscription("std_msgs/msg/Float64", name, take)

    def _answered(self, response: Any, ask: Callable[[], Mapping[str, Any]]) -> Any:
        """Fill in the answer of a service: the state after it, or the refusal."""
        try:
            effect = ask()
            response.success, response.message = True, effect["text"] or effect["state"]
        except RequestError as error:
            response.success, response.message = False, f"{error.name}: {error.message}"
        except UNREACHED as error:
            response.success, response.message = False, str(error)
        return response


def _made(kind: str, **fields: Any) -> Any:
    """Return a message; None where its package is missing."""
    found = message_class(kind)
    return None if found is None else found(**fields)
