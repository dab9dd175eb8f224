"""The node at a running controller, seen by a ROS client in the test's process."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from linkwork import Robot
from linkwork.launch.daemons import Rig
from tests.signal_machine import write_signal_machine
from tests.system.running import command_line, environment, patient_five_bar
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(300)
HAS_ROS = importlib.util.find_spec("rclpy") is not None
needs_ros = pytest.mark.skipif(not HAS_ROS, reason="rclpy is not installed (extra `ros`)")
needs_action = pytest.mark.skipif(
    importlib.util.find_spec("control_msgs") is None,
    reason="control_msgs is not installed: tests/ros/message_packages.py generates it",
)
_ARGUMENTS = ["--pace", "lockstep", "--realtime", "ignore"]
CONTROLLER = "/joint_trajectory_controller"


class Client:
    """A node of ROS, and the node under test in its process."""

    def __init__(self, runtime: Path, requests: str, *words: str) -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor

        os.environ.update(ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST", ROS_LOG_DIR=str(runtime / "ros"))
        self._rclpy, self.said = rclpy, b""
        self.process = subprocess.Popen(
            command_line("ros", "--endpoint", requests, "--json", *words),
            env=environment(runtime), stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        rclpy.init()
        self.node = rclpy.create_node("test_client")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)

    def close(self) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        self._rclpy.try_shutdown()
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(60)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        def served() -> Any:
            self._executor.spin_once(timeout_sec=0.05)
            return condition()

        return wait_for(served, what)

    def heard(self, kind: Any, topic: str, latched: bool = False) -> list[Any]:
        """A list to which the messages of a topic are appended."""
        from rclpy.qos import DurabilityPolicy, QoSProfile

        found: list[Any] = []
        durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
        self.node.create_subscription(kind, topic, found.append, QoSProfile(depth=10, durability=durability))
        return found

    def call(self, kind: Any, name: str, **fields: Any) -> Any:
        client = self.node.create_client(kind, name)
        self.until(client.service_is_ready, f"the service {name}")
        return self.done(client.call_async(kind.Request(**fields)))

    def done(self, future: Any) -> Any:
        self.until(future.done, "an answer")
        return future.result()

    def trigger(self, name: str) -> Any:
        from std_srvs.srv import Trigger

        return self.call(Trigger, f"/linkwork/{name}")

    def publisher(self, kind: Any, topic: str) -> Any:
        made = self.node.create_publisher(kind, topic, 10)
        self.until(made.get_subscription_count, f"a subscription of {topic}")
        return made


@pytest.fixture(scope="module")
def runtime() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        yield Path(made)


@pytest.fixture(scope="module")
def five_bar(runtime: Path) -> Iterator[Rig]:
    """In real time, so that a goal is under way for a while, on a busy computer."""
    path = str(patient_five_bar(runtime))
    arguments = [path, "--realtime", "ignore"]
    with Rig("five_bar", arguments, [*arguments, "--no-log"], runtime) as rig:
        rig.wait_ready(lambda _: None)
        yield rig


@pytest.fixture
def client(runtime: Path, five_bar: Rig) -> Iterator[Client]:
    made = Client(runtime, five_bar.requests)
    try:
        yield made
    finally:
        made.close()


def motion(points: Sequence[tuple[float, Sequence[float]]], names: Sequence[str] = ("left", "right")) -> Any:
    from builtin_interfaces.msg import Duration
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    made = JointTrajectory(joint_names=list(names))
    for time_s, positions in points:
        after = Duration(sec=int(time_s), nanosec=int(time_s % 1.0 * 1e9))
        made.points.append(JointTrajectoryPoint(positions=list(positions), time_from_start=after))
    return made


def at_rest(robot: Robot) -> tuple[float, float]:
    """Wait for rest; return the motors' angles."""
    wait_for(lambda: robot.state["goal"] is None, "the end of the goal")
    q = robot.state["q"]
    return q["left"], q["right"]


