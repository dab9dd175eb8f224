"""A printer's delta with nine parameters: heights alone do not show its arms, a printed object does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.calibration.calibration import calibrate
from linkwork.calibration.measurements import GeometryMeasurements, MeasuredRow, ReadPose
from linkwork.calibration.prior import Prior
from linkwork.machine import Machine, load

ARM, RADIUS = 0.333, 0.17475
NEAR, OUTER, FAR = 0.0045, 0.065, 0.0695
INERTIA = "inertia_kg_m2: {xx: 1e-5, yy: 1e-5, zz: 1e-5}"
TOWERS = {"a": 210.0, "b": 330.0, "c": 90.0}
NINE = (
    *(f"stop_{tower}=zero.slide_{tower}" for tower in TOWERS),
    *(f"arm_{tower}=constraints.rod_{tower}.distance_m" for tower in TOWERS),
    "angle_a=joints.tower_a.rpy_deg.z",
    "angle_b=joints.tower_b.rpy_deg.z",
    f"radius={'+'.join(f'joints.slide_{tower}.at_m.x' for tower in TOWERS)}",
)


def _text() -> str:
    """Return a machine file: three slides on towers, three rods to an effector that keeps its orientation."""
    height = float(np.sqrt(ARM**2 - RADIUS**2))
    towers = "\n".join(
        f"  tower_{name}: {{type: fixed, parent: world, child: column_{name}, rpy_deg: [0, 0, {angle}]}}\n"
        f"  slide_{name}: {{type: prismatic, parent: column_{name}, child: carriage_{name}, "
        f"at_m: [{RADIUS}, 0, 0], axis: [0, 0, 1]}}"
        for name, angle in TOWERS.items()
    )
    bodies = "\n".join(
        f"  column_{name}: {{mass_kg: 1, {INERTIA}}}\n  carriage_{name}: {{mass_kg: 0.1, {INERTIA}}}"
        for name in TOWERS
    )
    rods = "\n".join(
        f"  rod_{name}: {{type: distance, a: {{body: carriage_{name}}}, b: {{body: effector}}, "
        f"distance_m: {ARM}}}"
        for name in TOWERS
    )
    return f"""name: printer
gravity_m_s2: [0, 0, -9.81]
bodies:
{bodies}
  cross: {{mass_kg: 0.01, {INERTIA}}}
  bridge: {{mass_kg: 0.01, {INERTIA}}}
  effector: {{mass_kg: 0.1, {INERTIA}}}
joints:
{towers}
  x: {{type: prismatic, parent: world, child: cross, axis: [1, 0, 0]}}
  y: {{type: prismatic, parent: cross, child: bridge, axis: [0, 1, 0]}}
  z: {{type: prismatic, parent: bridge, child: effector, axis: [0, 0, 1]}}
points:
  tool: {{body: effector}}
constraints:
{rods}
initial: {{slide_a_m: {height}, slide_b_m: {height}, slide_c_m: {height}}}
initial_guess: {{x_m: 0, y_m: 0, z_m: 0}}
"""


@pytest.fixture
def printer(tmp_path: Path) -> Machine:
    path = tmp_path / "printer.yaml"
    path.write_text(_text(), encoding="utf-8")
    return load(path)


def _pose(name: str, place: Floats) -> ReadPose:
    readings = {}
    for tower, angle in TOWERS.items():
        foot = RADIUS * np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
        readings[f"slide_{tower}"] = float(place[2] + np.sqrt(ARM**2 - ((place[:2] - foot) ** 2).sum()))
    return ReadPose(name, readings)


def _measured(*, with_object: bool) -> GeometryMeasurements:
    """Return seven heights, and on request the twelve distances of a printed object."""
    radii = 0.05 * np.array([0.95, 0.90, 0.85, 0.70, 0.75, 0.80])
    turns = np.radians(90.0 + 60.0 * np.arange(6))
    probed = [
        np.zeros(3),
        *(r * np.array([np.cos(t), np.sin(t), 0.0]) for r, t in zip(radii, turns, strict=True)),
    ]
    poses = [_pose(f"H{k}", place) for k, place in enumerate(probed)]
    rows = [MeasuredRow("position", (k,), "tool", (None, None, 0.0), sigma=2e-5) for k in range(7)]
    if with_object:
        ways = [np.array([np.cos(t), np.sin(t), 0.0]) for t in np.radians(210.0 + 60.0 * np.arange(6))]
        edges = [(NEAR * way, FAR * way) for way in ways]  # ridges of the centre and of the outer pillars
        for way, across in zip(ways, [*ways[2:], *ways[:2]], strict=True):
            edges.append((OUTER * way + NEAR * across, OUTER * way + FAR * across))
        for k, (one, other) in enumerate(edges):
            poses += [_pose(f"O{2 * k}", one), _pose(f"O{2 * k + 1}", other)]
            size = float(np.linalg.norm(one - other))
            rows.append(MeasuredRow("distance", (7 + 2 * k, 8 + 2 * k), "tool", value=size, sigma=5e-5))
    return GeometryMeasurements("printed.csv", tuple(poses), tuple(rows))


def test_heights_alone_do_not_show_the_arms(printer: Machine) -> None:
    found = calibrate(printer, _measured(with_object=False), NINE, Prior(counts=False))
    assert found.rank == 7
    verdicts = {each.parameter.name: each.verdict for each in found.found}
    assert {verdicts[f"arm_{tower}"] for tower in TOWERS} == {"combination"}
    assert any("arm_" in each.text and "measure one distance" in each.text for each in found.unseen)


def test_a_printed_object_shows_arms_and_radius(printer: Machine) -> None:
    found = calibrate(printer, _measured(with_object=True), NINE, Prior(counts=False))
    assert found.rank == 9
    arms = [1e3 * found.sigma(f"arm_{tower}") for tower in TOWERS]
    assert arms == pytest.approx([1.5, 1.5, 1.5], rel=0.05)
    assert 1e3 * found.sigma("radius") == pytest.approx(0.8, rel=0.05)
