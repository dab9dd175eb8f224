"""The values that a pose can keep: coordinates of joints, and roll, pitch and yaw of quaternion joints.

The orientation of a quaternion joint is R = Rz(yaw) Ry(pitch) Rx(roll), from the joint's frame on the parent
to the child. With a_i the axes of that frame and b_i those of the child, one angle is kept by one row:

    roll     a_3 ' (b_2 cos roll - b_3 sin roll) = 0
    pitch    a_3 ' b_1 = -sin pitch
    yaw      (a_2 cos yaw - a_1 sin yaw) ' b_1 = 0

and all three together by the orientation itself, which stays regular where pitch is ±90°.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.sections.orientation import rotation_of
from linkwork.multibody.constraints import Closure, Constraint, CoordinateConstraint, Frame, Row
from linkwork.multibody.constraints.constraint import perpendicular
from linkwork.multibody.kernels.layout import PERPENDICULAR
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import ANGLES, Joint
from linkwork.multibody.tree.joint_dof import dof_of, onto_z
from linkwork.multibody.tree.quaternions import from_matrix, to_matrix

_QUATERNION = ".quaternion"
_LOCKED = 1e-9
"""Cosine of the pitch below which roll and yaw are one angle."""


@dataclass(frozen=True)
class Ball:
    """A joint whose orientation is a quaternion: its vector part at q[place:place + 3], also in v.

    `axes` (3 × 3, columns in the child's axes) are those of the quaternion and of the angular velocity in v.
    """

    joint: Joint
    place: int
    scalar: int
    axes: Floats

    def rotation(self, q: Floats) -> Floats:
        """Return R (3 × 3), from the child's axes to those of the joint's frame on the parent."""
        return self.axes @ to_matrix([q[self.scalar], *q[self.place : self.place + 3]]) @ self.axes.T

    def set_rotation(self, q: Floats, rotation: Floats) -> None:
        """Write the quaternion of R (3 × 3) to q (nq)."""
        quaternion = from_matrix(self.axes.T @ rotation @ self.axes)
        q[self.scalar], q[self.place : self.place + 3] = quaternion[0], quaternion[1:]

    def values(self) -> tuple[str, str, str]:
        """Return the names of its three angles."""
        roll, pitch, yaw = (f"{self.joint.name}.{turn}" for turn in ANGLES)
        return roll, pitch, yaw


@dataclass(frozen=True, eq=False)
class HeldRows(Closure):
    """Rows between a joint's frame on the parent and the child."""

    demanded: tuple[Row, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows that were given."""
        return self.demanded


def balls(mechanism: Mechanism) -> list[Ball]:
    """Return the quaternion joints."""
    found = []
    for joint in mechanism.joints:
        dof = dof_of(joint)
        if dof.ball:
            place = mechanism.joint_index(dof.names[dof.ball.place])
            scalar = mechanism.position_names.index(f"{joint.name}{_QUATERNION}")
            found.append(Ball(joint, place, scalar, dof.ball.ball_frame()[0]))
    return found


def values_of(mechanism: Mechanism, q: Floats) -> dict[str, float]:
    """Return every value that can be kept at q (nq), rad and m; roll, yaw within ±π, pitch within ±π/2."""
    found = {
        name: float(q[k])
        for k, name in enumerate(mechanism.joint_names)
        if name in mechanism.coordinate_names
    }
    for ball in balls(mechanism):
        found |= zip(ball.values(), turns_of(ball.rotation(q)), strict=True)
    return found


def turns_of(rotation: Floats) -> tuple[float, float, float]:
    """Return roll, pitch and yaw (rad) of a rotation matrix (3 × 3), Rz(yaw) Ry(pitch) Rx(roll)."""
    pitch = math.atan2(-rotation[2, 0], math.hypot(rotation[2, 1], rotation[2, 2]))
    if math.cos(pitch) < _LOCKED:
        return 0.0, pitch, math.atan2(-rotation[0, 1], rotation[1, 1])
    roll = math.atan2(rotation[2, 1], rotation[2, 2])
    return roll, pitch, math.atan2(rotation[1, 0], rotation[0, 0])


def way_between(
    mechanism: Mechanism, begin: Mapping[str, float], end: Mapping[str, float]
) -> dict[str, float]:
    """Return how each value moves from one to the other: a quaternion's angles the shorter way."""
    way = {name: end[name] - begin[name] for name in end}
    for ball in balls(mechanism):
        roll, pitch, yaw = names = ball.values()
        same = (begin[roll] + math.pi, math.pi - begin[pitch], begin[yaw] + math.pi)
        ways = [
            [math.remainder(end[name] - value, math.tau) for name, value in zip(names, values, strict=True)]
            for values in ([begin[name] for name in names], same)
        ]
        way |= zip(names, min(ways, key=lambda angles: sum(map(abs, angles))), strict=True)
    return way


def directions(mechanism: Mechanism, q: Floats, names: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    """Return the gradient (nv, up to its size) of each of these values that can be kept, in their order."""
    wanted = list(dict.fromkeys(names))
    angles = {name: row for ball in balls(mechanism) for name, row in _turning(ball, q, wanted).items()}
    for name in wanted:
        row = np.zeros(mechanism.nv)
        if name in angles:
            place, direction = angles[name]
            row[place : place + 3] = direction
        elif name in mechanism.joint_names and name in mechanism.coordinate_names:
            row[mechanism.joint_index(name)] = 1.0
        else:
            continue
        yield name, row


def _turning(ball: Ball, q: Floats, names: Sequence[str]) -> dict[str, tuple[int, Floats]]:
    """Return in which direction of the angular velocity each angle of a joint moves, and its place in v.

    Where all three are named they span every direction, at a pitch of ±90° too.
    """
    named = [name for name in names if name in ball.values()]
    roll, pitch, yaw = ball.values()
    turn, tilt, _ = turns_of(ball.rotation(q))
    s, c = math.sin(turn), math.cos(turn)
    found = {
        roll: np.array([math.cos(tilt), s * math.sin(tilt), c * math.sin(tilt)]),
        pitch: np.array([0.0, c, -s]),
        yaw: np.array([0.0, s, c]),
    }
    if len(named) == 3:
        first, second = [name for name in named if name != pitch]
        found[second] = np.cross(found[first], found[pitch])
    return {name: (ball.place, found[name] @ ball.axes) for name in named}


def keeping(mechanism: Mechanism, kept: Sequence[str], values: Mapping[str, float]) -> Mechanism:
    """Return the mechanism with these values (of all that are kept) demanded by further constraints."""
    held: list[Constraint] = [
        CoordinateConstraint(f"initial {name}", of=name, value=values[name])
        for name in kept
        if name in mechanism.joint_names
    ]
    for ball in balls(mechanism):
        held += _orientation(ball, [name for name in ball.values() if name in kept], values)
    return mechanism.changed(constraints=[*mechanism.constraints, *held])


def _orientation(ball: Ball, kept: Sequence[str], values: Mapping[str, float]) -> Iterator[Constraint]:
    joint, fixed = ball.joint, np.asarray(ball.joint.rotation)
    if len(kept) == 3:
        target = fixed @ rotation_of(*(values[name] for name in ball.values()))
        rows = (perpendicular(0, 1), perpendicular(1, 2), perpendicular(2, 0))
        yield HeldRows(
            f"initial orientation of {joint.name}",
            a=Frame(joint.parent, rotation=target),
            b=Frame(joint.child),
            demanded=rows,
        )
        return
    for name in kept:
        angle = values[name]
        s, c = math.sin(angle), math.cos(angle)
        a, b, cosine = {
            "roll": ((0.0, 0.0, 1.0), (0.0, c, -s), 0.0),
            "pitch": ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), -s),
            "yaw": ((-s, c, 0.0), (1.0, 0.0, 0.0), 0.0),
        }[name.rpartition(".")[2]]
        yield HeldRows(
            f"initial {name}",
            a=Frame(joint.parent, rotation=fixed @ onto_z(np.array(a))),
            b=Frame(joint.child, rotation=onto_z(np.array(b))),
            demanded=(Row("cosine", PERPENDICULAR, 2, 2, is_length=False, offset=cosine),),
        )
