"""Stops and contacts of a machine file: simulated offline and by the plant, with brakes and without."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from linkwork.machine import Machine, load
from linkwork.offline.run import simulate
from linkwork.plant.simulator.plant_state import BRAKE, DAMP, EFFORTS
from linkwork.plant.simulator.simulator import Simulator

SLED = """
name: sled
gravity_m_s2: [0, 0, -9.81]
bodies:
  sled: {mass_kg: 2, inertia_kg_m2: {xx: 0, yy: 0, zz: 0}}
  foot: {mass_kg: 1, inertia_kg_m2: {xx: 0, yy: 0, zz: 0}}
joints:
  slide:
    {type: prismatic, parent: world, child: sled, axis: [1, 0, 0], limits: {position_m: [-0.2, 0.3]},
     stop: {}}
  lift: {type: prismatic, parent: sled, child: foot, axis: [0, 0, 1]}
points:
  toe: {body: foot}
contacts:
  ground:
    {point: toe, plane: {at_m: [0, 0, -0.1], normal: [0, 0, 1]}, stiffness_N_m: 2.0e4, damping_N_s_m: 60,
     friction: 0.3}
motors:
  slide: {max_force_N: 60, max_speed_m_s: 5, brake_force_N: 30}
sensors:
  slide: {velocity: true}
initial: {slide_m_s: 2}
"""


@pytest.fixture
def sled(tmp_path: Path) -> Machine:
    return _load(tmp_path, SLED)


def _load(folder: Path, text: str) -> Machine:
    path = folder / "machine.yaml"
    path.write_text(text)
    return load(path)


def test_stops_left_open_follow_from_the_inertia(sled: Machine) -> None:
    (stop,) = sled.mechanism.stops
    assert (stop.low, stop.high) == (-0.2, 0.3)
    assert stop.stiffness == pytest.approx(3 * 200**2)
    assert stop.damping == pytest.approx(2 * 0.7 * 3 * 200)
    assert sled.plant_mechanism is sled.mechanism


def test_the_sled_bounces_slides_and_comes_to_rest(sled: Machine) -> None:
    motion = simulate(sled, 3.0)
    start = 0.5 * 3 * 4
    height = 0.1 + 9.81 / 2e4
    assert motion.balance.energy_balance_error_J < 1e-5 * start
    assert motion.balance.lost_J == pytest.approx(
        start + 9.81 * height - 0.5 * 2e4 * (9.81 / 2e4) ** 2, rel=1e-4
    )
    assert motion.q[:, 0].max() < 0.3 + 2.0 / 200
    assert abs(motion.v[-1]).max() < 1e-6
    assert motion.q[-1, 1] == pytest.approx(-height, rel=1e-6)


@pytest.mark.slow
def test_the_plant_moves_as_the_simulation_does(sled: Machine) -> None:
    plant = Simulator(sled)
    plant.latch(EFFORTS, np.array([0.0]))
    plant.integrate(300)
    motion = simulate(sled, 0.3)
    np.testing.assert_allclose(plant.q, motion.q[-1], atol=1e-12)


def test_semi_implicit_comes_near_the_same(sled: Machine) -> None:
    fine, coarse = simulate(sled, 0.5), simulate(sled, 0.5, 1e-4, integrator="semi_implicit")
    np.testing.assert_allclose(coarse.q[-1], fine.q[-1], atol=2e-3)


@pytest.mark.parametrize("mode", [BRAKE, DAMP])
def test_stops_hold_a_braked_or_damped_machine(sled: Machine, mode: int) -> None:
    plant = Simulator(sled)
    plant.latch(mode, np.array([0.0]))
    farthest = 0.0
    for _ in range(1500):
        plant.integrate()
        farthest = max(farthest, float(plant.q[0]))
        if mode == DAMP:
            assert abs(plant.measured.effort[0]) <= 60.0
    assert farthest < 0.31
    assert plant.q[1] == pytest.approx(-0.1 - 9.81 / 2e4, rel=1e-3)


def test_a_contact_of_the_plant_may_differ_from_the_models(tmp_path: Path) -> None:
    machine = _load(tmp_path, SLED + "plant: {set: {ground.friction: 0.6, foot.mass_kg: +10%}}\n")
    assert [m.contacts[0].friction for m in (machine.mechanism, machine.plant_mechanism)] == [0.3, 0.6]
    assert machine.mechanism.stops == machine.plant_mechanism.stops
    assert machine.model_hash != machine.plant_model_hash


WEDGE = """
name: wedge
bodies:
  a: {mass_kg: 1, inertia_kg_m2: {xx: 0, yy: 0, zz: 0}}
  b: {mass_kg: 1, inertia_kg_m2: {xx: 0, yy: 0, zz: 0}}
