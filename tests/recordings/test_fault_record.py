"""A flight record of a joint that becomes too fast: what is said, drawn and saved."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.cli.fault_commands import text_chart, time_axis
from linkwork.controller.gateway.records.flight_record import FlightRecorder
from linkwork.controller.gateway.records.log_segment import LogSource
from linkwork.controller.gateway.records.messages import Messages
from linkwork.machine import load
from linkwork.recordings.fault_record import FaultRecord, fault_record
from linkwork.recordings.recording import read_recording
from tests.command import linkwork
from tests.controller.loop.in_process import InProcess

SCARA = load("scara")


@pytest.fixture(scope="module")
def flight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Written by the gateway's own recorder, from ticks in which the shoulder's goal is too fast."""
    run = InProcess(SCARA)
    run.enable()
    run.send(*run.swing(amplitude=1.6, seconds=1.0), path=1.0)
    samples = run.until(lambda sample: sample["fault"] != 0)
    samples += run.run(0.1)
    fault = dict(Messages(SCARA).fault(samples[-1].record))
    state = tmp_path_factory.mktemp("state")
    metadata = {"machine": "scara", "law": SCARA.controller.law}
    source = LogSource(run.layout, False, SCARA.source_text, metadata)
    recorder = FlightRecorder(state / "linkwork" / "logs", "scara", "20260101-120000", source)
    words: Any = np.frombuffer(b"".join(sample.record.tobytes() for sample in samples), np.float64)
    recorder.begin(fault["tick"], words.reshape(len(samples), -1), fault)
    recorder.finish()
    return recorder.path_for(fault["tick"])


def record_of(flight: Path, before_s: float = 1.0, names: tuple[str, ...] = ()) -> FaultRecord:
    return fault_record(read_recording(flight), SCARA, before_s, 0.05, names)


def test_what_happened_is_told_in_order_with_the_crossings(flight: Path) -> None:
    found = record_of(flight)
    assert (found.fault["name"], found.fault["where"]) == ("VELOCITY_LIMIT", "shoulder")
    texts = [each.text for each in found.happenings]
    crossing = next(each for each in found.happenings if each.text == "speed of shoulder exceeds 2 rad/s")
    assert crossing.time_s < 0.0
    at_once = [each.text for each in found.happenings if each.time_s == 0.0]
    assert any(text.startswith("FAULT VELOCITY_LIMIT") for text in at_once)
    assert "state active → fault" in at_once
    assert [each.tick for each in found.happenings] == sorted(each.tick for each in found.happenings)
    assert not any("lost" in text for text in texts)


def test_the_panels_are_those_of_the_joint_at_fault(flight: Path) -> None:
    found = record_of(flight)
    assert [panel.title for panel in found.panels] == [
        "shoulder / rad",
        "velocity of shoulder / rad/s",
        "effort of shoulder / N m",
    ]
    assert found.panels[1].limits == (-2.0, 2.0)
    assert np.abs(found.panels[1].curves["velocity"]).max() > 2.0
    assert (found.time_s[0] >= -1.0, found.time_s[-1]) == (True, pytest.approx(0.05))
    short = record_of(flight, 0.1, ("effort.elbow",))
    assert ([panel.title for panel in short.panels], len(short.time_s)) == (["effort.elbow / N m"], 151)
    with pytest.raises(ValueError, match="effrot"):
        record_of(flight, names=("effrot",))


def test_the_command_draws_it_without_a_controller(flight: Path, tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(flight.parents[2]), "LINKWORK_RUNTIME_DIR": str(tmp_path)}
    picture = tmp_path / "fault.png"
    for which in ("1", str(flight)):
        ran = linkwork("faults", "show", which, "--save", str(picture), columns=90, env=env)
        assert ran.returncode == 0, ran.stderr
        lines = ran.stdout.splitlines()
        assert lines[0].startswith("scara: VELOCITY_LIMIT")
        assert "velocity of shoulder / °/s      * velocity   - limit   | fault" in lines
        assert any(line.endswith("speed of shoulder exceeds 114.592 °/s") for line in lines)
        assert "rad" not in ran.stdout
        assert picture.read_bytes().startswith(b"\x89PNG")
    told = json.loads(linkwork("faults", "show", "1", "--json", env=env).stdout)
    assert told["fault"]["where"] == "shoulder"
    assert "speed of shoulder exceeds 2 rad/s" in [each["text"] for each in told["events"]]
    assert "values" not in told["signals"]["velocity of shoulder / rad/s"]
    told = json.loads(linkwork("faults", "show", "1", "--json", "--points", "50", env=env).stdout)
    curves = told["signals"]["velocity of shoulder / rad/s"]
    assert len(curves["time_s"]) == len(curves["values"]["velocity"]) == 50
    assert max(curves["values"]["velocity"]) == pytest.approx(
        record_of(flight, 1.0).panels[1].curves["velocity"].max(), rel=0.05
    )


def test_units_are_chosen_in_the_environment(flight: Path) -> None:
    command = [sys.executable, "-m", "linkwork", "faults", "show", str(flight)]
    ran = subprocess.run(command, env=os.environ | {"LINKWORK_UNITS": "si"}, capture_output=True, text=True)
    assert "velocity of shoulder / rad/s" in ran.stdout
    assert "speed of shoulder exceeds 2 rad/s" in ran.stdout
    ran = subprocess.run(command, env=os.environ | {"LINKWORK_UNITS": "deg"}, capture_output=True, text=True)
    assert (ran.returncode, "allowed: deg_mm, si" in ran.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (["show", "2"], 2, "holds 1 flight records"),
        (["show", "0"], 2, "give the file of one"),
        (["show", "nothing.mcap"], 2, "cannot be read"),
        (["show", "1", "--robot", "arm"], 2, "holds 0 flight records"),
        (["show", "1", "--signal", "effrot"], 2, "effrot"),
        ([], 4, "linkwork up"),
    ],
)
def test_mistakes(words: list[str], status: int, text: str, flight: Path, tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(flight.parents[2]), "LINKWORK_RUNTIME_DIR": str(tmp_path)}
    ran = linkwork("faults", *words, env=env)
    assert (ran.returncode, text in ran.stderr) == (status, True), ran.stderr


def test_a_chart_keeps_peaks_and_draws_limits_that_are_near() -> None:
    time_s = np.linspace(-1.0, 1.0, 10_001)
    spike = np.zeros_like(time_s)
    spike[2_000] = 1.0  # one of some hundred samples of its column
    lines = text_chart(time_s, {"a": spike}, limits=(1.5, 50.0), moment_s=0.0, width=72, height=5)
    assert len(lines) == 5
    assert max(map(len, lines)) <= 72
    assert lines[0].count("-") > 50
    assert [line.count("*") for line in lines][1:4] == [1, 1, 1]
    assert all("|" in line for line in lines[1:4])
    assert float(lines[0].split()[0]) == 1.5
    assert time_axis(-1.0, 1.0, 72).split() == ["-1.000", "s", "+1.000", "s"]


def test_a_chart_of_constants_and_of_no_numbers() -> None:
    time_s = np.arange(3.0)
    flat = text_chart(time_s, {"a": np.zeros(3)}, height=3)
    assert "*" in flat[1]
    assert text_chart(time_s, {"a": np.full(3, np.nan)})[0].endswith("no numbers")
