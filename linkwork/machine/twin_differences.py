"""Monitored differences between a machine and its digital twin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from linkwork.machine.description import Machine

ENERGY = "energy"


@dataclass(frozen=True)
class TwinDifference:
    """One monitored number: its name, kind ("motor", "coordinate", "energy") and unit."""

    name: str
    kind: Literal["motor", "coordinate", "energy"]
    unit: str

    def __str__(self) -> str:
        """Name it."""
        return {
            "motor": f"the effort of motor {self.name}",
            "coordinate": f"the effort along {self.name}",
            "energy": "the energy",
        }[self.kind]


def differences(machine: Machine) -> tuple[TwinDifference, ...]:
    """Return the monitored differences, in the order of `TwinSettings.thresholds`: motors, coordinates,
    energy."""
    turns = {each.name: each.is_angle for each in machine.coordinates}
    motors = [TwinDifference(each.joint, "motor", "N m" if each.is_angle else "N") for each in machine.motors]
    goals = [
        TwinDifference(name, "coordinate", "N m" if turns[name] else "N")
        for name in machine.controller.goal_coordinates
    ]
    return (*motors, *goals, TwinDifference(ENERGY, "energy", "J"))
