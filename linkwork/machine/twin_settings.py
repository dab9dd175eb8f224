"""How the simulator runs beside the machine, and how far the two may differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OnExceeded = Literal["tell", "stop", "fault"]


@dataclass(frozen=True)
class TwinSettings:
    """How the digital twin runs. Thresholds are infinite for differences that are not monitored.

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
