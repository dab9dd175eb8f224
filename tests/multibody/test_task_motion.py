"""Motion that follows rows of a task, against dense least squares and the saddle point of Gauss."""

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.multibody.dynamics.task_motion import FADING, TaskRows, follow_levels, settle, task_for


def solved(levels: list[tuple[Floats, Floats]], metric: Floats, toward: Floats) -> tuple[TaskRows, int]:
    """The task after its motion was found, and how many directions its rows left free."""
    number = np.repeat(np.arange(len(levels)), [len(rows) for rows, _ in levels])
    t = task_for(len(toward), number.tolist())
    if levels:
        t.rows[:] = np.vstack([rows for rows, _ in levels])
        t.wanted[:] = np.concatenate([wanted for _, wanted in levels])
    root = np.linalg.cholesky(metric)
    t.metric[:], t.pull[:] = root, root.T @ toward
    f = len(toward)
    free = follow_levels(t, f)
    if free:
        settle(t, f, free)
    return t, free


def by_levels(levels: list[tuple[Floats, Floats]], metric: Floats, toward: Floats) -> Floats:
    """Dense: each level by its singular values on what is left, the rest nearest to `toward`."""
    a, left = np.zeros(len(toward)), np.eye(len(toward))
    for rows, wanted in levels:
        if left.shape[1] == 0:
            break
        u, s, v = np.linalg.svd(rows @ left)
        rank = int(np.sum(s > 1e-9))
        a = a + left @ v[:rank].T @ ((u[:, :rank].T @ (wanted - rows @ a)) / s[:rank])
        left = left @ v[rank:].T
    if left.shape[1]:
        a = a + left @ np.linalg.solve(left.T @ metric @ left, left.T @ metric @ (toward - a))
    return a


def random_levels(rng: np.random.Generator, f: int) -> list[tuple[Floats, Floats]]:
    found = []
    for _ in range(int(rng.integers(0, 4))):
        k = int(rng.integers(1, f + 3))
        rows = rng.normal(size=(k, f))
        if k > 1 and rng.random() < 0.4:
            rows[-1] = rng.normal() * rows[0]
        if k > 2 and rng.random() < 0.3:
            rows[1] = rows[0] - rows[2]
        found.append((rows, rng.normal(size=k)))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_levels_metric_and_rest_are_those_of_dense_least_squares(seed):
    rng = np.random.default_rng(seed)
    f = int(rng.integers(1, 8))
    root = rng.normal(size=(f, f))
    metric, toward = root @ root.T + 0.1 * np.eye(f), rng.normal(size=f)
    levels = random_levels(rng, f)
    t, free = solved(levels, metric, toward)
    expected = by_levels(levels, metric, toward)
    scale = max(1.0, float(np.abs(expected).max()))
    if t.n == 0 or t.smallest.min() > FADING:
        assert np.abs(t.motion - expected).max() < 1e-10 * scale / max(t.smallest.min(initial=1.0), 1e-3)
    assert free == f - int(t.rank.sum())
    for end, (rows, wanted) in zip(t.ends, levels, strict=True):
        rest = wanted - rows @ t.motion
        assert t.given_up[end - len(rows) : end] == pytest.approx(rest, abs=1e-12)


def test_as_many_independent_rows_as_freedoms_need_no_metric():
    rng = np.random.default_rng(1)
    rows, wanted = rng.normal(size=(4, 4)), rng.normal(size=4)
    t, free = solved([(rows, wanted)], np.full((4, 4), np.nan), np.full(4, np.nan))
    assert free == 0
    assert t.motion == pytest.approx(np.linalg.solve(rows, wanted), rel=1e-12)
    assert np.abs(t.given_up).max() < 1e-13


def test_gauss_principle_is_the_saddle_point_of_the_rows():
    rng = np.random.default_rng(2)
    root = rng.normal(size=(5, 5))
    mass, force = root @ root.T + np.eye(5), rng.normal(size=5)
    rows, wanted = rng.normal(size=(2, 5)), rng.normal(size=2)
    t, free = solved([(rows, wanted)], mass, np.linalg.solve(mass, force))
    assert free == 3
    saddle = np.block([[mass, -rows.T], [rows, np.zeros((2, 2))]])
    assert t.motion == pytest.approx(np.linalg.solve(saddle, np.concatenate([force, wanted]))[:5], rel=1e-11)


def test_contradiction_below_changes_nothing_above():
    rng = np.random.default_rng(3)
    upper, lower = (rng.normal(size=(2, 4)), np.array([1.0, 2.0])), rng.normal(size=(2, 4))
    t, _ = solved([upper, (lower, np.ones(2)), (upper[0], -upper[1])], np.eye(4), np.zeros(4))
    assert np.abs(t.given_up[:4]).max() < 1e-12
    assert t.given_up[4:] == pytest.approx(-2.0 * upper[1])
    assert t.rank.tolist() == [2, 2, 0]


def test_through_a_singular_pose_the_motion_stays_bounded_and_has_no_step():
    angles = np.linspace(-0.02, 0.02, 4001)
    found = []
    for angle in angles:
        rows = np.array([[1.0, 0.0, 0.0], [np.cos(angle), np.sin(angle), 0.0]])
        t, _ = solved([(rows, np.array([0.0, 1.0]))], np.eye(3), np.zeros(3))
        found.append(t.motion.copy())
    found = np.array(found)
    assert np.abs(found).max() < 1.0 / 0.00125
    steps = np.abs(np.diff(found, axis=0)).max()
    assert steps < 10.0 * (angles[1] - angles[0]) / 0.00125**2