@needs_ros
def test_what_the_node_publishes_is_the_state_of_the_machine(runtime: Path) -> None:
    from diagnostic_msgs.msg import DiagnosticArray
    from sensor_msgs.msg import JointState
    from std_msgs.msg import String

    arguments = ["five_bar", *_ARGUMENTS]
    folder = runtime / "still"
    folder.mkdir()
    with Rig("five_bar", arguments, [*arguments, "--no-log"], folder) as rig:
        rig.wait_ready(lambda _: None)
        client = Client(folder, rig.requests)
        try:
            states, descriptions = client.heard(JointState, "/joint_states"), client.heard(
                String, "/robot_description", latched=True
            )  # fmt: skip
            reports = client.heard(DiagnosticArray, "/diagnostics")
            with Robot(endpoint=rig.requests, owner="me") as robot:
                robot.enable()
                robot.move(left=2.0, right=1.1)
                robot.advance(50)
                state = robot.state
            found = client.until(
                lambda: states and _positions(states[-1]) == state["q"] and states[-1], "the same positions"
            )
            assert dict(zip(found.name, found.velocity, strict=True)) == state["v"]
            efforts = dict(zip(found.name, found.effort, strict=True))
            assert {name: efforts[name] for name in state["effort"]} == state["effort"]
            assert efforts["left_elbow"] != efforts["left_elbow"]  # not a number: it has no motor
            assert 'joint name="left_elbow"' in client.until(lambda: descriptions, "a description")[0].data
            status = client.until(lambda: reports and reports[-1].status, "diagnostics")
            assert [each.name for each in status][:2] == ["linkwork: controller", "linkwork: plant"]
        finally:
            client.close()


def _positions(message: Any) -> dict[str, float]:
    return dict(zip(message.name, message.position, strict=True))


@needs_ros
def test_services_set_and_change_the_state(runtime: Path) -> None:
    from std_msgs.msg import Float64
    from std_srvs.srv import SetBool

    folder = runtime / "signals"
    folder.mkdir()
    arguments = [str(write_signal_machine(folder)), *_ARGUMENTS]
    with Rig("scara", arguments, [*arguments, "--no-log"], folder) as rig:
        rig.wait_ready(lambda _: None)
        client = Client(folder, rig.requests)
        try:
            with Robot(endpoint=rig.requests, lease=False) as robot:
                assert client.trigger("enable").success
                assert robot.state["state"] == "active"
                assert client.call(SetBool, "/linkwork/set/gripper", data=True).success
                wait_for(lambda: robot.state["signals"]["gripper"] is True, "the gripper")
                client.publisher(Float64, "/linkwork/set/flow").publish(Float64(data=1.5))
                client.until(lambda: robot.state["signals"]["flow"] == 1.5, "the flow")
                assert client.trigger("disable").success
                assert robot.state["lease"]["owner"] is None
                with Robot(endpoint=rig.requests, owner="somebody"):
                    refused = client.trigger("enable")
                assert not refused.success
                assert refused.message.startswith("NOT_OWNER: ")
                assert "somebody" in refused.message
        finally:
            client.close()


@needs_ros
def test_a_killed_node_loses_the_lease_and_the_machine_stops(client: Client, five_bar: Rig) -> None:
    from trajectory_msgs.msg import JointTrajectory

    with Robot(endpoint=five_bar.requests, lease=False) as robot:
        assert client.trigger("enable").success
        left, right = at_rest(robot)
        topic = client.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")
        topic.publish(motion([(60.0, [left + 0.2, right])]))
        goal = client.until(lambda: robot.state["goal"], "the goal")
        client.process.send_signal(signal.SIGKILL)
        at_rest(robot)
        (result,) = [each for each in robot.state["results"] if each["goal"] == goal["goal"]]
        assert result["name"] == "LEASE_LOST"
        assert robot.state["state"] == "active"


@needs_ros
def test_trajectories_by_the_topic_replace_each_other_and_end_with_the_node(
    client: Client, five_bar: Rig
) -> None:
    from std_msgs.msg import Float64
    from trajectory_msgs.msg import JointTrajectory

    with Robot(endpoint=five_bar.requests, lease=False) as robot:
        assert client.trigger("enable").success
        left, right = at_rest(robot)
        topic = client.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")
        swings = [(2.0 * k, [left + 0.1 * (k % 2), right]) for k in range(1, 61)]
        topic.publish(motion(swings))
        first = client.until(lambda: robot.state["goal"], "the first goal")["goal"]
        scaling = client.publisher(Float64, "/linkwork/speed_scaling")
        for factor, what in ((0.0, "standstill"), (1.0, "motion")):
            message = Float64(data=factor)
            client.until(lambda m=message: scaling.publish(m) or _stands(robot) is not bool(m.data), what)
        topic.publish(motion(swings[:20]))
        client.until(lambda: (robot.state["goal"] or {"goal": first})["goal"] != first, "the second goal")
        state = robot.state
        names = {each["goal"]: each["name"] for each in state["results"]}
        assert names[first] == "REPLACED"
        client.process.send_signal(signal.SIGINT)
        assert client.process.wait(60) == 0
        at_rest(robot)
        assert robot.state["results"][-1]["name"] == "CANCELLED"


