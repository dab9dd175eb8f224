"""FMUs of others in place of motors: a motor written in C against its equations, and what is refused."""

import json
import platform
import shutil
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from linkwork import Robot
from linkwork.fmu.fmu_export import write_fmu
from linkwork.fmu.fmu_plant import FmuSimulator
from linkwork.launch.daemons import Rig
from linkwork.machine import MachineError, load
from linkwork.plant.simulator.plant_state import EFFORTS
from tests.command import linkwork

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None or platform.machine() != "x86_64", reason="needs a C compiler, and linux64"
)
DESCRIPTION = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="dc_motor" guid="dc">
<CoSimulation modelIdentifier="dc_motor" canHandleVariableCommunicationStepSize="true"/>
<UnitDefinitions>
<Unit name="rpm"><BaseUnit s="-1" rad="1" factor="0.10471975511965977"/></Unit>
<Unit name="V"><BaseUnit kg="1" m="2" s="-3" A="-1"/></Unit>
<Unit name="N.m"><BaseUnit kg="1" m="2" s="-2"/></Unit>
</UnitDefinitions>
<ModelVariables>
<ScalarVariable name="voltage" valueReference="0" causality="input"><Real unit="V" start="0"/>
</ScalarVariable>
<ScalarVariable name="speed" valueReference="1" causality="input"><Real unit="rpm" start="0"/>
</ScalarVariable>
<ScalarVariable name="R" valueReference="3" causality="parameter" variability="fixed"><Real start="0.5"/>
</ScalarVariable>
<ScalarVariable name="current" valueReference="5" causality="output"><Real/></ScalarVariable>
<ScalarVariable name="torque" valueReference="6" causality="output"><Real unit="N.m"/></ScalarVariable>
</ModelVariables>
<ModelStructure><Outputs><Unknown index="4"/><Unknown index="5"/></Outputs></ModelStructure>
</fmiModelDescription>
"""
PENDULUM = """name: pendulum
gravity_m_s2: [0, 0, -9.81]
bodies: {arm: {mass_kg: 1, com_m: [0.3, 0, 0], inertia_kg_m2: [0.001, 0.02, 0.02, 0, 0, 0]}}
joints: {arm: {type: revolute, parent: world, child: arm, axis: [0, 1, 0]}}
motors: {arm: {max_torque_N_m: 60, max_speed_rad_s: 50}}
sensors: {arm: {position: {}}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the motor's FMU and the machine."""
    path = tmp_path_factory.mktemp("motor")
    (path / "pendulum.yaml").write_text(PENDULUM)
    source = Path(__file__).with_name("dc_motor.c")
    library = path / "dc_motor.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", library, source, "-lm"], check=True, timeout=60)
    with zipfile.ZipFile(path / "motor.fmu", "w") as archive:
        archive.writestr("modelDescription.xml", DESCRIPTION)
        archive.write(library, "binaries/linux64/dc_motor.so")
    return path


def run(folder, *words, fmu="motor.fmu"):
    return linkwork("simulate", str(folder / "pendulum.yaml"), "--fmu", f"drive={folder / fmu}", *words)


WIRED = ("--connect", "arm=drive.torque", "--connect", "drive.speed=velocity.arm")


