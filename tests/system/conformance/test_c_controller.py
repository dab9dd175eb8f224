"""The controller in C against the plant daemon: it moves the SCARA, leaves it braked, and leaks nothing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from linkwork.launch.daemons import Rig
from linkwork.machine import load
from tests.system.conformance.c_controller import built
from tests.waiting import wait_for

TARGET = (0.2, -0.5, 0.1, 0.05)


def events(rig: Rig, name: str) -> list[dict[str, object]]:
    """What the plant has said of this kind."""
    return [event for event in rig.said("plant") if event["event"] == name]


def test_it_moves_the_simulated_scara(folder: Path) -> None:
    program, interface = str(built()), load("scara").interface_hash
    runtime = folder / "c"
    runtime.mkdir()
    with Rig("scara", ["scara", "--pace", "lockstep"], None, runtime) as rig:
        wait_for(lambda: events(rig, "ready"), "the plant")
        words = [
            program,
            rig.seat.plant,
            interface,
            "--lockstep",
            "--states",
            "3200",
            "--to",
            *map(str, TARGET),
        ]
        ran = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        assert (ran.returncode, ran.stderr) == (0, "")
        said, *where = ran.stdout.split()
        assert said == "arrived"
        assert [float(word) for word in where] == pytest.approx(TARGET, abs=0.01)
        left = wait_for(lambda: events(rig, "left"), "its bye")[0]
        assert str(left["text"]).startswith("controller.c left: done")
        assert "3201 ticks, 0 without" in str(left["text"]), "the last command's reply, too"

        wrong = subprocess.run(
            [program, rig.seat.plant, "0" * 64, "--lockstep"], capture_output=True, text=True
        )
        assert wrong.returncode == 1
        assert "the interfaces differ" in wrong.stderr

        if shutil.which("valgrind"):
            under = ["valgrind", "-q", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect"]
            checked = [*under, "--error-exitcode=9", *words]
            checked[checked.index("3200")] = "20"
            ran = subprocess.run(checked, capture_output=True, text=True, timeout=120, check=False)
            assert (ran.returncode, ran.stderr) == (0, "")


def test_a_signal_ends_it_with_a_bye(folder: Path) -> None:
    program, interface = str(built()), load("scara").interface_hash
    runtime = folder / "signal"
    runtime.mkdir()
    with Rig("scara", ["scara", "--pace", "lockstep"], None, runtime) as rig:
        wait_for(lambda: events(rig, "ready"), "the plant")
        words = [program, rig.seat.plant, interface, "--lockstep"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                wait_for(lambda: events(rig, "connected"), "the handshake")
                os.kill(process.pid, signal.SIGTERM)
                assert process.wait(30) == 0
            finally:
                process.kill()
        assert wait_for(lambda: events(rig, "left"), "its bye")
