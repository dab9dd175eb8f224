"""The one decision on the rank of A in a state, and the basis of the velocities that A admits.

A is brought to unit size (rows and velocities are scaled, parameters.py) and factored by a QR with exchange
of columns, Â P = Q [[R1, R2], [0, ~0]].

The *ordinary* rank, that of the poses around, is decided once on the manifold: directions longer than the
mechanism's tolerance count, and longer than `NOISE` times the closures' residual, because rows that depend on
each other on the manifold do not quite so beside it. From then on no more directions are taken than that, so
that stages of a step, which lie beside the manifold, need no tolerance for redundant rows.

Of the directions taken, one shorter than `ENTERED` is examined (branch_window.py): where branches of the
closure meet it is `LOST` until it has grown beyond `LEFT`, and branches.py replaces it by its next
derivative. All others stay: a stiff structure has short directions, but no motion takes them through zero.

From the factors follow, for v in scaled units,
    A v = b           v = P [R1⁻¹ (Q'b)_1; 0] + Λ z,          Λ = P [-R1⁻¹ R2; 1]
so that the rows of `BASIS` span the admitted velocities.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.formulations.branch_window import constraints_move, lost_directions
from linkwork.multibody.formulations.elimination import (
    basis_of_fronts,
    dropped_by_fronts,
    eliminate,
    planned,
)
from linkwork.multibody.formulations.factors import (
    in_fronts,
    particular_of_fronts,
    smallest_singular_value,
)
from linkwork.multibody.kernels.compiling import (
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
from linkwork.multibody.kernels.layout import (
    ALL,
    BASIS,
    COLUMN_SCALE,
    DROPPED,
    EXAMINED,
    EXAMINED_AT,
    EXCHANGES,
    FACTORED,
    IN_FRONTS,
    INCONSISTENCY,
    LOST,
    MEETING,
    N_CONSTRAINTS,
    N_ROWS,
    NEAR,
    NV,
    ON,
    ORDINARY,
    PHI,
    RANK,
    RANK_TOLERANCE,
    RANKING,
    REFERENCE_SIZE,
    REFLECTED,
    REPLACED,
    RIGHT_SIDE,
    ROW_SCALE,
    SMALLEST,
    SWITCHED,
    WINDOW,
    A,
)
from linkwork.multibody.kernels.views import block, fill, matrix, vector
from linkwork.multibody.linalg.orthogonal import leading_qr
from linkwork.multibody.linalg.reflections import (
    back_substitute,
    exchange_back,
    reflect,
)

ENTERED, LEFT = 2e-4, 4e-4
NOISE = 1e3
"""Length, for each unit of the closures' residual, that dependent rows may have beside the manifold."""
NEAR_AT, FAR_AT = 0.02, 0.04


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, float64, int64))
def factor_scaled(p: Floats, t: Integers, w: Floats, limit: float, most: int) -> int:
    """After `constraint_rows`: QR of the scaled rows with `most` directions at most, all beyond the limit."""
    factored, a = matrix(t, w, FACTORED, t[NV]), matrix(t, w, A, t[NV])
    rows, columns = vector(t, p, ROW_SCALE), vector(t, p, COLUMN_SCALE)
    vector(t, w, RANKING)[IN_FRONTS] = 0.0
    for i in range(t[N_ROWS]):
        for k in range(t[NV]):
            factored[i, k] = rows[i] * a[i, k] * columns[k]
    length = limit * vector(t, p, REFERENCE_SIZE)[0]
    rank: int = leading_qr(factored, vector(t, w, EXCHANGES), vector(t, w, REFLECTED), length, most)
    return rank


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, float64))
def factor_beyond(p: Floats, t: Integers, w: Floats, limit: float) -> int:
    """Factor the scaled rows, in fronts where there is a plan, without directions shorter than the limit."""
    length = limit * vector(t, p, REFERENCE_SIZE)[0]
    if planned(t):
        rank = eliminate(p, t, w, length, length, math.inf)
        if rank >= 0:
            vector(t, w, RANKING)[IN_FRONTS] = 1.0
            return rank
    return int(factor_scaled(p, t, w, limit, t[NV]))


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, int64, int64))
def factor_without(p: Floats, t: Integers, w: Floats, lost: int, most: int) -> int:
    """`factor_scaled` of the rows less their `lost` directions that `WINDOW` holds."""
    factored, a, m = matrix(t, w, FACTORED, t[NV]), matrix(t, w, A, t[NV]), t[N_ROWS]
    rows, columns = vector(t, p, ROW_SCALE), vector(t, p, COLUMN_SCALE)
    directions = block(w, t[WINDOW], lost, m)
    vector(t, w, RANKING)[IN_FRONTS] = 0.0
    for k in range(t[NV]):
        for i in range(m):
            factored[i, k] = rows[i] * a[i, k] * columns[k]
        for j in range(lost):
            share = 0.0
            for i in range(m):
                share += directions[j, i] * factored[i, k]
            for i in range(m):
                factored[i, k] -= share * directions[j, i]
    length = vector(t, p, RANK_TOLERANCE)[0] * vector(t, p, REFERENCE_SIZE)[0]
    rank: int = leading_qr(factored, vector(t, w, EXCHANGES), vector(t, w, REFLECTED), length, most)
    return rank


