"""The explicit equation of constrained motion against the saddle point and the symmetric root."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.arrays import Floats
from linkwork.multibody import functions
from linkwork.multibody.dynamics.udwadia_kalaba import (
    UdwadiaKalabaAcceleration,
    constrained_acceleration,
    scratch_size,
)
from tests.multibody.machines import scara

seeds = st.integers(0, 2**32 - 1)


def _system(seed: int, n: int, m: int) -> tuple[Floats, Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    mass = root @ root.T + 0.3 * np.eye(n)
    return mass, rng.normal(size=n), rng.normal(size=(m, n)), rng.normal(size=m)


def _by_symmetric_root(mass: Floats, r: Floats, a: Floats, b: Floats) -> tuple[Floats, Floats]:
    values, vectors = np.linalg.eigh(mass)
    root, inverse = vectors * np.sqrt(values) @ vectors.T, vectors / np.sqrt(values) @ vectors.T
    free = np.linalg.solve(mass, r)
    pull = np.linalg.pinv(a @ inverse, rcond=1e-10) @ (b - a @ free)
    return free + inverse @ pull, root @ pull


@given(seeds, st.integers(1, 8), st.data())
def test_full_rank_equals_the_saddle_point(seed, n, data):
    m = data.draw(st.integers(0, n))
    mass, r, a, b = _system(seed, n, m)
    solve = UdwadiaKalabaAcceleration(m, n)
    assert solve(mass, r, a, b) == m
    saddle = np.block([[mass, -a.T], [a, np.zeros((m, m))]])
    if m and np.linalg.cond(saddle) > 1e7:
        return
    expected = np.linalg.solve(saddle, np.concatenate([r, b]))
    scale = max(1.0, np.abs(expected).max())
    assert np.abs(solve.acceleration - expected[:n]).max() < 1e-8 * scale
    assert np.abs(solve.constraint_force - a.T @ expected[n:]).max() < 1e-8 * scale


@pytest.mark.parametrize("seed", range(20))
def test_redundant_rows_leave_motion_and_force_as_they_were(seed):
    mass, r, a, b = _system(seed, 6, 3)
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(5, 3))
    once, more = UdwadiaKalabaAcceleration(3, 6), UdwadiaKalabaAcceleration(8, 6)
    assert once(mass, r, a, b) == 3
    assert more(mass, r, np.vstack([a, mix @ a]), np.concatenate([b, mix @ b])) == 3
    assert np.abs(once.acceleration - more.acceleration).max() < 1e-10
    assert np.abs(once.constraint_force - more.constraint_force).max() < 1e-10


@pytest.mark.parametrize("seed", range(20))
def test_contradicting_rows_are_met_as_gauss_would(seed):
    mass, r, a, b = _system(seed, 3, 5)
    solve = UdwadiaKalabaAcceleration(5, 3)
    assert solve(mass, r, a, b) == 3
    vdot, force = _by_symmetric_root(mass, r, a, b)
    assert np.abs(solve.acceleration - vdot).max() < 1e-9 * np.abs(vdot).max()
    assert np.abs(solve.constraint_force - force).max() < 1e-9 * np.abs(force).max()


@given(seeds, st.integers(1, 7), st.integers(1, 7), st.integers(0, 7))
def test_any_rank_equals_the_symmetric_root(seed, n, m, rank):
    mass, r, a, b = _system(seed, n, m)
    rng = np.random.default_rng(seed)
    rank = min(rank, m, n)
    a = np.ascontiguousarray(rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n)))
    values = np.linalg.svd(a, compute_uv=False)[:rank]
    if rank and values[-1] < 1e-3 * values[0]:
        return
    solve = UdwadiaKalabaAcceleration(m, n)
    assert solve(mass, r, a, b) == rank
    vdot, force = _by_symmetric_root(mass, r, a, b)
    assert np.abs(solve.acceleration - vdot).max() < 1e-7 * max(1.0, np.abs(vdot).max())
    assert np.abs(solve.constraint_force - force).max() < 1e-7 * max(1.0, np.abs(force).max())
    residual = mass @ solve.acceleration - r - solve.constraint_force
    assert np.abs(residual).max() < 1e-8 * max(1.0, np.abs(force).max())


def test_the_scara_with_its_tool_prescribed_is_inverse_dynamics():
    mechanism = scara()
    q, v = np.array([0.5, -1.0, 0.4, 0.0]), np.array([0.3, -0.2, 0.1, 0.05])
    a = np.ascontiguousarray(functions.coordinate_jacobian(mechanism, q)[4:])
    wanted = np.array([0.4, -0.3, 0.2, 0.1])
    b = wanted - functions.coordinate_rate(mechanism, q, v)[4:]
    solve = UdwadiaKalabaAcceleration(4, 4)
    mass, h = functions.mass_matrix(mechanism, q), functions.bias(mechanism, q, v)
    assert solve(mass, -h, a, b) == 4
    vdot = np.linalg.solve(a, b)
    effort = functions.inverse_dynamics(mechanism, q, v, vdot)
    assert np.abs(solve.acceleration - vdot).max() < 1e-11
    assert np.abs(solve.constraint_force - effort).max() < 1e-11 * np.abs(effort).max()


def test_a_mass_matrix_that_is_not_positive_definite_is_told():
    solve = UdwadiaKalabaAcceleration(1, 2)
    assert solve(np.diag([1.0, 0.0]), np.ones(2), np.ones((1, 2)), np.ones(1)) == -1
    assert np.isnan(solve.acceleration).all()
    assert np.isnan(solve.constraint_force).all()


def test_nothing_is_allocated(allocations):
    mass, r, a, b = _system(0, 5, 3)
    scratch, vdot, force = np.zeros(scratch_size(3, 5)), np.zeros(5), np.zeros(5)
    assert allocations(constrained_acceleration, mass, r, a, b, 1e-9, scratch, vdot, force) == 0
