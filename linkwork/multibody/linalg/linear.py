"""Dense linear algebra for small matrices inside kernels, without allocation: the caller passes all arrays.

Sizes follow from the arrays. These are faster than LAPACK below about thirty rows.
"""

import math

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.views import fill, fill_matrix


@kernel
def cholesky(a: Matrix, factor: Matrix) -> float:
    """Lower triangle L of `factor` with L L' = a, from the lower triangle of a (n × n); may be in place.

    Returns the smallest ratio of a squared pivot to its diagonal entry: 1 for a diagonal matrix, of the size
    of round-off for a singular one. Where a is not positive definite it returns -1 and L is not a number.
    """
    smallest = 1.0
    n = a.shape[0]
    for j in range(n):
        square = a[j, j]
        diagonal = square
        for k in range(j):
            square -= factor[j, k] * factor[j, k]
        if not square > 0.0:
            fill_matrix(factor, math.nan)
            return -1.0
        smallest = min(smallest, square / diagonal)
        pivot = math.sqrt(square)
        factor[j, j] = pivot
        for i in range(j + 1, n):
            entry = a[i, j]
            for k in range(j):
                entry -= factor[i, k] * factor[j, k]
            factor[i, j] = entry / pivot
    return smallest


@kernel
def lower_solve(factor: Matrix, x: Floats) -> None:
    """Solve L x = b in place for the lower triangle L of `factor` (n × n): x (n) holds b on entry."""
    for i in range(factor.shape[0]):
        for k in range(i):
            x[i] -= factor[i, k] * x[k]
        x[i] /= factor[i, i]


@kernel
def upper_solve(factor: Matrix, x: Floats) -> None:
    """Solve L' x = b in place for the lower triangle L of `factor` (n × n): x (n) holds b on entry."""
    n = factor.shape[0]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= factor[k, i] * x[k]
        x[i] /= factor[i, i]


@kernel
def cholesky_solve(factor: Matrix, x: Floats) -> None:
    """Solve L L' x = b in place: x (n) holds b on entry. L is the lower triangle of `factor` (n × n)."""
    lower_solve(factor, x)
    upper_solve(factor, x)


@kernel
def tridiagonal_solve(diagonal: Floats, beside: Floats, x: Matrix) -> None:
    """Solve S x = b in place for a positive definite S of `diagonal` (n) and the entries `beside` it (n - 1).

    x (n × k) holds b on entry; diagonal is destroyed.
    """
    n, k = x.shape
    for i in range(1, n):
        share = beside[i - 1] / diagonal[i - 1]
        diagonal[i] -= share * beside[i - 1]
        for c in range(k):
            x[i, c] -= share * x[i - 1, c]
    for i in range(n - 1, -1, -1):
        for c in range(k):
            if i < n - 1:
                x[i, c] -= beside[i] * x[i + 1, c]
            x[i, c] /= diagonal[i]


@part
def _rows_product(a: Matrix, i: int, j: int, begin: int, end: int) -> float:
    """Return Σ a[i, k] a[j, k] over begin <= k < end, in four sums that do not wait for each other."""
    one = two = three = four = 0.0
    k = begin
    while k + 4 <= end:
        one += a[i, k] * a[j, k]
        two += a[i, k + 1] * a[j, k + 1]
        three += a[i, k + 2] * a[j, k + 2]
        four += a[i, k + 3] * a[j, k + 3]
        k += 4
    while k < end:
        one += a[i, k] * a[j, k]
        k += 1
    return (one + two) + (three + four)


@kernel
def envelope_cholesky(a: Matrix, begin: Floats) -> None:
    """Replace the lower triangle of a (n × n) by L with L L' = a, within the envelope.

    begin (n): the column of the first nonzero entry of each row. Where a is not positive definite, L is not a
    number.
    """
    for i in range(a.shape[0]):
        start, square = int(begin[i]), a[i, i]
        for j in range(start, i):
            entry = (a[i, j] - _rows_product(a, i, j, max(start, int(begin[j])), j)) / a[j, j]
            a[i, j] = entry
            square -= entry * entry
        if not square > 0.0:
            fill_matrix(a, math.nan)
            return
        a[i, i] = math.sqrt(square)


