"""Straightedges, planes, stops, poses and a measuring frame: each shows what it can."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linkwork.calibration.calibration import Calibration, calibrate
from linkwork.calibration.geometry import Geometry
from linkwork.calibration.measurements import GeometryMeasurements, MeasuredRow, ReadPose
from linkwork.calibration.prior import Prior
from linkwork.identification.consistent_samples import ClosedPoses
from linkwork.machine import Machine, load
from linkwork.multibody.functions import point_position
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.tree.orientations import from_rotation_vector
from tests.calibration.five_bar_measurements import grid, measured_by, positions

ARM = "joints.right_elbow.at_m.x"
TRUE = 3e-4


@pytest.fixture(scope="module")
def machine() -> Machine:
    return load("five_bar")


@pytest.fixture(scope="module")
def true(machine: Machine) -> Mechanism:
    return Geometry(machine).mechanism({ARM: TRUE})


def _changes(found: Calibration) -> dict[str, float]:
    return {each.parameter.name: each.change for each in found.found}


def _on(machine: Machine, true: Mechanism, places: list[tuple[float, float]]) -> list[ReadPose]:
    """Return poses of the true machine in which the tool is at these places (x, y)."""
    way = ClosedPoses(true, machine.initial_q, ["left", "right"])
    assert way.go_to(machine.initial_q[:2])
    y = machine.initial_q[:2].copy()
    found = []
    for k, place in enumerate(places):
        for _ in range(30):
            jacobian = np.empty((2, 2))
            here = point_position(true, "tool", way.pose)[:2]
            for axis in range(2):
                assert way.go_to(y + 1e-6 * np.eye(2)[axis])
                jacobian[:, axis] = (point_position(true, "tool", way.pose)[:2] - here) / 1e-6
            step = np.linalg.solve(jacobian, np.array(place) - here)
            y = y + step * min(1.0, 0.1 / max(1e-9, float(np.abs(step).max())))
            assert way.go_to(y)
        found.append(ReadPose(f"P{k}", {"left": float(y[0]), "right": float(y[1])}))
    return found


def test_a_straightedge_that_lies_anywhere(machine: Machine, true: Mechanism) -> None:
    places = [(x, 0.33 + 0.2 * x) for x in np.linspace(-0.1, 0.1, 9)]
    poses = _on(machine, true, places)
    rows = [MeasuredRow("line", (k,), "tool", sigma=1e-5) for k in range(9)]
    measured = GeometryMeasurements("edge.csv", tuple(poses), tuple(rows))
    found = calibrate(machine, measured, [ARM], Prior(counts=False))
    assert found.rank == 1
    assert _changes(found)[ARM] == pytest.approx(TRUE, rel=1e-3)
    assert found.sigma(ARM) < TRUE / 2.0


def test_a_plane_and_its_heights(machine: Machine, true: Mechanism) -> None:
    poses, _, _ = grid(machine)
    places, _ = measured_by(machine, true, poses, {})
    normal = np.array([0.6, 0.8, 0.0])
    rows = [
        MeasuredRow("plane", (k,), "tool", value=float(normal @ place) - 0.2, sigma=1e-5)
        for k, place in enumerate(places)
    ]
    measured = GeometryMeasurements("plane.csv", tuple(poses), tuple(rows))
    found = calibrate(machine, measured, [ARM], Prior(counts=False))
    assert _changes(found)[ARM] == pytest.approx(TRUE, rel=0.02)


def test_a_stop_shows_the_zero_of_its_joint(machine: Machine) -> None:
    poses, _, _ = grid(machine)
    row = MeasuredRow("stop", (0,), "left", value=poses[0].readings["left"] + 2e-3, sigma_angle=1e-4)
    found = calibrate(
        machine,
        GeometryMeasurements("stop.csv", tuple(poses[:3]), (row,)),
        ["zero.left"],
        Prior(counts=False),
    )
    assert _changes(found)["zero.left"] == pytest.approx(2e-3, abs=1e-9)
    assert found.sigma("zero.left") == pytest.approx(1e-4)


def test_a_measuring_frame_far_away(machine: Machine, true: Mechanism) -> None:
    poses, _, _ = grid(machine)
    places, _ = measured_by(machine, true, poses, {})
    turn = from_rotation_vector(np.array([0.0, 0.0, 2.0]))
    seen = places @ turn.T + np.array([3.0, -1.0, 0.5])
    rows = [
        replace(row, position=(float(p[0]), float(p[1]), float(p[2])))
        for row, p in zip(positions(poses, seen).rows, seen, strict=True)
    ]
    measured = GeometryMeasurements("tracker.csv", tuple(poses), tuple(rows))
    found = calibrate(machine, measured, ["frame", ARM], Prior(counts=False))
    assert not found.model_error
    assert found.excess < 1e-3
    assert _changes(found)[ARM] == pytest.approx(TRUE, abs=1e-8)


def test_the_orientation_of_a_forearm(machine: Machine) -> None:
    poses, _, _ = grid(machine)
    way = ClosedPoses(machine.mechanism, machine.initial_q, ["left", "right"])
    rows = []
    for k, pose in enumerate(poses):
        assert way.go_to(np.array([pose.readings["left"] + 1e-3, pose.readings["right"]]))
        q = way.pose
        place = point_position(machine.mechanism, "tool", q)
        yaw = float(
            q[machine.mechanism.joint_index("right")] + q[machine.mechanism.joint_index("right_elbow")]
        )
        rows.append(
            MeasuredRow(
                "pose", (k,), "tool", (float(place[0]), None, None), (None, None, yaw), 0.0, 2e-5, 1e-4
            )
        )
    found = calibrate(
        machine, GeometryMeasurements("pose.csv", tuple(poses), tuple(rows)), ["zeros"], Prior(counts=False)
    )
    assert _changes(found) == pytest.approx({"zero.left": 1e-3, "zero.right": 0.0}, abs=1e-8)


def test_the_delta_by_positions() -> None:
    machine = load("delta")
    names = [motor.joint for motor in machine.motors]
    true = Geometry(machine).mechanism({"joints.elbow_1.at_m.x": 2e-4})
    rng = np.random.default_rng(0)
    way, way_true = (ClosedPoses(each, machine.initial_q, names) for each in (machine.mechanism, true))
    poses, rows = [], []
    for k in range(14):
        y = np.radians(20.0) + rng.uniform(-0.4, 0.4, 3)
        assert way.go_to(y)
        assert way_true.go_to(y)
        x, y_, z = point_position(true, "tool", way_true.pose).tolist()
        poses.append(ReadPose(f"P{k}", dict(zip(names, y.tolist(), strict=True))))
        rows.append(MeasuredRow("position", (k,), "tool", (x, y_, z), sigma=2e-5))
    measured = GeometryMeasurements("delta.csv", tuple(poses), tuple(rows))
    arms = [f"joints.elbow_{k}.at_m.x" for k in (1, 2, 3)]
    found = calibrate(machine, measured, [*arms, "zeros"], Prior(counts=False))
    assert found.rank == 6
    assert [_changes(found)[name] for name in arms] == pytest.approx([2e-4, 0.0, 0.0], abs=1e-7)
