"""Settings of the digital twin, and the allowed differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OnExceeded = Literal["tell", "stop", "fault"]


@dataclass(frozen=True)
class TwinSettings:
    """Settings of the digital twin. Thresholds are infinite for differences that are not monitored.

    `motors` (N m or N) has one for each motor, `coordinates` one for each goal coordinate, in their orders;
    `energy` is in J.
    """

    on: bool
    bandwidth: float
    motors: tuple[float, ...]
    coordinates: tuple[float, ...]
    energy: float
    window_s: float
    on_exceeded: OnExceeded

    @property
    def thresholds(self) -> tuple[float, ...]:
        """All of them, in the order of `differences`."""
        return (*self.motors, *self.coordinates, self.energy)
