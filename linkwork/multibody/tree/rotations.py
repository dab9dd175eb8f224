"""Unit quaternions (scalar s; vector u), R = (s² - u'u) 1 + 2 u u' + 2 s û, with rates in the body's axes.

    ṡ = -½ u'ω,   u̇ = ½ (s ω + u × ω)            ω: angular velocity, in the turned axes

All kernels accept quaternions that are not quite of unit length, and take their direction.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.linalg.vectors import Vector, add, combine, cross, dot, subtract, times
from linkwork.multibody.workspace import Model


@part
def turned(x: Vector, y: Vector, z: Vector, s: float, u: Vector) -> tuple[Vector, Vector, Vector]:
    """Axes x, y, z after the rotation that the quaternion gives in these very axes."""
    square = s * s + dot(u, u)
    a, b = 2.0 / square, 1.0 - 2.0 * dot(u, u) / square
    c = a * s
    first = (b + a * u[0] * u[0], a * u[1] * u[0] + c * u[2], a * u[2] * u[0] - c * u[1])
    second = (a * u[0] * u[1] - c * u[2], b + a * u[1] * u[1], a * u[2] * u[1] + c * u[0])
    third = (a * u[0] * u[2] + c * u[1], a * u[1] * u[2] - c * u[0], b + a * u[2] * u[2])
    return combine(x, y, z, first), combine(x, y, z, second), combine(x, y, z, third)


@part
def coordinate_rates(m: Model, q: Floats, v: Floats, rates: Floats) -> None:
    """Write q̇ to `rates` (nq) for q (nq) and v (nv): equal, except for quaternions."""
    for k in range(len(v)):
        rates[k] = v[k]
    for i in range(m.n_balls):
        k, scalar = m.ball_vector[i], m.ball_scalar[i]
        s, u, w = q[scalar], (q[k], q[k + 1], q[k + 2]), (v[k], v[k + 1], v[k + 2])
        rates[scalar] = -0.5 * dot(u, w)
        rates[k], rates[k + 1], rates[k + 2] = times(0.5, add(times(s, w), cross(u, w)))


@part
def velocities(m: Model, q: Floats, rates: Floats, v: Floats) -> None:
    """Write v (nv) for q (nq) and its `rates` (nq), of which a part along the quaternion is ignored."""
    for k in range(len(v)):
        v[k] = rates[k]
    for i in range(m.n_balls):
        k, scalar = m.ball_vector[i], m.ball_scalar[i]
        s, u = q[scalar], (q[k], q[k + 1], q[k + 2])
        sd, ud = rates[scalar], (rates[k], rates[k + 1], rates[k + 2])
        v[k], v[k + 1], v[k + 2] = times(
            2.0 / (s * s + dot(u, u)), subtract(subtract(times(s, ud), times(sd, u)), cross(u, ud))
        )


@part
def wrapped(angle: float) -> float:
    """Return an angle (rad) less whole turns, between -π and π."""
    return angle - 2.0 * math.pi * math.floor(angle / (2.0 * math.pi) + 0.5)


@part
def rotation_vector(s: float, u: Vector) -> Vector:
    """φ (rad, |φ| ≤ π) with R = exp(φ^), of the quaternion s, u of any length but zero."""
    size = math.sqrt(dot(u, u))
    if size <= 1e-9 * abs(s):
        return times(2.0 / s, u)
    angle = 2.0 * math.atan2(size, abs(s))
    return times(angle / size if s >= 0.0 else -angle / size, u)


@part
def turn_between(s: float, u: Vector, s2: float, u2: Vector) -> Vector:
    """Rotation vector, in either's turned axes, that takes the orientation s, u to s2, u2."""
    between = subtract(subtract(times(s, u2), times(s2, u)), cross(u, u2))
    return rotation_vector(s * s2 + dot(u, u2), between)


@part
def quaternion_of(turn: Vector) -> tuple[float, Vector]:
    """Scalar and vector part of the unit quaternion of a rotation vector."""
    half = 0.5 * math.sqrt(dot(turn, turn))
    return math.cos(half), times(0.5 * (math.sin(half) / half if half > 1e-9 else 1.0), turn)


