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

from linkwork.arrays import Floats
from linkwork.multibody.closure.branch_window import span_admitted
from linkwork.multibody.closure.elimination import copy_rows, rows_apart, rows_times
from linkwork.multibody.closure.factors import clear_dependent, from_factors, solve_rows, to_factors
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import LOST, PASSAGES, RANK, SMALLEST, SWITCHED
from linkwork.multibody.kernels.views import copy
from linkwork.multibody.linalg.vectors import squared
from linkwork.multibody.workspace import Model, Workspace

MOST, FEWEST = 60, 4
SETTLED = 1e-3
FAR = 0.3
"""Change of the rows, for each unit of the smallest singular value (an estimate), that cannot take it through
zero."""


@kernel
def forget_passages(m: Model, w: Workspace) -> None:  # noqa: ARG001
    """Begin to count: no passage so far, and no sample."""
    w.ranking[PASSAGES] = 0.0
    w.passed[0] = 0.0


@kernel
def count_passages(m: Model, w: Workspace) -> None:
    """After `factor` at the end of a step: add 1 to `PASSAGES` if it went through a branch pose."""
    if w.ranking[LOST] > 0.0:
        return
    comparable = w.passed[0] == w.ranking[RANK] and w.passed[1] == w.ranking[SWITCHED]
    near = rows_apart(m, w, w.passed_rows) > FAR * w.ranking[SMALLEST] * m.reference_size[0]
    if comparable and near and _passed_through(m, w):
        w.ranking[PASSAGES] += 1.0
    w.passed[0], w.passed[1] = w.ranking[RANK], w.ranking[SWITCHED]
    copy_rows(m, w, w.passed_rows)


@kernel
def _passed_through(m: Model, w: Workspace) -> bool:
    """Whether E has a negative eigenvalue."""
    rank = int(w.ranking[RANK])
    span_admitted(m, w, rank, rank)
    for i in range(m.n_rows):
        w.passed_x[i] = 1.0 + 0.5 * math.sin(1.0 + 7.0 * i)
    clear_dependent(m, w, rank, w.passed_x)
    from_factors(w, rank, w.passed_x)
    rate = 0.0
    for step in range(MOST):
        _scale(w.passed_x)
        _ratio(m, w, w.passed_x, w.passed_image)
        square = beside = rate = 0.0
        for i in range(m.n_rows):
            w.passed_image[i] -= w.passed_x[i]
            rate += w.passed_x[i] * w.passed_image[i]
            square += w.passed_image[i] * w.passed_image[i]
        for i in range(m.n_rows):
            beside += squared(w.passed_image[i] - rate * w.passed_x[i])
        if step >= FEWEST and (square < 0.5 or beside < squared(SETTLED * rate)):
            break
        if square == 0.0:
            break
        copy(w.passed_image, w.passed_x)
    return rate < -1.0


@part
def _scale(x: Floats) -> None:
    square = 0.0
    for i in range(len(x)):
        square += x[i] * x[i]
    for i in range(len(x)):
        x[i] /= math.sqrt(square)


@kernel
def _ratio(m: Model, w: Workspace, x: Floats, image: Floats) -> None:
    """E x, reflected back onto the range of Â_after."""
    n, rank = m.nv, int(w.ranking[RANK])
    copy(x, image)
    to_factors(w, rank, image)
    solve_rows(m, w, rank, image, w.shift)
    _shorten(m, w, n - rank, w.shift)
    rows_times(m, w.passed_rows, w.shift, image)
    to_factors(w, rank, image)
    clear_dependent(m, w, rank, image)
    from_factors(w, rank, image)


@part
def _shorten(m: Model, w: Workspace, free: int, y: Floats) -> None:
    """Subtract from y its share in the admitted velocities."""
    for j in range(free):
        share = 0.0
        for k in range(m.nv):
            share += w.span[j, k] * y[k]
        for k in range(m.nv):
            y[k] -= share * w.span[j, k]
