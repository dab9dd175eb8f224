"""Offline simulation under constraints: formulations, stabilisation, initial positions, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkwork.machine import load
from linkwork.offline.run import simulate

SLIDER, FOUR = load("slider_crank"), load("four_bar")


def test_formulations_agree() -> None:
    runs = [simulate(SLIDER, 0.2, formulation=name) for name in ("projected", "udwadia_kalaba", "lagrange")]
    for other in runs[1:]:
        np.testing.assert_allclose(other.q, runs[0].q, atol=1e-10)


def test_lagrange_refuses_redundant_rows_by_name() -> None:
    with pytest.raises(ValueError, match="rank 2: take projected"):
        simulate(FOUR, 0.1, formulation="lagrange")


def test_without_stabilisation_it_drifts_and_baumgarte_holds_it() -> None:
    gaps = {
        name: simulate(FOUR, 1.0, 0.005, stabilisation=name).balance.residual_position_max
        for name in ("none", "baumgarte", "projection")
    }
    assert gaps["projection"] < 1e-13 < gaps["baumgarte"]
    assert gaps["projection"] < gaps["none"]


def test_initial_positions_travel_along_the_branch() -> None:
    motion = simulate(SLIDER, 0.001, initial={"crank": math.radians(70)})
    np.testing.assert_allclose(np.degrees(motion.q[0]), [70, -140], atol=1e-9)


def test_motors_work_is_the_energy_gained() -> None:
    motion = simulate(FOUR, 1.0, effort=[5.0])
    gained = motion.energy_end_J - motion.energy_start_J
    assert motion.balance.motor_work_J == pytest.approx(gained, abs=1e-4)
    assert motion.balance.motor_work_J == pytest.approx(5.0 * (motion.q[-1, 0] - motion.q[0, 0]))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"formulation": "newton"}, "projected, udwadia_kalaba, lagrange"),
        ({"stabilisation": "glue"}, "none, baumgarte, projection"),
        ({"initial": {"a1": math.radians(-90)}}, "cannot be assembled"),
    ],
)
def test_refusals(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        simulate(FOUR, 0.1, **arguments)  # type: ignore[arg-type]
