"""A machine as body frames, lines and surfaces at any pose, the same in pictures and in the console."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.machine.loading import Drawable
from linkwork.machine.visuals import VisualShape
from linkwork.multibody.constraints import Closure, DistanceClosure, RollingConstraint
from linkwork.multibody.forces import BetweenPoints, Spring
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import WORLD, Joint, Point
from linkwork.multibody.tree.kinematics import kinematics

LineKind = Literal["body", "slide", "rod", "spring"]
Place = tuple[str, Floats]
"""A body (or the world), and a place on it in its own axes (3, m)."""
_MOST_CORNERS, _FLAT = 24, 0.2
"""Most places on a plate; largest thickness by its width, smallest width by its length."""
_HINGES = ("revolute", "spherical", "universal")
"""Joints that hold the origin of their child at one place of the parent."""


@dataclass(frozen=True, eq=False)
class MemberLine:
    """A line from a place of one body to a place of another, or of the same.

    kind: `body`, a part of the body `of`; `slide`, the travel of a joint or closure that slides, drawn as
    the body `of`; `rod`, a `distance` closure; `spring`, between two points.
    """

    kind: LineKind
    of: str
    ends: tuple[Place, Place]


def member_lines(mechanism: Mechanism) -> list[MemberLine]:
    """Return the lines of all bodies, of their joints, closures and springs, and of the base.

    Each body has one line at least, whose ends may coincide; so may those of a slide. A body whose joints and
    closures lie in a plane is drawn as a plate, by its edges; others by lines from their origin.
    """
    on: dict[str, list[Floats]] = {name: [] for name in (WORLD, *(body.name for body in mechanism.bodies))}
    across = [*_joined(mechanism), *_springs(mechanism)]
    origin = np.zeros(3)
    for joint in mechanism.joints:
        if joint.kind != "free":
            on[joint.parent].append(np.asarray(joint.at_m))
            on[joint.child].append(origin)
    for closure in _closures(mechanism):
        for frame in (closure.a, closure.b):
            on[frame.body].append(np.asarray(frame.at_m))
    plates = {name: _plate(_distinct(places)) for name, places in on.items()}
    for point in mechanism.points:
        if point.body != WORLD:
            on[point.body].append(np.asarray(point.at_m))
    free = {joint.child for joint in mechanism.joints if joint.kind == "free"}
    lines = _body(WORLD, plates[WORLD], np.mean(on[WORLD], axis=0) if on[WORLD] else origin, on[WORLD])
    for body in mechanism.bodies:
        places = on[body.name]
        if not any(place.any() for place in places):
            places = [*places, np.asarray(body.com_m)]
        hub = np.mean(places, axis=0) if body.name in free and len(places) > 1 else origin
        lines += _body(body.name, plates[body.name], hub, places)
    return [*lines, *across]


def _distinct(places: Sequence[Floats]) -> list[Floats]:
    return list({tuple(place.round(9)): place for place in places}.values())


def _plate(places: Sequence[Floats]) -> list[tuple[Floats, Floats]]:
    """Return the edges of the convex polygon around places in a plane, none around others."""
    if not 3 <= len(places) <= _MOST_CORNERS:
        return []
    _, sizes, axes = np.linalg.svd(places - np.mean(places, axis=0))
    if sizes[1] < _FLAT * sizes[0] or sizes[2] > _FLAT * sizes[1]:
        return []
    x, y = axes[:2] @ np.transpose(places)
    edges = []
    for i, j in itertools.combinations(range(len(places)), 2):
        side = (x[j] - x[i]) * (y - y[i]) - (y[j] - y[i]) * (x - x[i])
        slack = 1e-9 * sizes[0] ** 2
        if (side >= -slack).all() or (side <= slack).all():
            edges.append((places[i], places[j]))
    return edges


def _body(
    name: str, plate: Sequence[tuple[Floats, Floats]], hub: Floats, places: Sequence[Floats]
) -> list[MemberLine]:
    """Return the lines of a body: the edges of its plate, and from its nearest corner, or the hub, to each
    other place."""
    corners = _distinct([place for edge in plate for place in edge])
    lines = list(plate)
    for place in _distinct(places):
        start = min(corners, key=lambda corner: float(np.linalg.norm(corner - place)), default=hub)
        if (start - place).round(9).any():
            lines.append((start, place))
    return [MemberLine("body", name, ((name, a), (name, b))) for a, b in lines or [(hub, hub)]]


def _joined(mechanism: Mechanism) -> Iterator[MemberLine]:
    for joint in mechanism.joints:
        if joint.kind not in (*_HINGES, "free"):
            ends = (joint.parent, np.asarray(joint.at_m)), (joint.child, np.zeros(3))
            yield MemberLine("slide", joint.child, ends)
    for closure in _closures(mechanism):
        a, b = ((frame.body, np.asarray(frame.at_m)) for frame in (closure.a, closure.b))
        rod = isinstance(closure, DistanceClosure)
        of = closure.name if rod else a[0] if b[0] == WORLD else b[0]
        yield MemberLine("rod" if rod else "slide", of, (a, b))


def _closures(mechanism: Mechanism) -> Iterator[Closure]:
    for each in mechanism.constraints:
        if isinstance(each, Closure) and not isinstance(each, RollingConstraint):
            yield each


def _springs(mechanism: Mechanism) -> Iterator[MemberLine]:
    at = {point.name: (point.body, np.asarray(point.at_m)) for point in mechanism.points}
    for each in mechanism.elements:
        if isinstance(each, Spring) and isinstance(each.line, BetweenPoints):
            yield MemberLine("spring", each.name, (at[each.line.a], at[each.line.b]))


def shapes_of(drawn: Machine | Drawable) -> list[VisualShape]:
    """Return the shapes of bodies, with a disc or a ball for each body that rolls and has none."""
    shaped = {shape.body for shape in drawn.visuals}
    wheels = [
        VisualShape(
            each.b.body,
            "cylinder" if each.disc else "sphere",
            (each.radius_m, 0.1 * each.radius_m),
            np.asarray(each.b.at_m),
            np.asarray(each.b.rotation),
        )
        for each in drawn.mechanism.constraints
        if isinstance(each, RollingConstraint) and each.b.body not in shaped
    ]
    return [*drawn.visuals, *wheels]


def plane_normal(mechanism: Mechanism) -> Floats | None:
    """Return the normal (3, world) of the plane in which every body moves; None where there is none.

    All axes of turning are parallel to it, and all slides perpendicular; so it is the same in every pose.
    """
    turned: dict[str, Floats] = {WORLD: np.eye(3)}
    axes: list[Floats] = []
    slides: list[Floats] = []
    for joint in _outwards(mechanism.joints):
        turned[joint.child] = turned[joint.parent] @ np.asarray(joint.rotation)
        axis = turned[joint.child] @ np.asarray(joint.axis)
        if joint.kind not in ("revolute", "prismatic", "planar"):
            return None
        (slides if joint.kind == "prismatic" else axes).append(axis)
    if not axes and len(slides) > 1:
        axes = [np.cross(slides[0], slides[1])]
    if not axes or np.linalg.norm(axes[0]) < 1e-6:
        return None
    normal = axes[0] / np.linalg.norm(axes[0])
    parallel = all(np.linalg.norm(np.cross(normal, axis)) < 1e-6 for axis in axes)
    if not parallel or any(abs(normal @ axis) > 1e-6 for axis in slides):
        return None
    return normal * (-1.0 if normal @ (0.1, -1.0, 10.0) < 0.0 else 1.0)


def _outwards(joints: tuple[Joint, ...]) -> Iterator[Joint]:
    """Return the joints, each after the one that carries its parent."""
    known, left = {WORLD}, list(joints)
    while left:
        there = [joint for joint in left if joint.parent in known]
        yield from there
        known.update(joint.child for joint in there)
        left = [joint for joint in left if joint not in there]


class Skeleton:
    """The lines and shapes of a machine, placed in the world at any pose."""

    def __init__(self, drawn: Machine | Drawable) -> None:
        """Collect the lines, and the shapes that are no meshes."""
        self.lines = member_lines(drawn.mechanism)
        self.shapes = [shape for shape in shapes_of(drawn) if shape.kind != "mesh"]
        self.frames = BodyFrames(drawn.mechanism)
        self._places = [[(self._index(body), at) for body, at in line.ends] for line in self.lines]

    def _index(self, body: str) -> int:
        """Return the place of a body in the frames; the world comes last."""
        bodies = self.frames.bodies
        return len(bodies) if body == WORLD else bodies.index(body)

    def frames_at(self, q: Floats) -> Floats:
        """Return the frames (bodies + 1 × 4 × 3) as `BodyFrames`, then that of the world."""
        world = np.vstack([np.eye(3), np.zeros(3)])[None]
        return np.concatenate([self.frames.frames_at(q), world])

    def lines_at(self, q: Floats) -> Floats:
        """Return both ends of all `lines` in the world (lines × 2 × 3, m)."""
        frames = self.frames_at(q)
        return np.array([[at @ frames[k, :3] + frames[k, 3] for k, at in ends] for ends in self._places])

    def surfaces_at(self, q: Floats) -> list[tuple[VisualShape, Floats]]:
        """Return each shape (all but meshes) with a grid (m × n × 3) of places on it in the world."""
        frames = self.frames_at(q)
        found = []
        for shape in self.shapes:
            frame = frames[self._index(shape.body)]
            grid = surface_of(shape) @ shape.rotation.T + shape.at_m
            found.append((shape, grid @ frame[:3] + frame[3]))
        return found


def surface_of(shape: VisualShape) -> Floats:
    """Return a grid (m × n × 3, m) of places on a box, cylinder, capsule or sphere, in its own axes."""
    if shape.kind == "box":
        x, y, z = 0.5 * np.array(shape.sizes)
        ring = np.array([(-x, -y), (x, -y), (x, y), (-x, y), (-x, -y)])
        heights = [(0.0, -z), (1.0, -z), (1.0, z), (0.0, z)]
        return np.array([[(s * a, s * b, h) for a, b in ring] for s, h in heights])
    radius, length = shape.sizes[0], shape.sizes[1] if shape.kind != "sphere" else 0.0
    around = np.linspace(0.0, 2.0 * np.pi, 17)
    if shape.kind == "cylinder":
        profile = [(0.0, -0.5), (1.0, -0.5), (1.0, 0.5), (0.0, 0.5)]
        rings = [(radius * r, length * h) for r, h in profile]
    else:
        rise = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 10)
        ends = np.where(rise < 0.0, -0.5, 0.5) * length
        rings = list(zip(radius * np.cos(rise), radius * np.sin(rise) + ends, strict=True))
    return np.array([[(r * np.cos(a), r * np.sin(a), h) for a in around] for r, h in rings])


class BodyFrames:
    """Forward kinematics of a mechanism, as one frame for each body."""

    def __init__(self, mechanism: Mechanism) -> None:
        """Build the tree with four points on each body: its origin and the ends of its axes."""
        self.bodies = tuple(body.name for body in mechanism.bodies)
        corners = np.vstack([np.zeros(3), np.eye(3)])
        points = [Point(f"{body} {k}", body, at) for body in self.bodies for k, at in enumerate(corners)]
        self._work = mechanism.bare(points).workspace()

    @property
    def positions(self) -> int:
        """Number of entries of q."""
        return len(self._work.q)

    def frames_at(self, q: Floats) -> Floats:
        """Return the frames (bodies × 4 × 3) in the world at q (nq): x, y, z axis, then the origin (m)."""
        self._work.q[:] = q
        kinematics(*self._work.arguments)
        corners = self._work.point_position.reshape(-1, 4, 3)
        frames = np.empty_like(corners)
        frames[:, 3] = corners[:, 0]
        frames[:, :3] = corners[:, 1:] - corners[:, :1]
        return frames
