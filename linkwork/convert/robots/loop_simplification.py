"""Simplification of descriptions: fixed links, chains of massless links, closures with more rows than needed.

Every change is exact for the motion unless its note says otherwise, and has a note with its reason.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from linkwork.arrays import Floats
from linkwork.convert.robots.robot_model import (
    ClosureType,
    FramePose,
    JointType,
    RobotModel,
    SourceClosure,
    SourceJoint,
    SourceLink,
)
from linkwork.multibody.tree.orientations import hat

LIGHT = 1e-6
"""Share of the robot's moving mass below which a link counts as massless."""
_SAME_M, _SAME_RAD = 1e-6, 1e-6
_STRAIGHT_M = 1e-9
"""Distance of the centre of mass from the line between its ball joints, beyond which a rod is bent."""


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
        size = max((float(np.abs(joint.pose.at).max()) for joint in robot.joints.values()), default=0.0)
        largest = max((float(np.abs(link.inertia).max()) for link in robot.links.values()), default=0.0)
        self._light_inertia = max(self._light * size**2, LIGHT * largest)

    def run(self) -> None:
        """Make all changes."""
        self._merge_fixed()
        self._drop_weightless_leaves()
        self._merge_chains()
        self._join_points()
        for closure in list(self.robot.closures):
            while self._absorb_leaf(closure):
                pass
            self._drop_idle_spin(closure)
        self._join_points()
        self._declare_idle()
        self._flatten()

    def _driven(self, joint: SourceJoint) -> bool:
        """Whether a motor, coupling or spring acts on a joint."""
        robot = self.robot
        return joint.name in (robot.motors or ()) or robot.coupled(joint.name) or joint.stiffness != 0.0

    def _is_light(self, link: SourceLink) -> bool:
        """Whether a link counts as one without mass and inertia."""
        return link.mass <= self._light and float(np.abs(link.inertia).max()) <= self._light_inertia

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
        for spring in self.robot.springs:
            if spring.a == old:
                spring.a, spring.a_at = new, pose.at + pose.rotation @ spring.a_at
            if spring.b == old:
                spring.b, spring.b_at = new, pose.at + pose.rotation @ spring.b_at
        self.frames = [
            replace(each, link=new, at=pose.at + pose.rotation @ each.at) if each.link == old else each
            for each in self.frames
        ]

    def _drop_weightless_leaves(self) -> None:
        """A link without mass that carries nothing moves nothing, and its joint has no inertia."""
        robot = self.robot
        for name in reversed(list(robot.links)):
            joint = robot.carrier(name)
            if joint is None or robot.children(name) or self._is_held(name) or self._driven(joint):
                continue
            link = robot.links[name]
            if link.mass > 0.0 or link.inertia.any() or joint.armature:
                continue
            del robot.links[name], robot.joints[joint.name]
            robot.links[joint.parent].take_shapes(link, joint.pose)
            self.frames.append(FramePoint(name, joint.parent, joint.pose.at))
            self._rehang(name, joint.parent, joint.pose)
            self.notes.append(
                f"{name} has no mass and carries nothing: it stays where {joint.name} has it at zero"
            )

    def _merge_chains(self) -> None:
        """Make one joint of several with massless links between that meet in one point."""
        for kind, types in _CHAINS:
            for first in list(self.robot.joints.values()):
                chain = self._chain(first, types)
                if chain and _perpendicular(chain):
                    self._merge_chain(chain, kind)

    def _chain(self, first: SourceJoint, types: tuple[tuple[str, ...], ...]) -> list[SourceJoint]:
        """Return joints of these types from `first` on, with nothing but massless links between; or none."""
        if first.name not in self.robot.joints:
            return []
        found = [first]
        while len(found) < len(types):
            link = found[-1].child
            children = self.robot.children(link)
            if (
                len(children) != 1
                or not self._is_light(self.robot.links[link])
                or self._is_held(link)
                or np.linalg.norm(children[0].pose.at) > _SAME_M
            ):
                return []
            found += children
        plain = all(self._is_plain(each) and not self.robot.start.get(each.name) for each in found)
        fits = all(joint.type in allowed for joint, allowed in zip(found, types, strict=True))
        return found if plain and fits else []

    def _is_plain(self, joint: SourceJoint) -> bool:
        """Whether a joint has no motor, spring, friction or rotor."""
        return not self._driven(joint) and not any((joint.damping, joint.friction, joint.armature))

    def _merge_chain(self, chain: list[SourceJoint], kind: JointType) -> None:
        robot, (first, *rest) = self.robot, chain
        pose = first.pose
        for joint in rest:
            pose = pose @ joint.pose
        for joint, link in zip(rest, [each.child for each in chain[:-1]], strict=True):
            del robot.links[link], robot.joints[joint.name]
        limited = [each.name for each in chain if _is_limited(each)]
        self.notes.append(
            f"{_and([each.name for each in chain])} meet in one point, with massless links between: they are "
            f"the {_WORDS[kind].partition(' ')[2]} {first.name}"
            + (f", without the limits of {_and(limited)}" if limited else "")
        )
        if kind == "universal":
            first.second_axis, first.axis = rest[0].pose.rotation.T @ first.axis, rest[0].axis
        first.type, first.child, first.pose = kind, chain[-1].child, pose
        first.lower = first.upper = first.velocity = first.effort = None

    def _closures_on(self, link: str) -> list[SourceClosure]:
        return [each for each in self.robot.closures if link in (each.a, each.b)]

    def _is_held(self, link: str) -> bool:
        """Whether a closure or a spring acts on a link."""
        sprung = any(link in (each.a, each.b) for each in self.robot.springs)
        return sprung or bool(self._closures_on(link))

    def _leaf_joint(self, link: str) -> SourceJoint | None:
        """The plain joint of a link that carries nothing and has one closure and no spring, or None."""
        joint = self.robot.carrier(link)
        if joint is None or not self._is_plain(joint) or self.robot.children(link):
            return None
        sprung = any(link in (each.a, each.b) for each in self.robot.springs)
        return joint if len(self._closures_on(link)) == 1 and not sprung else None

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
            floats = joint is not None and joint.type == "floating"
            if joint is None or not (floats or joint.type in _CLOSURES) or joint.parent == closure.b:
                continue
            leaf = self.robot.links.pop(joint.child)
            del self.robot.joints[joint.name]
            seat = closure.b_pose @ closure.a_pose.inverse()  # the leaf's frame in b's link
            self.robot.links[closure.b].lump(leaf, seat)
            self._rehang(leaf.name, closure.b, seat)
            note = f"{leaf.name} is welded to {closure.b} by {closure.name}: they are one body"
            if floats:
                self.frames.append(FramePoint(leaf.name, closure.b, seat.at))
                self.robot.closures.remove(closure)
                self.notes.append(note)
                return False
            limits = ", without its limits" if _is_limited(joint) else ""
            self.notes.append(f"{note}, and {joint.name} is the closure, {_WORDS[joint.type]}{limits}")
            closure.type = _CLOSURES[joint.type]
            closure.a, closure.a_pose, closure.axis = joint.parent, joint.pose, joint.axis
            closure.b_pose = seat
            if joint.second_axis is not None:
                closure.axis, closure.b_axis = joint.second_axis, joint.axis
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
            if joint is None or joint.type not in _HINGES:
                continue
            own = joint.axis / np.linalg.norm(joint.axis)
            off = np.cross(own, pose.at)
            if np.linalg.norm(np.cross(own, axis)) > _SAME_RAD or np.linalg.norm(off) > _SAME_M:
                continue
            leaf = self.robot.links[link]
            if not self._is_light(leaf) and not _symmetric(leaf, own):
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
        """Two coinciding pairs of places of the same two links are a hinge, three are a weld."""
        found: list[SourceClosure] = []
        for closure in self.robot.closures:
            if not any(self._joined(first, closure) for first in found):
                found.append(closure)
        self.robot.closures = found

    def _joined(self, first: SourceClosure, second: SourceClosure) -> bool:
        """Make the first closure a hinge, or a weld of a hinge, if the second holds another point."""
        if second.type != "point" or {first.a, first.b} != {second.a, second.b}:
            return False
        poses = (second.a_pose, second.b_pose) if second.a == first.a else (second.b_pose, second.a_pose)
        here, there = poses[0].at - first.a_pose.at, poses[1].at - first.b_pose.at
        if first.type == "revolute":
            return self._welded(first, second, here, there)
        if first.type != "point":
            return False
        length = float(np.linalg.norm(here))
        if length < _SAME_M or abs(length - np.linalg.norm(there)) > _SAME_M:
            return False
        first.type, first.axis = "revolute", here / length
        first.a_pose = FramePose(first.a_pose.at)
        first.b_pose = FramePose(
            first.b_pose.at, _turning(here / length, there / float(np.linalg.norm(there)))
        )
        self.notes.append(
            f"{first.name} and {second.name} hold two points of {first.a} on {first.b}: they are a hinge"
        )
        return True

    def _welded(self, first: SourceClosure, second: SourceClosure, here: Floats, there: Floats) -> bool:
        """Make a hinge a weld, if a point off its axis is held; `here`, `there`: its ways from a and b."""
        turns: list[Floats] = []
        across: list[tuple[float, float]] = []
        for pose, way in ((first.a_pose, here), (first.b_pose, there)):
            x = pose.rotation @ first.axis / np.linalg.norm(first.axis)
            off = way - (x @ way) * x
            across.append((float(x @ way), float(np.linalg.norm(off))))
            if across[-1][1] < _SAME_M:
                return False
            y = off / np.linalg.norm(off)
            turns.append(np.column_stack([x, y, np.cross(x, y)]))
        if np.abs(np.array(across[0]) - across[1]).max() > _SAME_M:
            return False
        first.type = "weld"
        first.a_pose, first.b_pose = (
            FramePose(first.a_pose.at, turns[0]),
            FramePose(first.b_pose.at, turns[1]),
        )
        self.notes.append(
            f"{first.name} and {second.name} hold three points of {first.a} on {first.b}: they are a weld"
        )
        return True

    def _flatten(self) -> None:
        """Hinges and points that close planar loops need two rows only: a pin."""
        for closure in self.robot.closures:
            if closure.type not in ("point", "revolute"):
                continue
            branches = self._branches(closure)
            normal = _normal(branches)
            if normal is None:
                continue
            ends = [
                branch.end @ pose
                for branch, pose in zip(branches, (closure.a_pose, closure.b_pose), strict=True)
            ]
            if abs(float(normal @ (ends[0].at - ends[1].at))) > _SAME_M:
                continue
            if closure.type == "revolute" and any(
                np.linalg.norm(np.cross(normal, end.rotation @ closure.axis)) > _SAME_RAD for end in ends
            ):
                continue
            what = _WORDS["spherical" if closure.type == "point" else "revolute"]
            closure.type, closure.axis = "pin", ends[0].rotation.T @ normal
            self.notes.append(f"{closure.name}, {what}, closes a planar loop: it is a pin in the plane")

    def _declare_idle(self) -> None:
        """A bent leg between two ball joints may spin about their line; straight ones are found at load."""
        for joint in self.robot.joints.values():
            parts, ends = self._leg(joint)
            if len(ends) != 2:
                continue
            (one, start), (other, end) = ends
            length = float(np.linalg.norm(end - start))
            way = (end - start) / (length or 1.0)
            coms = [frame.at + frame.rotation @ self.robot.links[name].com for name, frame in parts.items()]
            off = max(float(np.linalg.norm(np.cross(way, com - start))) for com in coms)
            if length > _SAME_M and (off > _STRAIGHT_M or joint.type == "floating"):
                joint.idle = True
                centre = "centre of mass is" if len(parts) == 1 else "centres of mass are"
                which = f"whose {centre} off the" if off > _STRAIGHT_M else "on the"
                self.notes.append(
                    f"{_and(list(parts))}, {which} line from {one} to {other}, "
                    "may spin about this line: the controller ignores this motion (idle)"
                )

    def _leg(self, first: SourceJoint) -> tuple[dict[str, FramePose], list[tuple[str, Floats]]]:
        """Return the links of a leg that a joint carries, with slides between, and its ends in their frame.

        Ends are ball joints and points of closures, each with its name; no leg has none.
        """
        robot, link, frame = self.robot, first.child, FramePose()
        parts, ends = {link: frame}, list[tuple[str, Floats]]()
        if first.type == "spherical":
            ends.append((first.name, np.zeros(3)))
        while [each.type for each in robot.children(link)] == ["prismatic"]:
            (slide,) = robot.children(link)
            link, frame = slide.child, frame @ slide.pose
            parts[link] = frame
        balls = [first, *robot.children(link)]
        closures = [each for name in parts for each in self._closures_on(name)]
        sprung = any(not parts.keys().isdisjoint((each.a, each.b)) for each in robot.springs)
        kinds = {each.type for each in balls[1:]} | {each.type for each in closures}
        if sprung or first.type not in ("spherical", "floating") or not kinds <= {"spherical", "point"}:
            return parts, []
        for closure in closures:
            held, pose = (closure.a, closure.a_pose) if closure.a in parts else (closure.b, closure.b_pose)
            ends.append((closure.name, (parts[held] @ pose).at))
        ends += [(each.name, (frame @ each.pose).at) for each in balls[1:]]
        return parts, ends if all(map(self._is_plain, balls)) else []

    def _branches(self, closure: SourceClosure) -> tuple[_Branch, _Branch]:
        """Return the joints from the last link that carries both ends of a closure."""
        above: list[list[SourceJoint]] = []
        for link in (closure.a, closure.b):
            path: list[SourceJoint] = []
            joint = self.robot.carrier(link)
            while joint is not None:
                path.insert(0, joint)
                joint = self.robot.carrier(joint.parent)
            above.append(path)
        shared = 0
        while shared < min(map(len, above)) and above[0][shared] is above[1][shared]:
            shared += 1
        return _Branch(above[0][shared:]), _Branch(above[1][shared:])


