"""The rows of all constraints: Φ, its rate A v + Φ_t, A, and b in A v̇ = b.

    b = -(Ȧ v + dΦ_t/dt) - alpha (A v + Φ_t) - beta Φ          Baumgarte's terms are 0 unless asked for

Of Φ_t, what moves with time alone, is kept (`EXPLICIT`): the power of such constraints is -λ Φ_t.

A relative row (constraints/constraint.py) acts with one wrench (moment; force) on the body of frame b and
with its opposite on that of frame a, so that its row of A is that wrench against the screws of the joints
between the two: S_k'(moment; force), with opposite sign on a's side. Joints that carry both cancel.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.expressions.tape import expression_row, velocity_row
from linkwork.multibody.kernels.compiling import ON_MECHANISM, kernel, part
from linkwork.multibody.kernels.layout import (
    ALONG,
    ANGULAR,
    ANGULAR_BIAS,
    AXES,
    BAUMGARTE,
    CLOCK,
    CONSTRAINTS,
    COORDINATES,
    DISC,
    DISTANCE,
    EXPLICIT,
    EXPRESSION,
    FRAME_AT,
    FRAME_AXES,
    JDV,
    LEVEL,
    LINEAR_BIAS,
    LINEAR_ROW,
    LINKS,
    N_CONSTRAINTS,
    N_TAPE,
    N_TERMS,
    NO_SLIP,
    NV,
    ON,
    ON_ROLL,
    ORIGIN,
    PERPENDICULAR,
    PHI,
    PHI_RATE,
    REFERENCE,
    ROW_OFFSET,
    ROWS,
    SCREW_ANGULAR,
    SCREW_LINEAR,
    TARGET,
    TERM_FACTOR,
    TERMS,
    THETA,
    VELOCITY,
    WRAPS,
    A,
    B,
)
from linkwork.multibody.kernels.layout import LINEAR as LINEAR_VELOCITY
from linkwork.multibody.kernels.views import fill, matrix, table, vector
from linkwork.multibody.linalg.vectors import (
    Vector,
    add,
    combine,
    cross,
    dot,
    load,
    subtract,
    times,
)
from linkwork.multibody.tree.coordinates import (
    add_coordinate,
    clear_coordinate,
    coordinate_rate,
    coordinates,
)

_ZERO = (0.0, 0.0, 0.0)


@part
def _target(t: Integers, w: Floats, index: int, constant: float) -> tuple[float, float, float]:
    """The prescribed value of a row now, and its first two time derivatives."""
    if index < 0:
        return constant, 0.0, 0.0
    clock, target = vector(t, w, CLOCK), matrix(t, w, TARGET, 6)
    dt = clock[0] - clock[1]
    value = rate = acceleration = 0.0
    for k in range(5, -1, -1):  # Taylor's series after Horner
        value = target[index, k] + value * dt / (k + 1)
        if k >= 1:
            rate = target[index, k] + rate * dt / k
        if k >= 2:
            acceleration = target[index, k] + acceleration * dt / (k - 1)
    return value, rate, acceleration


@part
def _linear(
    t: Integers, p: Floats, w: Floats, first: int, count: int, row: Floats
) -> tuple[float, float, float]:
    """Σ factor θ, its rate, and its second derivative for v̇ = 0; writes the gradient to a row of A."""
    theta, rate = vector(t, w, THETA), vector(t, w, JDV)
    terms, factor = table(t, TERMS, 1), vector(t, p, TERM_FACTOR)
    value = bias = speed = 0.0
    for term in range(first, first + count):
        clear_coordinate(t, terms[term, 0], row)
    for term in range(first, first + count):
        k = terms[term, 0]
        value += factor[term] * theta[k]
        bias += factor[term] * rate[k]
        speed += factor[term] * coordinate_rate(t, w, k)
        add_coordinate(t, w, k, factor[term], row)
    return value, speed, bias


@part
def _within_turn(x: float, turn: float) -> float:
    """X less as many whole turns as bring it nearest to 0."""
    return x - turn * math.floor(x / turn + 0.5)


@part
def _turns(t: Integers, first: int, count: int) -> bool:
    """Whether a linear row is that of one angle in space, which may jump by whole turns."""
    if count != 1:
        return False
    kind: int = table(t, COORDINATES, 2)[table(t, TERMS, 1)[first, 0], 0]
    return kind >= ON_ROLL


@part
def _pick(i: int, x: Vector, y: Vector, z: Vector) -> Vector:
    return x if i == 0 else (y if i == 1 else z)


@part
def _axes(t: Integers, p: Floats, w: Floats, frame: int, link: int) -> tuple[Vector, Vector, Vector]:
    """The axes of a constraint's frame, in world axes."""
    own = matrix(t, p, FRAME_AXES, 3)
    a, b, c = load(own, 3 * frame), load(own, 3 * frame + 1), load(own, 3 * frame + 2)
    if link < 0:
        return a, b, c
    axes = matrix(t, w, AXES, 3)
    x, y, z = load(axes, 3 * link), load(axes, 3 * link + 1), load(axes, 3 * link + 2)
    return combine(x, y, z, a), combine(x, y, z, b), combine(x, y, z, c)


