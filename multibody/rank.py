"""The one decision on the rank of A in a state, and the basis of the velocities that A admits.

A is brought to unit size (rows and velocities are scaled, parameters.py) and factored by a QR with exchange
of columns, Â P = Q [[R1, R2], [0, ~0]]. Directions shorter than `ENTERED` times the reference size are
dropped.
That size is fixed when the mechanism is built, because at an exact fold a part of A is round-off and a
tolerance relative to A itself would never fire. Nor may the limit be near round-off: in loops with redundant
closures, rows that are dependent on the manifold are not quite so beside it, where stages of a step lie.

Where a direction is dropped although the rank was larger before, branches of the closure meet; it is `LOST`
until it has grown beyond `LEFT`, and branches.py replaces it by its next derivative. A passage of such a pose
is counted from a wider neighbourhood, which no step of ordinary length jumps over.

From the factors follow, for v in scaled units,
    A v = b           v = P [R1⁻¹ (Q'b)_1; 0] + Λ z,          Λ = P [-R1⁻¹ R2; 1]
so that the rows of `BASIS` span the admitted velocities.
"""

import math

from multibody.compiling import (
    BUFFER,
    ON_MECHANISM,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    float64,
    int64,
    kernel,
    part,
    void,
)
from multibody.layout import (
    BASIS,
    COLUMN_SCALE,
    DROPPED,
    EXCHANGES,
    FACTORED,
    INCONSISTENCY,
    LOST,
    N_CONSTRAINTS,
    N_ROWS,
    NEAR,
    NV,
    ON,
    ORDINARY,
    PASSAGES,
    RANK,
    RANKING,
    REFERENCE_SIZE,
    REFLECTED,
    REPLACED,
    RIGHT_SIDE,
    ROW_SCALE,
    SMALLEST,
    SWITCHED,
    A,
)
from multibody.model import Integers
from multibody.orthogonal import pivoted_qr
from multibody.vectors import Rows
from multibody.views import fill, matrix, vector

ENTERED, LEFT = 2e-4, 4e-4
NEAR_AT, FAR_AT = 0.02, 0.04


@kernel(ON_MECHANISM)
def factor_rows(p: Rows, t: Integers, w: Rows) -> None:
    """After `constraint_rows`: QR of the scaled rows, and the decision on their rank."""
    factored, exchanges, reflected = (
        matrix(t, w, FACTORED, t[NV]),
        vector(t, w, EXCHANGES),
        vector(t, w, REFLECTED),
    )
    a, rows, columns = matrix(t, w, A, t[NV]), vector(t, p, ROW_SCALE), vector(t, p, COLUMN_SCALE)
    ranking, reference, on = vector(t, w, RANKING), vector(t, p, REFERENCE_SIZE)[0], vector(t, w, ON)
    for i in range(t[N_ROWS]):
        for k in range(t[NV]):
            factored[i, k] = rows[i] * a[i, k] * columns[k]
    code = weight = 1.0
    for c in range(t[N_CONSTRAINTS]):
        code += on[c] * weight
        weight = 2.0 * weight if c % 50 < 49 else 1.0
    if ranking[SWITCHED] != code and ranking[SWITCHED] != 0.0:
        ranking[ORDINARY] = ranking[LOST] = 0.0
    ranking[SWITCHED] = code
    limit = (LEFT if ranking[LOST] > 0.0 else ENTERED) * reference
    rank = pivoted_qr(factored, exchanges, reflected, limit)
    ranking[RANK] = rank
    ranking[ORDINARY] = max(ranking[ORDINARY], rank)
    ranking[LOST] = ranking[ORDINARY] - rank
    ranking[REPLACED] = 0.0


@part
def back_substitute(factored: Rows, rank: int, x: Rows) -> None:
    """x := R1⁻¹ x, in place; its first `rank` entries."""
    for i in range(rank - 1, -1, -1):
        entry = x[i]
        for k in range(i + 1, rank):
            entry -= factored[i, k] * x[k]
        x[i] = entry / factored[i, i]


@part
def forward_substitute(factored: Rows, rank: int, x: Rows) -> None:
    """x := R1'⁻¹ x, in place; its first `rank` entries."""
    for i in range(rank):
        entry = x[i]
        for k in range(i):
            entry -= factored[k, i] * x[k]
        x[i] = entry / factored[i, i]


@part
def _smallest(factored: Rows, rank: int, x: Rows) -> float:
    """Estimate of the smallest singular value of R1 by two steps of inverse iteration; x is scratch."""
    if rank == 0:
        return 0.0
    fill(x, 0.0)
    x[rank - 1] = 1.0
    size = 1.0
    for _ in range(2):
        back_substitute(factored, rank, x)
        forward_substitute(factored, rank, x)
        square = 0.0
        for i in range(rank):
            square += x[i] * x[i]
        size = math.sqrt(square)
        for i in range(rank):
            x[i] /= size
    return 1.0 / math.sqrt(size)


