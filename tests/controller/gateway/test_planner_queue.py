"""The order in which requests are planned: what moves the machine before what only asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from linkwork.controller.gateway.child_processes import CommandLines
from linkwork.controller.gateway.goals.planner_jobs import MOST_CHECKS, MOST_JOBS, Job, Planning
from linkwork.controller.planning.messages.planner_messages import MachineState
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.endpoints import MachineEndpoints
from linkwork.protocol.errors import RequestError
from linkwork.timing.clock import MonotonicClock

ENDED = RequestError(RequestCode.NO_LOOP, "the controller has ended")


class WaitingJobs:
    """Jobs that wait behind a process that answers none; `answered` has their names in their order."""

    def __init__(self) -> None:
        self.answered: list[str] = []
        seat = MachineEndpoints(Path("nowhere"))
        self.planning = Planning(CommandLines(seat, [], ["sleep", "60"]), MonotonicClock())

    def submit(self, name: str, method: str) -> None:
        slot = -1 if method in ("check", "speed") else 0
        here = MachineState((0.0,), (0.0,))
        self.planning.submit(Job(method, b"", lambda: here, lambda _: self.answered.append(name), slot))


@pytest.fixture
def line() -> Iterator[WaitingJobs]:
    made = WaitingJobs()
    yield made
    made.planning.close(ENDED)


def test_a_motion_waits_for_no_check_but_the_running_one(line: WaitingJobs) -> None:
    for name, method in [("1", "check"), ("2", "check"), ("3", "move"), ("4", "check"), ("5", "speed")]:
        line.submit(name, method)
    line.planning.close(ENDED)
    assert line.answered == ["1", "3", "5", "2", "4"]


def test_checks_leave_room_for_motions(line: WaitingJobs) -> None:
    line.submit("running", "check")
    for number in range(MOST_CHECKS):
        line.submit(f"check {number}", "check")
    with pytest.raises(RequestError, match="checks are waiting") as refused:
        line.submit("one more", "check")
    assert refused.value.code == RequestCode.BUSY
    for number in range(MOST_JOBS):
        line.submit(f"move {number}", "move")
    with pytest.raises(RequestError, match="goals are waiting"):
        line.submit("one more", "move")
