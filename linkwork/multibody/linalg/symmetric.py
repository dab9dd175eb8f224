"""Eigenvalues of small symmetric matrices inside kernels, by Jacobi's rotations."""

import math

from linkwork.arrays import Matrix
from linkwork.multibody.kernels.compiling import kernel, part

SWEEPS = 30
"""Most sweeps; matrices of the size of a machine's degrees of freedom need three to six."""


@part
def _rotate(a: Matrix, vectors: Matrix, i: int, j: int) -> None:
    """One rotation in the plane of i and j, after which a[i, j] is 0."""
    if a[i, j] == 0.0:
        return
    ratio = (a[j, j] - a[i, i]) / (2.0 * a[i, j])
    tangent = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
    c = 1.0 / math.sqrt(1.0 + tangent * tangent)
    s = tangent * c
    for k in range(a.shape[0]):
        x, y = a[k, i], a[k, j]
        a[k, i], a[k, j] = c * x - s * y, s * x + c * y
    for k in range(a.shape[0]):
        x, y = a[i, k], a[j, k]
        a[i, k], a[j, k] = c * x - s * y, s * x + c * y
        x, y = vectors[i, k], vectors[j, k]
        vectors[i, k], vectors[j, k] = c * x - s * y, s * x + c * y


@kernel
def symmetric_eigen(a: Matrix, vectors: Matrix) -> float:
    """Turn the symmetric a (n × n) into a diagonal of its eigenvalues, in no order.

    Row i of `vectors` (n × n) receives the unit eigenvector of a[i, i]. Returns the smallest eigenvalue, 0
    for n = 0.
    """
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        beside, size = 0.0, 0.0
        for i in range(n):
            size += a[i, i] * a[i, i]
            for j in range(i):
                beside += a[i, j] * a[i, j]
        if not beside > 1e-34 * size:
            break
        for i in range(n):
            for j in range(i):
                _rotate(a, vectors, i, j)
    smallest = a[0, 0] if n > 0 else 0.0
    for i in range(n):
        smallest = min(smallest, a[i, i])
    return smallest
