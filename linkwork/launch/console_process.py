"""A console that runs as long as the command that started it."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from linkwork.timing.children import Child

_READY_WITHIN_S: Final = 30.0
_ENDS_WITHIN_S: Final = 4.0


@contextmanager
def console_beside(words: Sequence[str], *, wait: bool = False) -> Iterator[None]:
    """Run `linkwork console` with these words in a process, until the block ends.

    It prints its address on standard error. wait: the block begins only when the page can be opened.
    """
    argv = [sys.executable, "-m", "linkwork", "console", *words, "--lifeline"]
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as said:
        try:
            child = Child.start(argv, stdout=writing if wait else sys.stderr.fileno())
        finally:
            os.close(writing)
        try:
            if wait and select.select([said], [], [], _READY_WITHIN_S)[0]:
                sys.stderr.write(said.readline().decode())
                sys.stderr.flush()
            yield
        finally:
            child.stop(_ENDS_WITHIN_S)
            child.close()
