"""Poses in which branches of the closure meet: a lost row is replaced by its next derivative.

Let u'A = 0 for a combination u of rows. Three derivatives of u'Φ = 0 give, with Ȧ linear in v,

    u'(A v̈ + 3 Ȧ v̇ + D³Φ[v, v, v]) = 0,      hence      u'Ȧ v̇ = -(1/3) u'D³Φ[v, v, v],

a condition on v̇ that takes the place of the one that is lost. It keeps the motion on the branch on which it
is. Where the machine rests at such a pose the motion is undetermined, and the row stays away.

Ȧ and D³Φ are found by differences along v at constant v (five points, error about 1e-11): this is done only
inside the narrow window of a branch pose. The clock goes with them, so that what depends on time is
differentiated too.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.formulations.rank import ENTERED
from linkwork.multibody.kernels.compiling import ON_MECHANISM, kernel, part
from linkwork.multibody.kernels.layout import (
    ASIDE,
    ASIDE_2,
    CLOCK,
    COLUMN_SCALE,
    EXCHANGES,
    EXPLICIT,
    FACTORED,
    N_ROWS,
    NQ,
    NV,
    ORDINARY,
    RANK,
    RANKING,
    REFERENCE_SIZE,
    REFLECTED,
    REPLACED,
    RIGHT_SIDE,
    ROW_SCALE,
    A,
    B,
    Q,
    V,
)
from linkwork.multibody.kernels.views import block, copy, fill, fill_matrix, matrix, vector
from linkwork.multibody.linalg.orthogonal import leading_qr
from linkwork.multibody.linalg.reflections import exchange_back, reflect
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move

STEP = 1e-3
SLOWEST = 1e-9


@kernel(ON_MECHANISM)
def replace_lost_rows(p: Floats, t: Integers, w: Floats) -> None:
    """After `factor` and with the right side set: factors of the remaining rows and of the replaced ones."""
    m, n = t[N_ROWS], t[NV]
    ranking, v, columns = vector(t, w, RANKING), vector(t, w, V), vector(t, p, COLUMN_SCALE)
    speed = 0.0
    for k in range(n):
        speed += (v[k] / columns[k]) ** 2
    speed = math.sqrt(speed)
    if speed < SLOWEST:
        return
    explicit = vector(t, w, EXPLICIT)
    for i in range(m):
        if abs(explicit[i]) > SLOWEST:  # no long way in time for a short one in space
            speed = max(speed, 1.0)
    start = t[ASIDE]
    derivative, third = block(w, start, m, n), block(w, start + m * n, 1, m)[0]
    _differences(p, t, w, speed, derivative, third)

    # Q' from the left: the first rows stay as they are, the others become the replaced ones
    factored, exchanges, reflected = (
        matrix(t, w, FACTORED, n),
        vector(t, w, EXCHANGES),
        vector(t, w, REFLECTED),
    )
    right, rank = vector(t, w, RIGHT_SIDE), int(ranking[RANK])
    system, column = block(w, t[ASIDE_2], m, n), block(w, t[ASIDE_2] + m * n, 1, m)[0]
    reflect(factored, reflected, rank, right)
    reflect(factored, reflected, rank, third)
    for k in range(n):
        for i in range(m):
            column[i] = derivative[i, k]
        reflect(factored, reflected, rank, column)
        for i in range(rank, m):
            system[i, k] = column[i]
    shortest = 0.5 * abs(factored[rank - 1, rank - 1]) if rank > 0 else math.inf
    for i in range(rank):
        fill(system[i], 0.0)
        for k in range(i, n):
            system[i, k] = factored[i, k]
        exchange_back(exchanges, rank, system[i])
    for i in range(rank, m):
        right[i] = -speed * speed * third[i] / 3.0
    for i in range(m):
        copy(system[i], factored[i])
    limit = min(ENTERED * vector(t, p, REFERENCE_SIZE)[0], shortest)
    ranking[RANK] = leading_qr(factored, exchanges, reflected, limit, int(ranking[ORDINARY]))
    ranking[REPLACED] = ranking[RANK] - rank


@part
def _differences(p: Floats, t: Integers, w: Floats, speed: float, derivative: Floats, third: Floats) -> None:
    """dÂ/ds and d(Ȧv)/ds / speed² along v, with s = speed · time, in scaled rows and velocities."""
    m, n, nq = t[N_ROWS], t[NV], t[NQ]
    rows, columns = vector(t, p, ROW_SCALE), vector(t, p, COLUMN_SCALE)
    q, v, a, b = vector(t, w, Q), vector(t, w, V), matrix(t, w, A, n), vector(t, w, B)
    end = t[ASIDE + 1]
    kept_q = block(w, end - nq, 1, nq)[0]
    copy(q, kept_q)
    clock = vector(t, w, CLOCK)
    now = clock[0]
    fill_matrix(derivative, 0.0)
    fill(third, 0.0)
    for point in range(4):
        reach = STEP * (point - 2 if point < 2 else point - 1)  # -2, -1, 1, 2
        weight = (-8.0 if point == 1 else 8.0 if point == 2 else 1.0 if point == 0 else -1.0) / (12.0 * STEP)
        copy(kept_q, q)
        move(t, q, v, reach / speed)
        clock[0] = now + reach / speed
        kinematics(p, t, w)
        constraint_rows(p, t, w)
        for i in range(m):
            third[i] -= weight * rows[i] * b[i] / (speed * speed)
            for k in range(n):
                derivative[i, k] += weight * rows[i] * a[i, k] * columns[k]
    copy(kept_q, q)
    clock[0] = now
    kinematics(p, t, w)
    constraint_rows(p, t, w)
