"""Events of the plant for people and programs: one line for each, never waiting for the reader."""

import json
import os
import select
import time
from collections import deque

_KEPT = 1000
_LONGEST = 4000
"""Bytes: a pipe that reports room takes this much (PIPE_BUF) without blocking."""


class Events:
    """Queues lines and writes them when the descriptor has room, so that no reader can stall a tick.

    With `as_json` a line is an object with at least `event` and `text`. Beyond a thousand waiting lines the
    oldest go.
    """

    def __init__(self, fd: int = 1, *, as_json: bool = False) -> None:
        self.waiting: deque[bytes] = deque(maxlen=_KEPT)
        self._fd = fd
        self._json = as_json
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)

    def say(self, event: str, text: str, **data: object) -> None:
        """Queue an event; `data` is plain data for programs and appears only in JSON."""
        line = json.dumps({"event": event, "text": text, **data}) if self._json else text
        self.waiting.append(line.encode()[:_LONGEST] + b"\n")

    def flush(self) -> None:
        """Write as much as the descriptor takes now."""
        while self.waiting and any(flags & select.POLLOUT for _, flags in self._poll.poll(0)):
            try:
                os.write(self._fd, self.waiting[0])
            except OSError:  # the reader has closed; the machine continues
                self.waiting.clear()
                return
            self.waiting.popleft()

    def close(self, patience_s: float = 0.2) -> None:
        """Write the rest, waiting a moment for a slow reader."""
        deadline = time.monotonic() + patience_s
        self.flush()
        while self.waiting and time.monotonic() < deadline:
            self._poll.poll(10)
            self.flush()
