"""A five-bar behind two simulated CiA 402 drives in a process of their own, over `udp_multicast`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork import GoalFailed, Robot
from linkwork.demos import demo_named
from linkwork.demos.demo import Stage
from linkwork.launch.daemons import Rig
from linkwork.machine.catalogue import shipped_path
from linkwork.recordings.log_file import read_ticks
from linkwork.recordings.log_follower import first_segment, segments_of
from tests.plant.udp_device import ROOT


class Drives:
    """The process of the simulated drives."""

    def __init__(self, process: subprocess.Popen[str], options: list[str]) -> None:
        self.process, self.options = process, options

    def say(self, line: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The five-bar at 250 Hz."""
    path = tmp_path / "five_bar.yaml"
    text = (
        shipped_path("five_bar")
        .read_text()
        .replace("\ncontroller:", "\nplant: {period_s: 0.004}\n\ncontroller:")
    )
    path.write_text(text)
    return path


def in_position_mode(machine: Path) -> None:
    """Let the drives of a machine file follow positions."""
    text = machine.read_text()
    modes = "  motors: {left: {mode: csp}, right: {mode: csp}}\n  sensors: {left: {counts_per_turn"
    assert text.count("  sensors: {left: {counts_per_turn") == 1
    machine.write_text(text.replace("  sensors: {left: {counts_per_turn", modes))


@contextmanager
def drives(machine: Path, lockstep: bool) -> Iterator[Drives]:
    port = 40000 + os.getpid() % 20000
    options = ["--driver-set", f"bus={{port: {port}}}", "--driver-set", f"lockstep={str(lockstep).lower()}"]
    urgent = ["chrt", "-f", "40"] if not lockstep and os.geteuid() == 0 else []  # as the drives' page says
    command = [*urgent, sys.executable, "-m", "linkwork", "drive", str(machine), *options, "--lifeline"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            assert "left is node 1, right is node 2" in process.stdout.readline()
            yield Drives(process, options)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(10)


@contextmanager
def running(
    machine: Path, folder: Path, name: str, *plant: str, lockstep: bool, twin: bool = False
) -> Iterator[tuple[Rig, Robot]]:
    runtime = Path(tempfile.mkdtemp(prefix=name, dir=folder))  # the folder is that of all tests here
    pace = ["--realtime", "ignore", "--pace", "lockstep"] if lockstep else []
    controller = [str(machine), *pace, "--log", str(runtime), *(["--twin"] if twin else [])]
    with Rig("five_bar", [str(machine), *pace, *plant], controller, runtime) as rig:
        rig.wait_ready(lambda _: None)
        with Robot(endpoint=rig.requests) as robot:
            yield rig, robot


def perform(robot: Robot, seconds: float) -> str:
    """Do the demo's steps, all of which must succeed; return the path of the log."""
    robot.enable()
    there = robot.state["q"] | robot.state["coordinates"]
    stage = Stage(robot, {name: there[name] for name in robot.describe()["goal_coordinates"]})
    for step in demo_named("five_bar").steps(seconds, 1.0):
        goal = step.begin(stage)
        if goal is not None:
            goal.wait()
    log = robot.status["log"]
    robot.disable()
    return str(log)


def errors(log: str) -> np.ndarray[Any, Any]:
    """Return the largest tracking error of each motor (rad) and of x and y (m)."""
    ticks = read_ticks(*segments_of(first_segment(Path(log))))
    names = ("left", "right", "x", "y")
    return np.array(
        [np.nanmax(np.abs(ticks.column("coordinate", n) - ticks.column("reference", n))) for n in names]
    )


def test_a_machine_moves_on_simulated_drives_and_names_the_drive_that_fails(
    machine: Path, folder: Path
) -> None:
    with (
        drives(machine, lockstep=True) as there,
        running(machine, folder, "drives", "--driver", "cia402", *there.options, lockstep=True) as (
            rig,
            robot,
        ),
    ):
        robot.enable()
        robot.move(left=2.05)
        assert robot.state["q"]["left"] == pytest.approx(2.05, abs=1e-3)
        goal = robot.move(left=2.3, speed=0.01, wait=False)
        there.say("emergency left")
        with pytest.raises(GoalFailed, match=r"left: drive error 2310h \(continuous over-current\)"):
            goal.wait(60.0)
        there.say("clear")
        robot.advance(50)
        robot.recover()
        robot.enable()
        robot.move(left=2.0)
        said = [event["text"] for event in rig.said("plant")]
    assert "left: operation enabled -> fault (6041h = 0218h)" in said


@pytest.mark.slow
def test_the_plant_lets_the_drives_home_before_a_controller_connects(machine: Path, folder: Path) -> None:
    text = machine.read_text().replace(", absolute: true", "")
    text = text.replace("\ndriver:", "\ndriver:\n  homing: procedure", 1)
    for name, degrees in (("left", 120), ("right", 60)):
        was = f"{name}: {{counts_per_turn: 1048576}}"
        assert text.count(was) == 1
        text = text.replace(was, f"{name}: {{counts_per_turn: 1048576, at_zero_deg: {degrees}}}")
    machine.write_text(text)
    with (
        drives(machine, lockstep=True) as there,
        running(machine, folder, "drives", "--driver", "cia402", *there.options, lockstep=True) as (
            rig,
            robot,
        ),
    ):
        said = [event["event"] for event in rig.said("plant")]
        assert "homed" in said
        robot.enable()
        robot.move(left=2.05)
        assert robot.state["q"]["left"] == pytest.approx(2.05, abs=1e-3)


@pytest.mark.slow
def test_the_demo_runs_on_simulated_drives_as_on_the_simulated_plant(machine: Path, folder: Path) -> None:
    with running(machine, folder, "simulated", lockstep=True) as (_, robot):
        plain = errors(perform(robot, 5.0))
    with (
        drives(machine, lockstep=True) as there,
        running(machine, folder, "drives", "--driver", "cia402", *there.options, lockstep=True) as (_, robot),
    ):
        driven = errors(perform(robot, 5.0))
    assert np.all(driven < plain + 5e-5), (plain, driven)  # rad, m: torques in steps of 2.5 mN m


@pytest.mark.slow
def test_the_demo_runs_on_drives_that_close_the_position_loop(machine: Path, folder: Path) -> None:
    in_position_mode(machine)
    with (
        drives(machine, lockstep=True) as there,
        running(machine, folder, "drives", "--driver", "cia402", *there.options, lockstep=True) as (_, robot),
    ):
        driven = errors(perform(robot, 5.0))
    assert np.all(driven < 1e-3), driven  # rad, m


@pytest.mark.slow
def test_the_demo_runs_on_simulated_drives_in_real_time(machine: Path, folder: Path) -> None:
    patience = ["--driver-set", "missing_tpdos=15", "--driver-set", "watchdog_s=1"]  # a loaded computer
    with (
        drives(machine, lockstep=False) as there,
        running(
            machine, folder, "drives", "--driver", "cia402", *there.options, *patience, lockstep=False
        ) as (
            _,
            robot,
        ),
    ):
        perform(robot, 5.0)