@part
def reach(x: Floats) -> tuple[int, int]:
    """Return the first nonzero entry of x (n), and the end of the last one; 0 and 0 where there is none."""
    first, end = 0, len(x)
    while first < end and x[first] == 0.0:
        first += 1
    while end > first and x[end - 1] == 0.0:
        end -= 1
    if first == end:
        return 0, 0
    return first, end


@part
def products(x: Floats, rows: Matrix, y: Floats) -> None:
    """y (k) := rows x, for rows (k × n) and x (n), between the first and the last nonzero entry of x."""
    first, end = reach(x)
    for j in range(rows.shape[0]):
        y[j] = 0.0
        for c in range(first, end):
            y[j] += rows[j, c] * x[c]


@part
def envelope_lower_solve(factor: Matrix, begin: Floats, x: Floats) -> None:
    """Solve L x = b in place after `envelope_cholesky`: x (n) holds b on entry."""
    n = factor.shape[0]
    start = 0
    while start < n and x[start] == 0.0:
        start += 1
    for i in range(start, n):
        for k in range(max(start, int(begin[i])), i):
            x[i] -= factor[i, k] * x[k]
        x[i] /= factor[i, i]


@kernel
def envelope_solve(factor: Matrix, begin: Floats, x: Floats) -> None:
    """Solve L L' x = b in place after `envelope_cholesky`: x (n) holds b on entry."""
    n = factor.shape[0]
    for i in range(n):
        for k in range(int(begin[i]), i):
            x[i] -= factor[i, k] * x[k]
        x[i] /= factor[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= factor[i, i]
        for k in range(int(begin[i]), i):
            x[k] -= factor[i, k] * x[i]


@kernel
def lu_factor(a: Matrix, pivots: Integers) -> float:
    """Replace a (n × n) by its factors L (unit diagonal) and U; `pivots` (n) receives the exchanges of rows.

    Returns the ratio of the smallest pivot to the largest: of the size of round-off for a singular matrix,
    and 0 where a pivot vanishes or is not a number, in which case the factors are of no use.
    """
    n = a.shape[0]
    smallest, largest = math.inf, 0.0
    for j in range(n):
        best = j
        for i in range(j + 1, n):
            if abs(a[i, j]) > abs(a[best, j]):
                best = i
        pivots[j] = best
        pivot = a[best, j]
        if not abs(pivot) > 0.0:
            return 0.0
        smallest, largest = min(smallest, abs(pivot)), max(largest, abs(pivot))
        if best != j:
            for k in range(n):
                a[j, k], a[best, k] = a[best, k], a[j, k]
        for i in range(j + 1, n):
            a[i, j] /= pivot
            ratio = a[i, j]
            if ratio != 0.0:
                for k in range(j + 1, n):
                    a[i, k] -= ratio * a[j, k]
    return smallest / largest if n > 0 else 1.0


@kernel
def lu_apply(factors: Matrix, pivots: Integers, x: Floats) -> None:
    """Solve a x = b in place after `lu_factor` (n × n; pivots n): x (n) holds b on entry."""
    n = factors.shape[0]
    for i in range(n):
        x[i], x[pivots[i]] = x[pivots[i]], x[i]
    for i in range(n):
        for k in range(i):
            x[i] -= factors[i, k] * x[k]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= factors[i, k] * x[k]
        x[i] /= factors[i, i]


@kernel
def lu_solve(a: Matrix, pivots: Integers, x: Floats) -> float:
    """Solve a x = b in place by elimination with row exchanges: x holds b on entry, a receives its factors.

    `pivots` (n) is scratch. Returns the smallest pivot ratio of `lu_factor`; where that is 0, x is NaN.
    """
    ratio = lu_factor(a, pivots)
    if ratio > 0.0:
        lu_apply(a, pivots, x)
    else:
        fill(x, math.nan)
    return ratio