class _Branch:
    """Joints one after the other: `axes` with types, and `end`, the last link's frame in the first one's."""

    def __init__(self, joints: list[SourceJoint]) -> None:
        self.axes: list[tuple[JointType, Floats]] = []
        self.end = FramePose()
        for joint in joints:
            self.end = self.end @ joint.pose
            axis = self.end.rotation @ joint.axis
            self.axes.append((joint.type, axis / (float(np.linalg.norm(axis)) or 1.0)))


def _normal(branches: tuple[_Branch, _Branch]) -> Floats | None:
    """Return the normal (3) of a planar loop; None where a joint leaves the plane."""
    axes = [axis for branch in branches for axis in branch.axes]
    normal = next((axis for kind, axis in axes if kind in _HINGES), None)
    if normal is None:
        return None
    for kind, axis in axes:
        off = np.linalg.norm(np.cross(normal, axis)) if kind in _HINGES else abs(float(normal @ axis))
        if kind not in (*_HINGES, "prismatic") or off > _SAME_RAD:
            return None
    return normal


_HINGES = ("revolute", "continuous")
_SLIDE = ("prismatic",)
_CHAINS: tuple[tuple[JointType, tuple[tuple[str, ...], ...]], ...] = (
    ("spherical", (_HINGES, _HINGES, _HINGES)),
    ("floating", (_SLIDE, _SLIDE, _SLIDE, ("spherical",))),
    ("universal", (_HINGES, _HINGES)),
)
"""Joints that are made of chains, longest chains of hinges first."""
_CLOSURES: dict[str, ClosureType] = {
    "revolute": "revolute",
    "continuous": "revolute",
    "spherical": "point",
    "prismatic": "prismatic",
    "universal": "universal",
}
_WORDS = {
    "revolute": "a hinge",
    "continuous": "a hinge",
    "spherical": "a ball joint",
    "prismatic": "a slide",
    "universal": "a universal joint",
    "floating": "a free joint",
}


def _perpendicular(chain: list[SourceJoint]) -> bool:
    """Whether each axis of hinges and slides is perpendicular to the one before, of slides to all before."""
    turn, axes = np.eye(3), []
    for joint in chain:
        turn = turn if joint is chain[0] else turn @ joint.pose.rotation
        if joint.type != "spherical":
            axes.append(turn @ joint.axis)
    pairs = [(a, b) for k, a in enumerate(axes) for b in axes[k + 1 :]]
    if chain[0].type in _HINGES:
        pairs = list(pairwise(axes))
    return all(abs(float(a @ b)) <= _SAME_RAD for a, b in pairs)


def _is_limited(joint: SourceJoint) -> bool:
    """Whether a joint has limits within a turn."""
    if joint.type != "revolute" or joint.lower is None or joint.upper is None:
        return joint.type == "prismatic" and joint.lower is not None
    return joint.upper - joint.lower < 2.0 * np.pi - 1e-6 and joint.lower != joint.upper


def _and(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


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
    k = hat(v)
    return np.asarray(np.eye(3) + k + k @ k / (1.0 + c))