def test_a_motor_from_outside_drives_the_machine(folder):
    def rates(t, x):
        q, v, i = x
        return [
            v,
            (0.4 * i + 0.3 * 9.81 * np.cos(q)) / (0.02 + 0.09),
            (8 * np.sin(9 * t) - 0.8 * i - 0.4 * v) / 2e-3,
        ]

    end = solve_ivp(rates, (0, 1), [0, 0, 0], "LSODA", rtol=1e-11, atol=1e-12).y[:, -1]
    errors = []
    for step in ("4e-4", "2e-4"):
        voltage = ("--connect", "drive.voltage=8*sin(9*t)", "--connect", "drive.R=0.8")
        done = run(folder, *WIRED, *voltage, "--duration", "1", "--dt", step, "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        errors.append(np.hypot(found["q"]["arm"] - end[0], found["v"]["arm"] - end[1]))
    assert errors[1] < 1e-4
    assert errors[0] > 1.8 * errors[1]


@pytest.mark.parametrize("version", ["3", pytest.param("2", marks=pytest.mark.slow)])
def test_an_fmu_of_linkwork_is_a_part_like_any_other(folder, version):
    path = folder / f"gear{version}.fmu"
    write_fmu(load(str(folder / "pendulum.yaml")), path, version)
    turning = ("--connect", "arm=drive.acting_effort.arm", "--connect", "drive.effort.arm=3*t")
    done = run(folder, *turning, "--duration", "0.5", "--json", fmu=path.name)
    assert done.returncode == 0, done.stderr
    alone = linkwork(
        "simulate",
        str(folder / "pendulum.yaml"),
        "--effort",
        "arm=3*(t-0.0005)",
        "--duration",
        "0.5",
        "--json",
    )
    found, expected = (json.loads(each.stdout)["q"]["arm"] for each in (done, alone))
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--connect", "drive.speed=velocity.arm"), "no motor is connected"),
        (("--connect", "arm=drive.torqe"), "write torque"),
        (("--connect", "arm=drive.current", "--effort", "arm=1"), "is given twice"),
        (("--connect", "arm=drive.torque", "--connect", "arm=drive.torque"), "is given twice"),
        (
            (*WIRED, "--connect", "drive.speed=position.arm"),
            "is in rpm, and cannot be connected with a value in rad",
        ),
        ((*WIRED, "--connect", "drive.voltage=velocity.elbow"), "there is no joint 'elbow'; available: arm"),
        ((*WIRED, "--connect", "drive.voltage=2*q"), "functions of t"),
        ((*WIRED, "--connect", "leg=3"), "no motor and no FMU 'leg'"),
        ((*WIRED, "--connect", "voltage"), "write TARGET=SOURCE"),
        ((*WIRED, "--connect", "drive.R=-1"), "fmi2ExitInitializationMode failed"),
        ((*WIRED, "--accuracy", "1e-6"), "FMUs do not allow"),
        (("--fmu", "drive=other.fmu"), "drive is given twice"),
        (("--fmu", "x.fmu"), "write NAME=FILE.fmu"),
        (("--fmu", "other=no.fmu"), "(no.fmu) is not a file"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(folder, words, text):
    done = run(folder, *words, "--duration", "0.1")
    assert done.returncode == 2
    assert text in " ".join(done.stderr.split())


def test_files_that_cannot_be_run_are_refused(folder):
    (folder / "text.fmu").write_text("no archive")
    with zipfile.ZipFile(folder / "windows.fmu", "w") as archive:
        archive.writestr("modelDescription.xml", DESCRIPTION)
        archive.writestr("binaries/win64/dc_motor.dll", "")
    for name, text in (
        ("text.fmu", "cannot be read"),
        ("windows.fmu", "no binary for linux64; it has win64"),
    ):
        done = run(folder, *WIRED, "--duration", "0.1", fmu=name)
        assert done.returncode == 2
        assert text in " ".join(done.stderr.split())
    alone = linkwork("simulate", "scara", "--duration", "1", "--connect", "a=b")
    assert (alone.returncode, "add --fmu" in alone.stderr) == (2, True)


def named_in_the_file(folder, name, *connections, fmu="motor.fmu"):
    """A machine file that names an FMU."""
    path = folder / f"{name}.yaml"
    path.write_text(f"{PENDULUM}plant: {{fmus: {{drive: {fmu}}}, connect: {json.dumps(connections)}}}\n")
    return path


def test_the_plant_daemons_machine_has_the_motor_that_the_file_names(folder):
    wired = ("arm=drive.torque", "drive.speed=velocity.arm", "drive.voltage=8*sin(9*t)")
    path = named_in_the_file(folder, "named", *wired)
    alone = linkwork("simulate", str(path), "--duration", "0.3", "--json")
    assert alone.returncode == 0, alone.stderr
    simulator = FmuSimulator(load(str(path)))
    for _ in range(300):
        simulator.latch(EFFORTS, np.zeros(1))
        simulator.sense()
        simulator.integrate()
    assert simulator.q[0] == pytest.approx(json.loads(alone.stdout)["q"]["arm"], abs=1e-9)
    assert simulator.measured.effort[0] != 0.0
    simulator.close()


@pytest.mark.parametrize(
    ("connections", "fmu", "text"),
    [
        (("arm=drive.torque",), "none.fmu", "is not a file"),
        (("arm=drive.torque", "drive.voltage=effort.arm"), "motor.fmu", "cannot be connected with a value"),
        (("arm=drive.torque", "drive.voltage=effort.leg"), "motor.fmu", "there is no motor 'leg'"),
    ],
)
def test_an_fmu_that_cannot_be_a_motor_is_refused_with_its_place_in_the_file(folder, connections, fmu, text):
    path = named_in_the_file(folder, "wrong", *connections, fmu=fmu)
    with pytest.raises(MachineError, match=text) as refused:
        FmuSimulator(load(str(path)))
    assert f"{path.name}:" in str(refused.value)


@pytest.mark.slow
def test_a_controller_moves_a_machine_whose_motor_is_an_fmu(folder, tmp_path):
    write_fmu(load(str(folder / "pendulum.yaml")), folder / "torque.fmu", "3")
    wired = ("arm=drive.acting_effort.arm", "drive.effort.arm=effort.arm")
    path = named_in_the_file(folder, "moved", *wired, fmu="torque.fmu")
    braked = "max_speed_rad_s: 5, brake_torque_N_m: 20"
    path.write_text(path.read_text().replace("max_speed_rad_s: 50", braked))
    pace = ["--realtime", "ignore", "--pace", "lockstep"]
    with Rig("pendulum", [str(path), *pace], [str(path), *pace, "--log", str(tmp_path)], tmp_path) as rig:
        rig.wait_ready(lambda _: None)
        with Robot(endpoint=rig.requests) as robot:
            robot.enable()
            robot.move(arm=0.4)
            assert robot.state["q"]["arm"] == pytest.approx(0.4, abs=2e-3)
