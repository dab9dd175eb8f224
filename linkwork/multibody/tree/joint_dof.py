"""The degrees of freedom of a joint: their names, and their chain of elementary screws.

The velocities of a joint are the rates of its coordinates, with one exception: where three rotations have a
unit quaternion as coordinates, the velocities are the components of the angular velocity in the child's axes.

| kind | degrees of freedom, in the order of q and v |
| --- | --- |
| revolute, prismatic, screw | one, which bears the joint's own name |
| cylindrical | turn, slide |
| universal | 1 (about `axis`), 2 (about `second_axis`) |
| planar | x, y (in the parent's axes; `axis` is their z), turn |
| spherical | rx, ry, rz |
| free | x, y, z (the child's origin, in the parent's axes turned by `rotation`), rx, ry, rz |
| compound, simple | 1 … r, in the order of the columns |

Coordinate k of q belongs to velocity k; the scalar parts of the quaternions follow after all others, and the
vector part of a quaternion has the places of the rotation's three velocities.
"""

from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.model import Joint, ModelError
from linkwork.multibody.tree.joint_map import (
    bracket,
    unclosed_pair,
)

SCREW, BALL = "screw", "ball"

_ROTATIONS = np.eye(6)[:3]
_TRANSLATIONS = np.eye(6)[3:]


@dataclass(frozen=True)
class ChainMember:
    """One member of a chain: a screw (its column and place in v) or a ball (its first place in v)."""

    kind: str
    place: int
    column: Floats


@dataclass(frozen=True)
class JointDof:
    """Degrees of freedom of one joint: names, kinds, and the chain of screws from the parent to the child."""

    names: tuple[str, ...]
    is_angle: tuple[bool, ...]
    chain: tuple[ChainMember, ...]

    @property
    def has_ball(self) -> bool:
        """Whether three of the degrees of freedom have a quaternion as coordinates."""
        return any(step.kind == BALL for step in self.chain)


def dof_of(joint: Joint) -> JointDof:
    """Names, kinds and chain. Raises ModelError for columns that are no simple joint."""
    if joint.kind == "fixed":
        return JointDof((), (), ())
    axis = np.asarray(joint.axis)
    turn, slide = np.concatenate([axis, np.zeros(3)]), np.concatenate([np.zeros(3), axis])
    if joint.kind == "revolute":
        return _of([turn], [""], [0], joint)
    if joint.kind == "prismatic":
        return _of([slide], [""], [0], joint)
    if joint.kind == "screw":
        return _of([turn + joint.pitch_m_per_rad * slide], [""], [0], joint)
    if joint.kind == "cylindrical":
        return _of([turn, slide], ["turn", "slide"], [1, 0], joint)
    if joint.kind == "universal":
        second = np.concatenate([np.asarray(joint.second_axis), np.zeros(3)])
        return _of([turn, second], ["1", "2"], [1, 0], joint)
    if joint.kind == "planar":
        x, y, _ = onto_z(axis).T
        planar = [np.concatenate([np.zeros(3), x]), np.concatenate([np.zeros(3), y]), turn]
        return _of(planar, ["x", "y", "turn"], [0, 1, 2], joint)
    if joint.kind == "spherical":
        return _rotating(joint, [], [])
    if joint.kind == "free":
        return _rotating(joint, list(_TRANSLATIONS), ["x", "y", "z"])
    columns = np.asarray(joint.columns)
    if joint.kind == "simple" and not _commute(columns):
        _refuse_unclosed(joint, columns)
        if not np.array_equal(columns, _ROTATIONS):
            raise ModelError(
                "of the simple joints whose columns do not commute, only the one with columns rotation x, "
                'rotation y, rotation z is known; use kind "compound"',
                ("joints", joint.name, "columns"),
            )
        return _rotating(joint, [], [], names=["1", "2", "3"])
    count = len(columns)
    numbers = [str(k + 1) for k in range(count)] if count > 1 else [""]
    return _of(list(columns), numbers, list(reversed(range(count))), joint)


def onto_z(axis: Floats) -> Floats:
    """Return a rotation (3 × 3) whose third column is the unit vector `axis` (3); the identity where that is
    z already.
    """
    if axis[2] == 1.0:
        return np.eye(3)
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def _named(joint: Joint, suffixes: list[str]) -> tuple[str, ...]:
    return tuple(f"{joint.name}.{suffix}" if suffix else joint.name for suffix in suffixes)


def _of(columns: list[Floats], suffixes: list[str], order: list[int], joint: Joint) -> JointDof:
    """Screws, given in the order of q; `order` lists them from the parent to the child."""
    angles = tuple(bool(column[:3].any()) for column in columns)
    chain = tuple(ChainMember(SCREW, place, columns[place]) for place in order)
    return JointDof(_named(joint, suffixes), angles, chain)


def _rotating(
    joint: Joint, before: list[Floats], suffixes: list[str], names: list[str] | None = None
) -> JointDof:
    """Translations in the parent's axes, then three rotations of the child."""
    first = len(before)
    chain = [ChainMember(SCREW, place, column) for place, column in enumerate(before)]
    if joint.coordinates == "quaternion":
        chain.append(ChainMember(BALL, first, np.zeros(6)))
    else:
        chain.extend(ChainMember(SCREW, first + k, _ROTATIONS[k]) for k in (2, 1, 0))
    named = _named(joint, [*suffixes, *(names or ["rx", "ry", "rz"])])
    return JointDof(named, (False,) * first + (True,) * 3, tuple(chain))


def _commute(columns: Floats) -> bool:
    return all(np.abs(bracket(a, b)).max() < 1e-12 for a in columns for b in columns)


def _refuse_unclosed(joint: Joint, columns: Floats) -> None:
    pair = unclosed_pair(columns)
    if pair is not None:
        i, j = pair
        raise ModelError(
            f"columns {i + 1} and {j + 1} have a bracket outside the span of all columns, so that constant "
            "columns would be a nonholonomic constraint and not a joint (a universal joint is the common "
            "case)",
            ("joints", joint.name, "columns"),
            "make it a compound joint, whose twists vary with its coordinates",
        )
