"""The rows of all constraints: Φ, its rate A v + Φ_t, A, and b in A v̇ = b.

    b = -(Ȧ v + dΦ_t/dt) - alpha (A v + Φ_t) - beta Φ          Baumgarte's terms are 0 unless asked for

Of Φ_t, what moves with time alone, is kept (`explicit`): the power of such constraints is -λ Φ_t.

A relative row (constraints/constraint.py) acts with one wrench (moment; force) on the body of frame b and
with its opposite on that of frame a, so that its row of A is that wrench against the screws of the joints
between the two: S_k'(moment; force), with opposite sign on a's side. Joints that carry both cancel.
"""

import math

from linkwork.arrays import Floats
from linkwork.multibody.expressions.tape import expression_row, velocity_row
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import (
    ALONG,
    DISC,
    DISTANCE,
    EXPRESSION,
    LINEAR_ROW,
    NO_SLIP,
    ON_ROLL,
    PERPENDICULAR,
    VELOCITY,
    WRAPS,
)
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.linalg.vectors import Vector, add, combine, cross, dot, load, subtract, times
from linkwork.multibody.tree.coordinates import add_coordinate, clear_coordinate, coordinate_rate, coordinates
from linkwork.multibody.workspace import Model, Workspace

_ZERO = (0.0, 0.0, 0.0)


@part
def _target(w: Workspace, index: int, constant: float) -> tuple[float, float, float]:
    """The prescribed value of a row now, and its first two time derivatives."""
    if index < 0:
        return constant, 0.0, 0.0
    dt = w.clock[0] - w.clock[1]
    value = rate = acceleration = 0.0
    for k in range(5, -1, -1):  # Taylor's series after Horner
        value = w.target[index, k] + value * dt / (k + 1)
        if k >= 1:
            rate = w.target[index, k] + rate * dt / k
        if k >= 2:
            acceleration = w.target[index, k] + acceleration * dt / (k - 1)
    return value, rate, acceleration


@part
def _linear(m: Model, w: Workspace, first: int, count: int, row: Floats) -> tuple[float, float, float]:
    """Σ factor θ, its rate, and its second derivative for v̇ = 0; writes the gradient to a row of A."""
    value = bias = speed = 0.0
    for term in range(first, first + count):
        clear_coordinate(m, m.term[term], row)
    for term in range(first, first + count):
        k = m.term[term]
        value += m.term_factor[term] * w.theta[k]
        bias += m.term_factor[term] * w.Jdv[k]
        speed += m.term_factor[term] * coordinate_rate(m, w, k)
        add_coordinate(m, w, k, m.term_factor[term], row)
    return value, speed, bias


@part
def _of_coordinates(m: Model, w: Workspace, i: int, constant: float) -> tuple[float, float, float]:
    """`_linear` for a row that a sum of coordinates or an expression gives, within half a turn of `constant`
    where it is an angle; writes the part of its rate that moves with time alone, too.
    """
    first, count, value = m.row_first[i], m.row_second[i], 0.0
    if m.row_kind[i] == LINEAR_ROW:
        value, rate, bias = _linear(m, w, first, count, w.A[i])
        if _turns(m, first, count):
            turn = 2.0 * math.pi * abs(m.term_factor[first])
            value = constant + _within_turn(value - constant, turn)
        return value, rate, bias
    if m.row_kind[i] == EXPRESSION:
        value, rate, w.explicit[i], bias = expression_row(m, w, first, count, w.A[i])
    else:
        rate, w.explicit[i], bias = velocity_row(m, w, first, count, w.A[i])
    if m.row_target[i] == WRAPS:
        value = _within_turn(value, 2.0 * math.pi)
    return value, rate, bias


@part
def _clear(w: Workspace, i: int) -> None:
    """Write a row that constrains nothing."""
    w.phi[i] = w.phi_rate[i] = w.b[i] = w.explicit[i] = 0.0
    fill(w.A[i], 0.0)


@part
def _within_turn(x: float, turn: float) -> float:
    """X less as many whole turns as bring it nearest to 0."""
    return x - turn * math.floor(x / turn + 0.5)


