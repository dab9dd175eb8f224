"""Simulation to a given accuracy, by steps that suit the machine and not its plant's period."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from linkwork.machine import MachineError, load
from linkwork.offline.accuracy import AccuracyNotReached
from linkwork.offline.batch import simulate_batch
from linkwork.offline.run import simulate
from linkwork.plant.simulator.simulator import SimulationDiverged
from tests.command import linkwork

MACHINES = Path(__file__).parents[2] / "docs" / "examples" / "machines"
SWING = """name: swing
gravity_m_s2: [0, 0, 0]
bodies: {cart: {mass_kg: 2, inertia_kg_m2: [0.01, 0.01, 0.01, 0, 0, 0]}}
joints: {slide: {type: prismatic, parent: world, child: cart, axis: [1, 0, 0]}}
springs: {coil: {joint: slide, stiffness_N_m: STIFF, damping_N_s_m: 0}}
motors: {slide: {max_force_N: 10, max_speed_m_s: 10}}
initial: {slide_m: 0.5}
plant: {period_s: 0.01}
"""


def swing(folder: Path, stiffness: float) -> Path:
    """A mass on a spring."""
    path = folder / "swing.yaml"
    path.write_text(SWING.replace("STIFF", str(stiffness)))
    return path


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(accuracy=1e-8, rate=19.0, integrator=None)
@example(accuracy=1e-7, rate=18.0, integrator=None)
@given(
    accuracy=st.floats(-11.0, -3.0).map(lambda x: 10.0**x),
    rate=st.floats(0.1, 60.0),
    integrator=st.sampled_from([None, "rk4", "dop853", "lsoda"]),
)
def test_the_error_is_at_most_the_accuracy(
    tmp_path: Path, accuracy: float, rate: float, integrator: str | None
) -> None:
    if integrator == "lsoda":  # accepts no tolerance that is small enough for more
        accuracy = max(accuracy, 1e-8)
    machine = load(swing(tmp_path, 2.0 * rate**2))
    motion = simulate(machine, 0.55, 0.02, integrator=integrator, every=2, accuracy=accuracy)
    np.testing.assert_allclose(motion.time_s, [*np.arange(0, 0.54, 0.04), 0.55], atol=1e-12)
    size = max(1.0, 0.5 * rate)
    assert np.abs(motion.q[:, 0] - 0.5 * np.cos(rate * motion.time_s)).max() <= accuracy
    assert np.abs(motion.v[:, 0] + 0.5 * rate * np.sin(rate * motion.time_s)).max() <= accuracy * size
    assert motion.error is not None
    assert motion.error <= accuracy


def test_efforts_that_vary_are_part_of_the_error(tmp_path: Path) -> None:
    machine = load(swing(tmp_path, 2.0))
    for integrator in (None, "dop853"):
        motion = simulate(machine, 1.0, integrator=integrator, effort={"slide": "2*sin(3*t)"}, accuracy=1e-7)
        exact = 0.5 * math.cos(1.0) + (3.0 * math.sin(1.0) - math.sin(3.0)) / 8.0
        assert motion.q[-1, 0] == pytest.approx(exact, abs=1e-7)


def test_andrews_squeezer_needs_no_tuning() -> None:
    result = linkwork(
        "simulate",
        str(MACHINES / "andrews_squeezer.yaml"),
        "--duration",
        "0.03",
        "--accuracy",
        "1e-8",
        "--json",
    )
    summary = json.loads(result.stdout)
    assert summary["error"] <= 1e-8
    for name, value in {
        "beta": 15.81077119629904,
        "theta": -15.75637105984298,
        "gamma": 0.04082224013073101,
        "phi": -0.5347301163226948,
        "delta": 0.5244099658805304,
        "omega": 0.5347301163226948,
        "epsilon": 1.048080741042263,
    }.items():
        assert summary["q"][name] == pytest.approx(value, rel=1e-8, abs=1e-8)


def test_an_accuracy_that_cannot_be_is_refused_with_the_best(tmp_path: Path) -> None:
    machine = load(swing(tmp_path, 2.0e4))
    with pytest.raises(AccuracyNotReached, match="the best two runs differ by"):
        simulate(machine, 200.0, integrator="semi_implicit", accuracy=1e-9)
    with pytest.raises(ValueError, match="between 1e-13 and 1"):
        simulate(machine, 1.0, accuracy=1e-17)
    with pytest.raises(ValueError, match="leave rtol and atol out"):
        simulate(machine, 1.0, integrator="dop853", rtol=1e-9, accuracy=1e-9)


def governor(folder: Path) -> Path:
    """A stiff governor, without the substeps that its plant needs."""
    text = (MACHINES / "flyball_governor.yaml").read_text()
    path = folder / "governor.yaml"
    path.write_text(text.replace(", substeps: 50", ""))
    return path


def test_offline_runs_are_judged_by_their_own_step(tmp_path: Path) -> None:
    path = governor(tmp_path)
    with pytest.raises(MachineError) as caught:
        load(path)
    substeps = int(str(caught.value.problems[0].remedy).partition("substeps: ")[2].partition(",")[0])
    well = tmp_path / "well.yaml"
    well.write_text(path.read_text().replace("period_s: 0.001", f"period_s: 0.001, substeps: {substeps}"))
    load(well)
    offline = load(path, offline=True)
    fine = simulate(offline, 0.01, 2e-5)
    np.testing.assert_allclose(simulate(offline, 0.01, 0.01, integrator="lsoda").q[-1], fine.q[-1], atol=1e-7)
    for step in (None, 0.01):
        with pytest.raises(MachineError, match="take steps of") as refused:
            simulate(offline, 0.01, step)
        with pytest.raises(MachineError, match="take steps of"):
            simulate_batch(offline, np.concatenate([offline.initial_q, offline.initial_v]), 0.01, dt_s=step)
        shorter = float(str(refused.value.problems[0].remedy).partition("steps of ")[2].partition(" s")[0])
        simulate(offline, shorter, shorter)
    with pytest.raises(MachineError, match="take steps of"):  # a step longer than that of a plant that suits
        simulate(load(well), 0.01, 0.01)


def test_the_command_takes_any_step_that_does(tmp_path: Path) -> None:
    path = str(governor(tmp_path))
    refused = linkwork("simulate", path, "--duration", "0.01")
    assert refused.returncode == 2
    assert "take steps of 8.71e-05 s" in refused.stderr
    assert linkwork("simulate", path, "--duration", "0.01", "--dt", "8.7e-5").returncode == 0


def test_the_reference_goes_through_a_flat_pose_at_its_default_tolerance() -> None:
    """With shorter and shorter steps it took a minute and 35,000 restarts."""
    machine = load(MACHINES / "n_four_bar.yaml")
    motion, coarse = (simulate(machine, 1.3, 0.01, integrator="dop853", rtol=r) for r in (None, 1e-13))
    assert motion.balance.energy_balance_error_J < 2e-11
    np.testing.assert_allclose(motion.q, coarse.q, atol=1e-9)


def test_a_reference_that_does_not_advance_says_so(tmp_path: Path) -> None:
    path = tmp_path / "rubbing.yaml"
    path.write_text(
        "name: rubbing\nbodies: {cart: {mass_kg: 1, inertia_kg_m2: [0.01, 0.01, 0.01, 0, 0, 0]}}\n"
        "joints: {slide: {type: prismatic, parent: world, child: cart, axis: [1, 0, 0], coulomb_N: 2, "
        "coulomb_speed_m_s: 1e-10}}\ninitial: {slide_m_s: 0.1}\n"
    )
    with pytest.raises(SimulationDiverged, match=r"mean length of .* s at its relative tolerance.*lsoda"):
        simulate(load(path), 1.0, 0.01, integrator="dop853")
    assert simulate(load(path), 1.0, 0.01, integrator="lsoda").q[-1, 0] == pytest.approx(0.0025, rel=1e-6)
