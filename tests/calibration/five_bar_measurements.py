"""Poses of the five-bar on a grid of tool positions, and measurements of them."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.calibration.linearisation import close
from linkwork.calibration.measurements import GeometryMeasurements, MeasuredRow, ReadPose
from linkwork.identification.consistent_samples import ClosedPoses
from linkwork.machine import Machine
from linkwork.multibody.functions import point_position
from linkwork.multibody.mechanism import Mechanism

ELEVEN = (
    "joints.left.at_m.x",
    "joints.left.at_m.y",
    "joints.right.at_m.x",
    "joints.right.at_m.y",
    "left_arm=joints.left_elbow.at_m.x",
    "right_arm=joints.right_elbow.at_m.x",
    "left_forearm=constraints.tip.a.at_m.x",
    "right_forearm=constraints.tip.b.at_m.x+points.tool.at_m.x",
    "zero.left",
    "zero.right",
    "zero.left_elbow",
)
"""Base points, arms, forearms, zeros."""


def motor_angles(x: float, y: float) -> tuple[float, float]:
    """Return the angles of both motors for a place of the tool, elbows outside."""
    found = []
    for base, sign in ((-0.1, 1.0), (0.1, -1.0)):
        way = np.hypot(x - base, y)
        elbow = np.arccos((0.2**2 + way**2 - 0.25**2) / (2.0 * 0.2 * way))
        found.append(float(np.arctan2(y, x - base) + sign * elbow))
    return found[0], found[1]


def grid(machine: Machine) -> tuple[list[ReadPose], Floats, Floats]:
    """Return 30 poses, row by row, the places of the tool (30 × 3) and the angles of the left elbow (30)."""
    way = ClosedPoses(machine.mechanism, machine.initial_q, ["left", "right"])
    poses, places, elbows = [], [], []
    for y in np.linspace(0.28, 0.38, 5):
        for x in np.linspace(-0.1, 0.1, 6):
            angles = motor_angles(x, y)
            assert way.go_to(np.array(angles))
            poses.append(ReadPose(f"P{len(poses)}", dict(zip(("left", "right"), angles, strict=True))))
            places.append(point_position(machine.mechanism, "tool", way.pose))
            elbows.append(way.pose[machine.mechanism.joint_index("left_elbow")])
    return poses, np.array(places), np.array(elbows)


def measured_by(
    machine: Machine, true: Mechanism, poses: list[ReadPose], zeros: dict[str, float]
) -> tuple[Floats, Floats]:
    """Return places of the tool and angles of the left elbow of the true mechanism, in all poses."""
    way = ClosedPoses(machine.mechanism, machine.initial_q, ["left", "right"])
    assert way.go_to(np.array(list(poses[0].readings.values())))
    work = true.workspace(way.pose)
    places, elbows = [], []
    for pose in poses:
        for name, reading in pose.readings.items():
            work.q[true.joint_index(name)] = reading + zeros.get(name, 0.0)
        assert close(work, [0, 1])
        places.append(point_position(true, "tool", work.q))
        elbows.append(float(work.q[true.joint_index("left_elbow")]))
    return np.array(places), np.array(elbows)


def positions(poses: list[ReadPose], places: Floats, sigma: float = 20e-6) -> GeometryMeasurements:
    """Return measured x and y of the tool in all poses."""
    rows = [
        MeasuredRow("position", (k,), "tool", (float(x), float(y), None), sigma=sigma, line=k + 2)
        for k, (x, y, _) in enumerate(places)
    ]
    return GeometryMeasurements("positions.csv", tuple(poses), tuple(rows))


def distances(
    poses: list[ReadPose], places: Floats, pairs: list[tuple[int, int]], sigma: float = 50e-6
) -> GeometryMeasurements:
    """Return distances of the tool between pairs of poses."""
    rows = [
        MeasuredRow(
            "distance",
            pair,
            "tool",
            value=float(np.linalg.norm(places[pair[0]] - places[pair[1]])),
            sigma=sigma,
        )
        for pair in pairs
    ]
    return GeometryMeasurements("distances.csv", tuple(poses), tuple(rows))


def with_elbow(poses: list[ReadPose], elbows: Floats, sigma: float = 20e-6) -> list[ReadPose]:
    """Return the poses with readings of the left elbow, the motors' kept exactly."""
    exact = {"left": 0.0, "right": 0.0}
    return [
        ReadPose(pose.name, {**pose.readings, "left_elbow": float(elbow)}, {"left_elbow": sigma, **exact})
        for pose, elbow in zip(poses, elbows, strict=True)
    ]
