"""Velocities that brakes hold at zero, beside the constraints: unit rows on the velocities that A admits.

`stuck` in the workspace marks them, `stuck_count` is their number. With Λ a basis of the velocities
that the constraints admit (motion_basis.py) and E the rows of the stuck ones, every motion x with A x = b
becomes

    x + Λ z,   E (x + Λ z) = 0,   and the basis Λ N with E Λ N = 0

(rows_on_basis.py), so that brakes that repeat each other, or a closure, are no obstacle. The forces f that
hold them follow from Λ'E'f = Λ'(M v̇ - r); of brakes that repeat each other the shortest. A stuck velocity is
exactly zero in every result, so that its coordinate keeps its bits.
"""

from linkwork.arrays import Floats
from linkwork.multibody.dynamics.rows_on_basis import follow_rows
from linkwork.multibody.kernels.compiling import block, kernel
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.linalg.linear import cholesky, cholesky_solve
from linkwork.multibody.linalg.orthogonal import exchange, forward_substitute, reflect_back
from linkwork.multibody.workspace import Model, Workspace

REPEATS = 1e-9
"""Size below which a row of E Λ (scaled: a single row is of size 1) depends on the others."""


@kernel
def accelerate_others(m: Model, w: Workspace) -> None:
    """Without constraints: `vdot` holds r = effort + friction + compliant - h, and receives v̇."""
    n = m.nv
    for i in range(n):
        w.sticking[i] = -w.vdot[i] if w.stuck[i] != 0.0 else 0.0
        for k in range(n):
            w.factor[i, k] = w.M[i, k] if w.stuck[i] == 0.0 and w.stuck[k] == 0.0 else 0.0
        if w.stuck[i] != 0.0:
            w.factor[i, i], w.vdot[i] = 1.0, 0.0
    cholesky(w.factor, w.factor)
    cholesky_solve(w.factor, w.vdot)
    for i in range(n):
        if w.stuck[i] != 0.0:
            w.vdot[i] = 0.0
            for k in range(n):
                w.sticking[i] += w.M[i, k] * w.vdot[k]


@kernel
def hold_stuck(m: Model, w: Workspace, free: int, x: Floats) -> int:
    """After `admitted` with `free` rows in `basis`: leave stuck velocities out of x (nv) and of the basis.

    Returns how many rows the basis has left: 0 where the brakes fix the machine.
    """
    n, count = m.nv, int(w.stuck_count[0])
    rows = block(w.stuck_rows, 0, count, free)
    held = 0
    for k in range(n):
        if w.stuck[k] != 0.0:
            w.stuck_side[held] = -x[k] / m.column_scale[k]
            for j in range(free):
                rows[held, j] = w.basis[j, k] / m.column_scale[k]
            held += 1
    rank = follow_rows(
        rows, w.stuck_side, w.stuck_exchanges, w.stuck_reflected, REPEATS, w.stuck_motion,
        w.stuck_basis, w.basis, x,
    )  # fmt: skip
    for k in range(n):
        if w.stuck[k] != 0.0:
            x[k] = 0.0
            for left in range(free - rank):
                w.basis[left, k] = 0.0
    w.stuck_count[1] = rank
    return free - rank


@kernel
def sticking_forces(m: Model, w: Workspace) -> None:
    """After `hold_stuck` and with M v̇ - r in `constraint_force`: the forces that hold, in `sticking`."""
    n, count, rank = m.nv, int(w.stuck_count[0]), int(w.stuck_count[1])
    free = n - int(w.ranking[RANK])
    rows = block(w.stuck_rows, 0, count, free)
    for j in range(free):
        w.stuck_motion[j] = 0.0
        for k in range(n):
            w.stuck_motion[j] += w.stuck_basis[j, k] * w.constraint_force[k]
    exchange(w.stuck_exchanges, rank, w.stuck_motion)
    forward_substitute(rows, rank, w.stuck_motion)
    fill(w.stuck_side, 0.0)
    for i in range(rank):
        w.stuck_side[i] = w.stuck_motion[i]
    reflect_back(rows, w.stuck_reflected, rank, w.stuck_side)
    held = 0
    for k in range(n):
        w.sticking[k] = 0.0
        if w.stuck[k] != 0.0:
            w.sticking[k] = w.stuck_side[held] / m.column_scale[k]
            held += 1
