"""Coordinates of interest θ(q), their Jacobian J and J̇ v: joints, places of points, distances, angles.

The gradient of a scalar coordinate of a body is a wrench on that body (the generalized force that does unit
work on it), so that its row of J is that wrench against the joints' screws: J_k = S_k' (moment; force).

Angles are 3-2-1: R = Rz(yaw) Ry(pitch) Rx(roll), R the axes of the point's body in the world; roll and yaw in
(-π, π], pitch in [-π/2, π/2]. Where |cos pitch| < 1e-9 they have no gradient: J and J̇ v are then not a
number in their rows. Nor has the distance from a place any at that place.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import ON_MECHANISM, kernel, part
from linkwork.multibody.kernels.layout import (
    ANGULAR,
    ANGULAR_BIAS,
    AXES,
    COORDINATES,
    DIRECTIONS,
    JDV,
    LINKS,
    N_COORDINATES,
    NV,
    ON_ALONG,
    ON_DISTANCE,
    ON_JOINT,
    ON_PITCH,
    ON_ROLL,
    ON_Z,
    POINT_AXES,
    POINT_BIAS,
    POINT_POSITION,
    POINT_VELOCITY,
    POINTS,
    REFERENCE,
    SCREW_ANGULAR,
    SCREW_LINEAR,
    THETA,
    J,
    Q,
    V,
)
from linkwork.multibody.kernels.views import matrix, table, vector
from linkwork.multibody.linalg.vectors import (
    combine,
    cross,
    dot,
    load,
    subtract,
    times,
)


@part
def coordinate_rate(t: Integers, w: Floats, k: int) -> float:
    """After `coordinates`: return the rate of coordinate of interest k, J_k v."""
    kinds, links = table(t, COORDINATES, 2), table(t, LINKS, 3)
    jacobian, v = matrix(t, w, J, t[NV]), vector(t, w, V)
    if kinds[k, 0] == ON_JOINT:
        speed: float = v[kinds[k, 1]]
        return speed
    i, rate = table(t, POINTS, 1)[kinds[k, 1], 0], 0.0
    while i >= 0:
        rate += jacobian[k, links[i, 2]] * v[links[i, 2]]
        i = links[i, 0]
    return rate


@part
def add_coordinate(t: Integers, w: Floats, k: int, factor: float, row: Floats) -> None:
    """After `coordinates`: row (nv) += factor J_k."""
    kinds, links, jacobian = table(t, COORDINATES, 2), table(t, LINKS, 3), matrix(t, w, J, t[NV])
    if kinds[k, 0] == ON_JOINT:
        row[kinds[k, 1]] += factor
        return
    i = table(t, POINTS, 1)[kinds[k, 1], 0]
    while i >= 0:
        row[links[i, 2]] += factor * jacobian[k, links[i, 2]]
        i = links[i, 0]


@part
def clear_coordinate(t: Integers, k: int, row: Floats) -> None:
    """Set the entries of `row` (nv) to 0 that J_k can have."""
    kinds, links = table(t, COORDINATES, 2), table(t, LINKS, 3)
    if kinds[k, 0] == ON_JOINT:
        row[kinds[k, 1]] = 0.0
        return
    i = table(t, POINTS, 1)[kinds[k, 1], 0]
    while i >= 0:
        row[links[i, 2]] = 0.0
        i = links[i, 0]


@kernel(ON_MECHANISM)
def coordinates(p: Floats, t: Integers, w: Floats) -> None:
    """After `kinematics`: θ, J and J̇ v for every coordinate of interest.

    Of J only entries of the links that carry a coordinate are written; all others stay 0.
    """
    q, theta, jacobian, rate = vector(t, w, Q), vector(t, w, THETA), matrix(t, w, J, t[NV]), vector(t, w, JDV)
    kinds, links, points = table(t, COORDINATES, 2), table(t, LINKS, 3), table(t, POINTS, 1)
    position, bias = matrix(t, w, POINT_POSITION, 3), matrix(t, w, POINT_BIAS, 3)
    screw_angular, screw_linear = matrix(t, w, SCREW_ANGULAR, 3), matrix(t, w, SCREW_LINEAR, 3)
    angular, angular_bias = matrix(t, w, ANGULAR, 3), matrix(t, w, ANGULAR_BIAS, 3)
    axes, point_axes, reference = (
        matrix(t, w, AXES, 3),
        matrix(t, p, POINT_AXES, 3),
        matrix(t, w, REFERENCE, 3),
    )

    directions = matrix(t, p, DIRECTIONS, 4)

    for k in range(t[N_COORDINATES]):
        kind, index = kinds[k, 0], kinds[k, 1]
        rate[k] = 0.0
        if kind == ON_JOINT:
            theta[k] = q[index]
            jacobian[k, index] = 1.0
            continue

        i = points[index, 0]
        moment = force = (0.0, 0.0, 0.0)
        if kind <= ON_Z:
            axis = kind - 1
            theta[k] = position[index, axis]
            if i >= 0:
                force = (1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0)
                moment = cross(subtract(load(position, index), load(reference, 0)), force)
                rate[k] = bias[index, axis]
        elif kind == ON_ALONG:
            own = directions[k]
            force = (own[0], own[1], own[2])
            theta[k] = dot(force, load(position, index)) - own[3]
            moment = cross(subtract(load(position, index), load(reference, 0)), force)
            rate[k] = dot(force, load(bias, index))
        elif (
            kind == ON_DISTANCE
        ):  # θ = |r| - ρ, with the normal n = r / |r|:  J̇ v = n·a + (v² - (n·v)²) / |r|
            r = subtract(load(position, index), load(directions, k))
            size = math.sqrt(dot(r, r))
            theta[k] = size - directions[k, 3]
            if size == 0.0:
                size = math.nan
            force = times(1.0 / size, r)
            moment = cross(subtract(load(position, index), load(reference, 0)), force)
            speed = load(matrix(t, w, POINT_VELOCITY, 3), index)
            off = dot(force, speed)
            rate[k] = dot(force, load(bias, index)) + (dot(speed, speed) - off * off) / size
        else:
            bx, by = load(point_axes, 3 * index), load(point_axes, 3 * index + 1)
            bz = load(point_axes, 3 * index + 2)
            w_i = wd = (0.0, 0.0, 0.0)
            if i >= 0:
                x, y, z = load(axes, 3 * i), load(axes, 3 * i + 1), load(axes, 3 * i + 2)
                bx, by, bz = combine(x, y, z, bx), combine(x, y, z, by), combine(x, y, z, bz)
                w_i, wd = load(angular, i), load(angular_bias, i)
            cosine, sine = math.hypot(bx[0], bx[1]), -bx[2]  # of the pitch
            if cosine < 1e-9:
                cy = sy = math.nan
            else:
                cy, sy = bx[0] / cosine, bx[1] / cosine
            # a = cy ωx + sy ωy:  roll˙ = a / cosine,  pitch˙ = cy ωy - sy ωx,  yaw˙ = ωz + a sine / cosine
            a = cy * w_i[0] + sy * w_i[1]
            pitch_rate = cy * w_i[1] - sy * w_i[0]
            yaw_rate = w_i[2] + a * sine / cosine
            if kind == ON_ROLL:
                theta[k] = math.atan2(by[2], bz[2])
                moment = (cy / cosine, sy / cosine, 0.0)
                extra = pitch_rate * (yaw_rate + a * sine / cosine) / cosine
            elif kind == ON_PITCH:
                theta[k] = math.atan2(sine, cosine)
                moment = (-sy, cy, 0.0)
                extra = -yaw_rate * a
            else:
                theta[k] = math.atan2(bx[1], bx[0])
                moment = (cy * sine / cosine, sy * sine / cosine, 1.0)
                extra = pitch_rate * (yaw_rate * sine + a / cosine) / cosine
            rate[k] = dot(moment, wd) + extra

        while i >= 0:
            jacobian[k, links[i, 2]] = dot(load(screw_angular, i), moment) + dot(load(screw_linear, i), force)
            i = links[i, 0]
