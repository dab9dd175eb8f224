"""Machines of many loops in several arrangements: their motion, and the envelope of their reduced mass."""

from collections.abc import Callable

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.multibody.constraints import PinClosure, PointClosure, RevoluteClosure
from linkwork.multibody.dynamics import reduced_mass
from linkwork.multibody.dynamics.other_formulations import constrained_forward_dynamics
from linkwork.multibody.kernels import layout
from linkwork.multibody.linalg.linear import envelope_cholesky, envelope_solve
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.workspace import Workspace
from tests.multibody.loop_topologies import ARRANGEMENTS, Builder, Kind, on_a_pendulum, platforms, row, tree


def in_motion(mechanism: Mechanism, q: Floats) -> Workspace:
    """A state of motion with all degrees of freedom, its rank decided and its accelerations computed."""
    w = mechanism.workspace()
    w.q[:] = q
    constrained_forward_dynamics(*w.arguments)
    constrained_forward_dynamics(*w.arguments)
    free = mechanism.nv - int(w.ranking[layout.RANK])
    w.v[:] = np.cos(1.0 + np.arange(free)) @ w.basis[:free]
    w.v[:] /= np.abs(w.v).max()
    w.effort[:] = np.sin(1.0 + np.arange(mechanism.nv))
    constrained_forward_dynamics(*w.arguments)
    return w


@pytest.mark.parametrize("kind", [PinClosure, PointClosure, RevoluteClosure])
@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_accelerations_solve_the_equations_of_motion(name: str, kind: Kind) -> None:
    """Also with redundant rows. Reference: least-squares solution of the saddle-point system in numpy."""
    mechanism, q = ARRANGEMENTS[name](9 if name == "grid" else 14, kind)
    w = in_motion(mechanism, q)
    assert np.abs(w.phi).max() < 1e-12
    rows, columns = w.model.row_scale[:, None], w.model.column_scale
    a, b = rows * w.A * columns, rows[:, 0] * w.b
    mass, r = columns[:, None] * w.M * columns, columns * (w.effort + w.friction - w.h)
    system = np.block([[mass, a.T], [a, np.zeros((len(a), len(a)))]])
    expected = columns * np.linalg.lstsq(system, np.concatenate([r, b]), rcond=1e-12)[0][: mechanism.nv]
    assert np.allclose(w.vdot, expected, rtol=0.0, atol=1e-8 * np.abs(expected).max())
    assert np.allclose(
        w.A.T @ w.multipliers, w.constraint_force, atol=1e-9 * np.abs(w.constraint_force).max()
    )


@pytest.mark.parametrize("build", [row, on_a_pendulum, tree, platforms])
def test_velocities_couple_only_with_those_that_they_carry(
    build: Callable[[int], tuple[Mechanism, Floats]],
) -> None:
    """The envelope has the entries of the matrix and no others: its factor fills nothing."""
    mechanism, q = build(16)
    w = in_motion(mechanism, q)
    assert w.ranking[layout.IN_FRONTS] == 1.0
    free = mechanism.nv - int(w.ranking[layout.RANK])
    assert free > reduced_mass.MANY
    basis = w.basis[:free]
    entries = np.abs(np.tril(basis @ w.M @ basis.T)) > 1e-12
    coupled = w.coupled
    begin = coupled[reduced_mass.BEGIN, :free].astype(int)
    assert [int(np.flatnonzero(each)[0]) for each in entries] == begin.tolist()
    area = sum(i + 1 - int(begin[i]) for i in range(free))
    assert entries.sum() == area


def test_the_smallest_singular_value_is_that_of_all_clusters() -> None:
    """One cell of a row, not the last one eliminated, is nearly flat."""
    for flat in (0, 5, 11):
        made = Builder()
        for i in range(12):
            made.cell(f"{i}", "world", (2.0 * i, 0.0, 0.0), 1.5 if i == flat else 0.4)
        mechanism, q = made.built()
        w = in_motion(mechanism, q)
        assert w.ranking[layout.IN_FRONTS] == 1.0
        rows, columns = w.model.row_scale[:, None], w.model.column_scale
        smallest = np.linalg.svd(rows * w.A * columns, compute_uv=False)[-1]
        expected = smallest / w.model.reference_size[0]
        assert 0.5 * expected < w.ranking[layout.SMALLEST] < 1.5 * expected  # of the pivots' columns alone
        assert expected < 0.02


def test_factor_within_an_envelope() -> None:
    rng = np.random.default_rng(3)
    n = 12
    begin = np.array([rng.integers(0, i + 1) for i in range(n)], dtype=np.float64)
    lower = np.array([[rng.normal() if j >= begin[i] else 0.0 for j in range(n)] for i in range(n)])
    lower = np.tril(lower, -1) + np.diag(1.0 + rng.random(n))
    a, x = lower @ lower.T, rng.normal(size=n)
    factor, solution = a.copy(), a @ x
    factor[np.arange(n) < begin[:, None]] = np.nan  # never read
    envelope_cholesky(factor, begin)
    envelope_solve(factor, begin, solution)
    assert np.allclose(solution, x)
    a[5, 5] = -1.0
    envelope_cholesky(a, np.zeros(n))
    assert np.isnan(a).all()
