"""Measure what the ROS 2 node costs the loop: missed ticks with the node minus without, in pairs of blocks.

    python -m benchmarks.ros_node [--pairs 8] [--seconds 20]

Each block moves the five-bar to and fro in real time. With the node, a goal that came by ROS is under way and
the node is killed (SIGKILL) in the middle of it; the lease must end the goal. Blocks with and without take
turns, so that a busy computer disturbs both alike. The machine bears lost messages for long, so that the
blocks are complete on a busy computer too. Needs rclpy; traffic stays on this computer.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from linkwork import Robot
from linkwork.launch.daemons import Rig
from tests.system.running import patient_five_bar

SENDER = """
import sys, rclpy
from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
rclpy.init()
node = rclpy.create_node("sender")
out = node.create_publisher(JointTrajectory, "/joint_trajectory_controller/joint_trajectory", 10)
made = JointTrajectory(joint_names=["left", "right"])
for time_s, *positions in zip(*[map(float, sys.argv[1:])] * 3):
    after = Duration(sec=int(time_s), nanosec=int(time_s % 1 * 1e9))
    made.points.append(JointTrajectoryPoint(positions=positions, time_from_start=after))
while out.get_subscription_count() == 0:
    rclpy.spin_once(node, timeout_sec=0.1)
out.publish(made)
rclpy.spin_once(node, timeout_sec=1.0)
"""


def missed(robot: Robot) -> int:
    """Return the whole periods that the loop has skipped."""
    return int(robot.status["timing"]["missed"])


def at_rest(robot: Robot, most_s: float = 60.0) -> None:
    """Wait until no goal is under way."""
    deadline = time.monotonic() + most_s
    while robot.state["goal"] is not None and time.monotonic() < deadline:
        time.sleep(0.05)


def swings(seconds: float, left: float, right: float) -> list[list[float]]:
    """Return way-points to and fro: time, then both motors' angles."""
    return [[1.0 + k, left + 0.1 * (k % 2), right + 0.1 * (k % 2)] for k in range(int(seconds))]


def without(rig: Rig, seconds: float) -> int:
    """Return the missed ticks of a block that the Python client moves."""
    with Robot(endpoint=rig.requests) as robot:
        q, before = robot.state["q"], missed(robot)
        points = [
            {"time_from_start_s": time_s, "positions": positions}
            for time_s, *positions in swings(2 * seconds, q["left"], q["right"])
        ]
        robot.send({"coordinates": ["left", "right"], "points": points})
        time.sleep(seconds)
        robot.stop()
        at_rest(robot)
        return missed(robot) - before


def with_node(rig: Rig, seconds: float) -> tuple[int, str]:
    """Return the missed ticks of a block whose node is killed in motion, and how its goal ended."""
    words = [sys.executable, "-m", "linkwork", "ros", "--endpoint", rig.requests, "--json"]
    with (
        Robot(endpoint=rig.requests, lease=False) as robot,
        subprocess.Popen(words, stdout=subprocess.PIPE) as node,
    ):
        assert node.stdout is not None
        node.stdout.readline()
        q, before = robot.state["q"], missed(robot)
        points = [f"{each:.9g}" for point in swings(2 * seconds, q["left"], q["right"]) for each in point]
        subprocess.run([sys.executable, "-c", SENDER, *points], check=True)
        time.sleep(seconds)
        node.send_signal(signal.SIGKILL)
        at_rest(robot)
        return missed(robot) - before, robot.state["results"][-1]["name"]


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    with (
        tempfile.TemporaryDirectory() as folder,
        Rig(
            "five_bar", [str(patient_five_bar(Path(folder)))], [f"{folder}/five_bar.yaml", "--no-log"]
        ) as rig,
    ):
        rig.wait_ready(lambda _: None)
        with Robot(endpoint=rig.requests) as robot:
            robot.enable()
        pairs, ends = [], []
        for _ in range(options.pairs):
            alone = without(rig, options.seconds)
            beside, end = with_node(rig, options.seconds)
            pairs.append([beside, alone])
            ends.append(end)
    differences = [beside - alone for beside, alone in pairs]
    print(
        json.dumps(
            {
                "missed_with_and_without": pairs,
                "median_difference": statistics.median(differences),
                "ends": ends,
            }
        )
    )


if __name__ == "__main__":
    main()
