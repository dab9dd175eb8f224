"""Least squares of minimum norm for matrices of any rank: the complete orthogonal decomposition.

a = Q [[T, 0], [0, 0]] Z P' with Q and Z products of Householder reflections, T upper triangular of size rank,
and P the exchanges of columns that put the longest remaining column first. The rank is decided once, by an
absolute tolerance on that length: a tolerance relative to the matrix itself never fires where all of it is
round-off.

As `pivoted_qr` leaves the factors: `factored` (m × n), `reflected` (k) and `exchanges` (k), k = min(m, n).
"""

import math

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.views import fill


@part
def back_substitute(factored: Matrix, rank: int, x: Floats) -> None:
    """x := R1⁻¹ x, in place, for the first `rank` entries of x (n)."""
    for i in range(rank - 1, -1, -1):
        entry = x[i]
        for k in range(i + 1, rank):
            entry -= factored[i, k] * x[k]
        x[i] = entry / factored[i, i]


@part
def forward_substitute(factored: Matrix, rank: int, x: Floats) -> None:
    """x := R1'⁻¹ x, in place, for the first `rank` entries of x (n)."""
    for i in range(rank):
        entry = x[i]
        for k in range(i):
            entry -= factored[k, i] * x[k]
        x[i] = entry / factored[i, i]


@part
def _reflect(factored: Matrix, k: int, factor: float, b: Floats) -> None:
    """Apply the reflection of column k to b (m)."""
    m = factored.shape[0]
    share = b[k]
    for i in range(k + 1, m):
        share += factored[i, k] * b[i]
    share *= factor
    b[k] -= share
    for i in range(k + 1, m):
        b[i] -= share * factored[i, k]


@part
def reflect(factored: Matrix, reflected: Floats, rank: int, b: Floats) -> None:
    """b := Q' b, for b of m numbers; `factored` (m × n)."""
    for k in range(rank):
        _reflect(factored, k, reflected[k], b)


@part
def reflect_back(factored: Matrix, reflected: Floats, rank: int, b: Floats) -> None:
    """b := Q b, for b of m numbers; `factored` (m × n)."""
    for k in range(rank - 1, -1, -1):
        _reflect(factored, k, reflected[k], b)


@part
def exchange_back(exchanges: Floats, rank: int, x: Floats) -> None:
    """x := P x, for x (n): undo the exchanges of columns of a pivoted QR.

    exchanges (n): in step k column k was exchanged with column exchanges[k]; rank: number of steps.
    """
    for k in range(rank - 1, -1, -1):
        best = int(exchanges[k])
        x[k], x[best] = x[best], x[k]


@part
def exchange(exchanges: Floats, rank: int, x: Floats) -> None:
    """x := P' x, for x (n)."""
    for k in range(rank):
        best = int(exchanges[k])
        x[k], x[best] = x[best], x[k]


@part
def _longest_column(a: Matrix) -> tuple[int, float]:
    """The longest column, and the square of its length."""
    best, longest = 0, 0.0
    for j in range(a.shape[1]):
        square = 0.0
        for i in range(a.shape[0]):
            square += a[i, j] * a[i, j]
        if square > longest:
            best, longest = j, square
    return best, longest


@kernel
def pivoted_qr(a: Matrix, exchanges: Floats, left: Floats, tolerance: float) -> int:
    """Rank of a (m × n), which is overwritten by R (upper trapezoid) and by the reflections (below it).

    `exchanges` and `left` (min(m, n) or longer) receive the column exchanged with column k at step k, and the
    factor of reflection k. Columns shorter than `tolerance` count as zero; the rows below the rank keep their
    values.
    """
    return leading_qr(a, exchanges, left, tolerance, min(a.shape[0], a.shape[1]))


