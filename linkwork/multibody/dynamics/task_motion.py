"""Accelerations that follow rows of a task: fewer, as many or more rows than degrees of freedom.

With Λ a basis of the admitted velocities every admitted acceleration is x + Λ a. A row T v̇ = t of the task is
J a = r there, J = T Λ and r = t - T x. Levels of rows follow each other by priority: each is met as well as
the levels above it allow, in least squares where its rows contradict each other. What all of them leave free
is nearest to a reference a₀ in a metric Q = R R':

    a_k = a_(k-1) + N_(k-1) (J_k N_(k-1))⁺ (r_k - J_k a_(k-1)),     a = a_n + N_n (R' N_n)⁺ R' (a₀ - a_n)

with N_k a basis of what the first k levels leave free. R and R' a₀ are given, not Q, whose condition is the
square of that of R. For Q = Λ' M Λ and a₀ of the undriven machine, with Q a₀ = -Λ' (h + M x - friction), this
is Gauss's principle of least constraint (Udwadia & Kalaba; Xu & Liu 2017, section 2); the recursion is that
of Siciliano & Slotine 1991. As many independent rows as degrees of freedom determine the motion for any
metric.

J is in units in which rows have singular values of about 1 in useful poses. The rank is decided by a QR with
exchange of columns (rows_on_basis.py). A direction of singular value s below `FADING` is followed with the
share s² / (s² + d), as weakly held ones are (Nakamura & Hanafusa 1986), so that accelerations stay
bounded where rows lose their rank.
"""

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.multibody.dynamics.rows_on_basis import follow_rows
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.linalg.orthogonal import least_squares
from linkwork.multibody.linalg.symmetric import symmetric_eigen
from linkwork.multibody.linalg.vectors import squared

FADING, FADED = 0.005, 0.00125
"""Singular value below which a direction fades, and the damping where it is 0."""
LOST = 1e-9
"""Singular value below which a direction counts as none."""


class TaskRows(Struct):
    """Rows of a task on the admitted motions, and the motion that follows them.

    k rows, n levels, at most f degrees of freedom. `given_up` is r - J a, row by row. The first level has
    room for `kept` rows, see kept_rows.py; without such rows there is no level for them.
    """

    k: int
    f: int
    n: int
    kept: int
    use: Annotated[Integers, "2", "index of the first row, and number of levels, that are in use"]
    rows: Annotated[Floats, "k, f", "J, rows scaled"]
    wanted: Annotated[Floats, "k", "r, likewise"]
    ends: Annotated[Integers, "n", "of each level, the index behind its last row"]
    metric: Annotated[Floats, "f, f", "R, a root of the metric"]
    pull: Annotated[Floats, "f", "R' a₀"]
    motion: Annotated[Floats, "f", "a"]
    rank: Annotated[Integers, "n", "independent rows of each level on what those above leave free"]
    smallest: Annotated[Floats, "n", "about the smallest singular value of those; 1 without rows"]
    given_up: Annotated[Floats, "k"]
    basis: Annotated[Floats, "f, f", "its first rows: directions that the rows leave free"]
    before: Annotated[Floats, "f, f", "scratch: those that the levels above leave free"]
    room: Annotated[Floats, "k * f + 2 * k * k + 3 * k + 5 * f + f * f", "scratch"]


@kernel
def follow_levels(t: TaskRows, f: int) -> int:
    """Write a_n (f) to `motion`, and the results of each level; return how many directions remain free.

    The first of `basis` are these directions (N_n'), and `settle` chooses the motion along them.
    """
    for j in range(f):
        t.motion[j] = 0.0
        fill(t.basis[j], 0.0)
        t.basis[j, j] = 1.0
    free, first = f, int(t.use[0])
    for level in range(int(t.use[1])):
        last = int(t.ends[level])
        free -= _follow_level(t, level, f, first, last - first, free)
        first = last
    for i in range(int(t.use[0]), t.k):
        t.given_up[i] = t.wanted[i]
        for j in range(f):
            t.given_up[i] -= t.rows[i, j] * t.motion[j]
    return free


