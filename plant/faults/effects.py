"""Base class of the effects of faults, and the site at which they act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from linkwork.machine import Machine
from linkwork.plant.faults.entries import FaultEntry
from linkwork.plant.faults.faulty_machinery import FaultyMachinery
from linkwork.plant.faults.wire import Wire


class CannotBegin(Exception):
    """A fault cannot act here and now; the text gives the reason. The state is unchanged."""


class FaultEffect(Protocol):
    """One fault, from its beginning to its end."""

    def begin(self, tick: int) -> str:
        """Act from this tick of the plant on; return a remark. Raises CannotBegin."""
        ...

    def tick(self, tick: int) -> None:
        """Called at the beginning of each tick at which it acts, the first too."""
        ...

    def end(self) -> str:
        """Stop acting; return a remark."""
        ...


@dataclass
class Site:
    """Place of faults: the machine as its file has it, the machinery and the link with faults in them."""

    machine: Machine
    machinery: FaultyMachinery
    wire: Wire

    @property
    def period_s(self) -> float:
        """Length of a tick, s."""
        return self.machine.plant.period_s

    def sensor(self, name: str) -> int:
        """Place of a sensor, −1 where none has this name."""
        return _place([sensor.joint for sensor in self.machine.sensors], name)

    def motor(self, name: str) -> int:
        """Place of a motor, −1 where none has this name."""
        return _place([motor.joint for motor in self.machine.motors], name)

    def force_sensor(self, name: str) -> int:
        """Place of a force sensor, −1 where none has this name."""
        return _place([sensor.name for sensor in self.machine.force_sensors], name)


def ticks_of(entry: FaultEntry, period_s: float) -> int | None:
    """Return the number of ticks of a fault; None: until it is cleared."""
    if entry.for_ticks is not None:
        return entry.for_ticks
    return None if entry.for_s is None else max(1, round(entry.for_s / period_s))


def stream(seed: int, number: int) -> np.random.Generator:
    """Random generator of one fault, independent of other faults."""
    return np.random.default_rng([seed, number])


def _place(names: list[str], name: str) -> int:
    return names.index(name) if name in names else -1
