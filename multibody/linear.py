"""Dense linear algebra for small matrices inside kernels: nothing is allocated, results go where the caller says.

Sizes follow from the arrays. From about thirty rows LAPACK is faster; below, these are.
"""

import math

from multibody.compiling import MATRIX, VECTOR, float64, kernel, void
from multibody.vectors import Rows


@kernel(float64(MATRIX, MATRIX))
def cholesky(a: Rows, factor: Rows) -> float:
    """Lower triangle L of `factor` with L L' = a, from the lower triangle of the symmetric a (n × n). May be in place.

    Returns the smallest ratio of a squared pivot to its diagonal entry: 1 for a diagonal matrix, of the size of
    round-off for a singular one. Where a is not positive definite it returns a number ≤ 0 and L is not a number.
    """
    smallest = 1.0
    n = a.shape[0]
    for j in range(n):
        square = a[j, j]
        diagonal = square
        for k in range(j):
            square -= factor[j, k] * factor[j, k]
        if not square > 0.0:
            factor[:, :] = math.nan
            return min(square / diagonal, 0.0) if diagonal > 0.0 else -1.0
        smallest = min(smallest, square / diagonal)
        pivot = math.sqrt(square)
        factor[j, j] = pivot
        for i in range(j + 1, n):
            entry = a[i, j]
            for k in range(j):
                entry -= factor[i, k] * factor[j, k]
            factor[i, j] = entry / pivot
    return smallest


@kernel(void(MATRIX, VECTOR))
def cholesky_solve(factor: Rows, x: Rows) -> None:
    """Solve L L' x = b in place: x holds b on entry. Only the lower triangle of `factor` is read."""
    n = factor.shape[0]
    for i in range(n):
        for k in range(i):
            x[i] -= factor[i, k] * x[k]
        x[i] /= factor[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= factor[k, i] * x[k]
        x[i] /= factor[i, i]
