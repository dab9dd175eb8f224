"""The bounded impulses against their definition and against an independent bounded least-squares solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from linkwork.arrays import Floats
from linkwork.plant.simulator.impulses import SWEEPS, bounded_impulses


def solve(w: Floats, free: Floats, compliance: Floats, bound: Floats) -> tuple[Floats, Floats, int]:
    n = len(free)
    impulse, sticks = np.full(n, 7.0), np.full(n, 7.0)
    sweeps = bounded_impulses(w, free, compliance, bound, impulse, sticks, np.empty((n, n)), np.empty(n))
    return impulse, sticks, sweeps


def problem(seed: int, n: int, spread: float) -> tuple[Floats, Floats, Floats, Floats]:
    random = np.random.default_rng(seed)
    a = random.standard_normal((n, n)) * np.exp(spread * random.standard_normal(n))
    w = a @ a.T + 1e-3 * np.eye(n)
    free = random.standard_normal(n)
    bound = np.exp(random.uniform(-6, 2, n)) * random.choice([0.0, 1.0, 1.0, 1.0], n)
    compliance = np.exp(random.uniform(-3, 1, n)) * random.choice([0.0, 1.0], n)
    return w, free, compliance, bound


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 7))
@example(seed=0, n=1)
def test_each_row_sticks_or_slips_against_its_bound(seed: int, n: int) -> None:
    w, free, compliance, bound = problem(seed, n, 0.5)
    impulse, sticks, sweeps = solve(w, free, compliance, bound)
    assume(sweeps < SWEEPS)
    speed = free + w @ impulse + compliance * impulse
    scale = np.abs(free) + np.abs(w) @ np.abs(impulse) + 1e-12
    assert np.all(np.abs(impulse) <= bound)
    inside = sticks == 1.0
    assert np.all(np.abs(speed[inside]) <= 1e-9 * scale[inside])
    at_bound = ~inside & (bound > 0.0)
    assert np.all(np.abs(impulse[at_bound]) == bound[at_bound])
    assert np.all(speed[at_bound] * np.sign(impulse[at_bound]) <= 1e-9 * scale[at_bound])
    assert np.all(impulse[bound == 0.0] == 0.0)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 7))
def test_agrees_with_bounded_least_squares(seed: int, n: int) -> None:
    """λ minimises λ'(W + C) λ / 2 + u*'λ within its bounds."""
    w, free, compliance, bound = problem(seed, n, 0.3)
    bound = bound + 1e-6
    impulse, _, sweeps = solve(w, free, compliance, bound)
    assume(sweeps < SWEEPS)
    root = np.linalg.cholesky(w + np.diag(compliance))
    oracle = lsq_linear(root.T, -np.linalg.solve(root, free), (-bound, bound), tol=1e-14)
    np.testing.assert_allclose(impulse, oracle.x, atol=1e-5 * max(1.0, float(bound.max())))


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 7))
def test_energy_never_grows(seed: int, n: int) -> None:
    w, free, compliance, bound = problem(seed, n, 1.0)
    impulse, _, _ = solve(w, free, compliance, bound)
    change = impulse @ (free + 0.5 * w @ impulse)
    assert change <= 1e-12 * float(np.abs(impulse) @ np.abs(free))


def test_strong_brakes_stop_everything_at_once() -> None:
    w, free, _, _ = problem(3, 5, 0.5)
    impulse, sticks, sweeps = solve(w, free, np.zeros(5), np.full(5, 1e9))
    assert sweeps == 0
    assert np.all(sticks == 1.0)
    np.testing.assert_allclose(impulse, -np.linalg.solve(w, free), rtol=1e-9)


def test_a_row_without_bound_is_a_closure_among_brakes() -> None:
    """A row that must not move beside one that slips: the closure holds, the brake gives its most."""
    w = np.array([[2.0, 0.5], [0.5, 1.0]])
    free, bound = np.array([1.0, 5.0]), np.array([np.inf, 0.1])
    impulse, sticks, _ = solve(w, free, np.zeros(2), bound)
    assert sticks.tolist() == [1.0, 0.0]
    assert impulse[1] == -0.1
    assert 1.0 + w[0] @ impulse == pytest.approx(0.0, abs=1e-15)


def test_redundant_rows_are_served() -> None:
    """Two rows on the same shaft: no direct solution, the sweeps share the load."""
    w = np.ones((2, 2))
    impulse, _, sweeps = solve(w, np.array([1.0, 1.0]), np.zeros(2), np.array([0.7, 0.7]))
    assert sweeps > 0
    assert impulse.sum() == pytest.approx(-1.0)


def test_nothing_to_solve() -> None:
    _, _, sweeps = solve(np.empty((0, 0)), np.empty(0), np.empty(0), np.empty(0))
    assert sweeps == 0
