"""Messages to a service manager: what arrives at its socket, and what does not."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from linkwork.timing.notify import Notifier


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(30.0)
        yield listening


def environment(manager: socket.socket, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": manager.getsockname(), "OTHER": "kept", **more}


def test_ready_and_stopping_carry_one_line_for_people(manager: socket.socket) -> None:
    notifier = Notifier(environment(manager))
    notifier.ready("plant of scara\nat ipc:///x")
    assert manager.recv(4096) == b"READY=1\nSTATUS=plant of scara at ipc:///x"
    notifier.stopping()
    assert manager.recv(4096) == b"STOPPING=1"
    notifier.close()
    notifier.ready()
    manager.setblocking(False)
    with pytest.raises(BlockingIOError):
        manager.recv(4096)


def test_a_ping_is_due_at_half_the_interval(manager: socket.socket) -> None:
    variables = environment(manager, WATCHDOG_USEC="40000", WATCHDOG_PID=str(os.getpid()))
    with closing(Notifier(variables)) as notifier:
        begun = time.monotonic()
        for _ in range(2):
            while not notifier.due:
                continue
            notifier.ping()
            assert manager.recv(4096) == b"WATCHDOG=1"
        assert time.monotonic() - begun >= 0.02
    with closing(Notifier(environment(manager, WATCHDOG_USEC="3600000000"))) as notifier:
        notifier.ping()
        assert manager.recv(4096) == b"WATCHDOG=1"
        assert not notifier.due


@pytest.mark.parametrize("variables", [{}, {"WATCHDOG_USEC": "1", "WATCHDOG_PID": "1"}])
def test_no_pings_without_a_watchdog_or_for_another_process(
    manager: socket.socket, variables: dict[str, str]
) -> None:
    with closing(Notifier(environment(manager, **variables))) as notifier:
        assert not notifier.due
    assert not Notifier({"WATCHDOG_USEC": "1"}).due


def test_children_do_not_inherit_the_socket(manager: socket.socket) -> None:
    variables = environment(manager, WATCHDOG_USEC="1000000", WATCHDOG_PID=str(os.getpid()))
    Notifier(variables).close()
    assert variables == {"OTHER": "kept"}


def test_names_without_a_path_are_understood() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind("\0linkwork-test-notify-" + str(os.getpid()))
        listening.settimeout(30.0)
        with closing(Notifier({"NOTIFY_SOCKET": f"@linkwork-test-notify-{os.getpid()}"})) as notifier:
            notifier.ready()
        assert listening.recv(4096) == b"READY=1"


def test_a_manager_that_is_gone_or_full_does_no_harm(manager: socket.socket, tmp_path: Path) -> None:
    with closing(Notifier(environment(manager))) as notifier:
        for _ in range(10_000):  # more than its queue holds
            notifier.ready()
    with closing(Notifier({"NOTIFY_SOCKET": str(tmp_path / "nothing")})) as notifier:
        notifier.ready()
    Notifier({}).ready()
