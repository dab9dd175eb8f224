"""SIGINT and SIGTERM as something a poll loop can look at.

Flags and a file descriptor, no exception out of nowhere.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

_WATCHED = (signal.SIGINT, signal.SIGTERM)


class SignalInterrupts:
    """From `install` to `close`, SIGINT and SIGTERM are counted instead of ending the process.

    requested: an end was requested: stop the machine on its path, then leave. insisted: asked a second
    time: brake and leave. `fd` becomes readable with every signal; call `drain` after a poll has reported
    it. Main thread only.
    """

    def __init__(self) -> None:
        self.count = 0
        self.last: signal.Signals | None = None
        self.fd = -1
        self._write_fd = -1
        self._before: dict[int, Any] = {}
        self._fd_before = -1

    @property
    def requested(self) -> bool:
        """Whether a signal has come."""
        return self.count >= 1

    @property
    def insisted(self) -> bool:
        """Whether a second one has come."""
        return self.count >= 2

    def install(self) -> SignalInterrupts:
        """Begin to count. Raises ValueError outside the main thread."""
        self.fd, self._write_fd = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._write_fd, False)
        self._fd_before = signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, self._count) for number in _WATCHED}
        return self

    def drain(self) -> None:
        """Clear `fd`, so that it is readable again only after the next signal."""
        with suppress(BlockingIOError):
            while os.read(self.fd, 64):
                continue

    def close(self) -> None:
        """Restore the handlers of before `install`."""
        if self.fd < 0:
            return
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._fd_before)
        os.close(self.fd)
        os.close(self._write_fd)
        self.fd = self._write_fd = -1

    def __enter__(self) -> SignalInterrupts:
        return self.install()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _count(self, number: int, _frame: FrameType | None) -> None:
        self.count += 1
        self.last = signal.Signals(number)


@contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """While the block runs, SIGTERM raises KeyboardInterrupt, as SIGINT does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
