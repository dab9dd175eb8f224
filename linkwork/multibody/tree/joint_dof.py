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

The columns of a simple joint generate a group of motions. Columns that commute, and three that are
orthonormal rotations about one point (in any order of the axes), are constant in the child's axes. In all
other groups (planar, SCARA, …) no coordinates have such rates: translations come first, in the parent's axes,
and the rates equal the velocities along the columns where the joint is at zero.

Coordinate k of q belongs to velocity k; the scalar parts of the quaternions follow after all others, and the
vector part of a quaternion has the places of the rotation's three velocities.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.model import Joint, ModelError
from linkwork.multibody.tree.joint_map import bracket, unclosed_pair

SCREW, BALL = "screw", "ball"

_ROTATIONS = np.eye(6)[:3]
_TRANSLATIONS = np.eye(6)[3:]
_SAME = 1e-6
"""Difference in rad, or in m beside lengths of 1 m, within which given columns are orthonormal rotations."""


@dataclass(frozen=True)
class ChainMember:
    """One member of a chain: a screw (place in v, column) or a ball (first place, three columns, 3 × 6)."""

    kind: str
    place: int
    column: Floats

    def ball_frame(self) -> tuple[Floats, Floats]:
        """Return a ball's axes of rotation (3 × 3, columns) and centre (3, m) in the child's frame."""
        axes = self.column[:, :3].T
        if np.abs(axes.T @ axes - np.eye(3)).max() > 1e-15:
            left, _, right = np.linalg.svd(axes)
            axes = left @ right
        return axes, 0.5 * np.cross(self.column[:, :3], self.column[:, 3:]).sum(axis=0)


@dataclass(frozen=True)
class JointDof:
    """Degrees of freedom of one joint: names, kinds, and the chain of screws from the parent to the child."""

    names: tuple[str, ...]
    is_angle: tuple[bool, ...]
    chain: tuple[ChainMember, ...]

    @property
    def ball(self) -> ChainMember | None:
        """The member whose three degrees of freedom have a quaternion as coordinates."""
        return next((step for step in self.chain if step.kind == BALL), None)


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
    count = len(columns)
    numbers = [str(k + 1) for k in range(count)] if count > 1 else [""]
    order = list(reversed(range(count)))
    if joint.kind == "simple" and not _commute(columns):
        _refuse_unclosed(joint, columns)
        order.sort(key=lambda k: (bool(columns[k, :3].any()), -k))
        first = ball_place(columns)
        if first is not None:
            chain = [ChainMember(SCREW, k, columns[k]) for k in order if not columns[k, :3].any()]
            chain.append(ChainMember(BALL, first, columns[first : first + 3]))
            return JointDof(_named(joint, numbers), _are_angles(columns), tuple(chain))
    return _of(list(columns), numbers, order, joint)


def ball_place(columns: Floats) -> int | None:
    """Return the first of three columns (r × 6) that are a ball joint, alone or beside three translations.

    They are right-handed orthonormal rotations about one point. None where there is no such ball.
    """
    turning = np.flatnonzero(columns[:, :3].any(axis=1))
    if len(columns) not in (3, 6) or len(turning) != 3 or turning[2] - turning[0] != 2:
        return None
    ball = ChainMember(BALL, int(turning[0]), columns[turning])
    axes, centre = ball.ball_frame()
    gap = np.hstack([ball.column[:, :3] - axes.T, ball.column[:, 3:] - np.cross(centre, axes.T)])
    close = np.abs(gap).max() < _SAME * max(1.0, float(np.abs(centre).max()))
    return ball.place if close and np.linalg.det(axes) > 0.0 else None


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
    chain = tuple(ChainMember(SCREW, place, columns[place]) for place in order)
    return JointDof(_named(joint, suffixes), _are_angles(columns), chain)


def _are_angles(columns: Sequence[Floats] | Floats) -> tuple[bool, ...]:
    return tuple(bool(column[:3].any()) for column in columns)


def _rotating(joint: Joint, before: list[Floats], suffixes: list[str]) -> JointDof:
    """Translations in the parent's axes, then three rotations of the child."""
    first = len(before)
    chain = [ChainMember(SCREW, place, column) for place, column in enumerate(before)]
    if joint.coordinates == "quaternion":
        chain.append(ChainMember(BALL, first, _ROTATIONS))
    else:
        chain.extend(ChainMember(SCREW, first + k, _ROTATIONS[k]) for k in (2, 1, 0))
    named = _named(joint, [*suffixes, "rx", "ry", "rz"])
    return JointDof(named, (False,) * first + (True,) * 3, tuple(chain))


def _commute(columns: Floats) -> bool:
    return all(np.abs(bracket(a, b)).max() < 1e-12 for a in columns for b in columns)


def _refuse_unclosed(joint: Joint, columns: Floats) -> None:
    pair = unclosed_pair(columns)
    if pair is not None:
        i, j = pair
        outside = ", ".join(f"{x + 0.0:.6g}" for x in bracket(columns[i], columns[j]))
        raise ModelError(
            f"columns {i + 1} and {j + 1} have a bracket outside the span of all columns, [{outside}], so "
            "that constant columns would be a nonholonomic constraint and not a joint (a universal joint is "
            "the common case)",
            ("joints", joint.name, "columns"),
            "make it a compound joint, whose twists vary with its coordinates",
        )