@part
def _follow_level(t: TaskRows, level: int, f: int, first: int, k: int, free: int) -> int:
    """Follow k rows within the first `free` rows of `basis`; return their rank."""
    t.rank[level], t.smallest[level] = 0, 1.0
    if k == 0 or free == 0:
        return 0
    vectors = t.k * t.f + 2 * t.k * t.k
    rows, side = block(t.room, 0, k, free), block(t.room, vectors, 1, k)[0]
    exchanges, reflected = block(t.room, vectors + k, 1, k)[0], block(t.room, vectors + 2 * k, 1, k)[0]
    z = block(t.room, vectors + 3 * t.k, 1, f)[0]
    motion, before = block(t.motion, 0, 1, f)[0], block(t.room, vectors + 3 * t.k + t.f, 1, f)[0]
    copy(motion, before)
    _reduce(t, f, first, t.basis, rows, side)
    rank = follow_rows(rows, side, exchanges, reflected, LOST, z, t.before, t.basis, motion)
    t.rank[level] = rank
    if rank > 0:
        t.smallest[level] = min(1.0, abs(rows[rank - 1, rank - 1]))
    if t.smallest[level] < 2.0 * FADING and rank > 0:
        copy(before, motion)
        _reduce(t, f, first, t.before, rows, side)
        t.smallest[level] = _follow_fading(t, f, rows, side, z)
    return rank


@part
def _reduce(t: TaskRows, f: int, first: int, basis: Matrix, rows: Matrix, side: Floats) -> None:
    """rows (k × free) := J N and side (k) := r - J a, of the rows from `first` on; N' are rows of `basis`."""
    for i in range(len(side)):
        side[i] = t.wanted[first + i]
        for c in range(f):
            side[i] -= t.rows[first + i, c] * t.motion[c]
        for j in range(rows.shape[1]):
            rows[i, j] = 0.0
            for c in range(f):
                rows[i, j] += t.rows[first + i, c] * basis[j, c]


@part
def _follow_fading(t: TaskRows, f: int, rows: Matrix, side: Floats, z: Floats) -> float:
    """`motion` += N z, with each direction of the rows (k × free) at its share; return the smallest singular
    value.
    """
    k, free = rows.shape
    squares, turned = block(t.room, t.k * t.f, k, k), block(t.room, t.k * t.f + t.k * t.k, k, k)
    for i in range(k):
        for j in range(k):
            squares[i, j] = 0.0
            for c in range(free):
                squares[i, j] += rows[i, c] * rows[j, c]
    symmetric_eigen(squares, turned)
    smallest = math.inf
    fill(z, 0.0)
    for i in range(k):
        square = squares[i, i]
        if not square > squared(LOST):
            continue
        smallest = min(smallest, math.sqrt(square))
        factor = 0.0
        for j in range(k):
            factor += turned[i, j] * side[j]
        factor /= square + squared(FADED * max(0.0, 1.0 - square / squared(FADING)))
        for j in range(k):
            for c in range(free):
                z[c] += factor * turned[i, j] * rows[j, c]
    for j in range(free):
        for c in range(f):
            t.motion[c] += z[j] * t.before[j, c]
    return min(smallest, 1.0)


@kernel
def settle(t: TaskRows, f: int, free: int) -> None:
    """`motion` (f) += N z, nearest to a₀ in the metric; N' are the first `free` rows of `basis`."""
    rest = t.k * t.f + 2 * t.k * t.k + 3 * t.k
    z, side = block(t.room, rest, 1, free)[0], block(t.room, rest + t.f, 1, f)[0]
    rows, scratch = block(t.room, rest + 2 * t.f, f, free), t.room[rest + 2 * t.f + f * free :]
    for i in range(f):
        side[i] = t.pull[i]
        for c in range(f):
            side[i] -= t.metric[c, i] * t.motion[c]
        for j in range(free):
            rows[i, j] = 0.0
            for c in range(f):
                rows[i, j] += t.metric[c, i] * t.basis[j, c]
    least_squares(rows, side, 0.0, scratch, z)
    for i in range(free):
        for c in range(f):
            t.motion[c] += z[i] * t.basis[i, c]


def task_for(f: int, levels: Sequence[int], kept: int = 0) -> TaskRows:
    """Return a task on at most f degrees of freedom; levels (k): the level of each row, not decreasing.

    kept: rows of a level above them, none of which is in use.
    """
    levels = [-1] * kept + list(levels)
    k = len(levels)
    ends = [i + 1 for i in range(k) if i + 1 == k or levels[i + 1] != levels[i]]
    n = len(ends)
    return TaskRows(
        k=k, f=f, n=n, kept=kept, use=np.array([kept, n]),
        rows=np.zeros((k, f)), wanted=np.zeros(k), ends=np.array(ends, np.int64),
        metric=np.zeros((f, f)), pull=np.zeros(f), motion=np.zeros(f), rank=np.zeros(n, np.int64),
        smallest=np.zeros(n), given_up=np.zeros(k), basis=np.zeros((f, f)), before=np.zeros((f, f)),
        room=np.zeros(k * f + 2 * k * k + 3 * k + 5 * f + f * f),
    )  # fmt: skip
