"""Work with the factors of the scaled rows, Â P = Q [[R1, R2], [0, ~0]], in one piece or in fronts.

`RANKING[IN_FRONTS]` says where they are. Vectors of velocities (nv) are scaled, those of rows (nr) too. After
`to_factors`, `rank` entries of a vector of rows belong to independent rows, the others to dependent ones.
"""

import math

from linkwork.arrays import Floats
from linkwork.multibody.closure.elimination import (
    clear_dropped,
    reflect_rows,
    reflect_rows_back,
    smallest_of_fronts,
    solve_fronts,
    solve_fronts_transposed,
)
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import IN_FRONTS, INCONSISTENCY
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.linalg.orthogonal import (
    back_substitute,
    exchange_back,
    forward_substitute,
    reflect,
    reflect_back,
)
from linkwork.multibody.workspace import Model, Workspace


@part
def in_fronts(w: Workspace) -> bool:
    """Return whether the factors are in fronts."""
    there: bool = w.ranking[IN_FRONTS] != 0.0
    return there


@part
def to_factors(w: Workspace, rank: int, b: Floats) -> None:
    """b := Q' b, for b (nr)."""
    if in_fronts(w):
        reflect_rows(w, b)
    else:
        reflect(w.factored, w.reflected, rank, b)


@part
def from_factors(w: Workspace, rank: int, b: Floats) -> None:
    """b := Q b, for b (nr)."""
    if in_fronts(w):
        reflect_rows_back(w, b)
    else:
        reflect_back(w.factored, w.reflected, rank, b)


@part
def clear_dependent(m: Model, w: Workspace, rank: int, b: Floats) -> float:
    """Set the entries of b (nr), after `to_factors`, of dependent rows to 0. Return the largest of them."""
    if in_fronts(w):
        return clear_dropped(w, b)
    largest = 0.0
    for i in range(rank, m.n_rows):
        largest = max(largest, abs(b[i]))
        b[i] = 0.0
    return largest


@part
def solve_rows(m: Model, w: Workspace, rank: int, b: Floats, x: Floats) -> None:
    """x (nv) := P [R1⁻¹ b; 0], for b (nr) of `to_factors`."""
    fill(x, 0.0)
    if in_fronts(w):
        solve_fronts(m, w, b, x)
        return
    for i in range(rank):
        x[i] = b[i]
    back_substitute(w.factored, rank, x)
    exchange_back(w.exchanges, rank, x)


@kernel
def particular_of_fronts(m: Model, w: Workspace, right: Floats, x: Floats) -> None:
    """x (nv) with A x = `right` (nr, scaled rows), which receives Q' right; writes `INCONSISTENCY`."""
    reflect_rows(w, right)
    fill(x, 0.0)
    solve_fronts(m, w, right, x)
    for k in range(m.nv):
        x[k] *= m.column_scale[k]
    w.ranking[INCONSISTENCY] = clear_dropped(w, right)


@kernel
def multipliers_of_fronts(w: Workspace, x: Floats, multipliers: Floats) -> None:
    """Shortest `multipliers` (nr, scaled rows) with Â'λ = x, for x (nv, scaled), which is destroyed."""
    fill(multipliers, 0.0)
    solve_fronts_transposed(w, x, multipliers)
    reflect_rows_back(w, multipliers)


@part
def smallest_singular_value(m: Model, w: Workspace, rank: int) -> float:
    """Estimate of the smallest singular value of R1 by two steps of inverse iteration."""
    if in_fronts(w):
        return smallest_of_fronts(m, w)
    if rank == 0:
        return 0.0
    fill(w.right_side, 0.0)
    w.right_side[rank - 1] = 1.0
    size = 1.0
    for _ in range(2):
        back_substitute(w.factored, rank, w.right_side)
        forward_substitute(w.factored, rank, w.right_side)
        square = 0.0
        for i in range(rank):
            square += w.right_side[i] * w.right_side[i]
        size = math.sqrt(square)
        for i in range(rank):
            w.right_side[i] /= size
    return 1.0 / math.sqrt(size)
