"""Further linear equations on a motion that the constraints leave free.

With Λ a basis of the admitted velocities and x a motion, every x + Λ z is admitted, too. Rows T with wanted
values t ask for T (x + Λ z) = t. A QR with exchange of columns of T Λ decides how many of them are
independent of each other and of the constraints, gives a z of least |T Λ z - (t - T x)|, and the basis Λ N of
what the rows leave free.
"""

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.kernels.compiling import part
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.linalg.orthogonal import back_substitute, exchange_back, pivoted_qr, reflect


@part
def follow_rows(
    rows: Matrix,
    side: Floats,
    exchanges: Floats,
    reflected: Floats,
    limit: float,
    motion: Floats,
    before: Matrix,
    basis: Matrix,
    x: Floats,
) -> int:
    """x (nv) := x + Λ z and basis := Λ N, for rows (k × free) = T Λ and side (k) = t - T x; return the rank.

    The first `free` rows of `basis` are Λ on entry and are kept in `before`; free - rank rows of it are Λ N
    afterwards. Rows shorter than `limit` count as zero. The factors remain in `rows`, `exchanges` and
    `reflected`; `side` becomes Q' side, so that its entries from the rank on are what the rows cannot have.
    `motion` (nv) is scratch.
    """
    free, nv = rows.shape[1], len(x)
    for j in range(free):
        copy(basis[j], before[j])
    rank = pivoted_qr(rows, exchanges, reflected, limit)
    reflect(rows, reflected, rank, side)
    fill(motion, 0.0)
    for i in range(rank):
        motion[i] = side[i]
    back_substitute(rows, rank, motion)
    exchange_back(exchanges, rank, motion)
    for k in range(nv):
        for j in range(free):
            x[k] += motion[j] * before[j, k]
    for left in range(free - rank):
        fill(motion, 0.0)
        for i in range(rank):
            motion[i] = -rows[i, rank + left]
        back_substitute(rows, rank, motion)
        motion[rank + left] = 1.0
        exchange_back(exchanges, rank, motion)
        for k in range(nv):
            basis[left, k] = 0.0
            for j in range(free):
                basis[left, k] += motion[j] * before[j, k]
    return rank
