"""A robot as another description gives it: links, joints and closures, each with its line in the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from linkwork.arrays import Floats

JointType = Literal[
    "revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical",
    "screw", "universal", "cylindrical",
]  # fmt: skip
ClosureType = Literal["weld", "point", "revolute", "prismatic", "universal", "cylindrical", "pin", "distance"]
SourceFormat = Literal["urdf", "mjcf", "sdf"]
TURNS = ("revolute", "continuous", "screw")
"""Joints whose one coordinate is an angle."""


class ImportProblem(ValueError):
    """An error in a source file: file, line (0: none), message and remedy."""

    def __init__(self, file: str, line: int, message: str, remedy: str = "") -> None:
        """Keep the parts, and say them in one line."""
        place = f"{file}:{line}" if line else file
        super().__init__(f"{place}: {message}" + (f"; {remedy}" if remedy else ""))
        self.file, self.line, self.message, self.remedy = file, line, message, remedy


@dataclass(frozen=True, eq=False)
class FramePose:
    """A frame in another one: origin (3, m) and axes as columns (3 × 3)."""

    at: Floats = field(default_factory=lambda: np.zeros(3))
    rotation: Floats = field(default_factory=lambda: np.eye(3))

    def __matmul__(self, inner: FramePose) -> FramePose:
        """Return a frame given in this one as one in the frame that this one is given in."""
        return FramePose(self.at + self.rotation @ inner.at, self.rotation @ inner.rotation)

    def inverse(self) -> FramePose:
        """Return the outer frame in this one."""
        return FramePose(-self.rotation.T @ self.at, self.rotation.T)


@dataclass(frozen=True, eq=False)
class SourceShape:
    """A shape that shows a link; `kind`, `sizes` and `color` as of `machine.visuals.VisualShape`.

    `pose` is the frame of its middle in the link's; `file` the path of a mesh.
    """

    kind: str
    sizes: tuple[float, ...]
    pose: FramePose
    color: str | None = None
    file: Path | None = None

    def seen_from(self, frame: FramePose) -> SourceShape:
        """Return the shape of a link in a frame in which the link has this pose."""
        return replace(self, pose=frame @ self.pose)


@dataclass(eq=False)
class SourceLink:
    """A link: mass (kg), centre of mass (3, m) and inertia about it (3 × 3, kg m²) in the link's axes.

    `unphysical`: no body has the inertia; `shapes` are for drawings.
    """

    name: str
    line: int
    mass: float = 0.0
    com: Floats = field(default_factory=lambda: np.zeros(3))
    inertia: Floats = field(default_factory=lambda: np.zeros((3, 3)))
    unphysical: bool = False
    shapes: list[SourceShape] = field(default_factory=list)

    def take_shapes(self, other: SourceLink, pose: FramePose) -> None:
        """Add the shapes of another link that is fixed to this one at `pose` (its frame in this one's)."""
        self.shapes += [shape.seen_from(pose) for shape in other.shapes]

    def lump(self, other: SourceLink, pose: FramePose) -> None:
        """Add another link that is fixed to this one at `pose` (its frame in this one's)."""
        self.take_shapes(other, pose)
        total = self.mass + other.mass
        com = pose.at + pose.rotation @ other.com
        centre = (self.mass * self.com + other.mass * com) / total if total > 0.0 else self.com
        turned = pose.rotation @ other.inertia @ pose.rotation.T
        self.inertia = (
            self.inertia + _about(self.mass, self.com - centre) + turned + _about(other.mass, com - centre)
        )
        self.mass, self.com = total, centre


@dataclass(eq=False)
class SourceJoint:
    """A joint: the child's frame in the parent's at zero, the axis (3) in the child's frame.

    `second_axis` (3), of a universal joint: fixed in the parent, in the child's frame at zero. Limits in rad
    or m, rad/s or m/s, N m or N; None where the source gives none. `pitch` of a screw in m/rad, `armature` in
    kg m² or kg, `stiffness` in N m/rad or N/m of a spring that is not stretched at `rest` (rad or m). `idle`:
    whether it has an idle degree of freedom.
    """

    name: str
    type: JointType
    parent: str
    child: str
    line: int
    pose: FramePose = field(default_factory=FramePose)
    axis: Floats = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    lower: float | None = None
    upper: float | None = None
    effort: float | None = None
    velocity: float | None = None
    damping: float = 0.0
    friction: float = 0.0
    second_axis: Floats | None = None
    pitch: float = 0.0
    armature: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    idle: bool = False


@dataclass(eq=False)
class SourceClosure:
    """A closure between frames a and b, each a link and a frame in it; `axis` (3) in a's frame.

    b's frame has the same axis, where closed; of a universal closure `b_axis` (3, in b's frame) is the other
    arm. `axis` of a pin is the normal. `distance` in m.
    """

    name: str
    type: ClosureType
    a: str
    a_pose: FramePose
    b: str
    b_pose: FramePose
    line: int = 0
    axis: Floats = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    b_axis: Floats | None = None
    distance: float = 0.0


@dataclass(eq=False)
class SourceCoupling:
    """A joint's coordinate as a polynomial of another one's: q = Σ c_k other^k; a constant without other.

    `more`: factors of further joints, whose terms are added.
    """

    name: str
    joint: str
    other: str | None
    coefficients: tuple[float, ...]
    line: int = 0
    more: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of_sum(cls, name: str, factors: Mapping[str, float], value: float, line: int = 0) -> SourceCoupling:
        """Return the coupling Σ factor q = value; its joint is the first one."""
        (joint, own), *rest = factors.items()
        terms = {key: -factor / own for key, factor in rest}
        other = next(iter(terms), None)
        linear = () if other is None else (terms.pop(other),)
        return cls(name, joint, other, (value / own, *linear), line, terms)

    @property
    def joints(self) -> list[str]:
        """The joints that are coupled."""
        return [name for name in (self.joint, self.other, *self.more) if name is not None]


@dataclass(eq=False)
class SourceSpring:
    """A spring with a damper between a place (3, m) of link a and one of link b: N/m, N s/m, m."""

    name: str
    a: str
    a_at: Floats
    b: str
    b_at: Floats
    stiffness: float
    damping: float
    rest: float
    line: int = 0


@dataclass(eq=False)
class RobotModel:
    """A robot: `motors` names the joints with actuators (None: the source does not say).

    `gravity` (3, m/s²); `start`: values (rad, m) of joints near a closed pose; `remarks`: parts of the source
    that are not in this model, in words; `left_out`: those of them that change the motion; `anchors`: origins
    (3, m) of links in the source's frames, where they differ; `tree_from_file`: whether a library can read
    links and joints from the file, or from `expanded`, its text, but for the types of the joints `retyped`.
    `as_tree`: closures are not read, because the user does not want them.
    """

    name: str
    file: str
    links: dict[str, SourceLink]
    joints: dict[str, SourceJoint]
    closures: list[SourceClosure] = field(default_factory=list)
    motors: list[str] | None = None
    couplings: list[SourceCoupling] = field(default_factory=list)
    springs: list[SourceSpring] = field(default_factory=list)
    gravity: Floats = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    start: dict[str, float] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    anchors: dict[str, Floats] = field(default_factory=dict)
    tree_from_file: bool = True
    retyped: list[str] = field(default_factory=list)
    expanded: str = ""
    as_tree: bool = False
    format: SourceFormat = "urdf"

    def leave_out(self, text: str) -> None:
        """Note a part of the source that changes the motion and is not in this model."""
        self.left_out.append(text)
        self.remarks.append(text)

    def lessen_gravity(self, without: Mapping[str, float]) -> None:
        """Take gravity from links by shares (0 to 1): of all that have a mass alike, or of none."""
        moving = [link for link in self.links.values() if link.mass > 0.0 and self._moves(link.name)]
        shares = {without.get(link.name, 0.0) for link in moving}
        if len(shares) == 1:
            self.gravity = self.gravity * (1.0 - shares.pop())
        elif shares:
            names = ", ".join(link.name for link in moving if without.get(link.name))
            why = "is left out, since not all links have it; these feel their weight"
            self.leave_out(f"compensation of gravity {why}: {names}")

    def _moves(self, link: str) -> bool:
        joint = self.carrier(link)
        return joint is not None and (joint.type != "fixed" or self._moves(joint.parent))

    @property
    def absolute_file(self) -> str:
        """The absolute path of the source."""
        return str(Path(self.file).resolve())

    def coupled(self, joint: str) -> bool:
        """Return whether a coupling names a joint."""
        return any(joint in each.joints for each in self.couplings)

    def children(self, link: str) -> list[SourceJoint]:
        """Return the joints that a link carries."""
        return [joint for joint in self.joints.values() if joint.parent == link]

    def carrier(self, link: str) -> SourceJoint | None:
        """Return the joint that carries a link; None for a root."""
        return next((joint for joint in self.joints.values() if joint.child == link), None)

    def depth(self, link: str) -> int:
        """Return the number of joints between a link and its root."""
        joint = self.carrier(link)
        return 0 if joint is None else 1 + self.depth(joint.parent)

    def roots(self) -> list[str]:
        """Return the links that no joint carries."""
        carried = {joint.child for joint in self.joints.values()}
        return [name for name in self.links if name not in carried]


def _about(mass: float, arm: Floats) -> Floats:
    return np.asarray(mass * (float(arm @ arm) * np.eye(3) - np.outer(arm, arm)))
