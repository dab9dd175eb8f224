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

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.closure.rank import ENTERED
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import ORDINARY, RANK, REPLACED
from linkwork.multibody.kernels.views import copy, fill, fill_matrix
from linkwork.multibody.linalg.orthogonal import exchange_back, leading_qr, reflect
from linkwork.multibody.linalg.vectors import squared
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move
from linkwork.multibody.workspace import Model, Workspace

STEP = 1e-3
SLOWEST = 1e-9


@kernel
def replace_lost_rows(m: Model, w: Workspace) -> None:
    """After `factor` and with the right side set: factors of the remaining rows and of the replaced ones."""
    n = m.nv
    speed = 0.0
    for k in range(n):
        speed += squared(w.v[k] / m.column_scale[k])
    speed = math.sqrt(speed)
    if speed < SLOWEST:
        return
    for i in range(m.n_rows):
        if abs(w.explicit[i]) > SLOWEST:  # no long way in time for a short one in space
            speed = max(speed, 1.0)
    _differences(m, w, speed, w.derivative, w.third)

    # Q' from the left: the first rows stay as they are, the others become the replaced ones
    rank = int(w.ranking[RANK])
    reflect(w.factored, w.reflected, rank, w.right_side)
    reflect(w.factored, w.reflected, rank, w.third)
    for k in range(n):
        for i in range(m.n_rows):
            w.column[i] = w.derivative[i, k]
        reflect(w.factored, w.reflected, rank, w.column)
        for i in range(rank, m.n_rows):
            w.system[i, k] = w.column[i]
    shortest = 0.5 * abs(w.factored[rank - 1, rank - 1]) if rank > 0 else math.inf
    for i in range(rank):
        fill(w.system[i], 0.0)
        for k in range(i, n):
            w.system[i, k] = w.factored[i, k]
        exchange_back(w.exchanges, rank, w.system[i])
    for i in range(rank, m.n_rows):
        w.right_side[i] = -speed * speed * w.third[i] / 3.0
    for i in range(m.n_rows):
        copy(w.system[i], w.factored[i])
    limit = min(ENTERED * m.reference_size[0], shortest)
    w.ranking[RANK] = leading_qr(w.factored, w.exchanges, w.reflected, limit, int(w.ranking[ORDINARY]))
    w.ranking[REPLACED] = w.ranking[RANK] - rank


@part
def _differences(m: Model, w: Workspace, speed: float, derivative: Matrix, third: Floats) -> None:
    """dÂ/ds and d(Ȧv)/ds / speed² along v, with s = speed · time, in scaled rows and velocities."""
    n = m.nv
    copy(w.q, w.kept_q)
    now = w.clock[0]
    fill_matrix(derivative, 0.0)
    fill(third, 0.0)
    for point in range(4):
        reach = STEP * (point - 2 if point < 2 else point - 1)  # -2, -1, 1, 2
        weight = (-8.0 if point == 1 else 8.0 if point == 2 else 1.0 if point == 0 else -1.0) / (12.0 * STEP)
        copy(w.kept_q, w.q)
        move(m, w.q, w.v, reach / speed)
        w.clock[0] = now + reach / speed
        kinematics(m, w)
        constraint_rows(m, w)
        for i in range(m.n_rows):
            third[i] -= weight * m.row_scale[i] * w.b[i] / (speed * speed)
            for k in range(n):
                derivative[i, k] += weight * m.row_scale[i] * w.A[i, k] * m.column_scale[k]
    copy(w.kept_q, w.q)
    w.clock[0] = now
    kinematics(m, w)
    constraint_rows(m, w)
