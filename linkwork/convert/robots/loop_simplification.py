"""Simplification of descriptions: fixed links, gimbals of massless links, links that closures weld together.

Every change is exact for the motion unless its note says otherwise, and has a note with its reason.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from linkwork.arrays import Floats
from linkwork.convert.robots.robot_model import (
    ClosureType,
    FramePose,
    RobotModel,
    SourceClosure,
    SourceJoint,
    SourceLink,
)

LIGHT = 1e-6
"""Share of the robot's moving mass below which a link counts as massless."""
_SAME_M, _SAME_RAD = 1e-6, 1e-6


@dataclass(frozen=True, eq=False)
class FramePoint:
    """A named frame that remains of a merged link: its link, and its place there (3, m)."""

    name: str
    link: str
    at: Floats


class LoopSimplifier:
    """A simplifier that changes a robot in place.

    `notes`: the changes with their reasons; `frames`: frames of merged links.
    """

    def __init__(self, robot: RobotModel) -> None:
        """Work on this robot."""
        self.robot = robot
        self.notes: list[str] = []
        self.frames: list[FramePoint] = []
        moving = [link.mass for name, link in robot.links.items() if robot.carrier(name) is not None]
        self._light = LIGHT * (sum(sorted(moving)[:-1] or moving) or 1.0)

    def run(self) -> None:
        """Make all changes."""
        self._merge_fixed()
        self._merge_gimbals()
        for closure in self.robot.closures:
            while self._absorb_leaf(closure):
                pass
            self._drop_idle_spin(closure)
        self._join_points()

    def _driven(self, joint: SourceJoint) -> bool:
        """Whether a motor, coupling or spring acts on a joint."""
        robot = self.robot
        return joint.name in (robot.motors or ()) or robot.coupled(joint.name) or joint.stiffness != 0.0

    def _merge_fixed(self) -> None:
        robot = self.robot
        for joint in [each for each in robot.joints.values() if each.type == "fixed"]:
            child = robot.links.pop(joint.child)
            del robot.joints[joint.name]
            parent = robot.links[joint.parent]
            parent.lump(child, joint.pose)
            self.frames.append(FramePoint(child.name, parent.name, joint.pose.at))
            self._rehang(child.name, parent.name, joint.pose)
            if child.mass > self._light:
                self.notes.append(f"{child.name} is fixed to {parent.name}: they are one body")

    def _rehang(self, old: str, new: str, pose: FramePose) -> None:
        """Let everything on a link refer to another link, in which the old one has this pose."""
        for joint in self.robot.joints.values():
            if joint.parent == old:
                joint.parent, joint.pose = new, pose @ joint.pose
        for closure in self.robot.closures:
            if closure.a == old:
                closure.a, closure.a_pose = new, pose @ closure.a_pose
            if closure.b == old:
                closure.b, closure.b_pose = new, pose @ closure.b_pose
        self.frames = [
            replace(each, link=new, at=pose.at + pose.rotation @ each.at) if each.link == old else each
            for each in self.frames
        ]

    def _merge_gimbals(self) -> None:
        """Three hinges through one point, with massless links between, are a ball joint."""
        robot = self.robot
        for first in list(robot.joints.values()):
            if first.name not in robot.joints or first.type not in ("revolute", "continuous"):
                continue
            second = self._next_hinge(first)
            third = self._next_hinge(second) if second is not None else None
            if second is None or third is None or any(map(self._driven, (first, second, third))):
                continue
            axes = [first.axis, second.pose.rotation @ second.axis]
            between = second.pose.rotation @ third.pose.rotation @ third.axis
            if abs(axes[0] @ axes[1]) > _SAME_RAD or abs(axes[1] @ between) > _SAME_RAD:
                continue
            pose = first.pose @ second.pose @ third.pose
            for link in (first.child, second.child):
                del robot.links[link]
            for joint in (second, third):
                del robot.joints[joint.name]
            self.notes.append(
                f"{first.name}, {second.name} and {third.name} meet in one point, with massless links "
                f"between: they are the ball joint {first.name}"
            )
            first.type, first.child, first.pose = "spherical", third.child, pose
            first.lower = first.upper = None

    def _next_hinge(self, joint: SourceJoint) -> SourceJoint | None:
        """The one undriven hinge on a massless link at the same place, or None."""
        children = self.robot.children(joint.child)
        if (
            len(children) != 1
            or self.robot.links[joint.child].mass > self._light
            or self._closures_on(joint.child)
        ):
            return None
        (child,) = children
        hinge = child.type in ("revolute", "continuous") and np.linalg.norm(child.pose.at) < _SAME_M
        return child if hinge else None

    def _closures_on(self, link: str) -> list[SourceClosure]:
        return [each for each in self.robot.closures if link in (each.a, each.b)]

    def _leaf_joint(self, link: str) -> SourceJoint | None:
        """The undriven joint of a link that carries nothing and has one closure, or None."""
        joint = self.robot.carrier(link)
        if joint is None or self._driven(joint) or self.robot.children(link):
            return None
        return joint if len(self._closures_on(link)) == 1 else None

    def _absorb_leaf(self, closure: SourceClosure) -> bool:
        """A leaf that is welded to another link is a part of that link; its joint becomes the closure."""
        if closure.type != "weld":
            return False
        for swap in (False, True):
            if swap:
                closure.a, closure.a_pose, closure.b, closure.b_pose = (
                    closure.b, closure.b_pose, closure.a, closure.a_pose,
                )  # fmt: skip
            joint = self._leaf_joint(closure.a)
            if joint is None or joint.type not in _CLOSURES or joint.parent == closure.b:
                continue
            leaf = self.robot.links.pop(joint.child)
            del self.robot.joints[joint.name]
            seat = closure.b_pose @ closure.a_pose.inverse()  # the leaf's frame in b's link
            self.robot.links[closure.b].lump(leaf, seat)
            self._rehang(leaf.name, closure.b, seat)
            self.notes.append(
                f"{leaf.name} is welded to {closure.b} by {closure.name}: they are one body, and "
                f"{joint.name} is the closure, {_WORDS[joint.type]}"
            )
            closure.type = _CLOSURES[joint.type]
            closure.a, closure.a_pose, closure.axis = joint.parent, joint.pose, joint.axis
            closure.b_pose = seat
            return True
        return False

    def _drop_idle_spin(self, closure: SourceClosure) -> None:
        """A leaf between two coaxial hinges spins about itself; it moves with its carrier instead."""
        if closure.type != "revolute":
            return
        for swap in (False, True):
            link, pose = (closure.a, closure.a_pose) if swap else (closure.b, closure.b_pose)
            axis = pose.rotation @ closure.axis
            joint = self._leaf_joint(link)
            if joint is None or joint.type not in ("revolute", "continuous"):
                continue
            own = joint.axis / np.linalg.norm(joint.axis)
            off = np.cross(own, pose.at)
            if np.linalg.norm(np.cross(own, axis)) > _SAME_RAD or np.linalg.norm(off) > _SAME_M:
                continue
            leaf = self.robot.links[link]
            if leaf.mass > self._light and not _symmetric(leaf, own):
                continue
            leaf.inertia = leaf.inertia - (own @ leaf.inertia @ own) * np.outer(own, own)
            carrier = self.robot.links[joint.parent]
            carrier.lump(leaf, joint.pose)
            del self.robot.links[link], self.robot.joints[joint.name]
            self._rehang(link, joint.parent, joint.pose)
            self.notes.append(
                f"{link} spins about itself between {joint.name} and {closure.name}, which have one axis: "
                f"it is a part of {carrier.name}, without inertia about that axis"
            )
            return

    def _join_points(self) -> None:
        """Two coinciding pairs of places of the same two links are a hinge about the line through them."""
        found: list[SourceClosure] = []
        for closure in self.robot.closures:
            other = next(
                (
                    each
                    for each in found
                    if each.type == closure.type == "point" and (each.a, each.b) == (closure.a, closure.b)
                ),
                None,
            )
            way = None if other is None else closure.a_pose.at - other.a_pose.at
            if other is None or way is None or np.linalg.norm(way) < _SAME_M:
                found.append(closure)
                continue
            there = closure.b_pose.at - other.b_pose.at
            if abs(np.linalg.norm(way) - np.linalg.norm(there)) > _SAME_M:
                found.append(closure)
                continue
            length = np.linalg.norm(way)
            other.type, other.axis = "revolute", way / length
            other.a_pose = FramePose(other.a_pose.at)
            other.b_pose = FramePose(other.b_pose.at, _turning(way / length, there / np.linalg.norm(there)))
            self.notes.append(
                f"{other.name} and {closure.name} hold two points of {closure.a} on {closure.b}: "
                "they are a hinge"
            )
        self.robot.closures = found