@kernel
def leading_qr(a: Matrix, exchanges: Floats, left: Floats, tolerance: float, most: int) -> int:
    """`pivoted_qr` of a (m × n) that ends after `most` columns at the latest."""
    m, n = a.shape
    best, longest = _longest_column(a)
    for k in range(min(m, n, most)):
        length = math.sqrt(longest)
        if not length > tolerance:
            return k
        exchanges[k] = best
        if best != k:
            for i in range(m):
                a[i, k], a[i, best] = a[i, best], a[i, k]
        # reflection 1 - left u u' with u = (1, a[k+1:, k]) takes the column to (-sign) its length
        end = -math.copysign(length, a[k, k])
        left[k] = (end - a[k, k]) / end
        scale = 1.0 / (a[k, k] - end)
        for i in range(k + 1, m):
            a[i, k] *= scale
        a[k, k] = end
        best, longest = k + 1, 0.0  # of what remains, for the next step
        for j in range(k + 1, n):
            share, square = a[k, j], 0.0
            for i in range(k + 1, m):
                share += a[i, k] * a[i, j]
            share *= left[k]
            a[k, j] -= share
            for i in range(k + 1, m):
                a[i, j] -= share * a[i, k]
                square += a[i, j] * a[i, j]
            if square > longest:
                best, longest = j, square
    return int(min(m, n, most))


@kernel
def complete(a: Matrix, right: Floats, rank: int) -> None:
    """After `pivoted_qr` of a (m × n): reflect the trapezoid [R1 R2] onto the triangle [T 0] from the right.

    T replaces R1, the reflections replace R2, and `right` (rank or longer) receives their factors.
    """
    n = a.shape[1]
    for k in range(rank - 1, -1, -1):
        right[k] = 0.0
        square = 0.0
        for j in range(rank, n):
            square += a[k, j] * a[k, j]
        if square == 0.0:
            continue
        # reflection 1 - right u u' with u = (e_k, a[k, rank:])
        end = -math.copysign(math.sqrt(a[k, k] * a[k, k] + square), a[k, k])
        right[k] = (end - a[k, k]) / end
        scale = 1.0 / (a[k, k] - end)
        for j in range(rank, n):
            a[k, j] *= scale
        a[k, k] = end
        for i in range(k):
            share = a[i, k]
            for j in range(rank, n):
                share += a[i, j] * a[k, j]
            share *= right[k]
            a[i, k] -= share
            for j in range(rank, n):
                a[i, j] -= share * a[k, j]


@kernel
def minimum_norm(
    a: Matrix, exchanges: Floats, left: Floats, right: Floats, rank: int, b: Floats, x: Floats
) -> None:
    """After `pivoted_qr` and `complete` of a (m × n): x (n) = a⁺ b, of least |a x - b| and least |x|.

    b, of m numbers, is destroyed.
    """
    n = a.shape[1]
    reflect(a, left, rank, b)
    fill(x, 0.0)
    for k in range(rank - 1, -1, -1):  # T⁻¹
        entry = b[k]
        for j in range(k + 1, rank):
            entry -= a[k, j] * x[j]
        x[k] = entry / a[k, k]
    for k in range(rank):  # Z'
        share = x[k]
        for j in range(rank, n):
            share += a[k, j] * x[j]
        share *= right[k]
        x[k] -= share
        for j in range(rank, n):
            x[j] -= share * a[k, j]
    for k in range(rank - 1, -1, -1):  # P
        best = int(exchanges[k])
        x[k], x[best] = x[best], x[k]


@kernel
def least_squares(a: Matrix, b: Floats, tolerance: float, scratch: Floats, x: Floats) -> int:
    """x = a⁺ b (n) and the rank of a (m × n); a and b (m) are destroyed, `scratch` holds 3 min(m, n) numbers.

    Directions of a shorter than `tolerance` count as zero.
    """
    k = min(a.shape[0], a.shape[1])
    exchanges, left, right = scratch[:k], scratch[k : 2 * k], scratch[2 * k : 3 * k]
    rank = pivoted_qr(a, exchanges, left, tolerance)
    complete(a, right, rank)
    minimum_norm(a, exchanges, left, right, rank, b, x)
    return rank
