"""FMUs of machines, run by fmpy, against the simulation and the plant whose kernels they contain."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy.fmi2 import FMU2Slave
from fmpy.fmi3 import FMU3Slave
from fmpy.validation import validate_fmu

from linkwork.fmu.fmu_export import write_fmu
from linkwork.machine import load
from linkwork.offline.run import simulate
from linkwork.offline.start_state import StartState
from linkwork.plant.simulator.plant_state import BRAKE, EFFORTS
from linkwork.plant.simulator.simulator import Simulator
from tests.command import linkwork

EFFORTS_OF = {
    "slider_crank": {"crank": 12.0},
    "five_bar": {"left": 0.3, "right": -0.2},
    "platform_3rrs": {"motor_1": 1.0, "motor_2": 2.0, "motor_3": -1.0},
}


@dataclass
class RunningFmu:
    """An instance of an FMU, in step mode, by the names of its variables."""

    path: Path
    start: dict = field(default_factory=dict)

    def __post_init__(self):
        self.about = fmpy.read_model_description(str(self.path))
        self.variables = {each.name: each for each in self.about.modelVariables}
        self.is_3 = self.about.fmiVersion == "3.0"
        self.log = []
        self.unit = (FMU3Slave if self.is_3 else FMU2Slave)(
            guid=self.about.guid,
            unzipDirectory=fmpy.extract(str(self.path)),
            modelIdentifier=self.about.coSimulation.modelIdentifier,
            instanceName="machine",
        )
        if self.is_3:
            self.unit.instantiate(logMessage=lambda *args: self.log.append(args[-1].decode()))
            self.unit.enterInitializationMode(startTime=0.0)
        else:
            self.unit.instantiate()
            self.unit.setupExperiment(startTime=0.0)
            self.unit.enterInitializationMode()
        for name, value in self.start.items():
            self[name] = value
        self.unit.exitInitializationMode()
        self.time = 0.0

    def __setitem__(self, name, value):
        number = [self.variables[name].valueReference]
        if self.variables[name].type == "Boolean":
            self.unit.setBoolean(number, [value])
        else:
            (self.unit.setFloat64 if self.is_3 else self.unit.setReal)(number, [value])

    def __getitem__(self, name):
        number = [self.variables[name].valueReference]
        return (self.unit.getFloat64 if self.is_3 else self.unit.getReal)(number)[0]

    def step(self, length, count=1):
        for _ in range(count):
            self.unit.doStep(self.time, length)
            self.time += length

    def state(self, machine):
        """[q, v]."""
        mechanism = machine.plant_mechanism
        q = [self[f"position.{name}"] for name in mechanism.position_names]
        return np.array(q + [self[f"velocity.{name}"] for name in mechanism.joint_names])

    def close(self):
        self.unit.terminate()
        self.unit.freeInstance()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the path of a machine's FMU, written once."""
    folder, made = tmp_path_factory.mktemp("fmu"), {}

    def write(name, version="3"):
        if (name, version) not in made:
            path = made[name, version] = folder / f"{Path(name).stem}{version}.fmu"
            write_fmu(load(name), path, version)
        return made[name, version]

    return write


def last(motion):
    return np.concatenate([motion.q[-1], motion.v[-1]])


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("slider_crank", "3"),
        ("five_bar", "3"),
        ("platform_3rrs", "3"),
        *(
            pytest.param(name, "2", marks=pytest.mark.slow)
            for name in ("slider_crank", "five_bar", "platform_3rrs")
        ),
    ],
)
def test_equals_simulate(written, name, version):
    machine, path = load(name), written(name, version)
    assert validate_fmu(str(path)) == []
    motion = simulate(machine, 2.0, effort=EFFORTS_OF[name])
    assert name != "slider_crank" or motion.balance.singular_passages >= 2
    outputs = [f"position.{each}" for each in machine.plant_mechanism.position_names]
    outputs += [f"velocity.{each}" for each in machine.plant_mechanism.joint_names]
    found = fmpy.simulate_fmu(
        str(path),
        stop_time=2.0,
        step_size=machine.period_s,
        output_interval=machine.period_s,
        start_values={f"effort.{motor}": value for motor, value in EFFORTS_OF[name].items()},
        output=outputs,
    )
    states = np.array([[row[each] for each in outputs] for row in found])
    np.testing.assert_array_equal(states, np.hstack([motion.q, motion.v])[:: machine.plant.substeps])