@part
def look_around(p: Rows, t: Integers, w: Rows) -> None:
    """After `factor_rows`: the smallest singular value kept, what was dropped, passages of branch poses."""
    factored, ranking = matrix(t, w, FACTORED, t[NV]), vector(t, w, RANKING)
    reference, rank = vector(t, p, REFERENCE_SIZE)[0], int(ranking[RANK])
    ranking[SMALLEST] = _smallest(factored, rank, vector(t, w, RIGHT_SIDE)) / reference
    square = 0.0
    for i in range(rank, t[N_ROWS]):
        for k in range(rank, t[NV]):
            square += factored[i, k] * factored[i, k]
    ranking[DROPPED] = math.sqrt(square) / reference
    smallest = ranking[SMALLEST] if rank > 0 and ranking[LOST] == 0.0 else 0.0
    if ranking[NEAR] == 0.0 and smallest < NEAR_AT and ranking[ORDINARY] > 0.0:
        ranking[NEAR] = 1.0
        ranking[PASSAGES] += 1.0
    elif smallest > FAR_AT:
        ranking[NEAR] = 0.0


@kernel(ON_MECHANISM)
def factor(p: Rows, t: Integers, w: Rows) -> None:
    """After `constraint_rows`: QR of the scaled rows, the decision on their rank, and how near others are."""
    factor_rows(p, t, w)
    look_around(p, t, w)


@part
def reflect(factored: Rows, reflected: Rows, rank: int, b: Rows) -> None:
    """b := Q' b."""
    m = factored.shape[0]
    for k in range(rank):
        share = b[k]
        for i in range(k + 1, m):
            share += factored[i, k] * b[i]
        share *= reflected[k]
        b[k] -= share
        for i in range(k + 1, m):
            b[i] -= share * factored[i, k]


@part
def reflect_back(factored: Rows, reflected: Rows, rank: int, b: Rows) -> None:
    """b := Q b."""
    m = factored.shape[0]
    for k in range(rank - 1, -1, -1):
        share = b[k]
        for i in range(k + 1, m):
            share += factored[i, k] * b[i]
        share *= reflected[k]
        b[k] -= share
        for i in range(k + 1, m):
            b[i] -= share * factored[i, k]


@part
def exchange_back(exchanges: Rows, rank: int, x: Rows) -> None:
    """x := P x."""
    for k in range(rank - 1, -1, -1):
        best = int(exchanges[k])
        x[k], x[best] = x[best], x[k]


@part
def exchange(exchanges: Rows, rank: int, x: Rows) -> None:
    """x := P' x."""
    for k in range(rank):
        best = int(exchanges[k])
        x[k], x[best] = x[best], x[k]


@kernel(ON_MECHANISM)
def admitted(p: Rows, t: Integers, w: Rows) -> None:
    """After `factor`: the first nv - rank rows of `BASIS` are the admitted velocities (columns of Λ)."""
    factored, exchanges = matrix(t, w, FACTORED, t[NV]), vector(t, w, EXCHANGES)
    basis, columns = matrix(t, w, BASIS, t[NV]), vector(t, p, COLUMN_SCALE)
    rank = int(vector(t, w, RANKING)[RANK])
    for j in range(t[NV] - rank):
        row = basis[j]
        fill(row, 0.0)
        for i in range(rank):
            row[i] = -factored[i, rank + j]
        back_substitute(factored, rank, row)
        row[rank + j] = 1.0
        exchange_back(exchanges, rank, row)
        for k in range(t[NV]):
            row[k] *= columns[k]


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, VECTOR, VECTOR))
def particular(p: Rows, t: Integers, w: Rows, right: Rows, x: Rows) -> None:
    """After `factor`: some x (nv) with A x = `right` (scaled rows), which receives Q' right.

    Rows that depend on others are not asked; `INCONSISTENCY` tells how much they differ, in scaled rows.
    """
    factored, exchanges, reflected = (
        matrix(t, w, FACTORED, t[NV]),
        vector(t, w, EXCHANGES),
        vector(t, w, REFLECTED),
    )
    columns, ranking = vector(t, p, COLUMN_SCALE), vector(t, w, RANKING)
    rank = int(ranking[RANK])
    reflect(factored, reflected, rank, right)
    fill(x, 0.0)
    for i in range(rank):
        x[i] = right[i]
    back_substitute(factored, rank, x)
    exchange_back(exchanges, rank, x)
    for k in range(t[NV]):
        x[k] *= columns[k]
    worst = 0.0
    for i in range(rank, t[N_ROWS]):
        worst = max(worst, abs(right[i]))
    ranking[INCONSISTENCY] = worst


@part
def scaled_right_side(t: Integers, p: Rows, w: Rows, sign: float, field: int) -> None:
    """Write `sign` times a field of rows, scaled, to `RIGHT_SIDE`."""
    values, rows, right = vector(t, w, field), vector(t, p, ROW_SCALE), vector(t, w, RIGHT_SIDE)
    for i in range(t[N_ROWS]):
        right[i] = sign * rows[i] * values[i]


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, float64, int64))
def scaled_right_side_of(p: Rows, t: Integers, w: Rows, sign: float, field: int) -> None:
    """`scaled_right_side` for callers in Python."""
    scaled_right_side(t, p, w, sign, field)