@part
def noise(p: Floats, t: Integers, w: Floats) -> float:
    """Length of a direction that dependent rows may have in this state, by its residual."""
    phi, rows = vector(t, w, PHI), vector(t, p, ROW_SCALE)
    worst = 0.0
    for i in range(t[N_ROWS]):
        worst = max(worst, abs(rows[i] * phi[i]))
    return NOISE * worst


@part
def rounding(p: Floats, t: Integers, w: Floats) -> float:
    """Length up to which a direction counts as round-off."""
    tolerance: float = vector(t, p, RANK_TOLERANCE)[0]
    return max(tolerance, min(ENTERED, noise(p, t, w)))


@kernel(ON_MECHANISM)
def factor_rows(p: Floats, t: Integers, w: Floats) -> None:
    """After `constraint_rows`: QR of the scaled rows, and the decision on their rank."""
    ranking, reference = vector(t, w, RANKING), vector(t, p, REFERENCE_SIZE)[0]
    _notice_switches(t, w)
    most = min(t[N_ROWS], t[NV])
    ordinary = int(ranking[ORDINARY])
    if planned(t) and _eliminated(p, t, w, ordinary):
        return
    ranking[IN_FRONTS] = 0.0
    if ordinary == 0:
        rank = factor_scaled(p, t, w, rounding(p, t, w), most)
        ordinary = rank
    else:
        rank = factor_scaled(p, t, w, vector(t, p, RANK_TOLERANCE)[0], ordinary)
        if rank == ordinary < most:
            beyond = max(ENTERED, noise(p, t, w))
            if _remaining(t, w, rank) > beyond * reference:
                rank = factor_scaled(p, t, w, beyond, most)
                ordinary = rank
    ranking[ORDINARY], ranking[REPLACED] = ordinary, 0.0
    limit = (LEFT if ranking[LOST] > 0.0 else ENTERED) * reference
    factored = matrix(t, w, FACTORED, t[NV])
    if rank == 0 or abs(factored[rank - 1, rank - 1]) >= limit:
        ranking[EXAMINED] = ranking[MEETING] = 0.0
    elif rank < t[NV] or constraints_move(p, t, w):  # else no motion is admitted
        rank = _within_window(p, t, w, rank, limit)
    ranking[RANK], ranking[LOST] = rank, ordinary - rank


