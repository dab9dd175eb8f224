"""Gauss's principle with rows of a task, on random mechanisms, against dense least squares in numpy."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_task_part import FULL, LEAST, MASS
from linkwork.controller.laws.free_motion import free_reference
from linkwork.multibody.dynamics.motion_basis import evaluate_motion
from linkwork.multibody.dynamics.task_motion import FADING, follow_levels, settle, task_for
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.workspace import Workspace
from tests.multibody.random_loops import random_loops

NEAR_A_BRANCH = 1e-3
"""Smallest singular value of the closures from which on numpy's solution has ten digits."""


def random_rows(rng: np.random.Generator, nv: int, f: int) -> Floats:
    """Combinations of joints: fewer than f of them, as many or more, and often dependent ones."""
    rows = rng.normal(size=(int(rng.integers(1, f + 3)), nv))
    if len(rows) > 1 and rng.random() < 0.5:
        rows[-1] = rng.normal() * rows[0] - rows[len(rows) // 2]
    return rows


def far_from_singular(rows: Floats, w: Workspace, f: int) -> bool:
    """Whether no independent direction of the rows fades."""
    turned = rows / w.model.column_scale @ w.basis[:f].T
    sizes = np.linalg.svd(turned, compute_uv=False)
    return not np.any((sizes > 1e-9) & (sizes < 0.02))


def followed(w: Workspace, wanted: Floats, metric: int, full: Floats) -> Floats:
    """v̇ (nv) of the last coordinates' rows, by the kernels of the law."""
    m, nv = w.model, w.model.nv
    evaluate_motion(*w.arguments)
    f, k = nv - int(w.ranking[RANK]), len(wanted)
    t = task_for(nv, [0] * k)
    t.rows[:, :f] = w.J[-k:] @ w.basis[:f].T
    t.wanted[:] = wanted - w.J[-k:] @ w.vdot
    free = follow_levels(t, f)
    assert t.smallest[0] > 2.0 * FADING, "directions of rows fade near a singular pose: choose other rows"
    motor, room = np.zeros(0, np.int64), np.zeros(2 * nv * nv + nv)
    free_reference(m, w, t, f, LEAST, metric, 0.0, motor, np.zeros(0), full, np.zeros((2, nv)), room)
    if free:
        settle(t, f, free)
    return w.vdot + w.basis[:f].T @ t.motion[:f]


def dense(w: Workspace, rows: Floats, wanted: Floats, metric: Floats, columns: Floats) -> Floats:
    """v̇ (nv): constraints first, then rows in least squares, then nearest to undriven in the metric."""
    scaled = w.A * w.model.row_scale[:, None] * columns
    u, s, turned = np.linalg.svd(scaled)
    rank = int(w.ranking[RANK])
    assert rank == 0 or s[rank - 1] > NEAR_A_BRANCH, "choose another mechanism"
    side = u[:, :rank].T @ (w.b * w.model.row_scale)
    x = columns * (turned[:rank].T @ (side / s[:rank]))
    span = columns[:, None] * turned[rank:].T
    undriven = np.linalg.solve(span.T @ w.M @ span, span.T @ (w.friction - w.h - w.M @ x))
    root = np.linalg.cholesky(span.T @ metric @ span)
    jacobian = np.linalg.solve(root, (rows @ span).T).T
    left = wanted - rows @ x - rows @ span @ undriven
    return x + span @ (undriven + np.linalg.solve(root.T, np.linalg.pinv(jacobian, rcond=1e-9) @ left))


def well_posed(seed: int) -> tuple[Mechanism, Floats]:
    """A random mechanism away from poses where branches meet, whose undriven motion has ten digits."""
    for each in range(seed, seed + 10_000, 1000):
        mechanism, q = random_loops(each)
        w = mechanism.workspace(q)
        evaluate_motion(*w.arguments)
        sizes = np.linalg.svd(w.A * w.model.row_scale[:, None] * w.model.column_scale, compute_uv=False)
        rank = int(w.ranking[RANK])
        span = w.basis[: mechanism.nv - rank]
        light = np.linalg.cond(span @ w.M @ span.T) > 1e7
        if sizes[:rank].min(initial=1.0) > NEAR_A_BRANCH and not light:
            return mechanism, q
    raise AssertionError("no mechanism")


def largest_difference(seed: int) -> float:
    """Largest difference between kernels and numpy, over the largest acceleration or 1 (scaled)."""
    rng = np.random.default_rng(seed)
    mechanism, q = well_posed(seed)
    w = mechanism.workspace(q)
    evaluate_motion(*w.arguments)
    nv, f = mechanism.nv, mechanism.nv - int(w.ranking[RANK])
    columns = w.model.column_scale.copy()
    v = rng.normal(size=f) @ w.basis[:f]
    rows = random_rows(rng, nv, f)
    while not far_from_singular(rows, w, f):
        rows = random_rows(rng, nv, f)
    rows = rows / columns
    rows_by_name = {f"row {i}": row for i, row in enumerate(rows)}
    w = mechanism.combining(rows_by_name, [True] * len(rows)).workspace(
        q, v / max(1.0, np.abs(v / columns).max())
    )
    wanted, metric, full = rng.normal(size=len(rows)), int(rng.choice([MASS, FULL])), np.zeros((nv, nv))
    if metric == FULL:
        root = rng.normal(size=(nv, nv))
        full[:] = (root @ root.T + nv * np.eye(nv)) / np.outer(columns, columns)
    found = followed(w, wanted, metric, full)
    expected = dense(w, rows, wanted, full if metric == FULL else w.M.copy(), columns)
    return float(np.abs((found - expected) / columns).max() / max(1.0, np.abs(expected / columns).max()))


@pytest.mark.parametrize("seed", range(20))
def test_gauss_principle_on_random_mechanisms(seed):
    assert largest_difference(seed) <= 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 300))
def test_gauss_principle_on_further_random_mechanisms(seed):
    assert largest_difference(seed) <= 1e-10
