"""Rotations written as angles: 3-2-1 (yaw, pitch, roll) with their rates, and rotation vectors.

R maps components in the turned axes to components in the fixed axes; its columns are the turned axes. R(φ; u)
turns by φ about u, counter-clockwise seen against u. Angular velocities ω are in the fixed axes, Ṙ = ω^ R; in
the turned axes they are R'ω.

| name | angles | R | lost where |
| --- | --- | --- | --- |
| angles_321 | yaw, pitch, roll, \\|pitch\\| ≤ π/2 | Rz(yaw) Ry(pitch) Rx(roll) | cos pitch = 0 |
| rotation vector | φ u (3), \\|φ\\| ≤ π | exp((φ u)^) | \\|φ\\| = 2π |

Where the angles are lost, yaw and roll turn about one axis, only their sum or difference is determined, and
yaw is given as 0, so that R is still reproduced.
"""

import math

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.multibody.tree import quaternions

_LOST = 1e-10
"""Sines below this count as zero: the two angles that they distinguish are then round-off."""


def to_angles_321(rotation: npt.ArrayLike) -> Floats:
    """Yaw, pitch, roll (3, rad) with |pitch| ≤ π/2; yaw is 0 where the turned x axis points up or down."""
    r = np.asarray(rotation, dtype=np.float64)
    cosine = math.hypot(r[0, 0], r[1, 0])
    pitch = math.atan2(-r[2, 0], cosine)
    if cosine > _LOST:
        return np.array([math.atan2(r[1, 0], r[0, 0]), pitch, math.atan2(r[2, 1], r[2, 2])])
    return np.array([0.0, pitch, math.atan2(-r[1, 2], r[1, 1])])


def angles_321_rates(angles: npt.ArrayLike) -> Floats:
    """E (3 × 3) with ω = E (rates of yaw, pitch, roll); its determinant is -cos pitch."""
    yaw, pitch, _ = np.asarray(angles, dtype=np.float64)
    cy, sy, cp, sp = math.cos(yaw), math.sin(yaw), math.cos(pitch), math.sin(pitch)
    return np.array([[0.0, -sy, cy * cp], [0.0, cy, sy * cp], [1.0, 0.0, -sp]])


def hat(a: npt.ArrayLike) -> Floats:
    """a^ (3 × 3), so that a^ b = a × b."""
    x, y, z = np.asarray(a, dtype=np.float64)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def from_rotation_vector(vector: npt.ArrayLike) -> Floats:
    """R (3 × 3) = exp((φ u)^) = 1 + sin φ/φ (φu)^ + (1 - cos φ)/φ² (φu)^², from φ u (3, rad)."""
    phi = np.asarray(vector, dtype=np.float64)
    turns, k = np.linalg.norm(phi) / np.pi, hat(phi)
    rotation: Floats = np.eye(3) + np.sinc(turns) * k + 0.5 * np.sinc(0.5 * turns) ** 2 * (k @ k)
    return rotation


def to_rotation_vector(rotation: npt.ArrayLike) -> Floats:
    """φ u (3, rad) with |φ| ≤ π; at half a turn, where u and -u are the same rotation, one of them."""
    q = quaternions.from_matrix(rotation)
    sine = float(np.linalg.norm(q[1:]))
    if sine == 0.0:
        return np.zeros(3)
    return 2.0 * math.atan2(sine, q[0]) / sine * q[1:]
