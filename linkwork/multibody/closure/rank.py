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
so that the rows of `basis` span the admitted velocities.
"""

import math

from linkwork.arrays import Floats
from linkwork.multibody.closure.branch_window import constraints_move, lost_directions
from linkwork.multibody.closure.elimination import basis_of_fronts, dropped_by_fronts, eliminate, planned
from linkwork.multibody.closure.factors import in_fronts, particular_of_fronts, smallest_singular_value
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.layout import (
    ALL,
    DROPPED,
    EXAMINED,
    EXAMINED_AT,
    IN_FRONTS,
    INCONSISTENCY,
    LOST,
    MEETING,
    NEAR,
    ORDINARY,
    RANK,
    REPLACED,
    SMALLEST,
    SWITCHED,
)
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.linalg.orthogonal import back_substitute, exchange_back, leading_qr, reflect
from linkwork.multibody.workspace import Model, Workspace

ENTERED, LEFT = 2e-4, 4e-4
NOISE = 1e3
"""Length, for each unit of the closures' residual, that dependent rows may have beside the manifold."""
NEAR_AT, FAR_AT = 0.02, 0.04


@kernel
def factor_scaled(m: Model, w: Workspace, limit: float, most: int) -> int:
    """After `constraint_rows`: QR of the scaled rows with `most` directions at most, all beyond the limit."""
    w.ranking[IN_FRONTS] = 0.0
    for i in range(m.n_rows):
        for k in range(m.nv):
            w.factored[i, k] = m.row_scale[i] * w.A[i, k] * m.column_scale[k]
    length = limit * m.reference_size[0]
    return leading_qr(w.factored, w.exchanges, w.reflected, length, most)


@kernel
def factor_beyond(m: Model, w: Workspace, limit: float) -> int:
    """Factor the scaled rows, in fronts where there is a plan, without directions shorter than the limit."""
    length = limit * m.reference_size[0]
    if planned(m):
        rank = eliminate(m, w, length, length, math.inf)
        if rank >= 0:
            w.ranking[IN_FRONTS] = 1.0
            return rank
    return int(factor_scaled(m, w, limit, m.nv))


@kernel
def factor_without(m: Model, w: Workspace, lost: int, most: int) -> int:
    """`factor_scaled` of the rows less their `lost` directions that `window` holds."""
    directions = block(w.combinations, 0, lost, m.n_rows)
    w.ranking[IN_FRONTS] = 0.0
    for k in range(m.nv):
        for i in range(m.n_rows):
            w.factored[i, k] = m.row_scale[i] * w.A[i, k] * m.column_scale[k]
        for j in range(lost):
            share = 0.0
            for i in range(m.n_rows):
                share += directions[j, i] * w.factored[i, k]
            for i in range(m.n_rows):
                w.factored[i, k] -= share * directions[j, i]
    length = m.rank_tolerance[0] * m.reference_size[0]
    return leading_qr(w.factored, w.exchanges, w.reflected, length, most)


@part
def noise(m: Model, w: Workspace) -> float:
    """Length of a direction that dependent rows may have in this state, by its residual."""
    worst = 0.0
    for i in range(m.n_rows):
        worst = max(worst, abs(m.row_scale[i] * w.phi[i]))
    return NOISE * worst


@part
def rounding(m: Model, w: Workspace) -> float:
    """Length up to which a direction counts as round-off."""
    tolerance: float = m.rank_tolerance[0]
    return max(tolerance, min(ENTERED, noise(m, w)))


