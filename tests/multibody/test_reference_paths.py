"""Reference paths in plain numpy: SVD, pseudo-inverse and saddle point, on every machine that ships."""

import numpy as np
import pytest

from benchmarks.formulations import differences
from linkwork.arrays import Floats
from linkwork.machine import load, shipped
from linkwork.multibody.assembly.assembly import assemble
from linkwork.multibody.constraints import PointClosure
from linkwork.multibody.formulations.acceleration import RedundantRows, acceleration
from linkwork.multibody.formulations.evaluation import constraint_evaluation, projection, row_rates
from linkwork.multibody.formulations.projector import WAYS, pseudo_inverse
from tests.multibody.closed_machines import bead, four_bar
from tests.multibody.finite_differences import derivative
from tests.multibody.machines import moved


@pytest.mark.parametrize("name", shipped())
def test_all_formulations_agree_on_every_machine(name):
    found = differences(load(name), 3, seed=1)
    assert {"projected", "udwadia_kalaba", "plain", "symmetric", "scaled"} <= set(found)
    for formulation, errors in found.items():
        assert max(errors) < 1e-10, formulation


@pytest.mark.parametrize("formulation", ["lagrange", "kkt"])
def test_redundant_closures_are_refused_by_name(formulation):
    machine = load("four_bar")
    with pytest.raises(RedundantRows, match=rf"{formulation} needs .* dependent on the others: O4\.z"):
        acceleration(machine.mechanism, machine.initial_q, machine.initial_v, None, formulation)


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize("copies", [1, 2])
def test_projector_and_rate_both_ways(by, copies):
    mechanism = four_bar(closure=PointClosure, copies=copies)
    state = assemble(mechanism, [1.0, -0.5, -2.0], [1.0, 0.0, 0.0])
    found = projection(mechanism, state.q, state.v, by)
    there = constraint_evaluation(mechanism, state.q, state.v)
    assert (found.rank, there.rank) == (2, 2)
    p = found.P
    assert np.abs(p @ p - p).max() < 1e-13
    assert np.abs(p - p.T).max() < 1e-13
    assert np.abs(there.scaled_rows @ p).max() < 1e-13
    v = state.v / found.velocity_scale
    assert np.abs(p @ v - v).max() < 1e-12
    assert np.abs(found.C @ v - found.c).max() < 1e-9

    def along(t: float) -> Floats:
        return projection(mechanism, moved(mechanism, state.q, t * state.v), state.v, by).P

    assert np.abs(found.C - derivative(along)).max() < 1e-8


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize(("m", "n", "rank"), [(5, 3, 3), (3, 5, 3), (4, 4, 2), (6, 4, 1), (3, 3, 0)])
def test_pseudo_inverses_obey_penrose(by, m, n, rank):
    rng = np.random.default_rng(m + n)
    a = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    inverse = pseudo_inverse(a, rank, by)
    for left, right in ((a @ inverse @ a, a), (inverse @ a @ inverse, inverse)):
        assert np.abs(left - right).max(initial=0.0) < 1e-11
    for square in (a @ inverse, inverse @ a):
        assert np.abs(square - square.T).max() < 1e-11
    with pytest.raises(ValueError, match="svd, pseudo_inverse"):
        pseudo_inverse(a, rank, "magic")  # type: ignore[arg-type]


def test_evaluation_of_a_bead():
    radius, angle = 0.8, 0.6
    normal, tangent = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    found = constraint_evaluation(bead(radius), (radius + 0.1) * normal, 2.0 * tangent + 0.3 * normal)
    assert found.phi == pytest.approx([0.1])
    assert found.phi_rate == pytest.approx([0.3])
    assert np.abs(found.A[0] - normal).max() < 1e-14
    assert found.b == pytest.approx([-4.0 / 0.9])
    rates = row_rates(bead(radius), radius * normal, 2.0 * tangent)
    assert np.abs(rates[0] - 2.0 / radius * tangent).max() < 1e-9
    assert not row_rates(bead(radius), radius * normal, [0.0, 0.0]).any()
