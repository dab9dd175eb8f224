"""The four-bar in closed form (Blajer et al. 1992) beside `projected`, through both singular poses."""

import numpy as np
import pytest

from linkwork.machine import load
from linkwork.multibody.assembly.four_bar_closed_form import FourBar
from linkwork.multibody.formulations.acceleration import acceleration
from linkwork.multibody.formulations.evaluation import constraint_evaluation
from linkwork.offline.closed_form import ClosedFormMotion
from linkwork.offline.run import simulate
from tests.multibody.finite_differences import derivative

MACHINE = load("four_bar")
FORMS = FourBar(1.0, 0.8, 0.7, 0.6)


def _poses(count: int) -> list[np.ndarray]:
    motion = simulate(MACHINE, 1.0)
    return list(motion.q[:: len(motion.q) // count])


@pytest.mark.parametrize("variant", [0, 1])
def test_angles_rates_and_biases_are_those_of_the_closure(variant):
    for q in _poses(20):
        if FORMS.measure(variant, q) < 0.05:
            continue
        assert np.abs(FORMS.complete(variant, q) - q).max() < 1e-10
        assert np.abs(constraint_evaluation(MACHINE.mechanism, q, np.zeros(3)).phi).max() < 1e-12
        own = FORMS.independent[variant][0]
        rest = [k for k in range(3) if k != own]

        def at(t: float, q=q, own=own, rest=rest) -> np.ndarray:
            near = q.copy()
            near[own] += t * 0.1
            return FORMS.complete(variant, near)[rest]

        ratios = FORMS.ratios(variant, q)[:, 0]
        assert np.abs(0.1 * ratios - derivative(at)).max() < 1e-6 * max(1.0, np.abs(ratios).max() ** 4)
        v = np.zeros(3)
        v[own], v[rest] = 0.1, 0.1 * ratios

        def rates(t: float, q=q, v=v, own=own) -> np.ndarray:
            near = q.copy()
            near[own] += t * v[own]
            return FORMS.ratios(variant, FORMS.complete(variant, near))[:, 0] * v[own]

        bias = FORMS.bias(variant, q, v)
        assert np.abs(bias - derivative(rates)).max() < 1e-6 * max(1.0, np.abs(ratios).max() ** 4)


def test_both_variants_accelerate_as_projected_does():
    mechanism, rng = MACHINE.mechanism, np.random.default_rng(0)
    for q in _poses(15):
        for variant in (0, 1):
            if FORMS.measure(variant, q) < 1e-2:
                continue
            motion = ClosedFormMotion(mechanism, FORMS, q, np.zeros(3))
            motion._variant = variant
            motion.q, motion.v = q, motion._velocity(q, rng.normal(size=1))
            motion.effort[:] = rng.normal(size=3) * 5.0
            expected = acceleration(mechanism, q, motion.v, motion.effort)
            found = motion.acceleration()
            assert np.abs(found - expected.vdot).max() < 1e-9 * max(1.0, np.abs(expected.vdot).max())


def test_one_second_through_both_singularities():
    motion = ClosedFormMotion(MACHINE.mechanism, FORMS, MACHINE.initial_q, MACHINE.initial_v)
    expected = simulate(MACHINE, 1.0, every=100).q
    for row in expected[1:]:
        motion.step(5e-4, 200)
        assert np.abs(motion.q - row).max() < 1e-7
    assert motion.switches >= 2
    assert np.abs(constraint_evaluation(MACHINE.mechanism, motion.q, motion.v).phi_rate).max() < 1e-12


def test_halving_the_step_divides_the_error_by_sixteen():
    exact = simulate(MACHINE, 0.4, 0.4, integrator="dop853").q[-1]
    errors = []
    for count in (200, 400):
        motion = ClosedFormMotion(MACHINE.mechanism, FORMS, MACHINE.initial_q, MACHINE.initial_v)
        motion.step(0.4 / count, count)
        errors.append(np.abs(motion.q - exact).max())
    assert 12 < errors[0] / errors[1] < 26


def test_refusals():
    with pytest.raises(ValueError, match="longer than all others"):
        FourBar(3.0, 0.8, 0.7, 0.6)
    with pytest.raises(ValueError, match="positive"):
        FourBar(1.0, 0.0, 0.7, 0.6)
    with pytest.raises(ValueError, match="no quaternions"):
        ClosedFormMotion(load("platform_3rrs").mechanism, FORMS, np.zeros(10), np.zeros(9))
