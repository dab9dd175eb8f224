"""The estimate of the motors' temperatures outlasts the loop and the controller."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from linkwork import Robot
from linkwork.launch.daemons import Rig
from tests.heat_machine import heat_text
from tests.waiting import wait_for

SLOW = "continuous_torque_N_m: 2, thermal_time_s: 600, max_temperature_degC: 105, ambient_degC: 25"
_PATIENT = "controller: {loss_limit: 1000, loss_ratio_per_s: 1.0}\nplant: {command_timeout_periods: 400}\n"
NAME = "kept_pendulum"


def start(folder: Path, pace: str) -> Rig:
    path = folder / "machine.yaml"
    path.write_text(heat_text(SLOW, name=NAME) + _PATIENT)
    words = [str(path), "--realtime", "ignore"]
    return Rig(NAME, words, [*words, "--pace", pace, "--no-log"], folder)


def winding(robot: Robot) -> float:
    state: Any = robot.state
    return float(state["heat"]["hinge"]["winding_degC"]) if state["heat"] else 25.0


@pytest.mark.slow
def test_an_estimate_is_continued_and_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    kept = folder / "linkwork" / "temperatures" / f"{NAME}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    ago_s = 300
    motors = {"hinge": {"winding_degC": 95.0, "body_degC": 95.0}}
    kept.write_text(json.dumps({"unix_ns": time.time_ns() - ago_s * 10**9, "motors": motors}))
    with start(folder, "device") as rig:
        rig.wait_ready(lambda _: None)
        with Robot(endpoint=rig.requests) as robot:
            wait_for(lambda: winding(robot) > 30.0, "the continued estimate")
            assert winding(robot) == pytest.approx(25.0 + 70.0 * 2.718281828 ** (-ago_s / 600.0), abs=2.0)
            status: Any = robot.status
            os.kill(status["loop_pid"], signal.SIGKILL)
            wait_for(lambda: robot.status["loops_started"] == 2 and winding(robot) > 30.0, "the next loop")
            assert winding(robot) == pytest.approx(25.0 + 70.0 * 2.718281828 ** (-ago_s / 600.0), abs=2.0)
    said = json.loads(kept.read_text())
    assert time.time_ns() - said["unix_ns"] < 60 * 10**9
    assert said["motors"]["hinge"]["winding_degC"] == pytest.approx(67.0, abs=3.0)


@pytest.mark.slow
def test_in_lockstep_nothing_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    kept = folder / "linkwork" / "temperatures" / f"{NAME}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    motors = {"hinge": {"winding_degC": 95.0, "body_degC": 95.0}}
    kept.write_text(json.dumps({"unix_ns": time.time_ns(), "motors": motors}))
    with start(folder, "lockstep") as rig:
        rig.wait_ready(lambda _: None)
        with Robot(endpoint=rig.requests) as robot:
            robot.enable()
            assert winding(robot) == pytest.approx(25.0, abs=0.5)
            robot.disable()
