"""The plant's periods for machines whose joints close on each other: brakes, damping and free motion."""

import numpy as np
import pytest

from linkwork.machine import load
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.tree_dynamics import dynamics, energy
from linkwork.offline.run import simulate
from linkwork.plant.simulator.plant_state import BRAKE, EFFORTS, ZERO
from linkwork.plant.simulator.simulator import Simulator

CLOSED = ("slider_crank", "four_bar", "five_bar", "platform_3rrs", "delta")


def residuals(plant: Simulator) -> tuple[float, float]:
    work = plant.work
    dynamics(*work.arguments)
    constraint_rows(*work.arguments)
    return float(np.abs(work.phi).max()), float(np.abs(work.phi_rate).max())


def joules(plant: Simulator) -> float:
    dynamics(*plant.work.arguments)
    energy(*plant.work.arguments)
    return float(plant.work.energy.sum())


def released(name: str, periods: int) -> Simulator:
    plant = Simulator(load(name))
    plant.latch(ZERO, np.zeros(len(plant.machine.motors)))
    plant.integrate(periods)
    return plant


@pytest.mark.parametrize("name", CLOSED)
def test_a_braked_machine_keeps_its_position_bit_for_bit(name: str) -> None:
    plant = Simulator(load(name))
    plant.integrate(3)
    begin = plant.q.tobytes()
    plant.integrate(300)
    assert plant.resting
    assert plant.q.tobytes() == begin


@pytest.mark.parametrize("name", CLOSED)
def test_a_machine_without_effort_moves_as_it_does_offline(name: str) -> None:
    plant = released(name, 200)
    alone = simulate(plant.machine, 0.2)
    assert plant.q.tobytes() == alone.q[-1].tobytes()
    assert plant.v.tobytes() == alone.v[-1].tobytes()


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("action", ["brake", "damp"])
def test_brakes_and_damping_take_energy_away_and_keep_the_closures(name: str, action: str) -> None:
    plant = released(name, 150)
    plant.act(action)
    before = joules(plant)
    for _ in range(40):
        plant.integrate(5)
        now = joules(plant)
        assert now <= before + 1e-9
        before = now
        position, velocity = residuals(plant)
        assert position < 1e-10
        assert velocity < 1e-9
    if action == "brake":
        assert plant.resting


@pytest.mark.parametrize("name", ["five_bar", "delta", "platform_3rrs"])
def test_efforts_act_under_set_brakes_only_beyond_the_brakes(name: str) -> None:
    plant = Simulator(load(name))
    plant.integrate(2)
    begin = plant.q.copy()
    motors = plant.machine.motors
    plant.latch(BRAKE, np.array([0.1 * motor.brake_effort for motor in motors]))
    plant.integrate(20)
    assert plant.resting
    np.testing.assert_array_equal(plant.q, begin)
    plant.latch(EFFORTS, np.array([0.5 * motor.max_effort for motor in motors]))
    plant.integrate(20)
    assert plant.fastest > 0.0
