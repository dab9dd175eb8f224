"""Starting the gateway's processes, and finding a loop that an earlier gateway has left."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from linkwork.controller.controller_options import same_connection
from linkwork.controller.planning.messages.planner_messages import PlanAnswer, PlanJob
from linkwork.controller.planning.process.planner_client import PlannerClient
from linkwork.protocol.endpoints import MachineEndpoints, running
from linkwork.timing.children import Child, Process
from linkwork.timing.realtime import BLAS_ENVIRONMENT


class LoopProcess(Protocol):
    """A loop process: `linkwork.timing.children.Process`, or a simulated one."""

    @property
    def pid(self) -> int:
        """Process id of the loop."""
        ...

    @property
    def pidfd(self) -> int:
        """Descriptor that becomes readable when it ends."""
        ...

    @property
    def alive(self) -> bool:
        """Whether the loop still runs."""
        ...

    @property
    def returncode(self) -> int | None:
        """Exit status of a process that was started here and has ended."""
        ...

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end, at most so long. Returns whether it has ended."""
        ...

    def kill(self) -> None:
        """Kill the loop process."""
        ...

    def close(self) -> None:
        """Release what belongs to it; one that was started here and still runs loses its lifeline."""
        ...


class PlannerProcess(Protocol):
    """A planner and what crosses to it: `PlannerClient`, or a simulated one."""

    ready: bool

    @property
    def pid(self) -> int:
        """Process id of the planner."""
        ...

    @property
    def alive(self) -> bool:
        """Whether the planner still answers."""
        ...

    def fileno(self) -> int:
        """Return a descriptor that is readable when `receive` has something to do."""
        ...

    def submit(self, job: PlanJob) -> None:
        """Hand a job over."""
        ...

    def receive(self) -> list[PlanAnswer]:
        """Return the answers that have arrived, in the order of the jobs."""
        ...

    def close(self) -> None:
        """End the planner."""
        ...


class ChildProcesses(Protocol):
    """Interface by which a gateway starts its processes: command lines, or a simulation."""

    pid: int
    """Process id of the gateway itself."""

    def start_loop(self) -> LoopProcess:
        """Start a loop."""
        ...

    def living_loop(self) -> LoopProcess | None:
        """Return the loop that runs in this machine's seat, whichever gateway started it."""
        ...

    def fits(self, loop: LoopProcess) -> bool:
        """Whether a running loop has the same plant, pace and keys as one that would be started."""
        ...

    def start_planner(self) -> PlannerProcess:
        """Start a planner."""
        ...


class CommandLines:
    """Processes of this computer, by their command lines."""

    def __init__(self, seat: MachineEndpoints, loop: list[str], planner: list[str]) -> None:
        self._seat, self._loop, self._planner = seat, loop, planner
        self.pid = os.getpid()

    def start_loop(self) -> LoopProcess:
        """Start a loop."""
        return Child.start(self._loop, env=BLAS_ENVIRONMENT)

    def living_loop(self) -> LoopProcess | None:
        """Return the loop that holds the lock of this seat."""
        for found in running("loop"):
            if found.name == self._seat.folder.name and found.pid > 0:
                with suppress(ProcessLookupError):
                    return Process(found.pid)
        return None

    def fits(self, loop: LoopProcess) -> bool:
        """Whether the command line of a loop means the same connection."""
        return same_connection(_arguments_of(loop.pid), self._loop)

    def start_planner(self) -> PlannerProcess:
        """Start a planner. Raises OSError."""
        return PlannerClient.start(self._planner)


def _arguments_of(pid: int) -> list[str]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    return []
