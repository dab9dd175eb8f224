"""Unit quaternions (w, x, y, z) inside kernels: their axes, and their advance by a rotation."""

import math

from linkwork.arrays import Floats
from linkwork.multibody.kernels.compiling import part
from linkwork.multibody.linalg.vectors import (
    Vector,
    cross,
    dot,
)


@part
def axes_of(quaternions: Floats, i: int) -> tuple[Vector, Vector, Vector]:
    """Return the axes of body i in world axes: the columns of R, from row i of `quaternions` (nb × 4; w, x,
    y, z).
    """
    w, x, y, z = quaternions[i, 0], quaternions[i, 1], quaternions[i, 2], quaternions[i, 3]
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)),
        (2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)),
        (2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)),
    )


@part
def turn(quaternions: Floats, i: int, rotation: Vector) -> None:
    """Turn body i of `quaternions` (nb × 4) by a rotation vector (3, rad, world): q := exp(rotation / 2) q,
    normalised.
    """
    angle = math.sqrt(dot(rotation, rotation))
    c, s = math.cos(0.5 * angle), 0.5 - angle * angle / 48.0
    if angle > 1e-4:
        s = math.sin(0.5 * angle) / angle
    e = (s * rotation[0], s * rotation[1], s * rotation[2])
    w, u = quaternions[i, 0], (quaternions[i, 1], quaternions[i, 2], quaternions[i, 3])
    k = cross(e, u)
    scalar = c * w - dot(e, u)
    x, y, z = c * u[0] + w * e[0] + k[0], c * u[1] + w * e[1] + k[1], c * u[2] + w * e[2] + k[2]
    length = math.sqrt(scalar * scalar + x * x + y * y + z * z)
    quaternions[i, 0], quaternions[i, 1] = scalar / length, x / length
    quaternions[i, 2], quaternions[i, 3] = y / length, z / length
