"""Inputs of the simulated machine follow its true state: conditions, expressions, ranges, mistakes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.exchange.orders import SetOutputs
from linkwork.machine import Machine, MachineError, load
from linkwork.plant.simulator.simulator import Simulator
from tests.controller.loop.in_process import InProcess
from tests.signal_machine import write_signal_machine

PRESENT, PRESSURE = "part_present: {type: digital, direction: input}", "range: [0, 10], initial: 1}"


def simulated(folder: Path, present: str, pressure: str = "0") -> Machine:
    path = write_signal_machine(folder)
    text = path.read_text()
    assert PRESENT in text
    assert PRESSURE in text
    text = text.replace(PRESENT, f'part_present: {{type: digital, direction: input, simulated: "{present}"}}')
    path.write_text(text.replace(PRESSURE, f'range: [0, 10], simulated: "{pressure}"}}'))
    return load(path)


@pytest.mark.parametrize("place", ["z", "tool.z"])
def test_a_detector_answers_in_the_tick_of_the_gripper(tmp_path: Path, place: str) -> None:
    run = InProcess(simulated(tmp_path, f"gripper and {place} < 0.1", "1 + 20 * gripper * flow"))
    assert run.tick()["input"].tolist() == [0.0, 1.0]
    run.order(SetOutputs(((0, 1.0),)))
    assert run.tick()["input"].tolist() == [1.0, 10.0], "within the range of the signal"
    run.order(SetOutputs(((2, 0.25),)))
    assert run.tick()["input"].tolist() == [1.0, 6.0]
    run.enable()
    knots = np.linspace(0.0, 1.0, 51)
    values = np.zeros((51, 3, 4))
    values[:, 0, :] = run.simulator.q
    x = knots
    values[:, 0, 3] += 0.2 * (10 * x**3 - 15 * x**4 + 6 * x**5)
    values[:, 1, 3] = 0.2 * (30 * x**2 - 60 * x**3 + 30 * x**4)
    values[:, 2, 3] = 0.2 * (60 * x - 180 * x**2 + 120 * x**3)
    run.send(np.arange(4), knots, values)
    for sample in run.run(1.2):
        height = sample["q_measured"][3]
        assert sample["input"][0] == float(height < 0.1)
    assert sample["input"][0] == 0.0


def test_the_motion_is_the_same_with_and_without_them(tmp_path: Path) -> None:
    ways = []
    for machine in (simulated(tmp_path, "z < 0.1", "abs(lift.velocity)"), load("scara")):
        plant = Simulator(machine)
        plant.latch(2, np.array([5.0, -3.0, 1.0, 6.0]))
        plant.integrate(200)
        ways.append(plant.q.copy())
    assert ways[0].tobytes() == ways[1].tobytes()


@pytest.mark.parametrize(
    ("present", "says"),
    [
        ("zz < 0.1", "no quantity has this name"),
        ("z", "a comparison is missing"),
        ("pressure = on", "this is no digital signal"),
        ("pressure = 5", "never exactly equal"),
        ("t > 3", "write time_s"),
        ("z < 0.1 and (gripper", "not closed"),
    ],
)
def test_mistakes_are_placed(tmp_path: Path, present: str, says: str) -> None:
    with pytest.raises(MachineError, match=says) as refused:
        simulated(tmp_path, present)
    problem = refused.value.problems[0]
    assert problem.key == "signals.part_present.simulated"
    assert problem.line is not None


def test_an_output_is_not_simulated(tmp_path: Path) -> None:
    path = write_signal_machine(tmp_path)
    path.write_text(path.read_text().replace("on_disable: off}", "simulated: z < 1}"))
    with pytest.raises(MachineError, match="the controller sets an output"):
        load(path)


def test_noise_and_delay_are_those_of_the_file(tmp_path: Path) -> None:
    machine = simulated(tmp_path, "gripper", "5 + gripper")
    path = Path(machine.path)
    text = path.read_text().replace('simulated: "gripper"', 'simulated: "gripper", delay_s: 0.004')
    path.write_text(text.replace('simulated: "5 + gripper"', 'simulated: "5 + gripper", noise: 0.05'))
    noisy = load(path)
    runs = []
    for seed in (1, 1, 2):
        plant = Simulator(noisy, seed)
        seen = [plant.measured.inputs.copy()]
        for tick in range(1, 400):
            plant.integrate()
            if tick == 10:
                plant.set_outputs(np.array([1.0, 0.0, 0.5]))
            seen.append(plant.measured.inputs.copy())
        runs.append(np.array(seen))
    assert runs[0].tobytes() == runs[1].tobytes() != runs[2].tobytes()
    assert np.flatnonzero(np.diff(runs[0][:, 0])).tolist() == [13], "in force at tick 10, seen at tick 14"
    assert np.std(runs[0][11:, 1]) == pytest.approx(0.05, rel=0.2)
    assert np.mean(runs[0][11:, 1]) == pytest.approx(6.0, abs=0.02)


@pytest.mark.parametrize(
    ("pressure", "says"),
    [("noise: 0.1", "belongs to a simulated input"), ("delay_s: 0.1", "belongs to a simulated input")],
)
def test_noise_belongs_to_a_simulated_input(tmp_path: Path, pressure: str, says: str) -> None:
    path = write_signal_machine(tmp_path)
    path.write_text(path.read_text().replace("initial: 1}", f"initial: 1, {pressure}}}"))
    with pytest.raises(MachineError, match=says):
        load(path)
