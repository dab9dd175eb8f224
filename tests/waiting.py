"""Waiting for what comes in its own time, in all tests: until a condition holds, but not for ever."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE_S = 90.0
"""Nothing that works takes as long, on a busy computer either."""


def wait_for(condition: Callable[[], Any], what: str, most_s: float = PATIENCE_S) -> Any:
    """Waits until the condition gives something true, and returns that; looks each 10 ms."""
    deadline = time.monotonic() + most_s
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.01)
    return found
