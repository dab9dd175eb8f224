"""Places that tell assembly modes apart: those of joints, closures, named points and centres of mass.

Flips of a universal joint and turns of a rod about itself move none of these, so that they make no mode.
"""

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.constraints import Closure
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import WORLD, Point
from linkwork.multibody.tree.kinematics import kinematics

_SAME = 1e-5
"""Largest distance of places (typical lengths) of one mode."""


class ModePlaces:
    """The places of a mechanism in a pose, in typical lengths."""

    def __init__(self, mechanism: Mechanism) -> None:
        """Put a point at every place."""
        at: list[tuple[str, Floats]] = [(joint.child, np.zeros(3)) for joint in mechanism.joints]
        at += [(joint.parent, np.asarray(joint.at_m)) for joint in mechanism.joints]
        at += [(body.name, np.asarray(body.com_m)) for body in mechanism.bodies if body.mass_kg]
        at += [(point.body, np.asarray(point.at_m)) for point in mechanism.points]
        for one in mechanism.constraints:
            if isinstance(one, Closure):
                at += [(end.body, np.asarray(end.at_m)) for end in (one.a, one.b)]
        points = [Point(f"place {k}", body, place) for k, (body, place) in enumerate(at) if body != WORLD]
        self._work = mechanism.bare(points).workspace()
        self.length = typical_length(mechanism)

    def at(self, q: Floats) -> Floats:
        """Return the places (n × 3) in a pose q (nq)."""
        self._work.q[:] = q
        kinematics(*self._work.arguments)
        return np.array(self._work.point_position) / self.length


def same_mode(one: Floats, other: Floats) -> bool:
    """Return whether two sets of places (n × 3, typical lengths) are those of one mode."""
    return bool(np.abs(one - other).max(initial=0.0) <= _SAME)


def typical_length(mechanism: Mechanism) -> float:
    """Return the mean distance (m) of joints and closures from the origins of their bodies."""
    places = [np.asarray(joint.at_m) for joint in mechanism.joints]
    places += [
        np.asarray(end.at_m)
        for one in mechanism.constraints
        if isinstance(one, Closure)
        for end in (one.a, one.b)
    ]
    sizes = np.linalg.norm(np.array(places), axis=1)
    return float(sizes[sizes > 0.0].mean()) if (sizes > 0.0).any() else 1.0