@kernel
def factor_rows(m: Model, w: Workspace) -> None:
    """After `constraint_rows`: QR of the scaled rows, and the decision on their rank."""
    reference = m.reference_size[0]
    _notice_switches(m, w)
    most = min(m.n_rows, m.nv)
    ordinary = int(w.ranking[ORDINARY])
    if planned(m) and _eliminated(m, w, ordinary):
        return
    w.ranking[IN_FRONTS] = 0.0
    if ordinary == 0:
        rank = factor_scaled(m, w, rounding(m, w), most)
        ordinary = rank
    else:
        rank = factor_scaled(m, w, m.rank_tolerance[0], ordinary)
        if rank == ordinary < most:
            beyond = max(ENTERED, noise(m, w))
            if _remaining(m, w, rank) > beyond * reference:
                rank = factor_scaled(m, w, beyond, most)
                ordinary = rank
    w.ranking[ORDINARY], w.ranking[REPLACED] = ordinary, 0.0
    limit = (LEFT if w.ranking[LOST] > 0.0 else ENTERED) * reference
    if rank == 0 or abs(w.factored[rank - 1, rank - 1]) >= limit:
        w.ranking[EXAMINED] = w.ranking[MEETING] = 0.0
    elif rank < m.nv or constraints_move(m, w):  # else no motion is admitted
        rank = _within_window(m, w, rank, limit)
    w.ranking[RANK], w.ranking[LOST] = rank, ordinary - rank


@part
def _eliminated(m: Model, w: Workspace, ordinary: int) -> bool:
    """Factor the rows front by front. False where the rank is in doubt: near branch poses, and after them.

    An ordinary rank that is not known (0) is decided where every direction is either longer than `LEFT` or
    round-off.
    """
    reference = m.reference_size[0]
    if w.ranking[LOST] > 0.0:
        return False
    drop = rounding(m, w)
    most = max(ENTERED, noise(m, w)) if ordinary > 0 else drop
    rank = eliminate(m, w, LEFT * reference, drop * reference, most * reference)
    if rank <= 0 or ordinary not in (0, rank):
        return False
    w.ranking[RANK] = w.ranking[ORDINARY] = rank
    w.ranking[IN_FRONTS] = 1.0
    w.ranking[LOST] = w.ranking[REPLACED] = w.ranking[EXAMINED] = w.ranking[MEETING] = 0.0
    return True


@part
def _notice_switches(m: Model, w: Workspace) -> None:
    """Forget the ordinary rank where constraints have been switched."""
    code = weight = 1.0
    for c in range(m.n_constraints):
        code += w.on[c] * weight
        weight = 2.0 * weight if c % 50 < 49 else 1.0
    if w.ranking[SWITCHED] != code and w.ranking[SWITCHED] != 0.0:
        w.ranking[ORDINARY] = w.ranking[LOST] = w.ranking[EXAMINED] = w.ranking[MEETING] = 0.0
    w.ranking[SWITCHED] = code


@part
def _remaining(m: Model, w: Workspace, rank: int) -> float:
    """The longest column that the QR has left."""
    longest = 0.0
    for k in range(rank, m.nv):
        square = 0.0
        for i in range(rank, m.n_rows):
            square += w.factored[i, k] * w.factored[i, k]
        longest = max(longest, square)
    return math.sqrt(longest)


@part
def _within_window(m: Model, w: Workspace, rank: int, limit: float) -> int:
    """The rank, and the factors, where directions are shorter than the limit: without those that are lost.

    The decision is kept while the number of short directions is the same; where none was lost, until the
    shortest has changed by a factor of two.
    """
    first = rank
    while first > 0 and abs(w.factored[first - 1, first - 1]) < limit:
        first -= 1
    short, length = w.ranking[ORDINARY] - first, abs(w.factored[rank - 1, rank - 1])
    known = w.ranking[EXAMINED] == short and (
        w.ranking[MEETING] == ALL
        or (w.ranking[MEETING] == 0.0 and 0.5 < length / w.ranking[EXAMINED_AT] < 2.0)
    )
    if not known:
        lost = lost_directions(m, w, rank, first)
        w.ranking[EXAMINED], w.ranking[EXAMINED_AT] = short, length
        w.ranking[MEETING] = ALL if lost == rank - first else lost
    if w.ranking[MEETING] == ALL:
        rank = factor_scaled(m, w, 0.0, first)
    elif w.ranking[MEETING] > 0.0:
        lost = int(w.ranking[MEETING])
        rank = factor_without(m, w, lost, rank - lost)
    return rank