@part
def _place(
    t: Integers, p: Floats, w: Floats, frame: int, link: int
) -> tuple[Vector, Vector, Vector, Vector, Vector]:
    """Return angular velocity of a frame, its rate for v̇ = 0; origin, its velocity and acceleration."""
    at = load(matrix(t, p, FRAME_AT, 3), frame)
    if link < 0:
        return _ZERO, _ZERO, at, _ZERO, _ZERO
    axes = matrix(t, w, AXES, 3)
    x, y, z = load(axes, 3 * link), load(axes, 3 * link + 1), load(axes, 3 * link + 2)
    turn, turning = load(matrix(t, w, ANGULAR, 3), link), load(matrix(t, w, ANGULAR_BIAS, 3), link)
    place = add(load(matrix(t, w, ORIGIN, 3), link), combine(x, y, z, at))
    r = subtract(place, load(matrix(t, w, REFERENCE, 3), 0))
    speed = add(load(matrix(t, w, LINEAR_VELOCITY, 3), link), cross(turn, r))
    bias = add(load(matrix(t, w, LINEAR_BIAS, 3), link), add(cross(turning, r), cross(turn, speed)))
    return turn, turning, place, speed, bias


@part
def _spread(t: Integers, w: Floats, a: int, b: int, moment: Vector, force: Vector, row: Floats) -> None:
    """Write the row of A of a wrench on link b and its opposite on link a."""
    links = table(t, LINKS, 3)
    screw_angular, screw_linear = matrix(t, w, SCREW_ANGULAR, 3), matrix(t, w, SCREW_LINEAR, 3)
    while a != b:
        if b > a:  # a link comes after its parent, so the later one cannot carry the other
            row[links[b, 2]] = dot(load(screw_angular, b), moment) + dot(load(screw_linear, b), force)
            b = links[b, 0]
        else:
            row[links[a, 2]] = -dot(load(screw_angular, a), moment) - dot(load(screw_linear, a), force)
            a = links[a, 0]


@part
def is_of_velocity(rows: Integers, i: int) -> bool:
    """Return whether row i of the table `ROWS` (rows × 4) constrains velocities only."""
    kind = rows[i, 0]
    return kind in (NO_SLIP, VELOCITY) or (kind == DISC and rows[i, 1] != 2)


