"""A machine as lines and surfaces at any pose."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.machine.visuals import VisualShape
from linkwork.multibody.constraints import Closure
from linkwork.multibody.model import WORLD, Point
from linkwork.multibody.tree.kinematics import kinematics


class Skeleton:
    """The drawn points on the bodies of a machine; `at` returns their positions."""

    def __init__(self, machine: Machine) -> None:
        """Collect joints, closures and named points, or the centre of mass of a body without any."""
        mechanism = machine.mechanism
        on: dict[str, list[Floats]] = {body.name: [np.zeros(3)] for body in mechanism.bodies} | {WORLD: []}
        for joint in mechanism.joints:
            on[joint.parent].append(np.asarray(joint.at_m))
        for constraint in mechanism.constraints:
            if isinstance(constraint, Closure):
                for frame in (constraint.a, constraint.b):
                    on[frame.body].append(np.asarray(frame.at_m))
        for point in mechanism.points:
            on[point.body].append(np.asarray(point.at_m))
        for body in mechanism.bodies:
            if len(on[body.name]) == 1:
                on[body.name].append(np.asarray(body.com_m))
        points = [Point(f"{body} {k}", body, at) for body, ats in on.items() for k, at in enumerate(ats)]
        self._shapes = [shape for shape in machine.visuals if shape.kind != "mesh"]
        self._shown = list(dict.fromkeys(shape.body for shape in self._shapes))
        corners = np.vstack([np.zeros(3), np.eye(3)])
        points += [
            Point(f"{body} axis {k}", body, at) for body in self._shown for k, at in enumerate(corners)
        ]
        drawn = mechanism.bare(points)
        self._counts = {body: len(ats) for body, ats in on.items() if ats}
        self._work = drawn.workspace()

    def places_at(self, q: Floats) -> dict[str, Floats]:
        """For each body (and the world) the places on it in the world, its own origin first, n × 3."""
        self._work.q[:] = q
        kinematics(*self._work.arguments)
        found, begin = {}, 0
        for body, count in self._counts.items():
            found[body] = self._work.point_position[begin : begin + count].copy()
            begin += count
        return found

    def surfaces_at(self, q: Floats) -> list[tuple[VisualShape, Floats]]:
        """Return each shape (all but meshes) with a grid (m × n × 3) of places on it in the world."""
        self._work.q[:] = q
        kinematics(*self._work.arguments)
        corners = self._work.point_position[sum(self._counts.values()) :].reshape(-1, 4, 3)
        found = []
        for shape in self._shapes:
            origin, *ends = corners[self._shown.index(shape.body)]
            axes = np.stack(ends, axis=1) - origin[:, None]
            found.append((shape, (surface_of(shape) @ shape.rotation.T + shape.at_m) @ axes.T + origin))
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
