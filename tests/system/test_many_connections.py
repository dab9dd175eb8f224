"""More connections than a process may open files: both daemons live, say what they refuse, and recover."""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from linkwork import Robot
from tests.system.running import environment, patient_machine

FILES = 512
"""Hard limit on the open files of each daemon."""


def start(runtime: Path, role: str, config: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", f"linkwork.{role}", str(config), "--json", "--realtime", "ignore"]
    command += ["--no-log"] if role == "controller" else []
    return subprocess.Popen(
        command,
        env=environment(runtime),
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES // 2, FILES)),
    )


def said(output: IO[str], event: str, words: str = "") -> str:
    for line in output:
        if line.startswith("{") and json.loads(line)["event"] == event and words in line:
            return str(json.loads(line)["text"])
    raise AssertionError(f"the daemon ended without {event}")


def crowd(path: Path) -> list[socket.socket]:
    """More connections to a Unix socket than the daemon may have files, as far as they are accepted."""
    made = []
    for _ in range(2 * FILES):
        one = socket.socket(socket.AF_UNIX)
        one.settimeout(0.2)
        try:
            one.connect(str(path))
        except OSError:
            one.close()
            break
        made.append(one)
    return made


def threads_and_maps(process: subprocess.Popen[str]) -> tuple[int, int]:
    """How many threads and memory maps a process has."""
    proc = Path(f"/proc/{process.pid}")
    return len(list((proc / "task").iterdir())), len((proc / "maps").read_text().splitlines())


@pytest.fixture
def raised() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4 * FILES:
        pytest.skip(f"this test needs {4 * FILES} open files of its own")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4 * FILES), hard))


@pytest.mark.slow
@pytest.mark.usefixtures("raised")
def test_connections_beyond_the_limit_are_refused(tmp_path: Path, folder: Path) -> None:
    runtime, requests = folder, f"ipc://{folder}/scara/requests.ipc"
    config = patient_machine(tmp_path)
    plant = start(runtime, "plant", config)
    assert plant.stdout is not None
    said(plant.stdout, "ready")
    controller = start(runtime, "controller", config)
    assert controller.stdout is not None
    try:
        said(controller.stdout, "ready")
        said(plant.stdout, "connected")
        with Robot(endpoint=requests) as robot:
            robot.enable()
            for name, daemon in (("requests", controller), ("telemetry", controller), ("plant", plant)):
                path = runtime / "scara" / f"{name}.ipc"
                threads, maps = threads_and_maps(daemon)
                connected = crowd(path)
                assert daemon.stdout is not None
                assert "at most" in said(daemon.stdout, "connections", f"{name}.ipc")
                assert robot.state["state"] == "active"
                crowded = threads_and_maps(daemon)
                assert (crowded[0], crowded[1] < maps + 100) == (threads, True)
                for one in connected:
                    one.close()
                assert "accepted again" in said(daemon.stdout, "connections", f"{name}.ipc")
            assert robot.state["state"] == "active"
        with Robot(endpoint=requests) as another:
            assert another.state["state"] == "active"
        assert (plant.poll(), controller.poll()) == (None, None)
    finally:
        for process in (controller, plant):
            process.terminate()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
