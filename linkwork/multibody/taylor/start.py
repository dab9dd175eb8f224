"""Poses and velocities of a tree's bodies, at coordinates q and velocities v of the tree."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.multibody import functions
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import (
    Point,
)


@dataclass(frozen=True, eq=False)
class Pose:
    """Pose of a body's frame in the world: origin (m), axes (columns), their velocity (m/s) and rate (rad/s).

    All components are in world axes; `velocity` is that of the origin.
    """

    origin: Floats
    axes: Floats
    velocity: Floats
    angular_velocity: Floats


def poses_of_tree(mechanism: Mechanism, q: npt.ArrayLike, v: npt.ArrayLike) -> dict[str, Pose]:
    """Return the pose of every body at q (nq), v (nv). Raises ValueError where a length is wrong."""
    corners = np.vstack([np.zeros(3), np.eye(3)])
    points = [
        Point(f"{i} {k}", body.name, corner)
        for i, body in enumerate(mechanism.bodies)
        for k, corner in enumerate(corners)
    ]
    probe = mechanism.bare(points)
    poses = {}
    for i, body in enumerate(mechanism.bodies):
        origin, *tips = (functions.point_position(probe, f"{i} {k}", q) for k in range(4))
        twist = functions.point_jacobian(probe, f"{i} 0", q) @ np.asarray(v, dtype=np.float64)
        axes = np.column_stack([tip - origin for tip in tips])
        poses[body.name] = Pose(origin, axes, twist[3:], twist[:3])
    return poses