@kernel(ON_MECHANISM)
def constraint_rows(p: Floats, t: Integers, w: Floats) -> None:
    """After `kinematics`: Φ, A v + Φ_t, A and b of every row; rows that are switched off are zero.

    Entries of A outside a row's pattern are never written, and stay 0.
    """
    table_of, rows = table(t, CONSTRAINTS, 4), table(t, ROWS, 4)
    phi, phi_rate, a_matrix, b_vector = (
        vector(t, w, PHI),
        vector(t, w, PHI_RATE),
        matrix(t, w, A, t[NV]),
        vector(t, w, B),
    )
    on, offset, baumgarte = vector(t, w, ON), vector(t, p, ROW_OFFSET), matrix(t, w, BAUMGARTE, 2)
    reference, explicit = load(matrix(t, w, REFERENCE, 3), 0), vector(t, w, EXPLICIT)
    positions_only = vector(t, w, LEVEL)[0] != 0.0
    if t[N_TERMS] + t[N_TAPE] > 0:
        coordinates(p, t, w)

    for k in range(t[N_CONSTRAINTS]):
        first, count, link_a, link_b = table_of[k, 0], table_of[k, 1], table_of[k, 2], table_of[k, 3]
        if on[k] == 0.0:
            for i in range(first, first + count):
                phi[i] = phi_rate[i] = b_vector[i] = explicit[i] = 0.0
                fill(a_matrix[i], 0.0)
            continue
        xa, ya, za = _axes(t, p, w, 2 * k, link_a)
        xb, yb, zb = _axes(t, p, w, 2 * k + 1, link_b)
        w_a, wd_a, p_a, v_a, g_a = _place(t, p, w, 2 * k, link_a)
        w_b, wd_b, p_b, v_b, g_b = _place(t, p, w, 2 * k + 1, link_b)
        d, dd, ddd = subtract(p_b, p_a), subtract(v_b, v_a), subtract(g_b, g_a)

        for i in range(first, first + count):
            kind = rows[i, 0]
            of_velocity = is_of_velocity(rows, i)
            if of_velocity and positions_only:
                phi[i] = phi_rate[i] = b_vector[i] = explicit[i] = 0.0
                fill(a_matrix[i], 0.0)
                continue
            c, cd, cdd = _target(t, w, rows[i, 3], offset[i])
            explicit[i] = -cd
            moment = force = _ZERO
            if kind == LINEAR_ROW:
                value, rate, bias = _linear(t, p, w, rows[i, 1], rows[i, 2], a_matrix[i])
                if _turns(t, rows[i, 1], rows[i, 2]):
                    turn = 2.0 * math.pi * abs(vector(t, p, TERM_FACTOR)[rows[i, 1]])
                    value = c + _within_turn(value - c, turn)
            elif kind in (EXPRESSION, VELOCITY):
                start, length, row, value = rows[i, 1], rows[i, 2], a_matrix[i], 0.0
                if kind == EXPRESSION:
                    value, rate, own, bias = expression_row(t, p, w, start, length, row)
                else:
                    rate, own, bias = velocity_row(t, p, w, start, length, row)
                if rows[i, 3] == WRAPS:
                    value = _within_turn(value, 2.0 * math.pi)
                explicit[i] = own
            elif kind == DISTANCE:
                value = math.sqrt(dot(d, d))
                force = times(1.0 / value, d)
                rate = dot(force, dd)
                bias = dot(force, ddd) + (dot(dd, dd) - rate * rate) / value
                moment = cross(subtract(p_b, reference), force)
            else:
                a = _pick(rows[i, 1], xa, ya, za)
                ad = cross(w_a, a)
                add_ = add(cross(wd_a, a), cross(w_a, ad))
                if kind == ALONG:
                    value, rate = dot(a, d), dot(ad, d) + dot(a, dd)
                    bias = dot(add_, d) + 2.0 * dot(ad, dd) + dot(a, ddd)
                    force, moment = a, cross(subtract(p_b, reference), a)
                elif kind == PERPENDICULAR:
                    b = _pick(rows[i, 2], xb, yb, zb)
                    bd = cross(w_b, b)
                    bdd = add(cross(wd_b, b), cross(w_b, bd))
                    value, rate = dot(a, b), dot(ad, b) + dot(a, bd)
                    bias = dot(add_, b) + 2.0 * dot(ad, bd) + dot(a, bdd)
                    moment = cross(b, a)
                else:
                    up, turning, height = za, cross(w_a, za), 0.0
                    if kind == DISC:
                        up, turning, upright = _in_disc(za, turning, zb, cross(w_b, zb))
                        height = dot(za, d) - offset[i] * upright if rows[i, 1] == 2 else 0.0
                    rate, bias, moment = _no_slip(
                        a,
                        ad,
                        up,
                        turning,
                        w_a,
                        wd_a,
                        w_b,
                        wd_b,
                        d,
                        dd,
                        ddd,
                        subtract(p_b, reference),
                        offset[i],
                    )
                    value, force = height, a
                    c = cd = cdd = 0.0
            if kind not in (LINEAR_ROW, EXPRESSION, VELOCITY):
                _spread(t, w, link_a, link_b, moment, force, a_matrix[i])
            phi[i], phi_rate[i] = value - c, rate - cd
            b_vector[i] = cdd - bias - baumgarte[i, 0] * phi_rate[i] - baumgarte[i, 1] * phi[i]


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
