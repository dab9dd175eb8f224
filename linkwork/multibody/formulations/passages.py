"""Counting the branch poses that a motion passes, from sample to sample and for any number of loops.

Where the motion goes through a branch pose, a singular value of the scaled rows Â changes its sign if its
directions are followed continuously. So one compares the rows of two samples, with Â⁺ of the later one:

    E = Â_before Â_after⁺

has, on the range of Â_after, the eigenvalue 1 without a change, and a negative one for every
direction that has gone through zero in between; the ratio of lengths is its size. Whether there is one is
found by power iteration on E - 1, with solves of the factors that are there. All directions that are lost in
one interval count as one passage, as those of a flat ladder. Unlike a threshold on the smallest singular
value, which shrinks with the number of loops, this has no scale.

Samples within the window of a branch pose (rank.py) are not compared: the last one before it is kept.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.formulations.branch_window import span_admitted, span_start
from linkwork.multibody.formulations.elimination import copy_rows, rows_apart, rows_times
from linkwork.multibody.formulations.factors import clear_dependent, from_factors, solve_rows, to_factors
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    ON_MECHANISM,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    boolean,
    kernel,
    part,
    void,
)
from linkwork.multibody.kernels.layout import (
    LOST,
    N_ROWS,
    NV,
    PASSAGES,
    PASSED,
    RANK,
    RANKING,
    REFERENCE_SIZE,
    SHIFT,
    SMALLEST,
    SWITCHED,
)
from linkwork.multibody.kernels.views import block, copy, vector

MOST, FEWEST = 60, 4
SETTLED = 1e-3
FAR = 0.3
"""Change of the rows, for each unit of the smallest singular value (an estimate), that cannot take it through
zero."""


@kernel(ON_MECHANISM)
def forget_passages(p: Floats, t: Integers, w: Floats) -> None:  # noqa: ARG001
    """Begin to count: no passage so far, and no sample."""
    vector(t, w, RANKING)[PASSAGES] = 0.0
    vector(t, w, PASSED)[0] = 0.0


@kernel(ON_MECHANISM)
def count_passages(p: Floats, t: Integers, w: Floats) -> None:
    """After `factor` at the end of a step: add 1 to `PASSAGES` if it went through a branch pose."""
    m, n = t[N_ROWS], t[NV]
    ranking, passed = vector(t, w, RANKING), vector(t, w, PASSED)
    if ranking[LOST] > 0.0:
        return
    before = block(w, t[PASSED] + 2, m, n)
    comparable = passed[0] == ranking[RANK] and passed[1] == ranking[SWITCHED]
    near = rows_apart(p, t, w, before) > FAR * ranking[SMALLEST] * vector(t, p, REFERENCE_SIZE)[0]
    if comparable and near and _passed_through(p, t, w):
        ranking[PASSAGES] += 1.0
    passed[0], passed[1] = ranking[RANK], ranking[SWITCHED]
    copy_rows(p, t, w, before)


@kernel(boolean(PARAMETERS, TOPOLOGY, BUFFER))
def _passed_through(p: Floats, t: Integers, w: Floats) -> bool:  # noqa: ARG001
    """Whether E has a negative eigenvalue."""
    m, n, rank = t[N_ROWS], t[NV], int(vector(t, w, RANKING)[RANK])
    end = t[PASSED] + 2 + m * n
    x, image = block(w, end, 1, m)[0], block(w, end + m, 1, m)[0]
    span_admitted(t, w, rank, rank)
    for i in range(m):
        x[i] = 1.0 + 0.5 * math.sin(1.0 + 7.0 * i)
    clear_dependent(t, w, rank, x)
    from_factors(t, w, rank, x)
    rate = 0.0
    for step in range(MOST):
        _scale(x)
        _ratio(t, w, x, image)
        square = beside = rate = 0.0
        for i in range(m):
            image[i] -= x[i]
            rate += x[i] * image[i]
            square += image[i] * image[i]
        for i in range(m):
            beside += (image[i] - rate * x[i]) ** 2
        if step >= FEWEST and (square < 0.5 or beside < (SETTLED * rate) ** 2):
            break
        if square == 0.0:
            break
        copy(image, x)
    return rate < -1.0


@part
def _scale(x: Floats) -> None:
    square = 0.0
    for i in range(len(x)):
        square += x[i] * x[i]
    for i in range(len(x)):
        x[i] /= math.sqrt(square)


@kernel(void(TOPOLOGY, BUFFER, VECTOR, VECTOR))
def _ratio(t: Integers, w: Floats, x: Floats, image: Floats) -> None:
    """E x, reflected back onto the range of Â_after."""
    m, n, rank = t[N_ROWS], t[NV], int(vector(t, w, RANKING)[RANK])
    before, y = block(w, t[PASSED] + 2, m, n), vector(t, w, SHIFT)
    copy(x, image)
    to_factors(t, w, rank, image)
    solve_rows(t, w, rank, image, y)
    _shorten(t, w, n - rank, y)
    rows_times(t, before, y, image)
    to_factors(t, w, rank, image)
    clear_dependent(t, w, rank, image)
    from_factors(t, w, rank, image)


@part
def _shorten(t: Integers, w: Floats, free: int, y: Floats) -> None:
    """Subtract from y its share in the admitted velocities."""
    span = block(w, span_start(t), free, t[NV])
    for j in range(free):
        share = 0.0
        for k in range(t[NV]):
            share += span[j, k] * y[k]
        for k in range(t[NV]):
            y[k] -= share * span[j, k]
