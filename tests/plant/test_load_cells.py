"""Load cells of the simulated plant: what constraints bear, in motion and under brakes."""

from pathlib import Path

import numpy as np
import pytest

from linkwork.machine import Machine, MachineError, load
from linkwork.machine.catalogue import shipped_path
from linkwork.multibody.dynamics.constrained_dynamics import projected
from linkwork.plant.simulator.plant_state import EFFORTS
from linkwork.plant.simulator.simulator import Simulator
from linkwork.protocol.codes import Mode

CELL = "force_sensors:\n  cell: {%s}\n\n"


def with_cell(folder: Path, name: str, words: str, *plant_set: str) -> Machine:
    """A machine that ships, with a load cell."""
    text = shipped_path(name).read_text(encoding="utf-8")
    path = folder / f"{name}.yaml"
    path.write_text(text.replace("\nmotors:", f"\n{CELL % words}motors:", 1), encoding="utf-8")
    return load(path, plant_set)


def test_a_cell_in_motion_reads_the_multipliers_under_the_efforts_of_the_period(tmp_path: Path) -> None:
    machine = with_cell(tmp_path, "five_bar", "constraint: tip")
    (sensor,) = machine.force_sensors
    assert (sensor.components, sensor.unit, sensor.axes) == (("x", "y", "z"), "N", "constraint")
    assert machine.interface()["force_sensors"] == [
        {"name": "cell", "unit": "N", "frame": "constraint", "components": ["x", "y", "z"]}
    ]
    plant, truth = Simulator(machine), machine.workspace()
    plain = Simulator(load("five_bar"))
    for effort in ([0.5, -0.2], [0.1, 0.3], [-0.4, 0.2]):
        for each in (plant, plain):
            each.latch(Mode.EFFORT, np.array(effort))
            each.integrate(10)
        truth.q[:], truth.v[:], truth.effort[:] = plant.q, plant.v, plant.joint_effort
        projected(*truth.arguments)
        np.testing.assert_allclose(plant.measured.force, truth.multipliers[list(sensor.rows)], atol=1e-9)
        assert np.abs(plant.measured.force).max() > 0.1
    assert plant.q.tobytes() == plain.q.tobytes(), "a sensor changes nothing"
    assert plant.mode == EFFORTS


def test_under_brakes_it_reads_what_holds_the_machine_up(tmp_path: Path) -> None:
    """The point mass at the rod's end is held by the guide alone, as the rod may turn about the knee."""
    plant = Simulator(with_cell(tmp_path, "slider_crank", "constraint: guide"))
    np.testing.assert_array_equal(plant.measured.force, [0.0])
    plant.integrate(5)
    assert plant.resting
    np.testing.assert_allclose(plant.measured.force, [9.81], rtol=1e-9)


def test_steps_noise_and_torques(tmp_path: Path) -> None:
    machine = with_cell(
        tmp_path, "five_bar", "constraint: tip, measures: torque, resolution_N_m: 0.25, noise_N_m: 0.1"
    )
    (sensor,) = machine.force_sensors
    assert sensor.unit == "N m"
    assert [machine.mechanism.row_names[row] for row in sensor.rows] == [
        f"tip.{one}" for one in sensor.components
    ]
    assert (sensor.resolution, sensor.noise) == (0.25, 0.1)
    plant = Simulator(machine)
    plant.integrate(3)
    np.testing.assert_allclose(plant.measured.force % 0.25, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "words", "text"),
    [
        ("five_bar", "constraint: tap", "did you mean|unknown|no constraint"),
        ("five_bar", "constraint: tip, frame: body", "of a constraint has no frame"),
        ("five_bar", "constraint: tip, noise_N_m: 1", "of forces has no noise_N_m"),
        ("five_bar", "measures: force", "measures one thing"),
        ("slider_crank", "constraint: guide, measures: torque", "has no torque"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, name: str, words: str, text: str) -> None:
    with pytest.raises(MachineError, match=text):
        with_cell(tmp_path, name, words)
