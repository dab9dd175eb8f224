"""The method of Gauss: order and energy, in the plant as offline, and where it is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.halving import measure
from linkwork.machine import check, load, shipped_path
from linkwork.offline.run import simulate
from linkwork.plant.simulator.plant_state import EFFORTS
from linkwork.plant.simulator.simulator import Simulator


def test_half_the_step_divides_the_error_by_sixteen_through_branch_poses() -> None:
    """Several turns at 10 rad/s; `python benchmarks/halving.py` has it for all integrators."""
    last = measure(10.0, 2, ["plant_gauss", "plant_rk4"])[-1]
    assert 14.0 < last["plant_gauss_ratio"] < 18.0
    assert last["plant_gauss_error_rad"] < 1e-7
    assert last["plant_rk4_error_rad"] < 2e-6


def test_energy_does_not_creep() -> None:
    pendulum = load("double_pendulum")
    errors = [
        simulate(pendulum, 10.0, integrator=name).balance.energy_balance_error_J for name in ("rk4", "gauss")
    ]
    assert errors[1] < 0.2 * errors[0]


def test_quaternions_and_friction() -> None:
    for name in ("platform_3rrs", "thin_disk"):
        runs = [simulate(load(name), 0.3, integrator=each).q[-1] for each in ("gauss", "adaptive_rk4")]
        np.testing.assert_allclose(runs[0], runs[1], atol=1e-8)
    rubbing = load("slider_crank", ["crank.viscous_N_m_s=2"])
    motion = simulate(rubbing, 1.0, integrator="gauss")
    assert motion.balance.lost_J > 1.0
    np.testing.assert_allclose(motion.q[-1], simulate(rubbing, 1.0).q[-1], atol=1e-8)


@pytest.mark.parametrize("name", ["scara", "four_bar"])
def test_the_plant_moves_as_the_simulation_does(name: str) -> None:
    machine = load(name)
    machine = replace(machine, plant=machine.plant.with_values(integrator="gauss"))
    plant = Simulator(machine)
    plant.latch(EFFORTS, np.zeros(len(machine.motors)))
    plant.integrate(100)
    np.testing.assert_allclose(plant.q, simulate(machine, 0.1).q[-1], atol=1e-13)


def test_not_where_something_touches(tmp_path: Path) -> None:
    path = tmp_path / "machine.yaml"
    text = shipped_path("scara").read_text().replace("integrator: rk4", "integrator: gauss")
    path.write_text(text)
    assert load(path).plant.integrator == "gauss"
    touching = text.replace("type: prismatic\n", "type: prismatic\n    stop: {}\n", 1)
    path.write_text(touching)
    (problem,) = [each for each in check(path) if each.severity == "error"]
    assert problem.key == "plant.integrator"
    path.write_text(touching.replace("gauss", "rk4"))
    with pytest.raises(ValueError, match="use integrator adaptive_rk4"):
        simulate(load(path), 0.1, integrator="gauss")


@pytest.mark.parametrize("formulation", ["projected", "udwadia_kalaba", "lagrange", "minimal"])
def test_a_file_that_names_it_is_simulated_in_every_formulation(formulation: str) -> None:
    crank = load("slider_crank")
    assert crank.plant.integrator == "gauss"
    there = simulate(crank, 0.2, formulation=formulation).q[-1]
    np.testing.assert_allclose(there, simulate(crank, 0.2, integrator="rk4").q[-1], atol=2e-5)
