"""Signals of a machine, digital and analog, and the values that people write for them."""

from __future__ import annotations

import math
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Signal:
    """A signal of the machine. Values are numbers in `unit`; a digital signal has 0 and 1.

    `low`, `high`: its range. `on_fault`, `on_link_loss`, `on_disable`: the value that an output then takes,
    NaN where it stays as it is. `simulated`: how a simulated plant gives an input, '' where it does not:
    a condition (digital) or an expression (analog), with a standard deviation `noise`, a step
    `resolution` (0: none) and a delay `delay_s`.
    """

    name: str
    is_input: bool
    is_digital: bool
    unit: str = ""
    low: float = 0.0
    high: float = 1.0
    initial: float = 0.0
    on_fault: float = math.nan
    on_link_loss: float = math.nan
    on_disable: float = math.nan
    simulated: str = ""
    noise: float = 0.0
    resolution: float = 0.0
    delay_s: float = 0.0

    @property
    def allowed(self) -> str:
        """The values that it can have, as text."""
        if self.is_digital:
            return "on or off"
        return f"{self.low:g} to {self.high:g}" + (f" {self.unit}" if self.unit else "")

    def read(self, value: Any) -> float:
        """Return the number of a value, which may be a word. Raises SignalValueError."""
        number = _number(value, words=self.is_digital)
        fits = number in (0.0, 1.0) if self.is_digital else self.low <= number <= self.high
        if not fits:
            raise SignalValueError(self.name, str(value), self.allowed)
        return number

    def admits(self, value: float) -> bool:
        """Whether the signal can have this value."""
        return value in (0.0, 1.0) if self.is_digital else self.low <= value <= self.high

    def plain(self, value: float) -> bool | float:
        """The value for people and programs: true or false of a digital signal."""
        return value > 0.5 if self.is_digital else float(value)

    def shown(self, value: float) -> str:
        """The value as text, with its unit."""
        if self.is_digital:
            return "on" if value > 0.5 else "off"
        return f"{value:.6g}" + (f" {self.unit}" if self.unit else "")

    def interface(self) -> dict[str, Any]:
        """Return the signal as both ends of the device link must agree on it."""
        return {
            "name": self.name,
            "direction": "input" if self.is_input else "output",
            "type": "digital" if self.is_digital else "analog",
            "unit": self.unit,
            "range": [self.low, self.high],
        }


def _number(value: Any, *, words: bool) -> float:
    """The number that a value means, NaN where it means none."""
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
