"""Motion along the admitted velocities: the mass matrix Λ' M Λ, its factor, and v̇ = x + Λ z.

Λ are the first rows of `BASIS`. With few of them all products run over whole rows. With many, as where
several machines stand on one base, each moves few links: the products run over its *support*, the links that
it moves. With U the part of M on and above the diagonal of a link that another one carries, M = U + U', and
half of the diagonal in each,

    Λi' M Λj = Λi' (U Λj) + Λj' (U Λi),   where U Λi is not zero only in the links of i's support and in those
                                          that carry them.

The factor is computed within the envelope: row i of it begins where the first nonzero entry of the matrix is.
"""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import BUFFER, TOPOLOGY, VECTOR, int64, kernel, part, void
from linkwork.multibody.kernels.layout import (
    BASIS,
    COUPLED,
    FREE_MOTION,
    LINKS,
    MOMENTA,
    N_LINKS,
    NV,
    REDUCED,
    SUPPORTS,
    M,
)
from linkwork.multibody.kernels.views import block, fill, matrix, table, vector
from linkwork.multibody.linalg.linear import envelope_cholesky, envelope_solve
from linkwork.multibody.tree.dynamics import mass_times

MANY = 8
"""Admitted velocities beyond which their products run over supports."""
BEGIN, END, LOW, HIGH, ROOT = range(5)
"""Rows of `COUPLED`: of each row of the basis the first column of the envelope, the end of its support in
`SUPPORTS`, and the first and the last of the links on the ground that carry the support; of each link the one
on the ground that carries it."""


@kernel(void(TOPOLOGY, BUFFER, int64))
def reduce_mass(t: Integers, w: Floats, free: int) -> None:
    """`REDUCED` := Cholesky factor of Λ' M Λ for the first `free` rows Λ of `BASIS`; zeros above it remain
    undefined.
    """
    coupled, reduced = matrix(t, w, COUPLED, t[NV]), block(w, t[REDUCED], free, free)
    if free > MANY:
        _find_supports(t, w, free)
        _over_supports(t, w, free, reduced)
    else:
        _over_rows(t, w, free, reduced)
        fill(coupled[BEGIN], 0.0)
    envelope_cholesky(reduced, coupled[BEGIN])


@part
def _over_rows(t: Integers, w: Floats, free: int, reduced: Floats) -> None:
    """Write the lower triangle of Λ' M Λ."""
    basis, momenta = matrix(t, w, BASIS, t[NV]), matrix(t, w, MOMENTA, t[NV])
    for i in range(free):
        mass_times(t, w, basis[i], momenta[i])
        for j in range(i + 1):
            total = 0.0
            for k in range(t[NV]):
                total += momenta[i, k] * basis[j, k]
            reduced[i, j] = total


@part
def _find_supports(t: Integers, w: Floats, free: int) -> None:
    """Write `SUPPORTS` and the rows `END`, `LOW`, `HIGH` and `ROOT` of `COUPLED`."""
    links, basis = table(t, LINKS, 3), matrix(t, w, BASIS, t[NV])
    coupled, supports = matrix(t, w, COUPLED, t[NV]), vector(t, w, SUPPORTS)
    root = coupled[ROOT]
    for i in range(t[N_LINKS]):
        root[i] = i if links[i, 0] < 0 else root[links[i, 0]]
    end = 0
    for row in range(free):
        start = end
        for i in range(t[N_LINKS]):
            if basis[row, links[i, 2]] != 0.0:
                supports[end] = i
                end += 1
        coupled[END, row] = end
        if end > start:  # links of one tree are neighbours
            coupled[LOW, row], coupled[HIGH, row] = root[int(supports[start])], root[int(supports[end - 1])]
        else:
            coupled[LOW, row], coupled[HIGH, row] = 0.0, -1.0


@part
def _over_supports(t: Integers, w: Floats, free: int, reduced: Floats) -> None:
    """After `_find_supports`: write the lower triangle of Λ' M Λ, and where its rows begin."""
    links, basis, momenta = table(t, LINKS, 3), matrix(t, w, BASIS, t[NV]), matrix(t, w, MOMENTA, t[NV])
    coupled, supports, mass = matrix(t, w, COUPLED, t[NV]), vector(t, w, SUPPORTS), matrix(t, w, M, t[NV])
    low, high, begin, ends = coupled[LOW], coupled[HIGH], coupled[BEGIN], coupled[END]
    start = 0
    for i in range(free):
        end = int(ends[i])
        fill(momenta[i], 0.0)
        for s in range(start, end):
            link = int(supports[s])
            k, a = links[link, 2], links[link, 0]
            x = basis[i, k]
            momenta[i, k] += 0.5 * mass[k, k] * x
            while a >= 0:
                momenta[i, links[a, 2]] += mass[links[a, 2], k] * x
                a = links[a, 0]
        begin[i] = i
        first = 0
        for j in range(i + 1):
            last, total = int(ends[j]), 0.0
            if high[j] >= low[i] and high[i] >= low[j]:
                for s in range(first, last):
                    k = links[int(supports[s]), 2]
                    total += basis[j, k] * momenta[i, k]
                for s in range(start, end):
                    k = links[int(supports[s]), 2]
                    total += basis[i, k] * momenta[j, k]
                if total != 0.0 and j < begin[i]:
                    begin[i] = j
            reduced[i, j] = total
            first = last
        start = end


@kernel(void(TOPOLOGY, BUFFER, int64, VECTOR, VECTOR))
def motion_in_basis(t: Integers, w: Floats, free: int, r: Floats, x: Floats) -> None:
    """x := x + Λ z with Λ' M x = Λ' r, for r (nv) and x (nv); Λ are the first `free` rows of `BASIS`."""
    nv = t[NV]
    reduce_mass(t, w, free)
    basis, momenta, coupled = matrix(t, w, BASIS, nv), matrix(t, w, MOMENTA, nv), matrix(t, w, COUPLED, nv)
    z, links, supports = vector(t, w, FREE_MOTION)[:free], table(t, LINKS, 3), vector(t, w, SUPPORTS)
    many = free > MANY
    if many:
        mass_times(t, w, x, momenta[0])
    start = 0
    for i in range(free):
        total = 0.0
        if many:
            for s in range(start, int(coupled[END, i])):
                k = links[int(supports[s]), 2]
                total += basis[i, k] * (r[k] - momenta[0, k])
            start = int(coupled[END, i])
        else:
            for k in range(nv):
                total += basis[i, k] * r[k] - momenta[i, k] * x[k]
        z[i] = total
    envelope_solve(block(w, t[REDUCED], free, free), coupled[BEGIN], z)
    start = 0
    for i in range(free):
        if many:
            for s in range(start, int(coupled[END, i])):
                k = links[int(supports[s]), 2]
                x[k] += basis[i, k] * z[i]
            start = int(coupled[END, i])
        else:
            for k in range(nv):
                x[k] += basis[i, k] * z[i]
