"""Monitored differences between a machine and its digital twin."""

import math
from dataclasses import dataclass
from typing import Literal

from linkwork.machine.description import Machine

ENERGY = "energy"


@dataclass(frozen=True)
class TwinDifference:
    """One monitored number: name, kind, unit, and the largest value that is allowed (inf: not monitored)."""

    name: str
    kind: Literal["motor", "coordinate", "energy"]
    unit: str
    threshold: float

    def __str__(self) -> str:
        """Name it."""
        return {
            "motor": f"the effort of motor {self.name}",
            "coordinate": f"the effort along {self.name}",
            "energy": "the energy",
        }[self.kind]


def differences(machine: Machine) -> tuple[TwinDifference, ...]:
    """Return the monitored differences: those of the motors, of the goal coordinates, of the energy."""
    settings, units = machine.twin, {each.name: each.effort_unit for each in machine.coordinates}
    share = math.inf if settings.effort_share is None else settings.effort_share
    motors = [
        TwinDifference(each.joint, "motor", each.effort_unit, share * each.max_effort)
        for each in machine.motors
    ]
    goals = [
        TwinDifference(name, "coordinate", units[name], settings.efforts.get(name, math.inf))
        for name in machine.goal_coordinates
    ]
    return (*motors, *goals, TwinDifference(ENERGY, "energy", "J", settings.energy_threshold))