@part
def way_between(m: Model, q: Floats, q2: Floats, way: Floats) -> None:
    """Write the way (nv; rad, m) for which `move` takes q (nq) to q2 (nq), with rotation vectors."""
    for k in range(len(way)):
        way[k] = q2[k] - q[k]
    for i in range(m.n_balls):
        k, scalar = m.ball_vector[i], m.ball_scalar[i]
        way[k], way[k + 1], way[k + 2] = turn_between(
            q[scalar], (q[k], q[k + 1], q[k + 2]), q2[scalar], (q2[k], q2[k + 1], q2[k + 2])
        )


@part
def ball_of(m: Model, dof: int) -> int:
    """The number of the quaternion that a degree of freedom turns, −1 where it has a coordinate."""
    for i in range(m.n_balls):
        if m.ball_vector[i] <= dof < m.ball_vector[i] + 3:
            return i
    return -1


@part
def reading_at(m: Model, q: Floats, dof: int) -> float:
    """Return the reading (rad or m) at q (nq) of a sensor on a degree of freedom.

    It is the coordinate, or a component of the rotation vector.
    """
    i = ball_of(m, dof)
    if i < 0:
        coordinate: float = q[dof]
        return coordinate
    k, scalar = m.ball_vector[i], m.ball_scalar[i]
    turn = rotation_vector(q[scalar], (q[k], q[k + 1], q[k + 2]))
    return turn[0] if dof == k else turn[1] if dof == k + 1 else turn[2]


@kernel
def readings_at(m: Model, q: Floats, dofs: Integers, readings: Floats) -> None:
    """Write the readings (n; rad or m) at q (nq) of sensors on the degrees of freedom `dofs` (n, places in
    v).
    """
    for i in range(len(dofs)):
        readings[i] = reading_at(m, q, dofs[i])


@part
def normalise(m: Model, q: Floats) -> None:
    """Scale every quaternion in q (nq) to unit length."""
    for i in range(m.n_balls):
        k, scalar = m.ball_vector[i], m.ball_scalar[i]
        square = q[scalar] * q[scalar]
        for j in range(k, k + 3):
            square += q[j] * q[j]
        scale = 1.0 / math.sqrt(square)
        q[scalar] *= scale
        for j in range(k, k + 3):
            q[j] *= scale


@part
def move(m: Model, q: Floats, shift: Floats, reach: float) -> None:
    """Move q (nq) along the constant `shift` (nv) times `reach`, exactly."""
    for k in range(len(shift)):
        q[k] += reach * shift[k]
    for i in range(m.n_balls):
        k, scalar = m.ball_vector[i], m.ball_scalar[i]
        turn = times(reach, (shift[k], shift[k + 1], shift[k + 2]))
        u = subtract((q[k], q[k + 1], q[k + 2]), turn)
        half = 0.5 * math.sqrt(dot(turn, turn))
        c, ratio = math.cos(half), 0.5 * (math.sin(half) / half if half > 1e-9 else 1.0)
        a = times(ratio, turn)
        s = q[scalar]
        q[scalar] = s * c - dot(u, a)
        q[k], q[k + 1], q[k + 2] = add(add(times(c, u), times(s, a)), cross(u, a))
    normalise(m, q)


@part
def go(m: Model, q: Floats, v: Floats, rate: Floats, mean: Floats, seconds: float) -> None:
    """Advance q (nq) by `seconds` at the mean velocity `mean` (nv), which is overwritten.

    Velocity v (nv) and acceleration `rate` (nv) at the beginning: rotations do not commute, so seconds²/12 v
    × v̇ is added to the mean angular velocity.
    """
    for i in range(m.n_balls):
        k = m.ball_vector[i]
        turn = cross((v[k], v[k + 1], v[k + 2]), (rate[k], rate[k + 1], rate[k + 2]))
        own = (mean[k], mean[k + 1], mean[k + 2])
        mean[k], mean[k + 1], mean[k + 2] = add(own, times(seconds * seconds / 12.0, turn))
    move(m, q, mean, seconds)


@kernel
def move_by(m: Model, q: Floats, shift: Floats, reach: float) -> None:
    """`move` for callers in Python: q (nq), `shift` (nv)."""
    move(m, q, shift, reach)
