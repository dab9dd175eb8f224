"""Switchable constraints of the simulated machine, and those that conditions on signals switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork.machine import Machine
from linkwork.multibody.expressions.conditions import Condition, parse_condition
from linkwork.protocol.link import Measurements


@dataclass
class _Follower:
    """A switchable constraint, bit `bit`, and whether its condition on signals was met last."""

    bit: int
    condition: Condition
    met: bool


class Switches:
    """places: of the switchable constraints among all; followers: those that signals switch.

    reported: switches by signals and actions of grippers that have not been reported yet.
    """

    def __init__(self, machine: Machine) -> None:
        names = machine.plant_mechanism.constraint_names
        self.places = [names.index(name) for name in machine.switchable]
        digital = [signal.name for signal in machine.signals if signal.is_digital]
        self.followers = [
            _Follower(bit, parse_condition(text, digital), bool(machine.closed_at_start >> bit & 1))
            for bit, text in enumerate(machine.closed_when)
            if text
        ]
        self.reported: list[dict[str, Any]] = []
        self._names = [each.name for each in machine.inputs], [each.name for each in machine.outputs]

    def wanted(self, measured: Measurements, closed: int) -> int:
        """Return `closed` with the bits of the constraints whose conditions have changed."""
        inputs, outputs = self._names
        values = dict(zip(inputs, measured.inputs.tolist(), strict=True))
        values |= zip(outputs, measured.outputs.tolist(), strict=True)
        for follower in self.followers:
            met = follower.condition.met(values)
            if met != follower.met:
                follower.met = met
                closed = closed | 1 << follower.bit if met else closed & ~(1 << follower.bit)
        return closed
