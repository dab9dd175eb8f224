"""Motors as they are, in plant and controller alike: friction, gear, rotor, limited rate, lag."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.loop.motor_lag import MotorLag
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.machine import Machine, load
from linkwork.machine.catalogue import shipped_path
from linkwork.plant.simulator.simulator import Simulator
from linkwork.protocol.codes import Mode
from tests.controller.loop.in_process import InProcess
from tests.controller.loop.test_closed_chains import move


def with_motors(folder: Path, keys: str, name: str = "five_bar") -> Machine:
    """The machine with more said of each motor."""
    text = (
        shipped_path(name).read_text().replace("brake_release_s: 0.05}", f"brake_release_s: 0.05, {keys}}}")
    )
    file = folder / f"{name}.yaml"
    file.write_text(text)
    return load(file)


def pushed(machine: Machine, efforts: list[list[float]]) -> list[np.ndarray]:
    simulator = Simulator(machine)
    acted = []
    for effort in efforts:
        simulator.latch(Mode.EFFORT, np.array(effort))
        simulator.integrate()
        acted.append(simulator.measured.effort.copy())
    return acted


def test_the_effort_follows_its_command_as_a_first_order_lag(tmp_path: Path) -> None:
    machine = with_motors(tmp_path, "bandwidth_Hz: 80")
    angle = 2 * np.pi * 80 * 1e-3
    acted = pushed(machine, [[1.0, -0.5]] * 30)
    level = 1.0 - np.exp(-angle * np.arange(31))
    mean = 1.0 - (level[1:] - level[:-1]) / angle  # the integral of 1 - exp(-ω t) over each period
    np.testing.assert_allclose([one[0] for one in acted], mean, rtol=1e-12)
    np.testing.assert_allclose([one[1] for one in acted], -0.5 * mean, rtol=1e-12)
    assert acted[-1][0] == pytest.approx(1.0, abs=1e-6)


def test_the_effort_changes_no_faster_than_its_rate(tmp_path: Path) -> None:
    machine = with_motors(tmp_path, "max_torque_rate_N_m_s: 500")
    acted = pushed(machine, [[2.0, -2.0]] * 5)
    np.testing.assert_allclose(acted, np.array([0.5, 1.0, 1.5, 2.0, 2.0])[:, None] * [1.0, -1.0])


def test_without_lag_and_rate_the_command_acts_at_once() -> None:
    acted = pushed(load("five_bar"), [[2.0, -2.0], [0.0, 1.0]])
    np.testing.assert_array_equal(acted, [[2.0, -2.0], [0.0, 1.0]])


@pytest.mark.parametrize("hertz", [30.0, 80.0, 200.0])
def test_the_controllers_drives_are_the_plants(tmp_path: Path, hertz: float) -> None:
    machine = with_motors(tmp_path, f"bandwidth_Hz: {hertz:g}")
    drives = MotorLag(machine.motors, 1e-3)
    simulator = Simulator(machine)
    for effort in np.random.default_rng(5).normal(size=(20, 2)):
        simulator.latch(Mode.EFFORT, effort)
        simulator.integrate()
        drives.deliver(effort)
        np.testing.assert_allclose(drives.mean, simulator.measured.effort, rtol=1e-13)


def worst_error(machine: Machine, plant: Machine | None = None) -> float:
    """Of a planned move of the five-bar, in rad."""
    rig = InProcess(machine)
    if plant is not None:
        rig.simulator = Simulator(plant)
    rig.enable()
    move(rig, {"left": 1.9, "right": 1.2})
    worst = 0.0
    ends = (GoalStatus.SUCCEEDED, GoalStatus.ENDED)
    for sample in rig.until(lambda sample: sample["goal_status"] in ends):
        moving = np.isfinite(sample["reference"])
        worst = max(worst, float(np.abs((sample["reference"] - sample["coordinate"])[moving]).max()))
    return worst


def test_the_command_makes_up_for_the_lag(tmp_path: Path) -> None:
    machine = with_motors(tmp_path, "bandwidth_Hz: 80")
    ignorant = replace(machine, motors=tuple(one.with_values(bandwidth=np.inf) for one in machine.motors))
    known, unknown = worst_error(machine), worst_error(ignorant, machine)
    assert known < 0.2 * unknown
    assert known < 1e-3


def test_friction_gear_and_rotor_are_the_models_too(tmp_path: Path) -> None:
    machine = with_motors(
        tmp_path, "viscous_N_m_s: 0.3, coulomb_N_m: 0.2, gear: 10, rotor_inertia_kg_m2: 2.0e-5"
    )
    bare = load("five_bar")
    rotor = machine.mechanism.joints[0].armature - bare.mechanism.joints[0].armature
    assert rotor == pytest.approx(100 * 2e-5)
    assert worst_error(machine) < 3e-4
    assert worst_error(bare, machine) > 10 * worst_error(machine)