@part
def _turns(m: Model, first: int, count: int) -> bool:
    """Whether a linear row is that of one angle in space, which may jump by whole turns."""
    if count != 1:
        return False
    kind: int = m.coordinate_kind[m.term[first]]
    return kind >= ON_ROLL


@part
def _pick(i: int, x: Vector, y: Vector, z: Vector) -> Vector:
    return x if i == 0 else (y if i == 1 else z)


@part
def _axes(m: Model, w: Workspace, frame: int, link: int) -> tuple[Vector, Vector, Vector]:
    """The axes of a constraint's frame, in world axes."""
    a, b, c = (
        load(m.frame_axes, 3 * frame),
        load(m.frame_axes, 3 * frame + 1),
        load(m.frame_axes, 3 * frame + 2),
    )
    if link < 0:
        return a, b, c
    x, y, z = load(w.axes, 3 * link), load(w.axes, 3 * link + 1), load(w.axes, 3 * link + 2)
    return combine(x, y, z, a), combine(x, y, z, b), combine(x, y, z, c)


@part
def _place(m: Model, w: Workspace, frame: int, link: int) -> tuple[Vector, Vector, Vector, Vector, Vector]:
    """Return angular velocity of a frame, its rate for v̇ = 0; origin, its velocity and acceleration."""
    at = load(m.frame_at, frame)
    if link < 0:
        return _ZERO, _ZERO, at, _ZERO, _ZERO
    x, y, z = load(w.axes, 3 * link), load(w.axes, 3 * link + 1), load(w.axes, 3 * link + 2)
    turn, turning = load(w.angular, link), load(w.angular_bias, link)
    place = add(load(w.origin, link), combine(x, y, z, at))
    r = subtract(place, load(w.reference, 0))
    speed = add(load(w.linear, link), cross(turn, r))
    bias = add(load(w.linear_bias, link), add(cross(turning, r), cross(turn, speed)))
    return turn, turning, place, speed, bias


@part
def _spread(m: Model, w: Workspace, a: int, b: int, moment: Vector, force: Vector, row: Floats) -> None:
    """Write the row of A of a wrench on link b and its opposite on link a."""
    while a != b:
        if b > a:  # a link comes after its parent, so the later one cannot carry the other
            row[m.in_v[b]] = dot(load(w.screw_angular, b), moment) + dot(load(w.screw_linear, b), force)
            b = m.parent[b]
        else:
            row[m.in_v[a]] = -dot(load(w.screw_angular, a), moment) - dot(load(w.screw_linear, a), force)
            a = m.parent[a]


@part
def is_of_velocity(m: Model, i: int) -> bool:
    """Return whether row i constrains velocities only."""
    kind = m.row_kind[i]
    return kind in (NO_SLIP, VELOCITY) or (kind == DISC and m.row_first[i] != 2)


