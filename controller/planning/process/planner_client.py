"""The gateway's end of the planner: hands jobs over and takes answers, and never waits for either."""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Sequence

from linkwork.controller.planning.messages.planner_messages import (
    BadFrame,
    FrameReader,
    PlanAnswer,
    PlanJob,
    pack_job,
    read_answer,
)
from linkwork.timing.children import Child

_READ_BYTES = 1 << 20
_LEAVE_S = 1.0


class PlannerClient:
    """A planner process and its two pipes. Once it has ended, `alive` is False and stays so."""

    def __init__(self, child: Child) -> None:
        assert child.stdin is not None, "started with a lifeline"
        assert child.stdout is not None, "started with its output on a pipe"
        self._child = child
        self._jobs, self._answers = child.stdin.fileno(), child.stdout.fileno()
        os.set_blocking(self._jobs, False)
        os.set_blocking(self._answers, False)
        self._poll = select.epoll()
        self._poll.register(self._answers, select.EPOLLIN)
        self._poll.register(self._jobs, 0)
        self._unsent = bytearray()
        self._reader = FrameReader()
        self._ended = False
        self.ready = False
        """Whether the planner has its kernels; until then jobs wait."""

    @classmethod
    def start(cls, arguments: Sequence[str]) -> PlannerClient:
        """Start the process with this command line. Raises OSError when it cannot be started."""
        return cls(Child.start(list(arguments), stdout=subprocess.PIPE))

    @property
    def pid(self) -> int:
        """Process id."""
        return self._child.pid

    def fileno(self) -> int:
        """For a poller: readable when `receive` has something to do (answers, the end, room for a job)."""
        return self._poll.fileno()

    @property
    def alive(self) -> bool:
        """Whether the process still answers."""
        return not self._ended

    def submit(self, job: PlanJob) -> None:
        """Take a job; `receive` sends the bytes that do not fit into the pipe now. A dead planner takes no
        job."""
        if not self._ended:
            self._unsent += pack_job(job)
            self._send()

    def receive(self) -> list[PlanAnswer]:
        """The answers that have arrived, in the order of the jobs."""
        self._send()
        while not self._ended:
            try:
                data = os.read(self._answers, _READ_BYTES)
            except BlockingIOError:
                break
            if not data:
                self._end()
            self._reader.feed(data)
        return self._frames()

    def close(self) -> None:
        """End the process; it is killed when it does not leave by itself."""
        if not self._poll.closed:
            self._end()
            self._poll.close()
            self._child.stop(_LEAVE_S)
            self._child.close()

    def _frames(self) -> list[PlanAnswer]:
        found = []
        try:
            while (body := self._reader.next()) is not None:
                answer = read_answer(body)
                if answer is None:
                    self.ready = True
                else:
                    found.append(answer)
        except BadFrame:
            self._end()
        return found

    def _send(self) -> None:
        try:
            while self._unsent and not self._ended:
                del self._unsent[: os.write(self._jobs, self._unsent)]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._unsent.clear()
        if not self._ended:
            self._poll.modify(self._jobs, select.EPOLLOUT if self._unsent else 0)

    def _end(self) -> None:
        """Stop reading and writing, and remove all descriptors from the poller."""
        if not self._ended:
            self._ended = True
            self._unsent.clear()
            self._poll.unregister(self._answers)
            self._poll.unregister(self._jobs)
