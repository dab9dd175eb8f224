"""Gauss's principle with rows of a task, on random mechanisms, against dense least squares in numpy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from linkwork.arrays import Floats, Integers
from linkwork.controller.exchange.goal_task_part import FULL, LEAST, MASS, MOTORS
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


class Metric(NamedTuple):
    """Metric of free motions: the matrix of FULL; joints and squared scales of MOTORS."""

    kind: int
    full: Floats
    motor: Integers
    weight: Floats

    def inverse_root(self, w: Workspace, span: Floats) -> Floats:
        """T (f × any) with T T' the inverse of the metric on the admitted motions (nv × f)."""
        if self.kind == MOTORS:
            return np.linalg.solve(span.T @ w.M @ span, span[self.motor].T * np.sqrt(self.weight))
        matrix = self.full if self.kind == FULL else w.M
        return np.linalg.inv(np.linalg.cholesky(span.T @ matrix @ span)).T


def random_metric(rng: np.random.Generator, w: Workspace, f: int) -> Metric:
    """Of any kind; in that of the motors there are as many as degrees of freedom, or more, on any joints."""
    nv, columns = w.model.nv, w.model.column_scale
    root = rng.normal(size=(nv, nv))
    full = (root @ root.T + nv * np.eye(nv)) / np.outer(columns, columns)
    motor, kind = (
        np.sort(rng.permutation(nv)[: int(rng.integers(f, nv + 1))]),
        int(rng.choice([MASS, FULL, MOTORS])),
    )
    sizes = np.linalg.svd(w.basis[:f, motor] / columns[motor], compute_uv=False)
    if sizes[-1] < 0.1 * sizes[0]:
        motor = np.arange(nv)
    return Metric(kind, full, motor, rng.uniform(0.3, 3.0, len(motor)))


def followed(w: Workspace, wanted: Floats, metric: Metric) -> Floats:
    """v̇ (nv) of the last coordinates' rows, by the kernels of the law."""
    m, nv = w.model, w.model.nv
    evaluate_motion(*w.arguments)
    f, k = nv - int(w.ranking[RANK]), len(wanted)
    t = task_for(nv, [0] * k)
    t.rows[:, :f] = w.J[-k:] @ w.basis[:f].T
    t.wanted[:] = wanted - w.J[-k:] @ w.vdot
    free = follow_levels(t, f)
    assert t.smallest[0] > 2.0 * FADING, "directions of rows fade near a singular pose: choose other rows"
    kind, full, motor, weight = metric
    free_reference(
        m, w, t, f, LEAST, kind, 0.0, motor, weight, full, np.zeros((2, nv)), np.zeros(2 * nv * nv + nv)
    )
    if free:
        settle(t, f, free)
    return w.vdot + w.basis[:f].T @ t.motion[:f]


def dense(w: Workspace, rows: Floats, wanted: Floats, metric: Metric, columns: Floats) -> Floats:
    """v̇ (nv): constraints first, then rows in least squares, then nearest to undriven in the metric."""
    scaled = w.A * w.model.row_scale[:, None] * columns
    u, s, turned = np.linalg.svd(scaled)
    rank = int(w.ranking[RANK])
    assert rank == 0 or s[rank - 1] > NEAR_A_BRANCH, "choose another mechanism"
    side = u[:, :rank].T @ (w.b * w.model.row_scale)
    x = columns * (turned[:rank].T @ (side / s[:rank]))
    span = columns[:, None] * turned[rank:].T
    undriven = np.linalg.solve(span.T @ w.M @ span, span.T @ (w.friction - w.h - w.M @ x))
    u, s, turned = np.linalg.svd(rows @ span)
    u, followed_rows = u[:, : np.sum(s > 1e-9 * s[0])], turned[: np.sum(s > 1e-9 * s[0])]
    left = u.T @ (wanted - rows @ x) / s[: len(followed_rows)] - followed_rows @ undriven
    root = metric.inverse_root(w, span)
    return x + span @ (undriven + root @ np.linalg.lstsq(followed_rows @ root, left, rcond=1e-14)[0])


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
    evaluate_motion(*w.arguments)
    wanted, metric = rng.normal(size=len(rows)), random_metric(rng, w, f)
    found = followed(w, wanted, metric)
    expected = dense(w, rows, wanted, metric, columns)
    return float(np.abs((found - expected) / columns).max() / max(1.0, np.abs(expected / columns).max()))


@pytest.mark.parametrize("seed", [*range(16), 106, 122, 240, 259])
def test_gauss_principle_on_random_mechanisms(seed):
    assert largest_difference(seed) <= 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16, 300))
def test_gauss_principle_on_further_random_mechanisms(seed):
    assert largest_difference(seed) <= 1e-10