@part
def _eliminated(p: Floats, t: Integers, w: Floats, ordinary: int) -> bool:
    """Factor the rows front by front. False where the rank is in doubt: near branch poses, and after them.

    An ordinary rank that is not known (0) is decided where every direction is either longer than `LEFT` or
    round-off.
    """
    ranking, reference = vector(t, w, RANKING), vector(t, p, REFERENCE_SIZE)[0]
    if ranking[LOST] > 0.0:
        return False
    drop = rounding(p, t, w)
    most = max(ENTERED, noise(p, t, w)) if ordinary > 0 else drop
    rank = eliminate(p, t, w, LEFT * reference, drop * reference, most * reference)
    if rank <= 0 or ordinary not in (0, rank):
        return False
    ranking[RANK] = ranking[ORDINARY] = rank
    ranking[IN_FRONTS] = 1.0
    ranking[LOST] = ranking[REPLACED] = ranking[EXAMINED] = ranking[MEETING] = 0.0
    return True


@part
def _notice_switches(t: Integers, w: Floats) -> None:
    """Forget the ordinary rank where constraints have been switched."""
    ranking, on = vector(t, w, RANKING), vector(t, w, ON)
    code = weight = 1.0
    for c in range(t[N_CONSTRAINTS]):
        code += on[c] * weight
        weight = 2.0 * weight if c % 50 < 49 else 1.0
    if ranking[SWITCHED] != code and ranking[SWITCHED] != 0.0:
        ranking[ORDINARY] = ranking[LOST] = ranking[EXAMINED] = ranking[MEETING] = 0.0
    ranking[SWITCHED] = code


@part
def _remaining(t: Integers, w: Floats, rank: int) -> float:
    """The longest column that the QR has left."""
    factored = matrix(t, w, FACTORED, t[NV])
    longest = 0.0
    for k in range(rank, t[NV]):
        square = 0.0
        for i in range(rank, t[N_ROWS]):
            square += factored[i, k] * factored[i, k]
        longest = max(longest, square)
    return math.sqrt(longest)


@part
def _within_window(p: Floats, t: Integers, w: Floats, rank: int, limit: float) -> int:
    """The rank, and the factors, where directions are shorter than the limit: without those that are lost.

    The decision is kept while the number of short directions is the same; where none was lost, until the
    shortest has changed by a factor of two.
    """
    factored, ranking = matrix(t, w, FACTORED, t[NV]), vector(t, w, RANKING)
    first = rank
    while first > 0 and abs(factored[first - 1, first - 1]) < limit:
        first -= 1
    short, length = ranking[ORDINARY] - first, abs(factored[rank - 1, rank - 1])
    known = ranking[EXAMINED] == short and (
        ranking[MEETING] == ALL or (ranking[MEETING] == 0.0 and 0.5 < length / ranking[EXAMINED_AT] < 2.0)
    )
    if not known:
        lost = lost_directions(p, t, w, rank, first)
        ranking[EXAMINED], ranking[EXAMINED_AT] = short, length
        ranking[MEETING] = ALL if lost == rank - first else lost
    if ranking[MEETING] == ALL:
        rank = factor_scaled(p, t, w, 0.0, first)
    elif ranking[MEETING] > 0.0:
        lost = int(ranking[MEETING])
        rank = factor_without(p, t, w, lost, rank - lost)
    return rank


@kernel(ON_MECHANISM)
def factor_again(p: Floats, t: Integers, w: Floats) -> None:
    """The factors of the rows that are kept, as before lost ones were replaced; the rank is left as it is."""
    ranking = vector(t, w, RANKING)
    rank = int(ranking[RANK] - ranking[REPLACED])
    if ranking[MEETING] > 0.0:
        factor_without(p, t, w, int(ranking[MEETING]), rank)
    else:
        factor_scaled(p, t, w, 0.0, rank)


