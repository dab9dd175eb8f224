"""Scales that make the Jacobian of a set of coordinates free of units."""

from collections.abc import Sequence

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.mechanism import Mechanism

SINGULAR_BELOW = 0.01
"""Smallest singular value of the scaled Jacobian with which a motion is accepted: a two-link arm about 3°
from straight."""


def reach_m(mechanism: Mechanism) -> float:
    """Sum of the distances from joint to joint and to the farthest point: a length of the machine's size."""
    origins = mechanism.model.fixed_origin
    points = mechanism.model.point_at
    total = float(np.linalg.norm(origins, axis=1).sum())
    total += float(np.linalg.norm(points, axis=1).max()) if len(points) else 0.0
    return total or 1.0


def scales(mechanism: Mechanism, chosen: Sequence[int]) -> tuple[Floats, Floats]:
    """Factors for the rows (k) and columns (nv) of these coordinates' Jacobian that make it free of units.

    A combination of coordinates counts as one of unit length in the space of its scaled coordinates.
    """
    reach, model = reach_m(mechanism), mechanism.model
    rows = np.where(np.array(mechanism.coordinate_is_angle), 1.0, 1.0 / reach)
    known = model.n_coordinates - model.n_combinations
    sizes = np.linalg.norm(model.combination[:, :known] / rows[:known], axis=1)
    rows[known:] = 1.0 / np.where(sizes > 0.0, sizes, 1.0)
    rows = rows[list(chosen)]
    columns = np.where(np.array(mechanism.joint_is_angle), 1.0, reach)
    return rows, columns
