"""Values of signals, digital and analog, as people write them."""

from __future__ import annotations

import math
from typing import Any, Final

ON_WORDS: Final = ("on", "true", "1")
OFF_WORDS: Final = ("off", "false", "0")
KEEP: Final = "keep"
"""Reaction of an output that stays as it is."""


class SignalValueError(ValueError):
    """A value that a signal cannot have: what was found, and what is allowed."""

    def __init__(self, name: str, found: str, allowed: str) -> None:
        super().__init__(f"{name}: {found} is no value of this signal; allowed: {allowed}")
        self.found, self.allowed = found, allowed


def number_of(value: Any, *, words: bool) -> float:
    """Return the number that a value means, NaN where it means none."""
    if isinstance(value, bool):
        return float(value) if words else math.nan
    if isinstance(value, (int, float)):
        return float(value)
    if not isinstance(value, str):
        return math.nan
    word = value.strip().lower()
    if words and word in (*ON_WORDS, *OFF_WORDS):
        return float(word in ON_WORDS)
    try:
        return float(word) if "_" not in word else math.nan
    except ValueError:
        return math.nan