_CLOSURES: dict[str, ClosureType] = {
    "revolute": "revolute",
    "continuous": "revolute",
    "spherical": "point",
    "prismatic": "prismatic",
}
_WORDS = {
    "revolute": "a hinge",
    "continuous": "a hinge",
    "spherical": "a ball joint",
    "prismatic": "a slide",
}


def _symmetric(link: SourceLink, axis: Floats) -> bool:
    """Whether the centre of mass is on an axis through the origin, and the inertia symmetric about it."""
    if np.linalg.norm(np.cross(axis, link.com)) > _SAME_M:
        return False
    size = np.abs(link.inertia).max() or 1.0
    across = np.linalg.svd(axis[None, :])[2][1:]
    part = across @ link.inertia @ across.T
    coupled = np.abs(across @ link.inertia @ axis).max()
    return bool(max(abs(part[0, 1]), abs(part[0, 0] - part[1, 1]), coupled) < 1e-6 * size)


def _turning(a: Floats, b: Floats) -> Floats:
    """Return a rotation (3 × 3) that takes direction a to b."""
    v, c = np.cross(a, b), float(a @ b)
    if c < -1.0 + 1e-12:
        across = np.linalg.svd(a[None, :])[2][1]
        return np.asarray(2.0 * np.outer(across, across) - np.eye(3))
    k = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    return np.asarray(np.eye(3) + k + k @ k / (1.0 + c))
