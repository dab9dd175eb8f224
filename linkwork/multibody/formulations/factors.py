"""Work with the factors of the scaled rows, Â P = Q [[R1, R2], [0, ~0]], in one piece or in fronts.

`RANKING[IN_FRONTS]` says where they are. Vectors of velocities (nv) are scaled, those of rows (nr) too. After
`to_factors`, `rank` entries of a vector of rows belong to independent rows, the others to dependent ones.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.formulations.elimination import (
    clear_dropped,
    reflect_rows,
    reflect_rows_back,
    smallest_of_fronts,
    solve_fronts,
    solve_fronts_transposed,
)
from linkwork.multibody.kernels.compiling import BUFFER, PARAMETERS, TOPOLOGY, VECTOR, kernel, part, void
from linkwork.multibody.kernels.layout import (
    COLUMN_SCALE,
    EXCHANGES,
    FACTORED,
    IN_FRONTS,
    INCONSISTENCY,
    N_ROWS,
    NV,
    RANKING,
    REFLECTED,
    RIGHT_SIDE,
)
from linkwork.multibody.kernels.views import fill, matrix, vector
from linkwork.multibody.linalg.reflections import (
    back_substitute,
    exchange_back,
    forward_substitute,
    reflect,
    reflect_back,
)


@part
def in_fronts(t: Integers, w: Floats) -> bool:
    """Return whether the factors are in fronts."""
    there: bool = vector(t, w, RANKING)[IN_FRONTS] != 0.0
    return there


@part
def to_factors(t: Integers, w: Floats, rank: int, b: Floats) -> None:
    """b := Q' b, for b (nr)."""
    if in_fronts(t, w):
        reflect_rows(t, w, b)
    else:
        reflect(matrix(t, w, FACTORED, t[NV]), vector(t, w, REFLECTED), rank, b)


@part
def from_factors(t: Integers, w: Floats, rank: int, b: Floats) -> None:
    """b := Q b, for b (nr)."""
    if in_fronts(t, w):
        reflect_rows_back(t, w, b)
    else:
        reflect_back(matrix(t, w, FACTORED, t[NV]), vector(t, w, REFLECTED), rank, b)


@part
def clear_dependent(t: Integers, w: Floats, rank: int, b: Floats) -> float:
    """Set the entries of b (nr), after `to_factors`, of dependent rows to 0. Return the largest of them."""
    if in_fronts(t, w):
        return clear_dropped(t, w, b)
    largest = 0.0
    for i in range(rank, t[N_ROWS]):
        largest = max(largest, abs(b[i]))
        b[i] = 0.0
    return largest


@part
def solve_rows(t: Integers, w: Floats, rank: int, b: Floats, x: Floats) -> None:
    """x (nv) := P [R1⁻¹ b; 0], for b (nr) of `to_factors`."""
    fill(x, 0.0)
    if in_fronts(t, w):
        solve_fronts(t, w, b, x)
        return
    for i in range(rank):
        x[i] = b[i]
    back_substitute(matrix(t, w, FACTORED, t[NV]), rank, x)
    exchange_back(vector(t, w, EXCHANGES), rank, x)


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, VECTOR, VECTOR))
def particular_of_fronts(p: Floats, t: Integers, w: Floats, right: Floats, x: Floats) -> None:
    """x (nv) with A x = `right` (nr, scaled rows), which receives Q' right; writes `INCONSISTENCY`."""
    columns = vector(t, p, COLUMN_SCALE)
    reflect_rows(t, w, right)
    fill(x, 0.0)
    solve_fronts(t, w, right, x)
    for k in range(t[NV]):
        x[k] *= columns[k]
    vector(t, w, RANKING)[INCONSISTENCY] = clear_dropped(t, w, right)


@kernel(void(TOPOLOGY, BUFFER, VECTOR, VECTOR))
def multipliers_of_fronts(t: Integers, w: Floats, x: Floats, multipliers: Floats) -> None:
    """Shortest `multipliers` (nr, scaled rows) with Â'λ = x, for x (nv, scaled), which is destroyed."""
    fill(multipliers, 0.0)
    solve_fronts_transposed(t, w, x, multipliers)
    reflect_rows_back(t, w, multipliers)


@part
def smallest_singular_value(t: Integers, w: Floats, rank: int) -> float:
    """Estimate of the smallest singular value of R1 by two steps of inverse iteration."""
    if in_fronts(t, w):
        return smallest_of_fronts(t, w)
    if rank == 0:
        return 0.0
    factored, x = matrix(t, w, FACTORED, t[NV]), vector(t, w, RIGHT_SIDE)
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
