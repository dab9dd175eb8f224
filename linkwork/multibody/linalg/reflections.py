"""The factors of a pivoted QR at work: triangular solves, reflections and exchanges of columns, in place.

As `pivoted_qr` leaves them: `factored` (m × n), `reflected` (k) and `exchanges` (k), k = min(m, n).
"""

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.kernels.compiling import part


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
def reflect(factored: Matrix, reflected: Floats, rank: int, b: Floats) -> None:
    """b := Q' b, for b of m numbers; `factored` (m × n)."""
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
def reflect_back(factored: Matrix, reflected: Floats, rank: int, b: Floats) -> None:
    """b := Q b, for b of m numbers; `factored` (m × n)."""
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
