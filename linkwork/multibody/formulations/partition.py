"""Coordinate partitioning: dependent and independent degrees of freedom, chosen from the constraint rows.

Of the scaled rows A as many columns are dependent as A has rank, the ones that a QR with exchange of columns
takes first; the velocities of all others are independent and give these:

    A_D v_D = c - A_I v_I

The last pivot of the QR of A_D measures how well it can be solved. A partition is kept until another one is
`BETTER` times as good, so that a mechanism that moves about a tie does not switch repeatedly.

Nonholonomic rows constrain velocities but no positions, which therefore have a separate partition; without
such rows the two are the same.

A `partition` (integers; `partition_size` of them) holds counters, the two numbers of dependent degrees of
freedom, and two lists of all of them, the dependent ones first. `z` (numbers; `scratch_size` of them) is
scratch memory.
"""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.constraints.rows import is_of_velocity
from linkwork.multibody.formulations.rank import rounding
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.kernels.views import copy
from linkwork.multibody.linalg.orthogonal import leading_qr, pivoted_qr
from linkwork.multibody.linalg.reflections import back_substitute, exchange_back, reflect
from linkwork.multibody.tree.local_coordinates import chart_row
from linkwork.multibody.workspace import Model, Workspace

BETTER = 2.0
VELOCITIES, POSITIONS = range(2)

SWITCHES, PROJECTED_STEPS, COUNT, LISTS = 0, 1, 2, 4
"""Where a partition has its counters (changes, and steps by other means), its two counts and its lists."""
UNDECIDED = -1

X, X_RATE, X_SUM, V_SUM, START_V, SOLUTION, EXCHANGED, REFLECTIONS = range(8)
"""Vectors of nv numbers in z; after them the coordinates at the start, a right side, and a block of A."""


def partition_size(nv: int) -> int:
    """Return the number of integers of a partition."""
    return LISTS + 2 * nv


def scratch_size(nq: int, nv: int, rows: int) -> int:
    """Return the number of floats of z."""
    return 8 * nv + nq + rows + rows * nv


@part
def of_z(m: Model, z: Floats, which: int) -> Floats:
    """Return vector number `which` (nv) of z."""
    row: Floats = block(z, which * m.nv, 1, m.nv)[0]
    return row


@part
def start_q(m: Model, z: Floats) -> Floats:
    """Return the coordinates (nq) at the start of a step."""
    row: Floats = block(z, 8 * m.nv, 1, m.nq)[0]
    return row


@part
def right_side(m: Model, z: Floats) -> Floats:
    """Return the right side (nr), one number for each row."""
    row: Floats = block(z, 8 * m.nv + m.nq, 1, m.n_rows)[0]
    return row


@part
def columns_of(m: Model, z: Floats, count: int) -> Floats:
    """Return the block (nr × count) of z for columns of A."""
    values: Floats = block(z, 8 * m.nv + m.nq + m.n_rows, m.n_rows, count)
    return values


@part
def _binds(m: Model, level: int, i: int) -> bool:
    return level == VELOCITIES or not is_of_velocity(m, i)


@part
def last_pivot(factors: Floats, rank: int) -> float:
    """Return the absolute last pivot of a QR in `factors` (m × n), the smallest; 0 for rank 0."""
    return abs(factors[rank - 1, rank - 1]) if rank > 0 else 0.0


@kernel
def factor_dependent(m: Model, w: Workspace, partition: Integers, z: Floats, level: int) -> float:
    """QR of the scaled A_D in z, and its last pivot (0: singular); of positions, the rows against x˙."""
    count, first = partition[COUNT + level], LISTS + level * m.nv
    factors, turned = columns_of(m, z, count), of_z(m, z, SOLUTION)
    for i in range(m.n_rows):
        if level == POSITIONS:
            chart_row(m, of_z(m, z, X), w.A[i], turned)
        else:
            copy(w.A[i], turned)
        bound = 1.0 if _binds(m, level, i) else 0.0
        for j in range(count):
            k = partition[first + j]
            factors[i, j] = bound * m.row_scale[i] * turned[k] * m.column_scale[k]
    limit = m.rank_tolerance[0] * m.reference_size[0]
    rank = pivoted_qr(factors, of_z(m, z, EXCHANGED), of_z(m, z, REFLECTIONS), limit)
    return last_pivot(factors, rank) if rank == count else 0.0


@kernel
def solve_dependent(m: Model, w: Workspace, partition: Integers, z: Floats, level: int) -> None:  # noqa: ARG001
    """After `factor_dependent`: the shift of the dependent coordinates that A_D maps to the right side.

    It is left in the first numbers of `SOLUTION`, in the order of the list; the right side is destroyed.
    """
    count, first = partition[COUNT + level], LISTS + level * m.nv
    factors, right, y = columns_of(m, z, count), right_side(m, z), of_z(m, z, SOLUTION)
    reflect(factors, of_z(m, z, REFLECTIONS), count, right)
    for j in range(count):
        y[j] = right[j]
    back_substitute(factors, count, y)
    exchange_back(of_z(m, z, EXCHANGED), count, y)
    for j in range(count):
        y[j] *= m.column_scale[partition[first + j]]


@kernel
def choose(m: Model, w: Workspace, partition: Integers, z: Floats) -> None:
    """After `constraint_rows`: keep the partition, or change it where another is much better."""
    changed = _choose_at(m, w, partition, z, VELOCITIES)
    alike = True
    for i in range(m.n_rows):
        alike = alike and _binds(m, POSITIONS, i)
    if alike:
        partition[COUNT + POSITIONS] = partition[COUNT + VELOCITIES]
        for k in range(m.nv):
            partition[LISTS + m.nv + k] = partition[LISTS + k]
    else:
        changed = max(changed, _choose_at(m, w, partition, z, POSITIONS))
    partition[SWITCHES] += changed


@kernel
def _choose_at(m: Model, w: Workspace, partition: Integers, z: Floats, level: int) -> int:
    """Return 1 where a partition that was there has been changed."""
    n, old, first = m.nv, partition[COUNT + level], LISTS + level * m.nv
    now = factor_dependent(m, w, partition, z, VELOCITIES) if old > 0 and level == VELOCITIES else 0.0
    fill_x = of_z(m, z, X)
    if level == POSITIONS and old > 0:
        for k in range(n):
            fill_x[k] = 0.0
        now = factor_dependent(m, w, partition, z, POSITIONS)
    factors, exchanged = columns_of(m, z, n), of_z(m, z, EXCHANGED)
    for i in range(m.n_rows):
        bound = 1.0 if _binds(m, level, i) else 0.0
        for k in range(n):
            factors[i, k] = bound * m.row_scale[i] * w.A[i, k] * m.column_scale[k]
    limit, most = rounding(m, w) * m.reference_size[0], m.n_rows
    if level == VELOCITIES:  # the state's own decision
        limit, most = 0.0, int(w.ranking[RANK])
    rank = leading_qr(factors, exchanged, of_z(m, z, REFLECTIONS), limit, most)
    if old == rank and (rank == 0 or now * BETTER >= last_pivot(factors, rank)):
        return 0
    for k in range(n):
        partition[first + k] = k
    for k in range(rank):
        best = int(exchanged[k])
        kept = partition[first + k]
        partition[first + k] = partition[first + best]
        partition[first + best] = kept
    partition[COUNT + level] = rank
    return 0 if old == UNDECIDED else 1
