"""The motors' leverage and the fading of demands, beside singular values by LAPACK."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork.arrays import Floats, Integers
from linkwork.controller.actuation.motor_conditioning import (
    FADED,
    FADING,
    FEW,
    directions,
    fade,
    leverage,
    scratch_words,
)

sizes = st.integers(1, 2 * FEW)


def motions(seed: int, dof: int, machines: int) -> tuple[Floats, Floats, Integers]:
    """A basis (dof × nv) of machines that share no joint, the column scales, and the joints with motors."""
    rng = np.random.default_rng(seed)
    nv = 3 * dof
    basis = rng.normal(size=(dof, nv))
    of_row = np.sort(rng.integers(0, machines, dof))
    of_column = np.repeat(of_row, 3)
    basis[of_row[:, None] != of_column] = 0.0
    return basis, 10.0 ** rng.uniform(-1.0, 1.0, nv), np.sort(rng.permutation(nv)[: 2 * dof])


def singular(basis: Floats, columns: Floats, motor: Integers) -> tuple[Floats, Floats, Floats]:
    """Orthonormal scaled basis (nv × dof), and the singular values and right vectors of its motors' rows."""
    unit = np.linalg.qr((basis / columns).T)[0]
    _, values, right = np.linalg.svd(unit[motor])
    return unit, np.append(values, np.zeros(len(basis) - len(values))), right


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), sizes, st.integers(1, 6))
def test_leverage_is_the_smallest_singular_value(seed: int, dof: int, machines: int) -> None:
    """Up to `FEW` degrees of freedom to round-off, beyond by an iteration that may stop at a close one."""
    basis, columns, motor = motions(seed, dof, machines)
    found = leverage(basis, columns, motor, np.zeros(scratch_words(dof, len(motor))))
    smallest = singular(basis, columns, motor)[1][-1]
    if dof <= FEW:
        assert found == pytest.approx(smallest, rel=1e-6, abs=1e-7)
    else:
        assert smallest * (1.0 - 1e-6) - 1e-7 <= found <= 1.1 * smallest + 1e-7


@pytest.mark.parametrize("dof", [2, FEW, FEW + 1, 2 * FEW])
def test_a_motion_without_a_motor_has_no_leverage(dof: int) -> None:
    basis, columns, _ = motions(1, dof, dof)
    motor = np.flatnonzero(basis[1:].any(axis=0))
    motor = motor[basis[0, motor] == 0.0]
    assert leverage(basis, columns, motor, np.zeros(scratch_words(dof, len(motor)))) < 1e-7


def test_a_motion_spread_over_many_joints_counts_as_one_of_few() -> None:
    """One motor, and joints that all move alike: beyond six of them σ does not fall any more."""
    for joints in (2, 6, 24, 600):
        basis, columns = np.full((1, joints), 0.3), np.ones(joints)
        found = leverage(basis, columns, np.zeros(1, np.int64), np.zeros(scratch_words(1, 1)))
        assert found == pytest.approx(1.0 / np.sqrt(min(joints, 6)))


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), sizes)
def test_a_demand_fades_in_weak_directions_alone(seed: int, dof: int) -> None:
    """Each part along a right singular vector has the share of Nakamura & Hanafusa."""
    rng = np.random.default_rng(seed)
    unit = np.linalg.qr(rng.normal(size=(3 * dof, dof)))[0]
    motor = np.arange(2 * dof)
    left, _, right = np.linalg.svd(unit[motor], full_matrices=False)
    values = 10.0 ** rng.uniform(-4.0, -0.5, dof)
    rest = np.linalg.qr(rng.normal(size=(dof, dof)))[0] * np.sqrt(1.0 - values**2)
    basis = np.ascontiguousarray((np.vstack([left * values, rest]) @ right).T)
    columns = np.ones(3 * dof)
    scratch = np.zeros(scratch_words(dof, len(motor)))
    leverage(basis, columns, motor, scratch)
    directions(dof, scratch)
    demand = rng.normal(size=dof)
    needed = demand.copy()
    fade(dof, len(motor), scratch, needed)
    damping = (FADED * np.maximum(0.0, 1.0 - (values / FADING) ** 2)) ** 2
    shares = values**2 / (values**2 + damping)
    lower = np.linalg.cholesky(basis @ basis.T)
    vectors = right @ np.linalg.inv(lower).T
    expected = lower @ np.linalg.solve(vectors, shares * (vectors @ np.linalg.solve(lower, demand)))
    assert np.allclose(needed, expected, rtol=0.0, atol=1e-6 * np.abs(demand).max())
