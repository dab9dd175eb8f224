"""Keeping the threads of one process on one processor, for processes that exchange single messages.

Such a process never runs two of its threads at once: its main thread hands a message to ZeroMQ's I/O thread
and sleeps until that thread wakes it. On one processor that is a switch; across two it is a wake-up of a
sleeping processor, which costs more than the work it is woken for.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

from linkwork.timing.system import LIBC

EVERY: Final = 4096
"""Calls from one choice of a processor to the next."""
CHOOSING: Final = 128
"""Calls for which the scheduler may place the threads as it likes, before they stay where the caller is."""


class Together:
    """A context in which all threads of this process run on one processor; call it once a message.

    Which one is left to the scheduler, and asked again every `EVERY` calls, so that many such processes
    spread over the processors. With one processor allowed it has no effect. At the end of the context the
    threads may run where they might before. It needs no privilege.
    """

    def __init__(self) -> None:
        self._allowed = frozenset(os.sched_getaffinity(0))
        self._calls = 0

    def __call__(self) -> None:
        """Count one message; rarely, look where the threads are to run."""
        self._calls += 1
        if self._calls == CHOOSING:
            self._place({LIBC.sched_getcpu()})
        elif self._calls == EVERY:
            self._calls = 0
            self._place(self._allowed)

    def _place(self, processors: Iterable[int]) -> None:
        if len(self._allowed) == 1:
            return
        for thread in Path("/proc/self/task").iterdir():
            try:
                os.sched_setaffinity(int(thread.name), processors)
            except OSError:  # the thread has ended, or fewer processors are allowed now: left as it is
                continue

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._place(self._allowed)
