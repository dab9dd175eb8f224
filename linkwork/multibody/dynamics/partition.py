"""Coordinate partitioning: dependent and independent degrees of freedom, chosen from the constraint rows.

Of the scaled rows A as many columns are dependent as A has rank, the ones that a QR with exchange of columns
takes first; the velocities of all others are independent and give these:

    A_D v_D = c - A_I v_I

The last pivot of the QR of A_D measures how well it can be solved. A partition is kept until another one is
`BETTER` times as good, so that a mechanism that moves about a tie does not switch repeatedly.

Nonholonomic rows constrain velocities but no positions, which therefore have a separate partition; without
such rows the two are the same.

`Workspace.partition` holds counters, the two numbers of dependent degrees of freedom, and two lists of all of
them, the dependent ones first.
"""

from linkwork.arrays import Matrix
from linkwork.multibody.closure.rank import rounding
from linkwork.multibody.constraints.rows import is_of_velocity
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.linalg.orthogonal import (
    back_substitute,
    exchange_back,
    leading_qr,
    pivoted_qr,
    reflect,
)
from linkwork.multibody.tree.local_coordinates import chart_row
from linkwork.multibody.workspace import Model, Workspace

BETTER = 2.0
VELOCITIES, POSITIONS = range(2)

SWITCHES, PROJECTED_STEPS, COUNT, LISTS = 0, 1, 2, 4
"""Where a partition has its counters (changes, and steps by other means), its two counts and its lists."""
UNDECIDED = -1


@part
def _binds(m: Model, level: int, i: int) -> bool:
    return level == VELOCITIES or not is_of_velocity(m, i)


@part
def last_pivot(factors: Matrix, rank: int) -> float:
    """Return the absolute last pivot of a QR in `factors` (m × n), the smallest; 0 for rank 0."""
    return abs(factors[rank - 1, rank - 1]) if rank > 0 else 0.0


@kernel
def factor_dependent(m: Model, w: Workspace, level: int) -> float:
    """QR of the scaled A_D, and its last pivot (0: singular); of positions, the rows against x˙."""
    count, first = w.partition[COUNT + level], LISTS + level * m.nv
    factors, turned = block(w.dependent, 0, m.n_rows, count), w.solution
    for i in range(m.n_rows):
        if level == POSITIONS:
            chart_row(m, w.chart, w.A[i], turned)
        else:
            copy(w.A[i], turned)
        bound = 1.0 if _binds(m, level, i) else 0.0
        for j in range(count):
            k = w.partition[first + j]
            factors[i, j] = bound * m.row_scale[i] * turned[k] * m.column_scale[k]
    limit = m.rank_tolerance[0] * m.reference_size[0]
    rank = pivoted_qr(factors, w.exchanged, w.reflections, limit)
    return last_pivot(factors, rank) if rank == count else 0.0


@kernel
def solve_dependent(m: Model, w: Workspace, level: int) -> None:
    """After `factor_dependent`: the shift of the dependent coordinates that A_D maps to the right side.

    It is left in the first numbers of `solution`, in the order of the list; the right side is destroyed.
    """
    count, first = w.partition[COUNT + level], LISTS + level * m.nv
    factors, y = block(w.dependent, 0, m.n_rows, count), w.solution
    reflect(factors, w.reflections, count, w.dependent_side)
    for j in range(count):
        y[j] = w.dependent_side[j]
    back_substitute(factors, count, y)
    exchange_back(w.exchanged, count, y)
    for j in range(count):
        y[j] *= m.column_scale[w.partition[first + j]]


@kernel
def choose(m: Model, w: Workspace) -> None:
    """After `constraint_rows`: keep the partition, or change it where another is much better."""
    changed = _choose_at(m, w, VELOCITIES)
    alike = True
    for i in range(m.n_rows):
        alike = alike and _binds(m, POSITIONS, i)
    if alike:
        w.partition[COUNT + POSITIONS] = w.partition[COUNT + VELOCITIES]
        for k in range(m.nv):
            w.partition[LISTS + m.nv + k] = w.partition[LISTS + k]
    else:
        changed = max(changed, _choose_at(m, w, POSITIONS))
    w.partition[SWITCHES] += changed


@kernel
def _choose_at(m: Model, w: Workspace, level: int) -> int:
    """Return 1 where a partition that was there has been changed."""
    n, old, first = m.nv, w.partition[COUNT + level], LISTS + level * m.nv
    now = factor_dependent(m, w, VELOCITIES) if old > 0 and level == VELOCITIES else 0.0
    if level == POSITIONS and old > 0:
        fill(w.chart, 0.0)
        now = factor_dependent(m, w, POSITIONS)
    factors = block(w.dependent, 0, m.n_rows, n)
    for i in range(m.n_rows):
        bound = 1.0 if _binds(m, level, i) else 0.0
        for k in range(n):
            factors[i, k] = bound * m.row_scale[i] * w.A[i, k] * m.column_scale[k]
    limit, most = rounding(m, w) * m.reference_size[0], m.n_rows
    if level == VELOCITIES:  # the state's own decision
        limit, most = 0.0, int(w.ranking[RANK])
    rank = leading_qr(factors, w.exchanged, w.reflections, limit, most)
    if old == rank and (rank == 0 or now * BETTER >= last_pivot(factors, rank)):
        return 0
    for k in range(n):
        w.partition[first + k] = k
    for k in range(rank):
        best = int(w.exchanged[k])
        kept = w.partition[first + k]
        w.partition[first + k] = w.partition[first + best]
        w.partition[first + best] = kept
    w.partition[COUNT + level] = rank
    return 0 if old == UNDECIDED else 1
