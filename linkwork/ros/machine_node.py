"""The ROS 2 node of a machine: state, description, transforms, services, diagnostics and trajectories."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import TransformStamped
from rclpy.executors import MultiThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from rclpy.time import Time
from rclpy.validate_full_topic_name import validate_full_topic_name
from sensor_msgs.msg import JointState
from std_msgs.msg import String

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
_POLL_S, _STATUS_S, _SILENT_S = 0.2, 1.0, 0.2
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
            validate_full_topic_name(self.node.resolve_topic_name(controller))
        except (RuntimeError, ValueError) as problem:
            raise Misuse(f"ROS refuses {' '.join((controller, *ros_args))}: {problem}") from None
        self.log = self.node.get_logger()
        self.interfaces = made = Interfaces(self.node)
        self._leaving, self._heard_s, self._config = threading.Event(), -math.inf, ""
        self._frames: RobotFrames | None = None
        self._status: Mapping[str, Any] | None = None
        self._status_due, self._own_clock = 0.0, True
        self._joint_states = made.publisher("sensor_msgs/msg/JointState", "joint_states")
        self._description = made.publisher("std_msgs/msg/String", "robot_description", LATCHED)
        self._tf = made.publisher("tf2_msgs/msg/TFMessage", "tf", 100)
        self._tf_static = made.publisher("tf2_msgs/msg/TFMessage", "tf_static", LATCHED)
        self._diagnostics = made.publisher("diagnostic_msgs/msg/DiagnosticArray", "diagnostics")
        self._transforms = message_class("tf2_msgs/msg/TFMessage")
        for request in REQUESTS:
            made.service("std_srvs/srv/Trigger", f"~/{request}", partial(self._trigger, request))
        for signal in described["signals"]:
            name, topic = signal["name"], f"~/set/{ros_name(signal['name'])}"
            if (signal["direction"], signal["type"]) == ("output", "digital"):
                made.service("std_srvs/srv/SetBool", topic, partial(self._set_digital, name))
            elif signal["direction"] == "output":
                made.subscription("std_msgs/msg/Float64", topic, partial(self._set_analog, name))
        self.trajectories = TrajectoryInterface(self.node, robot, made, controller, described["period_s"])
        self._learn(described)

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM; then cancel the goal under way."""
        threads = [
            threading.Thread(target=self._repeat, args=(act,), daemon=True)
            for act in (self._poll, self._listen)
        ]
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
        self._description(String(data=frames.description))
        if self._transforms is not None:
            stamp = self._stamp(None)
            self._tf_static(self._transforms(transforms=[_stamped(one, stamp) for one in frames.constant()]))
        self._frames = frames

    def _repeat(self, act: Callable[[], None]) -> None:
        """Thread: act until the end; a controller that does not answer is waited for."""
        while not self._leaving.is_set():
            try:
                act()
            except (RequestError, *UNREACHED) as problem:
                self._status = None
                self._diagnose(no_answer(str(problem)))
            except Exception as problem:
                if not self._leaving.is_set():
                    self.log.error(f"{act.__name__.strip('_')}: {problem!r}")
            self._leaving.wait(_POLL_S)

    def _poll(self) -> None:
        """Publish diagnostics, and the state where no telemetry comes, as while lockstep time stands."""
        state = self._watch.state  # renews the lease while a goal has it
        if time.monotonic() >= self._status_due:
            known, self._status = self._status, self._watch.status
            if known is None or known["gateway_pid"] != self._status["gateway_pid"]:
                self._learn(self._watch.describe())
            self._status_due = time.monotonic() + _STATUS_S
            self._diagnose(diagnostics(state, self._status))
        if time.monotonic() > self._heard_s + _SILENT_S and state["device"]["connected"]:
            self._publish(state, self._stamp(None))

    def _listen(self) -> None:
        """Publish each sample of telemetry."""
        for sample in self._watch.telemetry():
            if self._leaving.is_set():
                return
            if sample["connected"]:
                self._heard_s = time.monotonic()
                self.trajectories.observe(sample)
                self._publish(sample, self._stamp(sample))

    # Publishing.

    def _stamp(self, sample: Mapping[str, Any] | None) -> Any:
        """Return the time of a sample; by the node's clock in lockstep, and with use_sim_time."""
        if sample is None or self._own_clock:
            return self.node.get_clock().now().to_msg()
        return Time(nanoseconds=round(1e9 * sample["timestamp"])).to_msg()

    def _publish(self, found: Mapping[str, Any], stamp: Any) -> None:
        """Publish the joints of a state, or of a sample of telemetry."""
        q, v, effort = found["q"], found["v"], found["effort"]
        message = JointState(name=list(q), position=list(q.values()))
        message.header.stamp = stamp
        message.velocity = [v.get(name, math.nan) for name in q]
        message.effort = [effort.get(name, math.nan) for name in q]
        self._joint_states(message)
        values, frames = np.fromiter(q.values(), float), self._frames
        if self._transforms is not None and frames is not None and np.isfinite(values).all():
            self._tf(self._transforms(transforms=[_stamped(one, stamp) for one in frames.transforms(values)]))

    def _diagnose(self, entries: Iterable[Diagnostic]) -> None:
        message = DiagnosticArray()
        message.header.stamp = self.node.get_clock().now().to_msg()
        for name, values, level, text in entries:
            one = DiagnosticStatus(name=f"{NAME}: {name}", level=bytes([level]), message=text)
            one.values = [KeyValue(key=key, value=str(value)) for key, value in values.items()]
            message.status.append(one)
        if not self._leaving.is_set():
            self._diagnostics(message)

    # Services.

    def _trigger(self, request: str, _: Any, response: Any) -> Any:
        return self._answered(response, getattr(self._robot, request))

    def _set_digital(self, output: str, asked: Any, response: Any) -> Any:
        return self._answered(response, lambda: self._robot.set({output: asked.data}))

    def _set_analog(self, output: str, message: Any) -> None:
        try:
            self._robot.set({output: message.data})
        except (RequestError, *UNREACHED) as error:
            self.log.error(f"{output}: {error}")

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


def _stamped(transform: LinkTransform, stamp: Any) -> Any:
    """Return a transform as a message."""
    made = TransformStamped(child_frame_id=transform.child)
    made.header.stamp, made.header.frame_id = stamp, transform.parent
    place, rotation = made.transform.translation, made.transform.rotation
    place.x, place.y, place.z = transform.place_m
    rotation.x, rotation.y, rotation.z, rotation.w = transform.quaternion
    return made