@part
def look_around(p: Floats, t: Integers, w: Floats) -> None:
    """After `factor_rows`: the smallest singular value kept, what was dropped, and whether one is small."""
    factored, ranking = matrix(t, w, FACTORED, t[NV]), vector(t, w, RANKING)
    reference, rank = vector(t, p, REFERENCE_SIZE)[0], int(ranking[RANK])
    ranking[SMALLEST] = smallest_singular_value(t, w, rank) / reference
    if in_fronts(t, w):
        ranking[DROPPED] = dropped_by_fronts(t, w) / reference
    else:
        square = 0.0
        for i in range(rank, t[N_ROWS]):
            for k in range(rank, t[NV]):
                square += factored[i, k] * factored[i, k]
        ranking[DROPPED] = math.sqrt(square) / reference
    smallest = ranking[SMALLEST] if rank > 0 and ranking[LOST] == 0.0 else 0.0
    if ranking[NEAR] == 0.0 and smallest < NEAR_AT and ranking[ORDINARY] > 0.0:
        ranking[NEAR] = 1.0
    elif smallest > FAR_AT:
        ranking[NEAR] = 0.0


@kernel(ON_MECHANISM)
def factor(p: Floats, t: Integers, w: Floats) -> None:
    """After `constraint_rows`: QR of the scaled rows, the decision on their rank, and how near others are."""
    factor_rows(p, t, w)
    look_around(p, t, w)


@kernel(ON_MECHANISM)
def admitted(p: Floats, t: Integers, w: Floats) -> None:
    """After `factor`: the first nv - rank rows of `BASIS` are the admitted velocities (columns of Λ)."""
    basis, columns = matrix(t, w, BASIS, t[NV]), vector(t, p, COLUMN_SCALE)
    rank = int(vector(t, w, RANKING)[RANK])
    if in_fronts(t, w):
        basis_of_fronts(t, w, basis)
        for j in range(t[NV] - rank):
            for k in range(t[NV]):
                basis[j, k] *= columns[k]
        return
    factored, exchanges = matrix(t, w, FACTORED, t[NV]), vector(t, w, EXCHANGES)
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
def particular(p: Floats, t: Integers, w: Floats, right: Floats, x: Floats) -> None:
    """After `factor`: some x (nv) with A x = `right` (scaled rows), which receives Q' right.

    Rows that depend on others are not asked; `INCONSISTENCY` is how much they differ, in scaled rows.
    """
    if in_fronts(t, w):
        particular_of_fronts(p, t, w, right, x)
        return
    factored, columns, ranking = (
        matrix(t, w, FACTORED, t[NV]),
        vector(t, p, COLUMN_SCALE),
        vector(t, w, RANKING),
    )
    rank = int(ranking[RANK])
    reflect(factored, vector(t, w, REFLECTED), rank, right)
    fill(x, 0.0)
    for i in range(rank):
        x[i] = right[i]
    back_substitute(factored, rank, x)
    exchange_back(vector(t, w, EXCHANGES), rank, x)
    for k in range(t[NV]):
        x[k] *= columns[k]
    worst = 0.0
    for i in range(rank, t[N_ROWS]):
        worst = max(worst, abs(right[i]))
    ranking[INCONSISTENCY] = worst


@part
def scaled_right_side(t: Integers, p: Floats, w: Floats, sign: float, field: int) -> None:
    """Write `sign` times a field of rows, scaled, to `RIGHT_SIDE`."""
    values, rows, right = vector(t, w, field), vector(t, p, ROW_SCALE), vector(t, w, RIGHT_SIDE)
    for i in range(t[N_ROWS]):
        right[i] = sign * rows[i] * values[i]


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, float64, int64))
def scaled_right_side_of(p: Floats, t: Integers, w: Floats, sign: float, field: int) -> None:
    """`scaled_right_side` for callers in Python."""
    scaled_right_side(t, p, w, sign, field)


@part
def in_one_piece(p: Floats, t: Integers, w: Floats) -> None:
    """Factor the rows in one piece, of the same rank, where they are factored in fronts."""
    if in_fronts(t, w):
        factor_scaled(p, t, w, 0.0, int(vector(t, w, RANKING)[RANK]))