joints:
  x:
    {type: prismatic, parent: world, child: a, axis: [1, 0, 0], limits: {position_m: [-1, 0.1]},
     stop: {stiffness_N_m: 5000, damping_N_s_m: 0}}
  z: {type: prismatic, parent: world, child: b, axis: [0, 0, 1]}
constraints:
  slope: {type: coupling, factors: {x: 1, z: 1}}
"""


@pytest.mark.parametrize(
    ("formulation", "integrator"),
    [
        ("projected", "rk4"),
        ("udwadia_kalaba", "adaptive_rk4"),
        pytest.param("lagrange", "rk4", marks=pytest.mark.slow),
        pytest.param("minimal", "rk4", marks=pytest.mark.slow),
        ("projected", "dop853"),
        pytest.param("udwadia_kalaba", "lsoda", marks=pytest.mark.slow),
    ],
)
def test_every_formulation_and_integrator_finds_the_touch(
    tmp_path: Path, formulation: str, integrator: str
) -> None:
    """A closed pair of slides: a wedge of 45 degrees falls on its stop, and bounces back to its start."""
    machine = _load(tmp_path, WEDGE)
    motion = simulate(machine, 1.0, formulation=formulation, integrator=integrator)
    fall = math.sqrt(2 * 0.1 / (0.5 * 9.81))
    pressed = 2 * (math.pi - math.atan(0.5 * 9.81 * fall / (9.81 / math.sqrt(2 * 5000)))) / math.sqrt(2500)
    depth = (9.81 + math.sqrt(9.81**2 + 2 * 5000 * 9.81 * 0.1)) / 5000
    assert motion.q[:, 0].max() - 0.1 == pytest.approx(depth, rel=1e-3)
    assert motion.balance.energy_balance_error_J < 1e-7
    again = np.searchsorted(motion.time_s, 2 * fall + pressed)
    assert motion.q[again - 1 : again + 1, 0].min() == pytest.approx(0.0, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formulation", "integrator"), [("minimal", "rk4"), ("projected", "dop853"), ("projected", "lsoda")]
)
def test_bounces_with_dampers_and_friction_are_those_of_fixed_steps(
    sled: Machine, formulation: str, integrator: str
) -> None:
    fixed = simulate(sled, 0.4)
    motion = simulate(sled, 0.4, formulation=formulation, integrator=integrator)
    np.testing.assert_allclose(motion.q, fixed.q, atol=1e-7)
    assert motion.balance.lost_J == pytest.approx(fixed.balance.lost_J, rel=1e-7)
    assert motion.balance.energy_balance_error_J < 5e-9


def test_a_leg_bears_what_the_ground_gives(sled: Machine) -> None:
    """At rest the slide carries the sled alone: the ground bears the foot."""
    found = simulate(sled, 3.0, reactions=True).reactions
    assert found is not None
    force = found.force_N[-1, found.names.index("slide")]
    np.testing.assert_allclose(force, [0.0, 0.0, 2 * 9.81], atol=1e-4)


def test_simulate_and_model_tell_of_them(sled: Machine) -> None:
    from linkwork.convert.model_report import report

    found = report(sled)
    assert found["stops"][0]["dof"] == "slide"
    assert found["contacts"][0] == {
        "name": "ground",
        "point": "toe",
        "plane": {"at_m": [0.0, 0.0, -0.1], "normal": [0.0, 0.0, 1.0]},
        "stiffness_N_m": 2e4,
        "damping_N_s_m": 60.0,
        "friction": 0.3,
        "slip_speed_m_s": 1e-3,
        "ball_radius_m": 0.0,
    }
