"""What the system tests share: patience, a patient machine, and the command line as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from linkwork import Robot
from linkwork.machine import shipped_path
from linkwork.protocol.errors import RequestError
from tests import command
from tests.command import Ran

_WIDE = "  loss_limit: 1000\n  loss_ratio_per_s: 1.0\n  lease_s: 3.0\n"
COMMAND_TIMEOUT_PERIODS = 400


def patient_machine(folder: Path) -> Path:
    """The SCARA with limits on lost messages so wide that a busy computer raises no fault."""
    text = shipped_path("scara").read_text()
    was = "command_timeout_periods: 20"
    assert was in text
    text = text.replace(was, f"command_timeout_periods: {COMMAND_TIMEOUT_PERIODS}") + _WIDE
    path = folder / "scara.yaml"
    path.write_text(text)
    return path


def patient_five_bar(folder: Path) -> Path:
    """The five-bar with limits as wide as those of `patient_machine`."""
    path = folder / "five_bar.yaml"
    text, section = shipped_path("five_bar").read_text(), "\ncontroller:\n"
    assert section in text
    plant = f"\nplant: {{command_timeout_periods: {COMMAND_TIMEOUT_PERIODS}}}\n"
    path.write_text(text.replace(section, section + _WIDE) + plant)
    return path


def command_line(*words: str) -> list[str]:
    return [sys.executable, "-m", "linkwork", *words]


def environment(runtime: Path) -> dict[str, str]:
    return {
        **os.environ,
        "LINKWORK_RUNTIME_DIR": str(runtime),
        "XDG_STATE_HOME": str(runtime / "state"),
        "COLUMNS": "120",
    }


def linkwork(runtime: Path, *words: str) -> Ran:
    """Runs a command that starts no daemons to its end."""
    return command.linkwork(*words, columns=120, env=environment(runtime))


def linkwork_process(runtime: Path, *words: str) -> Ran:
    """Runs a command to its end in a process of its own: one that is a daemon, or starts daemons."""
    ran = subprocess.run(
        command_line(*words),
        capture_output=True,
        text=True,
        env=environment(runtime),
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert "Traceback" not in ran.stderr, ran.stderr
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def answer(runtime: Path, *words: str, status: int = 0) -> dict[str, Any]:
    """Runs a command with --json; returns its one object."""
    run = linkwork_process if words[0] == "rig" else linkwork
    ran = run(runtime, *words, "--json")
    assert ran.returncode == status, (words, ran.stdout, ran.stderr)
    assert ran.stdout.count("\n") == 1, ran.stdout
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def processes_naming(text: str) -> list[int]:
    """Live processes (zombies do not count) whose command line holds this text."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and text in (path / "cmdline").read_text() and int(path.name) != os.getpid():
                found.append(int(path.name))
    return found


def made_active(robot: Robot) -> bool:
    """Recovers from a fault, or enables; whether the machine is active. For waiting until it is."""
    with suppress(RequestError):
        state = robot.state["state"]
        if state == "fault":
            robot.recover()
        elif state == "inactive":
            robot.enable()
        return bool(robot.state["state"] == "active")
    return False