def test_two_instances_at_once_do_not_touch_each_other(written):
    path = written("slider_crank")
    alone, first, second = RunningFmu(path), RunningFmu(path), RunningFmu(path)
    first["effort.crank"], second["effort.crank"] = 12.0, -3.0
    alone["effort.crank"] = 12.0
    for _ in range(200):
        first.step(1e-3)
        second.step(1e-3)
    alone.step(1e-3, 200)
    assert first["position.crank"] == alone["position.crank"] != second["position.crank"]
    for unit in (alone, first, second):
        unit.close()


@pytest.mark.parametrize("version", ["3", pytest.param("2", marks=pytest.mark.slow)])
def test_states_are_kept_restored_and_serialized(written, version):
    machine, path = load("slider_crank"), written("slider_crank", version)
    unit = RunningFmu(path, {"effort.crank": 12.0})
    unit.step(1e-3, 300)
    kept, at = unit.unit.getFMUState(), unit.time
    data = unit.unit.serializeFMUState(kept)
    unit.step(1e-3, 300)
    end = unit.state(machine)
    unit.unit.setFMUState(kept)
    unit.time = at
    unit.step(1e-3, 300)
    np.testing.assert_array_equal(unit.state(machine), end)
    other = RunningFmu(path)
    other.unit.setFMUState(other.unit.deserializeFMUState(data))
    other.time = at
    other.step(1e-3, 300)
    np.testing.assert_array_equal(other.state(machine), end)
    with pytest.raises(Exception, match="failed with status 3"):
        other.unit.deserializeFMUState(b"x" * len(data))
    unit.unit.freeFMUState(kept)
    unit.close()
    other.close()


@pytest.mark.slow
def test_parameters_act_as_settings_of_the_plant(written):
    settings = ["bodies.rod.mass_kg=1.7", "gravity_m_s2[1]=-3.0", "bodies.crank.com_m[0]=0.8"]
    machine = load("slider_crank", settings)
    unit = RunningFmu(
        written("slider_crank"), {"body.rod.mass": 1.7, "gravity.y": -3.0, "body.crank.com.x": 0.8}
    )
    unit.step(0.05, 10)
    np.testing.assert_array_equal(unit.state(machine), last(simulate(machine, 0.5)))
    unit.close()


def test_start_values_are_kept_and_the_other_joints_follow(written):
    machine = load("five_bar")
    start = StartState({"left": 2.3, "right": 0.6}, {"left": 0.5, "right": -1.0})
    unit = RunningFmu(
        written("five_bar"),
        {"position.left": 2.3, "position.right": 0.6, "velocity.left": 0.5, "velocity.right": -1.0},
    )
    motion = simulate(machine, 0.5, initial=start)
    np.testing.assert_allclose(unit.state(machine), [*motion.q[0], *motion.v[0]], rtol=0, atol=1e-11)
    unit.step(1e-3, 500)
    np.testing.assert_allclose(unit.state(machine), last(motion), rtol=0, atol=1e-9)
    unit.close()


def test_start_values_that_the_constraints_do_not_allow_are_refused(written):
    with pytest.raises(Exception, match="failed with status 3"):
        RunningFmu(written("five_bar"), {"position.left": 3.1, "position.right": -0.9})


