"""Computers that are short of processors, or folders, or that were suspended."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from linkwork import GoalFailed, Robot
from linkwork.launch.daemons import Rig
from tests.system.running import linkwork, made_active
from tests.waiting import wait_for

SUSPENDED_S = 3.0


@pytest.fixture
def one_processor() -> Iterator[None]:
    """What this process starts has one processor."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    yield
    os.sched_setaffinity(0, before)


def moves(rig: Rig) -> None:
    """The machine moves, after `recover` and `enable` where they are needed."""
    with Robot(endpoint=rig.requests) as robot:
        wait_for(lambda: made_active(robot), "an active machine")
        robot.move(lift=0.05 if robot.state["q"]["lift"] < 0.02 else 0.0)


@pytest.mark.slow
def test_one_processor_is_enough(one_processor: None, patient: Rig) -> None:
    moves(patient)


@pytest.mark.slow
def test_a_suspended_computer_leaves_a_machine_that_can_be_recovered(patient: Rig) -> None:
    """All processes stand at once, in the middle of a goal, and continue."""
    moves(patient)
    with Robot(endpoint=patient.requests) as robot:
        status = robot.status
        pids = [status[name] for name in ("gateway_pid", "loop_pid", "planner_pid")]  # type: ignore[literal-required]
        pids.append(patient.children["plant"].pid)
        goal = robot.move(shoulder=0.6, speed=0.1, wait=False)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(SUSPENDED_S)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        with suppress(GoalFailed):
            goal.wait(60.0)
        assert robot.status["loops_started"] == 1
    moves(patient)


@pytest.mark.parametrize("command", ["state", "down"])
def test_without_a_runtime_folder_a_command_says_what_to_set(command: str) -> None:
    ran = linkwork(Path("/proc/nowhere"), command)  # not even root can make it
    assert ran.returncode == 2, ran.stderr
    assert "cannot create the runtime folder" in ran.stderr
    assert "LINKWORK_RUNTIME_DIR" in ran.stderr
