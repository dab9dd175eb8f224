"""Offline simulation: closed forms, energy, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.machine import Machine, load
from linkwork.offline.run import simulate
from linkwork.plant.simulator.simulator import SimulationDiverged

SCARA = load("scara")
G = 9.81


def test_free_fall_and_arms_that_stay() -> None:
    motion = simulate(SCARA, 0.5)
    assert motion.joint_names == ("shoulder", "elbow", "wrist", "lift")
    assert motion.steps == 500
    np.testing.assert_allclose(motion.q[:, 3], -G / 2 * motion.time_s**2, atol=1e-13)
    np.testing.assert_allclose(motion.v[:, 3], -G * motion.time_s, atol=1e-12)
    assert np.all(motion.q[:, :3] == SCARA.initial_q[:3])
    assert motion.energy_end_J == pytest.approx(motion.energy_start_J, abs=1e-12)
    assert motion.steps_per_s > 0.0


def test_constant_effort(slider: Callable[..., Machine]) -> None:
    motion = simulate(slider(), 1.0, effort=[8.0], initial={"slide": -1.0})
    np.testing.assert_allclose(motion.q[:, 0], -1.0 + 2.0 * motion.time_s**2, atol=1e-12)
    assert motion.energy_end_J - motion.energy_start_J == pytest.approx(8.0 * 2.0, rel=1e-12)


@given(duration=st.floats(0.001, 0.2), dt=st.floats(0.0005, 0.05), every=st.integers(1, 9))
def test_the_duration_is_met_exactly_whatever_the_step(duration: float, dt: float, every: int) -> None:
    full = simulate(SCARA, duration, dt)
    thin = simulate(SCARA, duration, dt, every=every)
    assert full.time_s[0] == 0.0
    assert full.time_s[-1] == duration
    assert len(full.time_s) == len(full.q) == len(full.v) == full.steps + 1
    assert np.all(np.diff(full.time_s) > 0.0)
    np.testing.assert_allclose(full.q[:, 3], -G / 2 * full.time_s**2, atol=1e-12)
    kept = sorted({*range(0, full.steps + 1, every), full.steps})
    assert thin.steps == full.steps
    assert thin.q.tobytes() == full.q[kept].tobytes()
    np.testing.assert_allclose(thin.time_s, full.time_s[kept], rtol=1e-12)


def test_long_runs_are_seamless_over_chunks() -> None:
    whole = simulate(SCARA, 45.0, initial={"elbow": 0.5}, effort=[0.01, 0.02, 0.0, 0.5 * G])
    assert whole.steps == 45_000
    assert np.all(np.diff(whole.time_s) > 0.0)
    again = simulate(SCARA, 20.5, initial={"elbow": 0.5}, effort=[0.01, 0.02, 0.0, 0.5 * G])
    assert again.q.tobytes() == whole.q[:20_501].tobytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"duration_s": -1.0}, "duration"),
        ({"duration_s": float("nan")}, "duration"),
        ({"dt_s": 0.0}, "step must be positive"),
        ({"duration_s": 1e9}, "steps"),
        ({"integrator": "euler"}, "rk4, semi_implicit"),
        ({"every": 0}, "every"),
        ({"initial": {"knee": 0.0}}, "shoulder, elbow, wrist, lift"),
        ({"initial": {"lift": float("inf")}}, "finite"),
        ({"effort": [1.0]}, "4 finite numbers"),
    ],
)
def test_arguments_out_of_bounds_are_refused(arguments: dict[str, object], words: str) -> None:
    given_arguments: dict[str, object] = {"duration_s": 1.0, **arguments}
    with pytest.raises(ValueError, match=words):
        simulate(SCARA, **given_arguments)  # type: ignore[arg-type]


def test_divergence_says_when(slider: Callable[..., Machine]) -> None:
    machine = slider(("brake_force_N: 30", "viscous_N_s_m: 1.0e+6"))
    with pytest.raises(SimulationDiverged, match="diverged at"):
        simulate(machine, 100.0, effort=[1.0])