def test_steps_of_any_length_and_outputs_of_coordinates(written):
    machine = load("five_bar")
    unit = RunningFmu(written("five_bar"), {"effort.left": 0.3})
    unit.step(0.0123, 7)
    motion = simulate(machine, 7 * 0.0123, effort={"left": 0.3}, track=["tool"])
    np.testing.assert_allclose(unit.state(machine), last(motion), rtol=0, atol=1e-8)
    place = [unit["coordinate.x"], unit["coordinate.y"], unit["rate.x"], unit["rate.y"]]
    points = motion.points
    expected = [*points.position_m[-1, 0, :2], *points.velocity_m_s[-1, 0, :2]]
    np.testing.assert_allclose(place, expected, rtol=0, atol=1e-7)
    assert unit["acting_effort.left"] == 0.3
    unit.close()


LAGGED = """name: lagged
bodies: {arm: {mass_kg: 1, com_m: [0.3, 0, 0], inertia_kg_m2: [0.001, 0.02, 0.02, 0, 0, 0]}}
joints: {arm: {type: revolute, parent: world, child: arm, axis: [0, 1, 0]}}
motors:
  arm:
    {max_torque_N_m: 6, max_speed_rad_s: 50, brake_torque_N_m: 9, max_torque_rate_N_m_s: 40, bandwidth_Hz: 20}
sensors: {arm: {position: {}}}
plant: {substeps: 1}
"""


def test_brakes_and_drives_are_those_of_the_plant(written, tmp_path):
    path = tmp_path / "lagged.yaml"
    path.write_text(LAGGED)
    machine = load(str(path))
    plant, unit = Simulator(machine), RunningFmu(written(str(path)), {"drives": True, "effort.arm": 9.0})
    for mode, effort, periods in ((EFFORTS, 9.0, 300), (BRAKE, 0.0, 500), (EFFORTS, -2.0, 100)):
        plant.latch(mode, np.array([effort]))
        plant.integrate(periods)
        unit["effort.arm"], unit["brake"] = effort, mode == BRAKE
        unit.step(machine.period_s, periods)
        np.testing.assert_allclose(unit.state(machine), [*plant.q, *plant.v], rtol=0, atol=1e-12)
        assert mode != BRAKE or plant.v[0] == unit["velocity.arm"] == 0.0
    unit.close()


def test_what_may_not_be_set_is_refused_in_words(written):
    unit = RunningFmu(written("slider_crank"))
    unit.step(1e-3)
    for name, value, text in (
        ("coordinate.slider", 1.0, "is an output"),
        ("position.crank", 1.0, "before the first step"),
        ("body.rod.mass", -1.0, "not be negative"),
        ("effort.crank", np.nan, "not finite"),
    ):
        with pytest.raises(Exception, match="failed with status 3"):
            unit[name] = value
        assert text in unit.log[-1]
    unit.time = 5.0
    with pytest.raises(Exception, match="failed with status 3"):
        unit.step(1e-3)
    assert unit.log[-1] == "the step begins at 5 s, but the machine is at 0.001 s"
    unit.close()


@pytest.mark.slow
def test_sources_rebuild_to_the_same_binary_and_name_no_python(written, tmp_path):
    path = written("five_bar")
    folder = Path(fmpy.extract(str(path), str(tmp_path / "unit")))
    text = "".join(each.read_text() for each in (folder / "sources").glob("*.[ch]"))
    assert "Py_" not in text
    assert "PyFloat" not in text
    again = tmp_path / "again.fmu"
    write_fmu(load("five_bar"), again, "3")
    assert again.read_bytes() == path.read_bytes()


def test_command(tmp_path):
    path = tmp_path / "crank.fmu"
    done = linkwork("codegen", "slider_crank", "--fmu", str(path), "--fmi", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["fmu"] == str(path)
    assert fmpy.read_model_description(str(path)).fmiVersion == "2.0"
    for arguments, text in (
        ((), "choose one of --out DIR"),
        (("--fmu", "a.fmu", "--out", "b"), "choose one of --out DIR"),
        (("--fmu", "a.zip"), "must end in .fmu"),
        (("--fmu", "a.fmu", "--float"), "an FMU computes in doubles"),
        (("--fmu", str(tmp_path / "no" / "a.fmu")), "cannot be written"),
    ):
        refused = linkwork("codegen", "slider_crank", *arguments)
        assert refused.returncode == 2
        assert text in refused.stderr
