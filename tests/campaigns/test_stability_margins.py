"""Stability margins of the position loop: against a closed form, and against motions that become unstable."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.signal import cont2discrete

from linkwork.arrays import Floats
from linkwork.campaigns.in_process import MotionRequest
from linkwork.campaigns.stability_margin import (
    FREQUENCIES,
    UNSTABLE,
    ideal_machine,
    margin_of,
    stability_margins,
)
from tests.campaigns import small_campaign

PERIOD_S = 1e-3
MACHINE = small_campaign.FLYWHEEL.replace("2000}}", "2000}, coulomb_N_m: 0.5}").replace(
    "4096}", "4096}, velocity: true"
)


def _closed_loop(omega: float, zeta: float) -> Callable[[complex], Floats]:
    """The map of (x, ẋ, command) over a period, by a factor of the loop gain.

    The sampled loop of a mass of 1 under the law of linkwork/controller/laws/feedback.py: the command from
    state j acts over [t_{j+1}, t_{j+2}), and is computed for the middle of that time.
    """
    T, lag = PERIOD_S, zeta * omega * PERIOD_S + (omega * PERIOD_S) ** 2 / 8.0
    double_integrator = (np.array([[0.0, 1], [0, 0]]), np.array([[0.0], [1]]), np.eye(2), np.zeros((2, 1)))
    step, reach, *_ = cont2discrete(double_integrator, T)
    to_middle, by_command, *_ = cont2discrete(double_integrator, 1.5 * T)
    gains = np.array([-(omega**2), -2.0 * zeta * omega])
    command = np.concatenate([gains @ to_middle, gains @ by_command + lag]) / (1.0 + lag)

    def closed(factor: complex) -> Floats:
        return np.vstack([np.hstack([step, factor * reach]), command])

    return closed


def _beyond(matrix: Floats) -> float:
    """Size of the largest eigenvalue less 1: above 0 the loop is unstable."""
    return float(np.abs(np.linalg.eigvals(matrix)).max()) - 1.0


def test_margins_are_those_of_the_sampled_closed_form() -> None:
    machine = ideal_machine(MACHINE)
    move = MotionRequest("move", {"target": {"turn": 0.1}, "speed": 1.0})
    (found,) = stability_margins(machine, [move])

    closed = _closed_loop(80.0, 0.8)
    gain = brentq(lambda factor: _beyond(closed(factor)), 1.5, 50.0)
    phase = brentq(lambda angle: _beyond(closed(cmath.exp(-1j * angle))), 0.1, 2.0)
    assert found.gain == pytest.approx(gain, rel=1e-3)
    assert found.phase_deg == pytest.approx(math.degrees(phase), rel=1e-3)
    at_crossing = np.linalg.eigvals(closed(cmath.exp(-1j * phase)))
    frequency = abs(cmath.phase(at_crossing[np.abs(np.abs(at_crossing) - 1.0).argmin()])) / PERIOD_S
    assert found.delay_s == pytest.approx(phase / frequency, rel=1e-3)


def test_a_loop_that_does_not_come_to_rest_has_no_margin() -> None:
    """With a plant of a twentieth of the inertia the loop gain is above its margin of 8.5."""
    text = MACHINE + "plant: {set: {wheel.inertia_kg_m2: -95%, turn.coulomb_N_m: 1}}\n"
    machine = ideal_machine(text)
    assert stability_margins(machine, []) == (UNSTABLE,)


def test_margins_of_a_conditionally_stable_loop_count_both_directions() -> None:
    """L = 4 (s + 1)² / s³ is stable while its gain is above an eighth of itself: Re L = -8 where Im L = 0."""
    period_s = 1e-3
    frequency = np.linspace(0.0, math.pi / period_s, FREQUENCIES // 2 + 1)[1:]
    s = 1j * frequency
    margin = margin_of(np.concatenate([[np.inf], 4.0 * (s + 1.0) ** 2 / s**3]), period_s)
    assert margin.gain == pytest.approx(8.0, rel=1e-2)
    crossing = brentq(lambda w: abs(4.0 * (1j * w + 1.0) ** 2 / (1j * w) ** 3) - 1.0, 1.0, 10.0)
    lag = cmath.phase(-4.0 * (1j * crossing + 1.0) ** 2 / (1j * crossing) ** 3)
    assert margin.phase_deg == pytest.approx(math.degrees(lag), rel=1e-2)
    assert margin.delay_s == pytest.approx(lag / crossing, rel=1e-2)
