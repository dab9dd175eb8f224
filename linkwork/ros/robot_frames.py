"""A machine as a robot of ROS: the URDF of `robot_description`, and the transforms between its links."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from linkwork.arrays import Floats
from linkwork.convert.robots.exporting import exported
from linkwork.convert.robots.robot_model import SourceJoint
from linkwork.convert.robots.robot_writing import urdf_text
from linkwork.machine import Machine

_TURNS, _SLIDES, _BALLS = ("revolute", "continuous"), ("prismatic",), ("spherical", "floating")


class LinkTransform(NamedTuple):
    """Frame of the link `child` in that of `parent`: place (3, m), and rotation (x, y, z, w)."""

    parent: str
    child: str
    place_m: Sequence[float]
    quaternion: Sequence[float]


class RobotFrames:
    """URDF of a machine and forward kinematics of its links, of which the root is `world`.

    Joints have the names of `state`. What URDF as ROS reads it lacks is replaced by the nearest that it has:
    a ball joint by a floating one, which `tf` moves; a capsule by a cylinder. `losses` lists what is left
    out, such as springs.
    """

    def __init__(self, machine: Machine) -> None:
        """Raises UnwritableMachine for one that has no URDF."""
        found = exported(machine, "urdf", own_names=True)
        self.losses: tuple[str, ...] = tuple(found.losses)
        self._joints = list(found.robot.joints.values())
        self._fixed = [joint.type == "fixed" for joint in self._joints]
        self._start = np.asarray(machine.initial_q)
        self._lay_out(machine, found.dofs)
        for joint in self._joints:
            joint.type = "floating" if joint.type in _BALLS else joint.type
        for link in found.robot.links.values():
            link.shapes = [
                replace(shape, kind="cylinder") if shape.kind == "capsule" else shape for shape in link.shapes
            ]
        self.description = urdf_text(found, None)

    def _lay_out(self, machine: Machine, dofs: Sequence[tuple[str, int]]) -> None:
        """Find the entries of q of each joint, and the constant parts of all transforms."""
        names = machine.mechanism.position_names
        entries: dict[str, list[int]] = {}
        for place, (name, _) in enumerate(dofs):
            entries.setdefault(name, []).append(place)
        self._entry = np.array([entries.get(joint.name, [0])[0] for joint in self._joints], dtype=np.int64)
        self._at = np.array([joint.pose.at for joint in self._joints])
        self._turned = np.array([joint.pose.rotation for joint in self._joints])
        turn, slide = ([joint.type in kinds for joint in self._joints] for kinds in (_TURNS, _SLIDES))
        axes = np.array([joint.axis for joint in self._joints])
        axes = axes / np.linalg.norm(axes, axis=1, keepdims=True)
        self._turn = axes * np.array(turn, dtype=np.float64)[:, None]
        self._slide = np.einsum("kij,kj->ki", self._turned, axes) * np.array(slide, dtype=np.float64)[:, None]
        self._balls = [
            (k, entries[joint.name], names.index(f"{_joint_of(machine, joint)}.quaternion"))
            for k, joint in enumerate(self._joints)
            if joint.type in _BALLS
        ]

    def constant(self) -> list[LinkTransform]:
        """Return the transforms of fixed joints."""
        return [each for each, fixed in zip(self._all(self._start), self._fixed, strict=True) if fixed]

    def transforms(self, q: Floats) -> list[LinkTransform]:
        """Return the transforms of all other joints at q (nq, in the order of `q` of `state`; rad or m)."""
        return [each for each, fixed in zip(self._all(q), self._fixed, strict=True) if not fixed]

    def _all(self, q: Floats) -> list[LinkTransform]:
        """Return the transforms of all joints at q (nq)."""
        own = q[self._entry]
        rotation = Rotation.from_rotvec(self._turn * own[:, None]).as_quat()
        places = self._at + self._slide * own[:, None]
        for k, entries, scalar in self._balls:
            rotation[k] = *q[entries[-3:]], q[scalar]
            if len(entries) > 3:
                places[k] += self._turned[k] @ q[entries[:3]]
        turned = (Rotation.from_matrix(self._turned) * Rotation.from_quat(rotation)).as_quat()
        return [
            LinkTransform(joint.parent, joint.child, place, quaternion)
            for joint, place, quaternion in zip(self._joints, places.tolist(), turned.tolist(), strict=True)
        ]


def _joint_of(machine: Machine, joint: SourceJoint) -> str:
    """Return the machine's joint that carries the same link as a ball joint of its robot."""
    return next(each.name for each in machine.mechanism.joints if each.child == joint.child)
