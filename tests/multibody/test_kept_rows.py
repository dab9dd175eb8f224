"""Bounds on the motion of a task, against all sets of bounds that could bind."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.multibody.dynamics.kept_rows import BINDS, DISPLACES, NOT_BINDING, KeptRows, keep_between
from linkwork.multibody.dynamics.task_motion import follow_levels, settle, task_for


def by_levels(levels: list[tuple[Floats, Floats]], metric: Floats, pull: Floats) -> Floats:
    """The motion that follows the levels one after the other, nearest to the reference in the metric."""
    found, free = np.zeros(len(pull)), np.eye(len(pull))
    for j, r in levels:
        found = found + free @ np.linalg.pinv(j @ free, rcond=1e-9) @ (r - j @ found)
        _, sizes, right = np.linalg.svd(j @ free)
        free = free @ right[int(np.count_nonzero(sizes > 1e-9)) :].T
    return found + free @ np.linalg.pinv(free.T @ metric @ free) @ free.T @ (pull - metric @ found)


def best_of_all_sets(
    levels: list[tuple[Floats, Floats]], metric: Floats, pull: Floats, rows: Floats, low: Floats, high: Floats
) -> Floats:
    """Of all sets of bounds that could bind, the motion within the bounds that is best by the levels."""
    best: tuple[tuple[float, ...], Floats] | None = None
    for sides in product((-1, 0, 1), repeat=len(rows)):
        binding = [i for i, side in enumerate(sides) if side]
        values = np.array([low[i] if sides[i] < 0 else high[i] for i in binding])
        found = by_levels([(rows[binding], values), *levels] if binding else levels, metric, pull)
        if np.all(rows @ found >= low - 1e-8) and np.all(rows @ found <= high + 1e-8):
            off = found - np.linalg.solve(metric, pull)
            sizes = [round(float(np.linalg.norm(j @ found - r)), 7) for j, r in levels]
            if best is None or (*sizes, off @ metric @ off) < best[0]:
                best = (*sizes, off @ metric @ off), found
    assert best is not None
    return best[1]


@pytest.mark.parametrize("seed", range(60))
def test_the_motion_is_the_best_within_the_bounds(seed):
    rng = np.random.default_rng(seed)
    f, c = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    sizes = [int(n) for n in rng.integers(1, 3, size=int(rng.integers(1, 3)))]
    if sum(sizes) + c > f + 2:
        sizes = sizes[:1]
    numbers = [level for level, size in enumerate(sizes) for _ in range(size)]
    t = task_for(f, numbers, c)
    t.rows[c:], t.wanted[c:] = rng.normal(size=(len(numbers), f)), rng.normal(size=len(numbers))
    root = rng.normal(size=(f, f))
    metric, toward = root @ root.T + np.eye(f), rng.normal(size=f)
    t.metric[:] = np.linalg.cholesky(metric)
    t.pull[:] = np.linalg.solve(t.metric, toward)
    inside = rng.normal(size=f)
    kept = KeptRows(c=c, f=f, index=np.arange(c), rows=rng.normal(size=(c, f)))
    room = rng.uniform(0.01, 1.0, size=(2, c))
    kept.least[:], kept.most[:] = kept.rows @ inside - room[0], kept.rows @ inside + room[1]
    left = follow_levels(t, f)
    if left > 0:
        settle(t, f, left)
    before = t.motion.copy()
    result = keep_between(t, kept, f)
    found = t.motion.copy()
    along = kept.rows @ found
    assert np.all(along >= kept.least - 1e-7)
    assert np.all(along <= kept.most + 1e-7)
    if result == NOT_BINDING:
        assert np.array_equal(found, before)
    firsts = np.cumsum([0, *sizes]) + c
    levels = [(t.rows[a:b].copy(), t.wanted[a:b].copy()) for a, b in pairwise(firsts.tolist())]
    expected = best_of_all_sets(levels, metric, toward, kept.rows, kept.least, kept.most)
    j, r = levels[0]
    if np.linalg.norm(j @ found - r) > 1e-6:
        assert result == DISPLACES or len(j) > f
    assert found == pytest.approx(expected, abs=1e-5 * max(1.0, float(np.abs(expected).max())))
    assert result in (NOT_BINDING, BINDS, DISPLACES)
