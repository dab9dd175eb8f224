"""Real daemons over real sockets, in a runtime folder of their own, with a machine that bears a busy computer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from machine import shipped_path
from station.rig import Rig

PATIENCE_S = 90.0
REMOTE_LOSSES = "  loss_limit: 1000\n  loss_ratio_per_s: 1.0\n  lease_s: 3.0\n"
COMMAND_TIMEOUT_PERIODS = 400


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    """Waits until the condition gives something true, and returns that."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)
    return found


def patient_machine(folder: Path) -> Path:
    """The SCARA with limits on lost messages so wide that a busy computer raises no fault."""
    text = shipped_path("scara").read_text()
    was = "command_timeout_periods: 20"
    assert was in text
    text = text.replace(was, f"command_timeout_periods: {COMMAND_TIMEOUT_PERIODS}") + REMOTE_LOSSES
    path = folder / "scara.yaml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A short path: sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        yield Path(made)


def command_line(runtime: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "station", *words]


def environment(runtime: Path) -> dict[str, str]:
    return {
        **os.environ,
        "LINKWORK_RUNTIME_DIR": str(runtime),
        "XDG_STATE_HOME": str(runtime / "state"),
        "COLUMNS": "120",
    }


def linkwork(runtime: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end; no traceback, whatever happens."""
    ran = subprocess.run(
        command_line(runtime, *words),
        capture_output=True,
        text=True,
        env=environment(runtime),
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran


def answer(runtime: Path, *words: str, status: int = 0) -> dict[str, Any]:
    """Runs a command with --json; returns its one object."""
    ran = linkwork(runtime, *words, "--json")
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


@pytest.fixture(scope="module")
def lockstep(folder: Path) -> Iterator[Rig]:
    """Plant and controller in lockstep, ready, with a log; enabling is left to the tests."""
    arguments = ["scara", "--pace", "lockstep", "--realtime", "ignore"]
    with Rig("scara", arguments, [*arguments, "--log", str(folder / "log")], folder) as rig:
        rig.wait_ready(lambda _: None)
        yield rig


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[Rig]:
    """Plant and controller in real time, device-clocked, that bear a busy computer."""
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        path = str(patient_machine(tmp_path))
        arguments = [path, "--realtime", "ignore"]
        with Rig("scara", arguments, [*arguments, "--log", str(tmp_path / "log")], Path(made)) as rig:
            rig.wait_ready(lambda _: None)
            yield rig
