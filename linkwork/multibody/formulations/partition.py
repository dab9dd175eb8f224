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
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    INTEGERS,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    float64,
    int64,
    kernel,
    part,
    void,
)
from linkwork.multibody.kernels.layout import (
    COLUMN_SCALE,
    N_ROWS,
    NQ,
    NV,
    RANK,
    RANK_TOLERANCE,
    RANKING,
    REFERENCE_SIZE,
    ROW_SCALE,
    ROWS,
    A,
)
from linkwork.multibody.kernels.views import block, copy, matrix, table, vector
from linkwork.multibody.linalg.orthogonal import leading_qr, pivoted_qr
from linkwork.multibody.linalg.reflections import back_substitute, exchange_back, reflect
from linkwork.multibody.tree.local_coordinates import chart_row

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
def of_z(t: Integers, z: Floats, which: int) -> Floats:
    """Return vector number `which` (nv) of z."""
    row: Floats = block(z, which * t[NV], 1, t[NV])[0]
    return row


@part
def start_q(t: Integers, z: Floats) -> Floats:
    """Return the coordinates (nq) at the start of a step."""
    row: Floats = block(z, 8 * t[NV], 1, t[NQ])[0]
    return row


@part
def right_side(t: Integers, z: Floats) -> Floats:
    """Return the right side (nr), one number for each row."""
    row: Floats = block(z, 8 * t[NV] + t[NQ], 1, t[N_ROWS])[0]
    return row


@part
def columns_of(t: Integers, z: Floats, count: int) -> Floats:
    """Return the block (nr × count) of z for columns of A."""
    values: Floats = block(z, 8 * t[NV] + t[NQ] + t[N_ROWS], t[N_ROWS], count)
    return values


@part
def _binds(t: Integers, level: int, i: int) -> bool:
    return level == VELOCITIES or not is_of_velocity(table(t, ROWS, 4), i)


@part
def last_pivot(factors: Floats, rank: int) -> float:
    """Return the absolute last pivot of a QR in `factors` (m × n), the smallest; 0 for rank 0."""
    return abs(factors[rank - 1, rank - 1]) if rank > 0 else 0.0


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, VECTOR, int64))
def factor_dependent(p: Floats, t: Integers, w: Floats, partition: Integers, z: Floats, level: int) -> float:
    """QR of the scaled A_D in z, and its last pivot (0: singular); of positions, the rows against x˙."""
    a, rows, columns = matrix(t, w, A, t[NV]), vector(t, p, ROW_SCALE), vector(t, p, COLUMN_SCALE)
    count, first = partition[COUNT + level], LISTS + level * t[NV]
    factors, turned = columns_of(t, z, count), of_z(t, z, SOLUTION)
    for i in range(t[N_ROWS]):
        if level == POSITIONS:
            chart_row(t, of_z(t, z, X), a[i], turned)
        else:
            copy(a[i], turned)
        bound = 1.0 if _binds(t, level, i) else 0.0
        for j in range(count):
            k = partition[first + j]
            factors[i, j] = bound * rows[i] * turned[k] * columns[k]
    limit = vector(t, p, RANK_TOLERANCE)[0] * vector(t, p, REFERENCE_SIZE)[0]
    rank = pivoted_qr(factors, of_z(t, z, EXCHANGED), of_z(t, z, REFLECTIONS), limit)
    return last_pivot(factors, rank) if rank == count else 0.0


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, VECTOR, int64))
def solve_dependent(p: Floats, t: Integers, w: Floats, partition: Integers, z: Floats, level: int) -> None:  # noqa: ARG001
    """After `factor_dependent`: the shift of the dependent coordinates that A_D maps to the right side.

    It is left in the first numbers of `SOLUTION`, in the order of the list; the right side is destroyed.
    """
    columns, count, first = vector(t, p, COLUMN_SCALE), partition[COUNT + level], LISTS + level * t[NV]
    factors, right, y = columns_of(t, z, count), right_side(t, z), of_z(t, z, SOLUTION)
    reflect(factors, of_z(t, z, REFLECTIONS), count, right)
    for j in range(count):
        y[j] = right[j]
    back_substitute(factors, count, y)
    exchange_back(of_z(t, z, EXCHANGED), count, y)
    for j in range(count):
        y[j] *= columns[partition[first + j]]


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, VECTOR))
def choose(p: Floats, t: Integers, w: Floats, partition: Integers, z: Floats) -> None:
    """After `constraint_rows`: keep the partition, or change it where another is much better."""
    changed = _choose_at(p, t, w, partition, z, VELOCITIES)
    alike = True
    for i in range(t[N_ROWS]):
        alike = alike and _binds(t, POSITIONS, i)
    if alike:
        partition[COUNT + POSITIONS] = partition[COUNT + VELOCITIES]
        for k in range(t[NV]):
            partition[LISTS + t[NV] + k] = partition[LISTS + k]
    else:
        changed = max(changed, _choose_at(p, t, w, partition, z, POSITIONS))
    partition[SWITCHES] += changed


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, VECTOR, int64))
def _choose_at(p: Floats, t: Integers, w: Floats, partition: Integers, z: Floats, level: int) -> int:
    """Return 1 where a partition that was there has been changed."""
    n, m, old, first = t[NV], t[N_ROWS], partition[COUNT + level], LISTS + level * t[NV]
    now = factor_dependent(p, t, w, partition, z, VELOCITIES) if old > 0 and level == VELOCITIES else 0.0
    fill_x = of_z(t, z, X)
    if level == POSITIONS and old > 0:
        for k in range(n):
            fill_x[k] = 0.0
        now = factor_dependent(p, t, w, partition, z, POSITIONS)
    a, rows, columns = matrix(t, w, A, n), vector(t, p, ROW_SCALE), vector(t, p, COLUMN_SCALE)
    factors, exchanged = columns_of(t, z, n), of_z(t, z, EXCHANGED)
    for i in range(m):
        bound = 1.0 if _binds(t, level, i) else 0.0
        for k in range(n):
            factors[i, k] = bound * rows[i] * a[i, k] * columns[k]
    limit, most = rounding(p, t, w) * vector(t, p, REFERENCE_SIZE)[0], m
    if level == VELOCITIES:  # the state's own decision
        limit, most = 0.0, int(vector(t, w, RANKING)[RANK])
    rank = leading_qr(factors, exchanged, of_z(t, z, REFLECTIONS), limit, most)
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
