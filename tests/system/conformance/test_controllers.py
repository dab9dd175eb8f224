"""Our controller and the one in C pass the same examination; one that breaks a rule does not."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from linkwork.diagnostics.conformance.exercises import ControllerExercises
from linkwork.machine import load
from linkwork.plant.drivers.findings import ExerciseVerdict
from tests.system.conformance.c_controller import SOURCES, built
from tests.system.running import linkwork_process, patient_machine

CARELESS = """
import signal, sys
import numpy as np
from linkwork.protocol.codes import Pace
from linkwork.protocol.errors import ProtocolError
from linkwork.protocol.handshake import Hello, Welcome, new_session, read_handshake
from linkwork.protocol.link import CommandCodec, StateCodec
from linkwork.protocol.sockets import DeviceClient

breach, endpoint, interface = sys.argv[1:]
session = new_session()
with DeviceClient(endpoint) as client:
    states, commands, entered = StateCodec(4, 4), CommandCodec(4), False
    state = states.message()
    while True:
        if not entered:
            if breach == "sessions":
                session = new_session()
            last = Hello(
                session=session, owner="me", interface=interface, pace=Pace.LOCKSTEP, period_s=0.001
            ).pack()
            client.writable(1000)
            client.send(last)
        data = client.receive(100)
        if data is None:
            if entered and breach != "quiet":
                client.send(last)
            continue
        try:
            states.unpack(data, state)
        except ProtocolError:
            try:
                said = read_handshake(data)
                if said.session == session:
                    entered = isinstance(said, Welcome)
            except ProtocolError:
                pass
            continue
        if state.session != session and breach != "foreign":
            continue
        mode = 2 if breach == "brave" or not state.status & 6 else 0
        effort = np.full(4, 1e3 if breach == "strong" else 1.0)
        last = commands.pack(session, state.seq, mode, effort)
        client.send(last)
"""


def examined(machine: object, tmp_path: Path, *command: str) -> dict[str, tuple[ExerciseVerdict, str]]:
    """The verdicts by exercise."""
    examination = ControllerExercises(machine, f"ipc://{tmp_path}/x.ipc", command)  # type: ignore[arg-type]
    return {found.name: (found.verdict, found.text) for found in examination.findings()}


def test_ours_passes(folder: Path, tmp_path: Path) -> None:
    path = str(patient_machine(tmp_path))
    endpoint = f"ipc://{folder}/examiner.ipc"
    ours = [sys.executable, "-m", "linkwork.controller", path, "--plant", "{endpoint}", "--no-log"]
    words = ["conformance", "controller", path, "--endpoint", endpoint, "--json", "--", *ours]
    ran = linkwork_process(folder, *words, "--realtime", "ignore", "--json")
    said = json.loads(ran.stdout.splitlines()[-1])
    failed = [each for each in said["findings"] if each["verdict"] == "failed"]
    assert (failed, said["passed"], len(said["findings"]), ran.returncode) == ([], True, 18, 0)


@pytest.mark.parametrize("pace", ["lockstep", "device"])
def test_the_one_in_c_passes(pace: str, tmp_path: Path, folder: Path) -> None:
    machine = load(patient_machine(tmp_path))
    lockstep = ["--lockstep"] if pace == "lockstep" else []
    found = examined(machine, folder, str(built()), "{endpoint}", "{interface}", *lockstep)
    assert [name for name, (verdict, _) in found.items() if verdict is ExerciseVerdict.FAILED] == []
    assert len(found) == 18


def test_the_one_in_c_is_short_enough_to_read() -> None:
    assert len((SOURCES / "controller.c").read_text().splitlines()) < 400


@pytest.mark.parametrize(
    ("breach", "exercise"),
    [
        ("sessions", "sends hello every 0.1 s until it is answered"),
        pytest.param("strong", "keeps efforts within the motors' limits", marks=pytest.mark.slow),
        pytest.param("foreign", "a state of another session changes nothing", marks=pytest.mark.slow),
        pytest.param(
            "quiet", "repeats its last message, byte for byte, after a second", marks=pytest.mark.slow
        ),
        pytest.param("brave", "brakes at safe torque off", marks=pytest.mark.slow),
        ("none", "sends bye when it ends"),
    ],
)
def test_each_breach_is_found(breach: str, exercise: str, folder: Path) -> None:
    command = [sys.executable, "-c", CARELESS, breach, "{endpoint}", "{interface}"]
    examination = ControllerExercises(load("scara"), f"ipc://{folder}/{breach}.ipc", command)
    for found in examination.findings():
        if found.name == exercise:
            assert found.verdict is ExerciseVerdict.FAILED, found
            return
        assert found.verdict is not ExerciseVerdict.FAILED, found
    raise AssertionError(f"no exercise {exercise!r}")
