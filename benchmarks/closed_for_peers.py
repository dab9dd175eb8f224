"""Closed machines in terms that other simulators have: bodies in motion, hinges, balls and held axes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from linkwork import Machine, load, simulate
from linkwork.arrays import Floats
from linkwork.multibody.constraints import CoordinateConstraint, PointClosure, RevoluteClosure
from linkwork.multibody.formulations.evaluation import constraint_evaluation
from linkwork.multibody.functions import point_jacobian, point_position
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import Joint, Point

MACHINES = ("slider_crank", "four_bar", "five_bar", "platform_3rrs", "platform_huang", "delta")
"""The closed machines that ship; `delta_gripper` and `five_bar_redundant` have the same mechanisms."""
PUSH, PUSH_S = 0.05, 0.1
"""Share of the motors' efforts, and its duration."""
INDEPENDENT = 1e-6
"""Smallest pivot of an independent row, relative to the largest."""


class NotCarried(ValueError):
    """The peer cannot carry the machine, with the reason."""


@dataclass(frozen=True)
class BodyStart:
    """Place of a body's frame (4 × 4, m), its angular velocity and its centre's velocity (3 each)."""

    place: Floats
    angular_rad_s: Floats
    centre_m_s: Floats


@dataclass(frozen=True)
class Tie:
    """A closure: frame (4 × 4, m) on body `a`, frame on body `b`, and the axes that it holds.

    axes (6): 1 where the translation along, or the rotation about, an axis of frame `a` is held.
    """

    name: str
    a: str
    frame_a: Floats
    b: str
    frame_b: Floats
    axes: tuple[int, ...]


def in_motion(name: str) -> Machine:
    """Return a machine with the state after a push by its motors as its initial state."""
    machine = load(name)
    efforts = [PUSH * motor.max_effort * (-0.5) ** k for k, motor in enumerate(machine.motors)]
    pushed = simulate(machine, PUSH_S, PUSH_S, effort=efforts, integrator="dop853")
    return replace(machine, initial_q=pushed.q[-1], initial_v=pushed.v[-1])


def refuse_unknown(mechanism: Mechanism) -> None:
    """Raise NotCarried where the machine has parts that the benchmark does not translate."""
    for joint in mechanism.joints:
        if joint.kind not in ("revolute", "spherical") or joint.coordinates != "quaternion":
            raise NotCarried(f"{joint.name}: no translation of a {joint.kind} joint")
        if joint.armature or joint.viscous or joint.coulomb:
            raise NotCarried(f"{joint.name}: no translation of friction or armature")
    if mechanism.stops or mechanism.contacts or mechanism.elements:
        raise NotCarried("no translation of stops, contacts or force elements")


def hinges(mechanism: Mechanism) -> list[Joint]:
    """Return the joints that turn about one axis."""
    return [joint for joint in mechanism.joints if joint.kind == "revolute"]


def hinge_places(machine: Machine) -> list[int]:
    """Return the places of the hinges' angles in q."""
    mechanism = machine.plant_mechanism
    return [mechanism.joint_index(joint.name) for joint in hinges(mechanism)]


def is_planar(mechanism: Mechanism) -> bool:
    """Whether all bodies move in planes across the z axis of the world."""
    return all(
        joint.kind == "revolute"
        and np.allclose(joint.axis, [0.0, 0.0, 1.0])
        and np.allclose(np.asarray(joint.rotation)[:, 2], [0.0, 0.0, 1.0])
        for joint in mechanism.joints
    )


def moving_frames(machine: Machine) -> dict[str, BodyStart]:
    """Return the frames of all bodies at the initial state, by their names; "world" too."""
    mechanism, q, v = machine.plant_mechanism, machine.initial_q, machine.initial_v
    corners = np.vstack([np.zeros(3), np.eye(3)])
    found = {"world": BodyStart(np.eye(4), np.zeros(3), np.zeros(3))}
    for body in mechanism.bodies:
        bare = mechanism.bare(
            [
                *(Point(f"{k}", body.name, at) for k, at in enumerate(corners)),
                Point("com", body.name, body.com_m),
            ]
        )
        origin, *ends = (point_position(bare, f"{k}", q) for k in range(4))
        twist = point_jacobian(bare, "com", q) @ v
        axes = np.column_stack([end - origin for end in ends])
        found[body.name] = BodyStart(placed(origin, axes), twist[:3], twist[3:])
    return found


def placed(at_m: Any, rotation: Any = ((1, 0, 0), (0, 1, 0), (0, 0, 1))) -> Floats:
    """Return the homogeneous transformation (4 × 4) of a frame at this place (m) with these axes."""
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = rotation, at_m
    return found


def about(axis: Any) -> Floats:
    """Return a rotation (3 × 3) whose z axis is this unit vector."""
    z = np.asarray(axis, dtype=float)
    if np.array_equal(z, [0.0, 0.0, 1.0]):
        return np.eye(3)
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def ties(machine: Machine) -> Iterator[Tie]:
    """Yield the closures, without rows that depend on others at the initial pose.

    Raises NotCarried for a kind of closure that is not translated.
    """
    mechanism = machine.plant_mechanism
    kept = _independent(mechanism, machine.initial_q)
    for closure in mechanism.constraints:
        rows = [f"{closure.name}.{row.name}" in kept for row in closure.rows]
        if isinstance(closure, CoordinateConstraint) and closure.of.endswith(".y"):
            point = next(each for each in mechanism.points if each.name == closure.of[:-2])
            held = placed((0.0, float(closure.value), 0.0))
            yield Tie(closure.name, "world", held, point.body, placed(point.at_m), (0, 1, 0, 0, 0, 0))
        elif isinstance(closure, PointClosure | RevoluteClosure):
            x, y, z, about_y, about_x = (int(on) for on in (*rows, False, False)[:5])
            a, b = closure.a, closure.b
            frames = a.body, placed(a.at_m, a.rotation), b.body, placed(b.at_m, b.rotation)
            yield Tie(closure.name, *frames, (x, y, z, about_x, about_y, 0))
        else:
            raise NotCarried(f"{closure.name}: no translation of a {type(closure).__name__}")


def _independent(mechanism: Mechanism, q: Floats) -> set[str]:
    """Return the names of rows on which the others depend at this pose, chosen by pivoted QR."""
    rows = constraint_evaluation(mechanism, q, np.zeros(mechanism.nv)).scaled_rows
    _, triangle, order = scipy.linalg.qr(rows.T, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(triangle))
    rank = int((pivots > INDEPENDENT * pivots[0]).sum())
    return {mechanism.row_names[row] for row in order[:rank]}
