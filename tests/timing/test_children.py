"""Children and lifelines, with real processes."""

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkwork.timing.children import Child, Lifeline, Process, lifeline_pipe

PATIENCE_S = 30.0

WAIT_FOR_PARENT = """
import os, sys
from linkwork.timing.children import Lifeline, ignore_interrupts
ignore_interrupts()
lifeline = Lifeline.from_stdin()
assert os.read(0, 1) == b""
print("ready", flush=True)
lifeline.wait(60)
sys.exit(7 if lifeline.ended() else 1)
"""
DEAF = "import time; print('ready', flush=True); time.sleep(60)"
PARENT = f"""
import subprocess, sys, time
from linkwork.timing.children import Child
child = Child.start([sys.executable, "-c", {WAIT_FOR_PARENT!r}], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(60)
"""
ADOPTED = """
import os, socket, sys
from linkwork.timing.children import Lifeline
lifeline = Lifeline.from_stdin()
inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
inbox.bind(sys.argv[1])
print("ready", flush=True)
_, (fd,), _, _ = socket.recv_fds(inbox, 1, 1)
lifeline.replace(fd)
print("adopted", flush=True)
lifeline.wait(60)
"""


def python(script: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", script, *arguments]


@pytest.fixture
def children() -> Iterator[list[Child]]:
    started: list[Child] = []
    yield started
    for child in started:
        child.stop(0)
        child.close()


def start(children: list[Child], *argv: str) -> Child:
    child = Child.start(argv, stdout=subprocess.PIPE)
    children.append(child)
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    return child


def test_letting_go_ends_the_child(children: list[Child]) -> None:
    child = start(children, *python(WAIT_FOR_PARENT))
    assert child.alive
    assert child.returncode is None
    assert child.stop(PATIENCE_S) == 7
    assert not child.alive
    assert child.returncode == 7


def test_a_child_that_does_not_listen_is_killed(children: list[Child]) -> None:
    assert start(children, *python(DEAF)).stop(0.05) == -signal.SIGKILL


def test_killing_the_parent_ends_the_child() -> None:
    with subprocess.Popen(python(PARENT), stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        grandchild = Process(int(parent.stdout.readline()))
        try:
            assert grandchild.alive
            parent.send_signal(signal.SIGKILL)
            assert grandchild.wait(PATIENCE_S)
        finally:
            parent.kill()
            grandchild.kill()
            grandchild.close()


def test_the_child_has_its_own_session_and_does_not_hear_an_interrupt(children: list[Child]) -> None:
    child = start(children, *python(WAIT_FOR_PARENT))
    assert os.getsid(child.pid) == child.pid != os.getsid(0)
    child.send_signal(signal.SIGINT)
    assert child.stop(PATIENCE_S) == 7


def test_a_sibling_does_not_hold_the_lifeline(children: list[Child]) -> None:
    first = start(children, *python(WAIT_FOR_PARENT))
    second = start(children, *python(WAIT_FOR_PARENT))
    first.let_go()
    assert first.wait(PATIENCE_S)
    assert second.alive


def test_another_parent_may_take_over(children: list[Child], tmp_path: Path) -> None:
    path = str(tmp_path / "inbox")
    child = start(children, *python(ADOPTED, path))
    theirs, ours = lifeline_pipe()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as outbox:
        outbox.connect(path)
        socket.send_fds(outbox, [b"!"], [theirs])
    os.close(theirs)
    assert child.stdout is not None
    assert child.stdout.readline() == b"adopted\n"
    child.let_go()
    assert child.alive
    os.close(ours)
    assert child.wait(PATIENCE_S)


def test_a_lifeline_sees_the_end_and_data_is_no_end() -> None:
    theirs, ours = lifeline_pipe()
    lifeline = Lifeline(theirs)
    assert not lifeline.ended()
    os.write(ours, b"x")
    assert not lifeline.ended()
    assert not lifeline.wait(0.01)
    os.close(ours)
    assert lifeline.wait(PATIENCE_S)
    assert lifeline.ended()
    lifeline.close()


def test_the_pidfd_becomes_readable(children: list[Child]) -> None:
    child = start(children, *python(DEAF))
    watched = Process(child.pid)
    assert not select.select([watched.pidfd], [], [], 0)[0]
    watched.kill()
    assert select.select([watched.pidfd], [], [], PATIENCE_S)[0]
    assert child.stop(PATIENCE_S) == -signal.SIGKILL
    watched.kill()
    watched.close()
    with pytest.raises(ProcessLookupError):
        Process(child.pid)


def test_environment_is_added_to_ours(children: list[Child]) -> None:
    script = "import os; print(os.environ['PATH'] != '' and os.environ['LINKWORK_TEST'])"
    child = Child.start(python(script), env={"LINKWORK_TEST": "yes"}, lifeline=False, stdout=subprocess.PIPE)
    children.append(child)
    assert child.stdin is None
    assert child.stdout is not None
    assert child.stdout.readline() == b"yes\n"


def test_a_command_that_is_not_there_says_so() -> None:
    with pytest.raises(FileNotFoundError):
        Child.start(["./no-such-command"])
