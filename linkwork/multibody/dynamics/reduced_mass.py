"""Motion along the admitted velocities: the mass matrix Λ' M Λ, its factor, and v̇ = x + Λ z.

Λ are the first rows of `basis`. With few of them all products run over whole rows. With many, as where
several machines stand on one base, each moves few links: the products run over its *support*, the links that
it moves. With U the part of M on and above the diagonal of a link that another one carries, M = U + U', and
half of the diagonal in each,

    Λi' M Λj = Λi' (U Λj) + Λj' (U Λi),   where U Λi is not zero only in the links of i's support and in those
                                          that carry them.

The factor is computed within the envelope: row i of it begins where the first nonzero entry of the matrix is.
"""

import math

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.dynamics.tree_dynamics import mass_times
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.linalg.linear import envelope_cholesky, envelope_lower_solve, envelope_solve
from linkwork.multibody.workspace import Model, Workspace

MANY = 8
"""Admitted velocities beyond which their products run over supports."""
BEGIN, END, LOW, HIGH, ROOT = range(5)
"""Rows of `coupled`: of each row of the basis the first column of the envelope, the end of its support in
`supports`, and the first and the last of the links on the ground that carry the support; of each link the one
on the ground that carries it."""


@kernel
def reduce_mass(m: Model, w: Workspace, free: int) -> None:
    """`reduced` := Cholesky factor of Λ' M Λ for the first `free` rows Λ of `basis`; zeros above it remain
    undefined.
    """
    reduced = block(w.reduced, 0, free, free)
    if free > MANY:
        _find_supports(m, w, free)
        _over_supports(m, w, free, reduced)
    else:
        _over_rows(m, w, free, reduced)
        fill(w.coupled[BEGIN], 0.0)
    envelope_cholesky(reduced, w.coupled[BEGIN])


LEAST_INERTIA = 1e-4
"""Share of their inertia with which joints must move against each other, see `free_inertia`."""
NEARLY_LOST = 0.1
"""Root of a share below which a pose nearby may have none."""


@part
def least_nearby(share: float, change: float) -> float:
    """Return the least share of inertia near a pose; change: of the share's root to the next pose.

    Near a pose where it is 0, the share grows as the square of the distance: roots lie on straight lines.
    """
    root: float = math.sqrt(share)
    least = max(root - abs(change), 0.0) if root < NEARLY_LOST else root
    return least * least


@kernel
def free_inertia(m: Model, w: Workspace, free: int) -> float:
    """Return the least share of its inertia that a joint has while all others yield to it.

    After `dynamics` and `admitted`, with the first `free` rows Λ of `basis`: the inertia of joint j while the
    others stand is M_jj, and 1 / (Λ (Λ' M Λ)⁻¹ Λ')_jj while they yield. The share is 0 where Λ' M Λ is
    singular: joints there move against each other without any inertia. Replaces `reduced` and `shift`.
    """
    reduce_mass(m, w, free)
    reduced = block(w.reduced, 0, free, free)
    least = math.inf
    for j in range(m.nv):
        mobility = 0.0
        for i in range(free):
            w.shift[i] = w.basis[i, j]
        envelope_lower_solve(reduced, w.coupled[BEGIN], block(w.shift, 0, 1, free)[0])
        for i in range(free):
            mobility += w.shift[i] * w.shift[i]
        if mobility != 0.0:
            share = 1.0 / (mobility * w.M[j, j])
            if not share >= least:
                least = share
    return least if least >= 0.0 else 0.0


@part
def _over_rows(m: Model, w: Workspace, free: int, reduced: Matrix) -> None:
    """Write the lower triangle of Λ' M Λ."""
    for i in range(free):
        mass_times(m, w, w.basis[i], w.momenta[i])
        for j in range(i + 1):
            total = 0.0
            for k in range(m.nv):
                total += w.momenta[i, k] * w.basis[j, k]
            reduced[i, j] = total


@part
def _find_supports(m: Model, w: Workspace, free: int) -> None:
    """Write `supports` and the rows `END`, `LOW`, `HIGH` and `ROOT` of `coupled`."""
    root = w.coupled[ROOT]
    for i in range(m.n_links):
        root[i] = i if m.parent[i] < 0 else root[m.parent[i]]
    end = 0
    for row in range(free):
        start = end
        for i in range(m.n_links):
            if w.basis[row, m.in_v[i]] != 0.0:
                w.supports[end] = i
                end += 1
        w.coupled[END, row] = end
        if end > start:  # links of one tree are neighbours
            w.coupled[LOW, row], w.coupled[HIGH, row] = (
                root[int(w.supports[start])],
                root[int(w.supports[end - 1])],
            )
        else:
            w.coupled[LOW, row], w.coupled[HIGH, row] = 0.0, -1.0


@part
def _over_supports(m: Model, w: Workspace, free: int, reduced: Matrix) -> None:
    """After `_find_supports`: write the lower triangle of Λ' M Λ, and where its rows begin."""
    low, high, begin, ends = w.coupled[LOW], w.coupled[HIGH], w.coupled[BEGIN], w.coupled[END]
    start = 0
    for i in range(free):
        end = int(ends[i])
        fill(w.momenta[i], 0.0)
        for s in range(start, end):
            link = int(w.supports[s])
            k, a = m.in_v[link], m.parent[link]
            x = w.basis[i, k]
            w.momenta[i, k] += 0.5 * w.M[k, k] * x
            while a >= 0:
                w.momenta[i, m.in_v[a]] += w.M[m.in_v[a], k] * x
                a = m.parent[a]
        begin[i] = i
        first = 0
        for j in range(i + 1):
            last, total = int(ends[j]), 0.0
            if high[j] >= low[i] and high[i] >= low[j]:
                for s in range(first, last):
                    k = m.in_v[int(w.supports[s])]
                    total += w.basis[j, k] * w.momenta[i, k]
                for s in range(start, end):
                    k = m.in_v[int(w.supports[s])]
                    total += w.basis[i, k] * w.momenta[j, k]
                if total != 0.0 and j < begin[i]:
                    begin[i] = j
            reduced[i, j] = total
            first = last
        start = end


@kernel
def motion_in_basis(m: Model, w: Workspace, free: int, r: Floats, x: Floats) -> None:
    """x := x + Λ z with Λ' M x = Λ' r, for r (nv) and x (nv); Λ are the first `free` rows of `basis`."""
    nv = m.nv
    reduce_mass(m, w, free)
    z = w.free_motion[:free]
    many = free > MANY
    if many:
        mass_times(m, w, x, w.momenta[0])
    start = 0
    for i in range(free):
        total = 0.0
        if many:
            for s in range(start, int(w.coupled[END, i])):
                k = m.in_v[int(w.supports[s])]
                total += w.basis[i, k] * (r[k] - w.momenta[0, k])
            start = int(w.coupled[END, i])
        else:
            for k in range(nv):
                total += w.basis[i, k] * r[k] - w.momenta[i, k] * x[k]
        z[i] = total
    envelope_solve(block(w.reduced, 0, free, free), w.coupled[BEGIN], z)
    start = 0
    for i in range(free):
        if many:
            for s in range(start, int(w.coupled[END, i])):
                k = m.in_v[int(w.supports[s])]
                x[k] += w.basis[i, k] * z[i]
            start = int(w.coupled[END, i])
        else:
            for k in range(nv):
                x[k] += w.basis[i, k] * z[i]