@kernel
def constraint_rows(m: Model, w: Workspace) -> None:
    """After `kinematics`: Φ, A v + Φ_t, A and b of every row; rows that are switched off are zero.

    Entries of A outside a row's pattern are never written, and stay 0.
    """
    reference = load(w.reference, 0)
    positions_only = w.level[0] != 0.0
    if m.n_terms + m.n_tape > 0:
        coordinates(m, w)

    for k in range(m.n_constraints):
        first, count, link_a, link_b = m.first_row[k], m.row_count[k], m.link_a[k], m.link_b[k]
        if w.on[k] == 0.0:
            for i in range(first, first + count):
                _clear(w, i)
            continue
        xa, ya, za = _axes(m, w, 2 * k, link_a)
        xb, yb, zb = _axes(m, w, 2 * k + 1, link_b)
        w_a, wd_a, p_a, v_a, g_a = _place(m, w, 2 * k, link_a)
        w_b, wd_b, p_b, v_b, g_b = _place(m, w, 2 * k + 1, link_b)
        d, dd, ddd = subtract(p_b, p_a), subtract(v_b, v_a), subtract(g_b, g_a)

        for i in range(first, first + count):
            kind = m.row_kind[i]
            if positions_only and is_of_velocity(m, i):
                _clear(w, i)
                continue
            c, cd, cdd = _target(w, m.row_target[i], m.row_offset[i])
            w.explicit[i] = -cd
            moment = force = _ZERO
            if kind in (LINEAR_ROW, EXPRESSION, VELOCITY):
                value, rate, bias = _of_coordinates(m, w, i, c)
            elif kind == DISTANCE:
                value = math.sqrt(dot(d, d))
                force = times(1.0 / value, d)
                rate = dot(force, dd)
                bias = dot(force, ddd) + (dot(dd, dd) - rate * rate) / value
                moment = cross(subtract(p_b, reference), force)
            else:
                a = _pick(m.row_first[i], xa, ya, za)
                ad = cross(w_a, a)
                add_ = add(cross(wd_a, a), cross(w_a, ad))
                if kind == ALONG:
                    value, rate = dot(a, d), dot(ad, d) + dot(a, dd)
                    bias = dot(add_, d) + 2.0 * dot(ad, dd) + dot(a, ddd)
                    force, moment = a, cross(subtract(p_b, reference), a)
                elif kind == PERPENDICULAR:
                    b = _pick(m.row_second[i], xb, yb, zb)
                    bd = cross(w_b, b)
                    bdd = add(cross(wd_b, b), cross(w_b, bd))
                    value, rate = dot(a, b), dot(ad, b) + dot(a, bd)
                    bias = dot(add_, b) + 2.0 * dot(ad, bd) + dot(a, bdd)
                    moment = cross(b, a)
                else:
                    up, turning, height = za, cross(w_a, za), 0.0
                    if kind == DISC:
                        up, turning, upright = _in_disc(za, turning, zb, cross(w_b, zb))
                        height = dot(za, d) - m.row_offset[i] * upright if m.row_first[i] == 2 else 0.0
                    r, radius = subtract(p_b, reference), m.row_offset[i]
                    rate, bias, moment = _no_slip(
                        a, ad, up, turning, w_a, wd_a, w_b, wd_b, d, dd, ddd, r, radius
                    )
                    value, force = height, a
                    c = cd = cdd = 0.0
            if kind not in (LINEAR_ROW, EXPRESSION, VELOCITY):
                _spread(m, w, link_a, link_b, moment, force, w.A[i])
            w.phi[i], w.phi_rate[i] = value - c, rate - cd
            w.b[i] = cdd - bias - w.baumgarte[i, 0] * w.phi_rate[i] - w.baumgarte[i, 1] * w.phi[i]


@part
def _in_disc(n: Vector, nd: Vector, b: Vector, bd: Vector) -> tuple[Vector, Vector, float]:
    """The direction e in a disc normal to b that is nearest to n, its rate, and n'e (0 where it is flat)."""
    c, cd = dot(n, b), dot(nd, b) + dot(n, bd)
    u = subtract(n, times(c, b))
    rate = subtract(nd, add(times(cd, b), times(c, bd)))
    size = math.sqrt(dot(u, u))
    e = times(1.0 / size, u)
    return e, times(1.0 / size, subtract(rate, times(dot(e, rate), e))), size


@part
def _no_slip(
    a: Vector,
    ad: Vector,
    e: Vector,
    ed: Vector,
    w_a: Vector,
    wd_a: Vector,
    w_b: Vector,
    wd_b: Vector,
    d: Vector,
    dd: Vector,
    ddd: Vector,
    r: Vector,
    radius: float,
) -> tuple[float, float, Vector]:
    """Velocity, its rate for v̇ = 0, and moment of the row a'(slip) = 0.

    slip = velocity of b's material against a's at the contact p_b - radius e
         = (ḋ - w_a × d) - radius (w_b - w_a) × e
    """
    relative, relative_rate = subtract(w_b, w_a), subtract(wd_b, wd_a)
    slip = subtract(subtract(dd, cross(w_a, d)), times(radius, cross(relative, e)))
    rate = subtract(subtract(ddd, cross(wd_a, d)), cross(w_a, dd))
    rate = subtract(rate, times(radius, add(cross(relative_rate, e), cross(relative, ed))))
    contact = subtract(r, times(radius, e))
    return dot(a, slip), dot(ad, slip) + dot(a, rate), cross(contact, a)
