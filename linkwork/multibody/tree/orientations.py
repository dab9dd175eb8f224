"""Rotations written as angles: Z-Y-Z, 3-2-1 (yaw, pitch, roll), and rotation vectors, with their rates.

R maps components in the turned axes to components in the fixed axes; its columns are the turned axes. R(φ; u)
turns by φ about u, counter-clockwise seen against u. Angular velocities ω are in the fixed axes, Ṙ = ω^ R; in
the turned axes they are R'ω. Every `*_rates` gives the matrix E with ω = E × (rates of the angles).

| name | angles | R | lost where |
| --- | --- | --- | --- |
| zyz | α, β, γ with 0 ≤ β ≤ π | Rz(α) Ry(β) Rz(γ) | sin β = 0 |
| angles_321 | yaw, pitch, roll, \\|pitch\\| ≤ π/2 | Rz(yaw) Ry(pitch) Rx(roll) | cos pitch = 0 |
| rotation vector | φ u (3), \\|φ\\| ≤ π | exp((φ u)^) | \\|φ\\| = 2π |

Where a form is lost, two of its angles turn about one axis, only their sum or difference is determined, and
the first of them is given as 0, so that R is still reproduced.
"""

import math

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.multibody.tree import quaternions

_LOST = 1e-10
"""Sines below this count as zero: the two angles that they distinguish are then round-off."""


def about_x(angle: float) -> Floats:
    """Rx(angle), 3 × 3."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def about_y(angle: float) -> Floats:
    """Ry(angle), 3 × 3."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def about_z(angle: float) -> Floats:
    """Rz(angle), 3 × 3."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def from_zyz(angles: npt.ArrayLike) -> Floats:
    """R (3 × 3) = Rz(α) Ry(β) Rz(γ); Xu & Liu 2017, (42)."""
    alpha, beta, gamma = np.asarray(angles, dtype=np.float64)
    rotation: Floats = about_z(alpha) @ about_y(beta) @ about_z(gamma)
    return rotation


def to_zyz(rotation: npt.ArrayLike) -> Floats:
    """α, β, γ (3, rad) with 0 ≤ β ≤ π; Xu & Liu 2017, (44)-(46).

    Where the z axes are parallel (β = 0: only α + γ counts) or opposite (β = π: only γ - α), α = 0, as there.
    """
    r = np.asarray(rotation, dtype=np.float64)
    sine = math.hypot(r[2, 0], r[2, 1])
    if sine > _LOST:
        return np.array(
            [math.atan2(r[1, 2], r[0, 2]), math.atan2(sine, r[2, 2]), math.atan2(r[2, 1], -r[2, 0])]
        )
    if r[2, 2] > 0.0:
        return np.array([0.0, 0.0, math.atan2(-r[0, 1], r[0, 0])])
    return np.array([0.0, math.pi, math.atan2(r[0, 1], -r[0, 0])])


def zyz_rates(angles: npt.ArrayLike) -> Floats:
    """E (3 × 3) with ω = E (α̇, β̇, γ̇); its determinant is -sin β."""
    alpha, beta, _ = np.asarray(angles, dtype=np.float64)
    ca, sa, cb, sb = math.cos(alpha), math.sin(alpha), math.cos(beta), math.sin(beta)
    return np.array([[0.0, -sa, ca * sb], [0.0, ca, sa * sb], [1.0, 0.0, cb]])


def from_angles_321(angles: npt.ArrayLike) -> Floats:
    """R (3 × 3) = Rz(yaw) Ry(pitch) Rx(roll), from (yaw, pitch, roll)."""
    yaw, pitch, roll = np.asarray(angles, dtype=np.float64)
    rotation: Floats = about_z(yaw) @ about_y(pitch) @ about_x(roll)
    return rotation


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


def _series(angle: float) -> tuple[float, float, float]:
    """sin φ / φ, (1 - cos φ) / φ² and (φ - sin φ) / φ³, with all digits down to φ = 0."""
    square = angle * angle
    if square < 1e-4:
        return (
            1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0)),
            0.5 - square / 24.0 * (1.0 - square / 30.0 * (1.0 - square / 56.0)),
            1.0 / 6.0 - square / 120.0 * (1.0 - square / 42.0 * (1.0 - square / 72.0)),
        )
    half = math.sin(0.5 * angle)
    return math.sin(angle) / angle, 2.0 * half * half / square, (angle - math.sin(angle)) / (square * angle)


def from_rotation_vector(vector: npt.ArrayLike) -> Floats:
    """R (3 × 3) = exp((φ u)^), from φ u (3, rad), of any length."""
    phi = np.asarray(vector, dtype=np.float64)
    a, b, _ = _series(float(np.linalg.norm(phi)))
    k = hat(phi)
    rotation: Floats = np.eye(3) + a * k + b * (k @ k)
    return rotation


def to_rotation_vector(rotation: npt.ArrayLike) -> Floats:
    """φ u (3, rad) with |φ| ≤ π; at half a turn, where u and -u are the same rotation, one of them."""
    q = quaternions.from_matrix(rotation)
    sine = float(np.linalg.norm(q[1:]))
    if sine == 0.0:
        return np.zeros(3)
    return 2.0 * math.atan2(sine, q[0]) / sine * q[1:]


def rotation_vector_rates(vector: npt.ArrayLike) -> Floats:
    """E (3 × 3) with ω = E × (rate of φ u): 1 + (1 - cos φ)/φ² (φu)^ + (φ - sin φ)/φ³ (φu)^²."""
    phi = np.asarray(vector, dtype=np.float64)
    _, b, c = _series(float(np.linalg.norm(phi)))
    k = hat(phi)
    rates: Floats = np.eye(3) + b * k + c * (k @ k)
    return rates


def from_axis_angle(axis: npt.ArrayLike, angle: float) -> Floats:
    """R (3 × 3) for a turn by `angle` (rad) about `axis` (3, of any length). ValueError for a zero axis."""
    u = np.asarray(axis, dtype=np.float64)
    length = float(np.linalg.norm(u))
    if not 0.0 < length < math.inf:
        raise ValueError(f"an axis needs a direction, found {u.tolist()}")
    return from_rotation_vector(angle / length * u)


def to_axis_angle(rotation: npt.ArrayLike) -> tuple[Floats, float]:
    """A unit axis (3) and the angle 0 ≤ φ ≤ π (rad) about it; the z axis for the identity."""
    phi = to_rotation_vector(rotation)
    angle = float(np.linalg.norm(phi))
    return (phi / angle, angle) if angle > 0.0 else (np.array([0.0, 0.0, 1.0]), 0.0)
