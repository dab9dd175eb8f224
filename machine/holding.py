"""Whether the brakes hold the machine against gravity where it starts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from machine.description import Machine
from machine.problems import Problem
from machine.yaml import parse_yaml
from multibody.mechanism import Mechanism
from multibody.model import WORLD, Body, Joint

_STEP = 1e-5
_NOTHING = 1e-6

Vector = NDArray[np.float64]
Pose = tuple[Vector, Vector]  # axes (columns) and origin in the world


def holding_warnings(machine: Machine) -> Iterator[Problem]:
    """Return warnings about brakes that do not hold the machine where it starts, unless it damps instead."""
    if machine.plant.on_timeout == "damp":
        return
    document = parse_yaml(machine.source_text, machine.path)
    loads = gravity_load(machine.mechanism, machine.initial_q)
    for motor in machine.motors:
        needed = abs(float(loads[motor.index]))
        if needed <= motor.brake_effort or needed < _NOTHING:
            continue
        unit, key = ("N m", "brake_torque_N_m") if motor.is_angle else ("N", "brake_force_N")
        yield document.problem(
            ("motors", motor.joint, key),
            "the brake does not hold this joint against gravity where the machine starts",
            of_key=True,
            found=f"{motor.brake_effort:g} {unit}",
            allowed=f"{needed:.4g} {unit} or more",
            remedy="give it a stronger brake, or say on_timeout: damp",
            severity="warning",
        )


def gravity_load(mechanism: Mechanism, q: Vector) -> Vector:
    """Return the effort (nv; N m or N) that each joint needs to stand still at q: the slope of the potential.

    This is done by central differences, so that a file can be checked without compiling any kernel.
    """
    steps = _STEP * np.eye(len(q))
    slopes = [
        (_potential(mechanism, q + step) - _potential(mechanism, q - step)) / (2 * _STEP) for step in steps
    ]
    return np.array(slopes)


def _potential(mechanism: Mechanism, q: Vector) -> float:
    """Return −Σ m g·c in J."""
    values = dict(zip(mechanism.joint_names, q.tolist(), strict=True))
    carriers = {joint.child: joint for joint in mechanism.joints}
    poses: dict[str, Pose] = {WORLD: (np.eye(3), np.zeros(3))}
    return -sum(
        body.mass_kg * float(mechanism.gravity_m_s2 @ _centre(body, carriers, values, poses))
        for body in mechanism.bodies
    )


def _centre(
    body: Body, carriers: dict[str, Joint], values: dict[str, float], poses: dict[str, Pose]
) -> Vector:
    axes, origin = _pose(body.name, carriers, values, poses)
    centre: Vector = origin + axes @ np.asarray(body.com_m)
    return centre


def _pose(name: str, carriers: dict[str, Joint], values: dict[str, float], poses: dict[str, Pose]) -> Pose:
    """Return a body's axes and origin in the world, noting all poses on the way."""
    way = []
    while name not in poses:
        way.append(carriers[name])
        name = carriers[name].parent
    for joint in reversed(way):
        axes, origin = poses[joint.parent]
        origin = origin + axes @ np.asarray(joint.at_m)
        axes = axes @ np.asarray(joint.rotation)
        axis, value = np.asarray(joint.axis), values.get(joint.name, 0.0)
        travel = value if joint.kind == "prismatic" else value * joint.pitch_m_per_rad
        angle = value if joint.is_angle else 0.0
        poses[joint.child] = (axes @ _turn(axis, angle), origin + axes @ axis * travel)
        name = joint.child
    return poses[name]


def _turn(axis: Vector, angle: float) -> Vector:
    """Rodrigues' formula."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turn: Vector = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross)
    return turn