@kernel
def factor_again(m: Model, w: Workspace) -> None:
    """The factors of the rows that are kept, as before lost ones were replaced; the rank is left as it is."""
    rank = int(w.ranking[RANK] - w.ranking[REPLACED])
    if w.ranking[MEETING] > 0.0:
        factor_without(m, w, int(w.ranking[MEETING]), rank)
    else:
        factor_scaled(m, w, 0.0, rank)


@part
def look_around(m: Model, w: Workspace) -> None:
    """After `factor_rows`: the smallest singular value kept, what was dropped, and whether one is small."""
    reference, rank = m.reference_size[0], int(w.ranking[RANK])
    w.ranking[SMALLEST] = smallest_singular_value(m, w, rank) / reference
    if in_fronts(w):
        w.ranking[DROPPED] = dropped_by_fronts(w) / reference
    else:
        square = 0.0
        for i in range(rank, m.n_rows):
            for k in range(rank, m.nv):
                square += w.factored[i, k] * w.factored[i, k]
        w.ranking[DROPPED] = math.sqrt(square) / reference
    smallest = w.ranking[SMALLEST] if rank > 0 and w.ranking[LOST] == 0.0 else 0.0
    if w.ranking[NEAR] == 0.0 and smallest < NEAR_AT and w.ranking[ORDINARY] > 0.0:
        w.ranking[NEAR] = 1.0
    elif smallest > FAR_AT:
        w.ranking[NEAR] = 0.0


@kernel
def factor(m: Model, w: Workspace) -> None:
    """After `constraint_rows`: QR of the scaled rows, the decision on their rank, and how near others are."""
    factor_rows(m, w)
    look_around(m, w)


@kernel
def admitted(m: Model, w: Workspace) -> None:
    """After `factor`: the first nv - rank rows of `basis` are the admitted velocities (columns of Λ).

    Without rows of constraints they are those of the joints, in the same units.
    """
    rank = int(w.ranking[RANK])
    if m.n_rows == 0:
        for j in range(m.nv):
            fill(w.basis[j], 0.0)
            w.basis[j, j] = m.column_scale[j]
        return
    if in_fronts(w):
        basis_of_fronts(m, w, w.basis)
        for j in range(m.nv - rank):
            for k in range(m.nv):
                w.basis[j, k] *= m.column_scale[k]
        return
    for j in range(m.nv - rank):
        row = w.basis[j]
        fill(row, 0.0)
        for i in range(rank):
            row[i] = -w.factored[i, rank + j]
        back_substitute(w.factored, rank, row)
        row[rank + j] = 1.0
        exchange_back(w.exchanges, rank, row)
        for k in range(m.nv):
            row[k] *= m.column_scale[k]


@kernel
def particular(m: Model, w: Workspace, right: Floats, x: Floats) -> None:
    """After `factor`: some x (nv) with A x = `right` (scaled rows), which receives Q' right.

    Rows that depend on others are not asked; `INCONSISTENCY` is how much they differ, in scaled rows.
    """
    if in_fronts(w):
        particular_of_fronts(m, w, right, x)
        return
    rank = int(w.ranking[RANK])
    reflect(w.factored, w.reflected, rank, right)
    fill(x, 0.0)
    for i in range(rank):
        x[i] = right[i]
    back_substitute(w.factored, rank, x)
    exchange_back(w.exchanges, rank, x)
    for k in range(m.nv):
        x[k] *= m.column_scale[k]
    worst = 0.0
    for i in range(rank, m.n_rows):
        worst = max(worst, abs(right[i]))
    w.ranking[INCONSISTENCY] = worst


@kernel
def scaled_right_side(m: Model, w: Workspace, sign: float, field: Floats) -> None:
    """Write `sign` times `field` (nr), scaled, to `right_side`."""
    for i in range(m.n_rows):
        w.right_side[i] = sign * m.row_scale[i] * field[i]


@part
def in_one_piece(m: Model, w: Workspace) -> None:
    """Factor the rows in one piece, of the same rank, where they are factored in fronts."""
    if in_fronts(w):
        factor_scaled(m, w, 0.0, int(w.ranking[RANK]))