def _stands(robot: Robot) -> bool:
    state = robot.state
    return state["goal"] is not None and all(abs(each) < 1e-4 for each in state["v"].values())


@needs_ros
@needs_action
def test_the_action_has_the_codes_of_ros2_control(client: Client, five_bar: Rig) -> None:
    from control_msgs.action import FollowJointTrajectory
    from control_msgs.msg import JointTolerance
    from rclpy.action import ActionClient

    action = ActionClient(client.node, FollowJointTrajectory, f"{CONTROLLER}/follow_joint_trajectory")
    feedback: list[Any] = []

    def begin(trajectory: Any, **fields: Any) -> tuple[Any, Any]:
        client.until(action.server_is_ready, "the action")
        goal = FollowJointTrajectory.Goal(trajectory=trajectory, **fields)
        handle = client.done(action.send_goal_async(goal, lambda each: feedback.append(each.feedback)))
        return handle, handle.get_result_async()

    def result(begun: tuple[Any, Any]) -> tuple[int, int, str]:
        answer = client.done(begun[1])
        return answer.status, answer.result.error_code, answer.result.error_string

    with Robot(endpoint=five_bar.requests, lease=False) as robot:
        assert client.trigger("enable").success
        left, right = at_rest(robot)
        there_and_back = motion([(0.5, [left + 0.05, right]), (1.0, [left, right])])
        assert result(begin(there_and_back))[:2] == (4, 0)
        assert list(feedback[-1].joint_names) == ["left", "right"]
        assert max(map(abs, feedback[-1].error.positions)) < 0.01
        status, code, text = result(begin(motion([(0.01, [left + 0.5, right])])))
        assert (status, code) == (6, -1)
        assert "INFEASIBLE" in text
        assert "is allowed" in text or "cannot reach" in text
        assert result(begin(motion([(1.0, [0.0])], ["knee"])))[:2] == (6, -2)
        old = motion([(1.0, [left, right])])
        old.header.stamp.sec = 1
        assert result(begin(old))[:2] == (6, -3)
        strict = [JointTolerance(name="left", position=1e-9)]
        status, code, text = result(begin(there_and_back, path_tolerance=strict))
        assert (status, code) == (6, -4)
        assert "left was" in text
        at_rest(robot)
        strict = [JointTolerance(name="left", velocity=1e-9)]
        status, code, text = result(begin(there_and_back, path_tolerance=strict))
        assert (status, code) == (6, -4)
        assert "left: the velocity" in text
        left, right = at_rest(robot)
        slow = motion([(60.0, [left + 0.05, right])])
        begun = begin(slow)
        client.until(lambda: robot.state["goal"], "the goal")
        client.done(begun[0].cancel_goal_async())
        assert result(begun)[:2] == (5, 0)
        at_rest(robot)
        begun = begin(slow)
        client.until(lambda: robot.state["goal"], "the goal")
        assert result(begin(motion([(1.0, [left, right])])))[:2] == (4, 0)
        assert result(begun) == (5, -1, "Current goal cancelled due to new incoming action.")


@needs_ros
@needs_action
def test_transforms_follow_the_machine(client: Client) -> None:
    tf2_msgs = pytest.importorskip("tf2_msgs.msg")
    heard = client.heard(tf2_msgs.TFMessage, "/tf")
    found = client.until(lambda: heard and heard[-1].transforms, "transforms")
    frames = {each.child_frame_id: each.header.frame_id for each in found}
    assert frames == {
        "left_arm": "world", "right_arm": "world",
        "left_forearm": "left_arm", "right_forearm": "right_arm",
    }  # fmt: skip


@needs_ros
def test_arguments_that_ros_refuses_are_wrong_usage(runtime: Path, five_bar: Rig) -> None:
    for words in (["--controller", "my arm"], ["--", "--ros-args", "-r", "bad"]):
        ran = subprocess.run(
            command_line("ros", "--endpoint", five_bar.requests, *words),
            env=environment(runtime), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ran.returncode == 2, ran.stderr
        assert "Traceback" not in ran.stderr


@pytest.mark.skipif(HAS_ROS, reason="rclpy is installed")
def test_without_ros_the_command_names_the_workspace_and_the_extra(runtime: Path) -> None:
    ran = subprocess.run(
        command_line("ros"), env=environment(runtime), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert "sourced ROS 2 workspace" in ran.stderr
    assert "linkwork[ros]" in ran.stderr
