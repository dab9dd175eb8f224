"""Daemons under a service manager: what arrives at its socket over the life of both."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from linkwork.launch.daemons import daemon_argv
from tests.system.running import answer, environment
from tests.waiting import wait_for


class Manager:
    """The service manager's end of the socket of one daemon, and the daemon."""

    def __init__(self, runtime: Path, role: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(runtime / f"{role}.notify"))
        self.socket.settimeout(90.0)
        more = ["--no-log"] if role == "controller" else []
        variables = {"NOTIFY_SOCKET": self.socket.getsockname(), "WATCHDOG_USEC": "200000"}
        self.daemon = subprocess.Popen(
            daemon_argv(role, ["scara", "--pace", "lockstep", "--realtime", "ignore", *more]),
            env={**environment(runtime), **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def until(self, message: bytes) -> None:
        """Receives until this message."""
        while not self.socket.recv(4096).startswith(message):
            continue

    def drain(self) -> None:
        """Forgets what has come so far."""
        self.socket.setblocking(False)
        with suppress(BlockingIOError):
            while self.socket.recv(4096):
                continue
        self.socket.settimeout(90.0)

    def silent(self, seconds: float) -> bool:
        """Whether nothing comes for so long."""
        self.socket.settimeout(seconds)
        try:
            self.socket.recv(4096)
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(90.0)
        return False

    def close(self) -> None:
        self.daemon.kill()
        self.daemon.wait()
        self.socket.close()


@pytest.fixture
def managed(folder: Path) -> Iterator[dict[str, Manager]]:
    runtime = folder / "service"
    runtime.mkdir()
    both = {role: Manager(runtime, role) for role in ("plant", "controller")}
    yield both
    for manager in reversed(both.values()):
        manager.close()


@pytest.mark.slow
def test_a_hung_loop_stops_the_pings_and_both_say_ready_and_stopping(
    managed: dict[str, Manager], folder: Path
) -> None:
    plant, controller = managed["plant"], managed["controller"]
    for manager in (plant, controller):
        manager.until(b"READY=1")
        manager.until(b"WATCHDOG=1")
    runtime = folder / "service"
    wait_for(lambda: answer(runtime, "state")["state"] == "inactive", "the plant")
    loop = answer(runtime, "status")["loop_pid"]
    os.kill(loop, signal.SIGSTOP)
    wait_for(lambda: controller.drain() or controller.silent(0.5), "the end of the pings")
    os.kill(loop, signal.SIGCONT)
    controller.until(b"WATCHDOG=1")

    os.kill(plant.daemon.pid, signal.SIGSTOP)
    plant.drain()
    assert plant.silent(0.4)
    os.kill(plant.daemon.pid, signal.SIGCONT)
    plant.until(b"WATCHDOG=1")

    for manager in (controller, plant):
        manager.daemon.send_signal(signal.SIGTERM)
        manager.until(b"STOPPING=1")
        assert manager.daemon.wait(90) == 0
