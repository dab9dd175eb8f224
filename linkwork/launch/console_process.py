"""A console that runs as long as the command that started it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from linkwork.timing.children import Child

_ENDS_WITHIN_S = 4.0


@contextmanager
def console_beside(words: Sequence[str]) -> Iterator[None]:
    """Run `linkwork console` with these words in a process; it prints its address on standard error."""
    child = Child.start(
        [sys.executable, "-m", "linkwork", "console", *words, "--lifeline"], stdout=sys.stderr.fileno()
    )
    try:
        yield
    finally:
        child.stop(_ENDS_WITHIN_S)
        child.close()
