"""Coordinates of interest θ(q), their Jacobian J and J̇ v: joints, places of points, distances, angles, and
linear combinations of these.

The gradient of a scalar coordinate of a body is a wrench on that body (the generalized force that does unit
work on it), so that its row of J is that wrench against the joints' screws: J_k = S_k' (moment; force).

Angles are 3-2-1: R = Rz(yaw) Ry(pitch) Rx(roll), R the axes of the point's body in the world; roll and yaw in
(-π, π], pitch in [-π/2, π/2]. Where |cos pitch| < 1e-9 they have no gradient: J and J̇ v are then not a
number in their rows. Nor has the distance from a place any at that place.
"""

import math

from linkwork.arrays import Floats
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import ON_ALONG, ON_DISTANCE, ON_JOINT, ON_PITCH, ON_ROLL, ON_Z
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.linalg.vectors import combine, cross, dot, load, subtract, times
from linkwork.multibody.workspace import Model, Workspace


@part
def coordinate_rate(m: Model, w: Workspace, k: int) -> float:
    """After `coordinates`: return the rate of coordinate of interest k, J_k v."""
    if m.coordinate_kind[k] == ON_JOINT:
        speed: float = w.v[m.coordinate_of[k]]
        return speed
    i, rate = m.point_link[m.coordinate_of[k]], 0.0
    while i >= 0:
        rate += w.J[k, m.in_v[i]] * w.v[m.in_v[i]]
        i = m.parent[i]
    return rate


@part
def add_coordinate(m: Model, w: Workspace, k: int, factor: float, row: Floats) -> None:
    """After `coordinates`: row (nv) += factor J_k."""
    if m.coordinate_kind[k] == ON_JOINT:
        row[m.coordinate_of[k]] += factor
        return
    i = m.point_link[m.coordinate_of[k]]
    while i >= 0:
        row[m.in_v[i]] += factor * w.J[k, m.in_v[i]]
        i = m.parent[i]


@part
def clear_coordinate(m: Model, k: int, row: Floats) -> None:
    """Set the entries of `row` (nv) to 0 that J_k can have."""
    if m.coordinate_kind[k] == ON_JOINT:
        row[m.coordinate_of[k]] = 0.0
        return
    i = m.point_link[m.coordinate_of[k]]
    while i >= 0:
        row[m.in_v[i]] = 0.0
        i = m.parent[i]


@kernel
def coordinates(m: Model, w: Workspace) -> None:
    """After `kinematics`: θ, J and J̇ v for every coordinate of interest.

    Of J only entries of the links that carry a coordinate are written; all others stay 0.
    """

    for k in range(m.n_coordinates - m.n_combinations):
        kind, index = m.coordinate_kind[k], m.coordinate_of[k]
        w.Jdv[k] = 0.0
        if kind == ON_JOINT:
            w.theta[k] = w.q[index]
            w.J[k, index] = 1.0
            continue

        i = m.point_link[index]
        moment = force = (0.0, 0.0, 0.0)
        if kind <= ON_Z:
            axis = kind - 1
            w.theta[k] = w.point_position[index, axis]
            if i >= 0:
                force = (1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0)
                moment = cross(subtract(load(w.point_position, index), load(w.reference, 0)), force)
                w.Jdv[k] = w.point_bias[index, axis]
        elif kind == ON_ALONG:
            own = m.directions[k]
            force = (own[0], own[1], own[2])
            w.theta[k] = dot(force, load(w.point_position, index)) - own[3]
            moment = cross(subtract(load(w.point_position, index), load(w.reference, 0)), force)
            w.Jdv[k] = dot(force, load(w.point_bias, index))
        elif (
            kind == ON_DISTANCE
        ):  # θ = |r| - ρ, with the normal n = r / |r|:  J̇ v = n·a + (v² - (n·v)²) / |r|
            r = subtract(load(w.point_position, index), load(m.directions, k))
            size = math.sqrt(dot(r, r))
            w.theta[k] = size - m.directions[k, 3]
            if size == 0.0:
                size = math.nan
            force = times(1.0 / size, r)
            moment = cross(subtract(load(w.point_position, index), load(w.reference, 0)), force)
            speed = load(w.point_velocity, index)
            off = dot(force, speed)
            w.Jdv[k] = dot(force, load(w.point_bias, index)) + (dot(speed, speed) - off * off) / size
        else:
            bx, by = load(m.point_axes, 3 * index), load(m.point_axes, 3 * index + 1)
            bz = load(m.point_axes, 3 * index + 2)
            w_i = wd = (0.0, 0.0, 0.0)
            if i >= 0:
                x, y, z = load(w.axes, 3 * i), load(w.axes, 3 * i + 1), load(w.axes, 3 * i + 2)
                bx, by, bz = combine(x, y, z, bx), combine(x, y, z, by), combine(x, y, z, bz)
                w_i, wd = load(w.angular, i), load(w.angular_bias, i)
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
                w.theta[k] = math.atan2(by[2], bz[2])
                moment = (cy / cosine, sy / cosine, 0.0)
                extra = pitch_rate * (yaw_rate + a * sine / cosine) / cosine
            elif kind == ON_PITCH:
                w.theta[k] = math.atan2(sine, cosine)
                moment = (-sy, cy, 0.0)
                extra = -yaw_rate * a
            else:
                w.theta[k] = math.atan2(bx[1], bx[0])
                moment = (cy * sine / cosine, sy * sine / cosine, 1.0)
                extra = pitch_rate * (yaw_rate * sine + a / cosine) / cosine
            w.Jdv[k] = dot(moment, wd) + extra

        while i >= 0:
            w.J[k, m.in_v[i]] = dot(load(w.screw_angular, i), moment) + dot(load(w.screw_linear, i), force)
            i = m.parent[i]
    for i in range(m.n_combinations):
        if m.combination[i, m.n_coordinates - m.n_combinations + i] != 0.0:
            _combine(m, w, i)


@part
def _combine(m: Model, w: Workspace, i: int) -> None:
    """θ, J and J̇ v of combination i."""
    first = m.n_coordinates - m.n_combinations
    k = first + i
    w.theta[k] = w.Jdv[k] = 0.0
    fill(w.J[k], 0.0)
    for c in range(first):
        factor = m.combination[i, c]
        if factor != 0.0:
            w.theta[k] += factor * w.theta[c]
            w.Jdv[k] += factor * w.Jdv[c]
            for j in range(m.nv):
                w.J[k, j] += factor * w.J[c, j]
