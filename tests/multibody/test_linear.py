"""Cholesky, LU, pivoted QR and least squares of minimum norm, on matrices of any size and rank."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from linkwork.arrays import Floats
from linkwork.multibody.linalg.linear import (
    cholesky,
    cholesky_solve,
    lower_solve,
    lu_apply,
    lu_factor,
    lu_solve,
    tridiagonal_solve,
    upper_solve,
)
from linkwork.multibody.linalg.orthogonal import complete, least_squares, minimum_norm, pivoted_qr

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 9)


def _matrix(seed: int, m: int, n: int, rank: int) -> tuple[Floats, np.random.Generator]:
    """A matrix whose non-zero singular values lie between 1/30 and 30."""
    rng = np.random.default_rng(seed)
    rank = min(rank, m, n)
    left = np.linalg.qr(rng.normal(size=(m, m)))[0][:, :rank]
    right = np.linalg.qr(rng.normal(size=(n, n)))[0][:, :rank]
    values = 30.0 ** rng.uniform(-1.0, 1.0, size=rank)
    return np.ascontiguousarray(left * values @ right.T), rng


@given(seeds, sizes)
def test_cholesky_factors_and_solves(seed, n):
    root, rng = _matrix(seed, n, n, n)
    a, b = root @ root.T, rng.normal(size=n)
    factor, x = np.zeros((n, n)), b.copy()
    assert cholesky(a, factor) > 0.0
    assert np.abs(factor @ factor.T - a).max() < 1e-13 * np.abs(a).max()
    cholesky_solve(factor, x)
    assert np.abs(a @ x - b).max() < 1e-9
    y = b.copy()
    lower_solve(factor, y)
    upper_solve(factor, y)
    assert np.array_equal(x, y)


@given(seeds, sizes)
def test_cholesky_works_in_place(seed, n):
    root, _ = _matrix(seed, n, n, n)
    a = root @ root.T
    factor = np.zeros((n, n))
    ratio = cholesky(a, factor)
    assert cholesky(a, a) == ratio
    assert np.array_equal(np.tril(a), factor)


@pytest.mark.parametrize("a", [[[1.0, 2.0], [2.0, 1.0]], [[0.0]], [[np.nan]], [[-1.0]]])
def test_cholesky_says_when_a_matrix_is_not_positive_definite(a):
    matrix = np.array(a)
    factor = np.zeros_like(matrix)
    assert cholesky(matrix, factor) == -1.0
    assert np.isnan(factor).all()


@given(seeds, sizes, st.integers(0, 4))
def test_a_tridiagonal_matrix_solves(seed, n, k):
    rng = np.random.default_rng(seed)
    beside = rng.uniform(-1.0, 1.0, n - 1)
    diagonal = 0.1 + np.abs(np.append(beside, 0.0)) + np.abs(np.append(0.0, beside))
    s, b = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1), rng.normal(size=(n, k))
    x = b.copy()
    tridiagonal_solve(diagonal, beside, x)
    assert np.allclose(s @ x, b, rtol=1e-11, atol=1e-11)


@given(seeds, sizes)
def test_lu_solves(seed, n):
    a, rng = _matrix(seed, n, n, n)
    b = rng.normal(size=n)
    factors, pivots, x = a.copy(), np.zeros(n, np.int64), b.copy()
    assert lu_solve(factors, pivots, x) > 1e-6
    assert np.abs(x - np.linalg.solve(a, b)).max() < 1e-9 * max(1.0, np.abs(x).max())
    again = b.copy()
    lu_apply(factors, pivots, again)
    assert np.array_equal(again, x)


@given(seeds, st.integers(2, 9))
def test_lu_tells_a_singular_matrix(seed, n):
    a, _ = _matrix(seed, n, n, n - 1)
    assert lu_factor(a, np.zeros(n, np.int64)) < 1e-10


def test_lu_of_nothing_and_of_not_a_number():
    for a in (np.zeros((2, 2)), np.full((2, 2), np.nan)):
        x = np.ones(2)
        assert lu_solve(a, np.zeros(2, np.int64), x) == 0.0
        assert np.isnan(x).all()


@given(seeds, sizes, sizes, st.integers(0, 9))
@settings(max_examples=300)
def test_least_squares_is_the_pseudo_inverse_at_any_rank(seed, m, n, rank):
    a, rng = _matrix(seed, m, n, rank)
    b, x = rng.normal(size=m), np.full(n, np.nan)
    expected = np.linalg.pinv(a, rcond=1e-9) @ b
    found = least_squares(a.copy(), b.copy(), 1e-9, np.zeros(3 * min(m, n)), x)
    assert found == min(rank, m, n)
    assert np.abs(x - expected).max() < 1e-9 * max(1.0, np.abs(expected).max())


@given(seeds, sizes, sizes, st.integers(0, 9))
def test_the_factors_are_what_they_are_said_to_be(seed, m, n, rank):
    a, _ = _matrix(seed, m, n, rank)
    factors, k = a.copy(), min(m, n)
    exchanges, left, right = np.zeros(k), np.zeros(k), np.zeros(k)
    found = pivoted_qr(factors, exchanges, left, 1e-9)
    assert found == min(rank, k)
    pivots = np.abs(np.diag(factors))[:found]
    assert (np.diff(pivots) <= 1e-12 * pivots[:-1]).all()
    complete(factors, right, found)
    # the columns of the pseudo-inverse, one right-hand side at a time
    columns = []
    for unit in np.eye(m):
        x = np.zeros(n)
        minimum_norm(factors, exchanges, left, right, found, unit.copy(), x)
        columns.append(x)
    inverse = np.stack(columns, axis=-1)
    scale = max(1.0, np.abs(inverse).max())
    assert np.abs(a @ inverse @ a - a).max() < 1e-10 * max(1.0, np.abs(a).max())
    assert np.abs(inverse @ a @ inverse - inverse).max() < 1e-10 * scale
    assert np.abs(a @ inverse - (a @ inverse).T).max() < 1e-10
    assert np.abs(inverse @ a - (inverse @ a).T).max() < 1e-10


@given(seeds, st.integers(1, 5), st.integers(2, 6))
def test_every_row_written_twice_changes_nothing(seed, m, n):
    assume(m <= n)
    a, rng = _matrix(seed, m, n, m)
    b = rng.normal(size=m)
    once, twice = np.zeros(n), np.zeros(n)
    least_squares(a.copy(), b.copy(), 1e-9, np.zeros(3 * m), once)
    scratch = np.zeros(3 * min(2 * m, n))
    rank = least_squares(np.vstack([a, a]), np.concatenate([b, b]), 1e-9, scratch, twice)
    assert rank == m
    assert np.abs(once - twice).max() < 1e-9 * max(1.0, np.abs(once).max())


@given(seeds, sizes, sizes)
def test_pure_round_off_counts_as_nothing(seed, m, n):
    a, rng = _matrix(seed, m, n, 9)
    x = np.full(n, np.nan)
    assert least_squares(1e-16 * a, rng.normal(size=m), 1e-9, np.zeros(3 * min(m, n)), x) == 0
    assert not x.any()


def test_large_and_small_scales_keep_their_accuracy():
    for scale in (1e-100, 1e100):
        a, x = np.array([[3.0 * scale, 4.0 * scale]]), np.zeros(2)
        assert least_squares(a, np.array([25.0 * scale]), 0.0, np.zeros(3), x) == 1
        assert x == pytest.approx([3.0, 4.0], rel=1e-12)


def test_nothing_is_allocated(allocations):
    a, b, x, scratch = np.eye(4), np.ones(4), np.zeros(4), np.zeros(12)
    assert allocations(least_squares, a, b, 1e-9, scratch, x) == 0
    assert allocations(lu_solve, a, np.zeros(4, np.int64), b) == 0
    assert allocations(cholesky, a, np.eye(4)) == 0
