"""Velocities that brakes hold at zero, beside the constraints: unit rows on the velocities that A admits.

`STUCK` in the workspace marks them, `STUCK_COUNT` is their number. With Λ a basis of the velocities
that the constraints admit (constrained.py) and E the rows of the stuck ones, every motion x with A x = b
becomes

    x + Λ z,   E (x + Λ z) = 0,   and the basis Λ N with E Λ N = 0

by a QR with exchange of columns of E Λ (scaled), so that brakes that repeat each other, or a closure, are
no obstacle. The forces f that hold them follow from Λ'E'f = Λ'(M v̇ - r); of brakes that repeat each other the
shortest. A stuck velocity is exactly zero in every result, so that its coordinate keeps its bits.
"""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    ON_MECHANISM,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    int64,
    kernel,
)
from linkwork.multibody.kernels.layout import (
    BASIS,
    COLUMN_SCALE,
    CONSTRAINT_FORCE,
    FACTOR,
    NV,
    RANK,
    RANKING,
    STICKING,
    STUCK,
    STUCK_BASIS,
    STUCK_COUNT,
    STUCK_EXCHANGES,
    STUCK_MOTION,
    STUCK_REFLECTED,
    STUCK_ROWS,
    STUCK_SIDE,
    VDOT,
    M,
)
from linkwork.multibody.kernels.views import block, copy, fill, matrix, vector
from linkwork.multibody.linalg.linear import cholesky, cholesky_solve
from linkwork.multibody.linalg.orthogonal import pivoted_qr
from linkwork.multibody.linalg.reflections import (
    back_substitute,
    exchange,
    exchange_back,
    forward_substitute,
    reflect,
    reflect_back,
)

REPEATS = 1e-9
"""Size below which a row of E Λ (scaled: a single row is of size 1) depends on the others."""


@kernel(ON_MECHANISM)
def accelerate_others(p: Floats, t: Integers, w: Floats) -> None:  # noqa: ARG001  the arguments of every kernel
    """Without constraints: `VDOT` holds r = effort + friction + compliant - h, and receives v̇."""
    n = t[NV]
    mass, factor, vdot = matrix(t, w, M, n), matrix(t, w, FACTOR, n), vector(t, w, VDOT)
    stuck, sticking = vector(t, w, STUCK), vector(t, w, STICKING)
    for i in range(n):
        sticking[i] = -vdot[i] if stuck[i] != 0.0 else 0.0
        for k in range(n):
            factor[i, k] = mass[i, k] if stuck[i] == 0.0 and stuck[k] == 0.0 else 0.0
        if stuck[i] != 0.0:
            factor[i, i], vdot[i] = 1.0, 0.0
    cholesky(factor, factor)
    cholesky_solve(factor, vdot)
    for i in range(n):
        if stuck[i] != 0.0:
            vdot[i] = 0.0
            for k in range(n):
                sticking[i] += mass[i, k] * vdot[k]


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, int64, VECTOR))
def hold_stuck(p: Floats, t: Integers, w: Floats, free: int, x: Floats) -> int:
    """After `admitted` with `free` rows in `BASIS`: leave stuck velocities out of x (nv) and of the basis.

    Returns how many rows the basis has left: 0 where the brakes fix the machine.
    """
    n, count = t[NV], int(vector(t, w, STUCK_COUNT)[0])
    basis, whole = matrix(t, w, BASIS, n), matrix(t, w, STUCK_BASIS, n)
    rows, right, z = (
        block(w, t[STUCK_ROWS], count, free),
        vector(t, w, STUCK_SIDE),
        vector(t, w, STUCK_MOTION),
    )
    stuck, columns = vector(t, w, STUCK), vector(t, p, COLUMN_SCALE)
    exchanges, reflected = vector(t, w, STUCK_EXCHANGES), vector(t, w, STUCK_REFLECTED)
    held = 0
    for k in range(n):
        if stuck[k] != 0.0:
            right[held] = -x[k] / columns[k]
            for j in range(free):
                rows[held, j] = basis[j, k] / columns[k]
            held += 1
    for j in range(free):
        copy(basis[j], whole[j])
    rank = pivoted_qr(rows, exchanges, reflected, REPEATS)
    reflect(rows, reflected, rank, right)
    fill(z, 0.0)
    for i in range(rank):
        z[i] = right[i]
    back_substitute(rows, rank, z)
    exchange_back(exchanges, rank, z)
    for k in range(n):
        for j in range(free):
            x[k] += z[j] * whole[j, k]
        if stuck[k] != 0.0:
            x[k] = 0.0
    for left in range(free - rank):
        fill(z, 0.0)
        for i in range(rank):
            z[i] = -rows[i, rank + left]
        back_substitute(rows, rank, z)
        z[rank + left] = 1.0
        exchange_back(exchanges, rank, z)
        for k in range(n):
            basis[left, k] = 0.0
            for j in range(free):
                basis[left, k] += z[j] * whole[j, k]
            if stuck[k] != 0.0:
                basis[left, k] = 0.0
    vector(t, w, STUCK_COUNT)[1] = rank
    return free - rank


@kernel(ON_MECHANISM)
def sticking_forces(p: Floats, t: Integers, w: Floats) -> None:
    """After `hold_stuck` and with M v̇ - r in `CONSTRAINT_FORCE`: the forces that hold, in `STICKING`."""
    n, count, rank = t[NV], int(vector(t, w, STUCK_COUNT)[0]), int(vector(t, w, STUCK_COUNT)[1])
    free = n - int(vector(t, w, RANKING)[RANK])
    whole, force = matrix(t, w, STUCK_BASIS, n), vector(t, w, CONSTRAINT_FORCE)
    rows, right, z = (
        block(w, t[STUCK_ROWS], count, free),
        vector(t, w, STUCK_SIDE),
        vector(t, w, STUCK_MOTION),
    )
    stuck, columns, sticking = vector(t, w, STUCK), vector(t, p, COLUMN_SCALE), vector(t, w, STICKING)
    exchanges, reflected = vector(t, w, STUCK_EXCHANGES), vector(t, w, STUCK_REFLECTED)
    for j in range(free):
        z[j] = 0.0
        for k in range(n):
            z[j] += whole[j, k] * force[k]
    exchange(exchanges, rank, z)
    forward_substitute(rows, rank, z)
    fill(right, 0.0)
    for i in range(rank):
        right[i] = z[i]
    reflect_back(rows, reflected, rank, right)
    held = 0
    for k in range(n):
        sticking[k] = 0.0
        if stuck[k] != 0.0:
            sticking[k] = right[held] / columns[k]
            held += 1
