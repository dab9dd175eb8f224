"""The gateway's end of the digital twin: a process and a socket. It is given ticks, and never waited for."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from linkwork.protocol.twin_messages import MOST_ROWS, Kind, Words, kind_of, pack, rows_of
from linkwork.timing.children import Child
from linkwork.timing.realtime import BLAS_ENVIRONMENT

_BUFFER_BYTES = 1 << 18


class TwinClient:
    """One twin process. Once it has ended, `alive` is False and stays so."""

    def __init__(self, arguments: Sequence[str], words: Words) -> None:
        """Start it. Raises OSError when it cannot be started."""
        self._words = words
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [*arguments, "--channel", str(theirs.fileno())]
            self._child = Child.start(command, env=BLAS_ENVIRONMENT, pass_fds=(theirs.fileno(),))
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
        self._socket = ours
        self.ready = False
        """Whether its kernels are compiled; until then it receives no records."""
        self.alive = True
        self.unanswered = 0
        """Rows that it has been sent and not answered yet."""
        self.malformed = 0
        """Messages that were no answers, and were dropped."""
        self.waited_since_s = 0.0
        """Monotonic time since which it owes an answer."""

    @property
    def pid(self) -> int:
        """Process id."""
        return self._child.pid

    def fileno(self) -> int:
        """For a poller: readable when `receive` has something to do."""
        return self._socket.fileno()

    def send(self, kind: Kind, rows: NDArray[Any]) -> int:
        """Send rows, in messages of MOST_ROWS; return how many were taken. It never waits."""
        taken = 0
        while self.alive and taken < len(rows):
            part = rows[taken : taken + MOST_ROWS]
            try:
                self._socket.send(pack(kind, part))
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                self.alive = False
                break
            taken += len(part)
            if kind is Kind.TICKS:
                if not self.unanswered:
                    self.waited_since_s = time.monotonic()
                self.unanswered += len(part)
        return taken

    def receive(self) -> list[NDArray[Any]]:
        """The answers that have arrived, in the order of the rows sent."""
        found: list[NDArray[Any]] = []
        while self.alive:
            try:
                message = self._socket.recv(self._words.most_bytes)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                message = b""
            if not message:
                self.alive = False
            elif (told := self._read(message)) is None:
                self.malformed += 1
            elif not len(told):
                self.ready = True
            else:
                rows = told
                self.unanswered -= len(rows)
                self.waited_since_s = time.monotonic()
                found.append(rows)
        return found

    def _read(self, message: bytes) -> NDArray[Any] | None:
        """The rows of an answer, no rows of READY, or None for any other message."""
        try:
            kind = kind_of(message)
            rows = rows_of(message, self._words.answered)
        except ValueError:
            return None
        known = self._words.differences
        if kind is Kind.READY:
            return rows[:0]
        good = kind is Kind.ANSWER and 0 < len(rows) <= self.unanswered
        return rows if good and bool(((rows["worst"] >= 0) & (rows["worst"] < known)).all()) else None

    def wait(self, seconds: float) -> None:
        """Wait for something to receive, at most so long."""
        select.select([self._socket], [], [], seconds)

    def close(self) -> int:
        """Kill the process, which has no state to save. Returns its exit status."""
        self.alive = False
        self._socket.close()
        status = self._child.stop(0.0)
        self._child.close()
        return status
