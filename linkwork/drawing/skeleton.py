"""A machine as lines: what lies on each body, at any pose."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
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
