"""Sensor faults: entries of a time line, and effects that change a reading in place (rad, m or N)."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Literal

import numpy as np
from pydantic import model_validator

from linkwork.arrays import Floats
from linkwork.machine.sections.fields import Number, entry, wrong
from linkwork.machine.sections.quantity import (
    EFFORT,
    EFFORT_RATE,
    POSITION,
    SPEED,
    Dimension,
    Quantity,
    without_degrees,
)
from linkwork.plant.faults.effects import Site
from linkwork.plant.faults.entries import FaultEntry, Named


def _read(motion: Dimension, force: Dimension) -> Dimension:
    """Return the units of what sensors read: of an angle, a length, a force or a moment."""
    return Dimension(motion.of_angle, (*motion.of_length, *force.of_length, *force.of_angle))


READING, RATE = _read(POSITION, EFFORT), _read(SPEED, EFFORT_RATE)


class SensorEntry(FaultEntry):
    """A sensor says something else than it should."""

    amount: ClassVar[Quantity[float] | None] = None
    """Its number, where it has one."""
    forces: ClassVar[bool] = True
    """Whether a force sensor can have it."""

    of: Named = entry("The sensor: the joint that it measures, or the force sensor's name")
    axis: Named | None = entry(
        "Component x, y or z of a force sensor, row of a constraint. Default: all", default=None
    )
    measures: Literal["motion", "force"] | None = entry(
        "Selects between two sensors of one name: joint motion, or force", default=None
    )

    def is_of_force(self, joints: Collection[str]) -> bool:
        """Whether it concerns a force sensor: so it says, by word or unit, or no such joint is measured."""
        if self.measures is not None:
            return self.measures == "force"
        amount = type(self).amount
        given = amount.given(self) if amount is not None else None
        in_newtons = given is not None and given.unit.text.startswith("N")
        return in_newtons or self.axis is not None or self.of not in joints


class Bias(SensorEntry):
    """A constant is added."""

    kind: ClassVar[str] = "sensor.bias"
    sensor: Literal["bias"]
    amount = Quantity("by", READING, "Bias added to the reading")


class Drift(SensorEntry):
    """The offset grows with time; a measured velocity changes by the rate."""

    kind: ClassVar[str] = "sensor.drift"
    sensor: Literal["drift"]
    amount = Quantity("rate", RATE, "Drift rate")


class Freeze(SensorEntry):
    """The last reading stays, of position and velocity."""

    kind: ClassVar[str] = "sensor.freeze"
    sensor: Literal["freeze"]


class Noise(SensorEntry):
    """Normally distributed numbers are added."""

    kind: ClassVar[str] = "sensor.noise"
    sensor: Literal["noise"]
    amount = Quantity("std", READING, "Standard deviation", ge=0)
    velocity_noise = Quantity(
        "velocity_std", without_degrees(SPEED), "Standard deviation of a measured velocity", 0.0, ge=0
    )


class Quantise(SensorEntry):
    """Readings are rounded to whole steps."""

    kind: ClassVar[str] = "sensor.quantise"
    sensor: Literal["quantise"]
    amount = Quantity("step", READING, "The step", gt=0)


class NotANumber(SensorEntry):
    """The reading is not a number."""

    kind: ClassVar[str] = "sensor.nan"
    forces: ClassVar[bool] = False
    sensor: Literal["nan"]


class Swap(SensorEntry):
    """Two sensors of one kind speak in each other's place."""

    kind: ClassVar[str] = "sensor.swap"
    sensor: Literal["swap"]
    other: Named = entry("The other sensor")

    @model_validator(mode="after")
    def _two(self) -> Swap:
        if self.other == self.of:
            raise wrong(
                "a sensor is not swapped with itself", self.other, remedy="name another", at=("other",)
            )
        return self


class Scale(SensorEntry):
    """Readings are multiplied, of position and velocity."""

    kind: ClassVar[str] = "sensor.scale"
    sensor: Literal["scale"]
    factor: Number = entry("Factor of the reading")


SENSOR = (Bias, Drift, Freeze, Noise, Quantise, NotANumber, Swap, Scale)


class SensorEffect:
    """A fault of one sensor: `x` is a view of its positions (one number), or of its force (all components, or
    one); `v` of its velocity, empty where it measures none.
    """

    def __init__(self, entry: SensorEntry, site: Site, random: np.random.Generator) -> None:
        self.entry, self.site, self.random = entry, site, random
        self.machinery = site.machinery
        self._of_force = entry.is_of_force([sensor.joint for sensor in site.machine.sensors])
        self.x, self.v = self.views(entry.of)
        self.first = 0
        self.amount = entry.amount or 0.0

    def views(self, name: str) -> tuple[Floats, Floats]:
        """Return views of a sensor's readings: position or force, and velocity where it measures one (n each,
        or 0).
        """
        site, machinery, nothing = self.site, self.machinery, np.zeros(0)
        if not self._of_force:
            at = slice(site.sensor(name), site.sensor(name) + 1)
            measures = site.machine.sensors[at.start].velocity
            return machinery.measured.q[at], machinery.measured.v[at] if measures else nothing
        sensor, axis = site.machine.force_sensors[site.force_sensor(name)], self.entry.axis
        if axis is None:
            return machinery.measured.force[sensor.numbers], nothing
        first = sensor.first + sensor.components.index(axis)
        return machinery.measured.force[first : first + 1], nothing

    def begin(self, tick: int) -> str:
        """Change readings from this tick on."""
        self.first = tick
        self.machinery.sensing.append(self)
        return ""

    def tick(self, tick: int) -> None:
        """Update at a tick; without effect."""

    def end(self) -> str:
        """Stop changing readings."""
        self.machinery.sensing.remove(self)
        return ""

    def falsify(self) -> None:
        """Change the reading of this tick, in place."""


class Biased(SensorEffect):
    """x + b."""

    def falsify(self) -> None:
        """Adds."""
        self.x += self.amount


class Drifting(SensorEffect):
    """x + r (t - t0), v + r."""

    def falsify(self) -> None:
        """Adds."""
        self.x += self.amount * (self.machinery.tick - self.first) * self.site.period_s
        self.v += self.amount


class Frozen(SensorEffect):
    """Freeze the last reading."""

    def begin(self, tick: int) -> str:
        """Keep the last reading."""
        self._x, self._v = self.x.copy(), self.v.copy()
        return super().begin(tick)

    def falsify(self) -> None:
        """Put it in place of the reading."""
        self.x[:], self.v[:] = self._x, self._v


class Noisy(SensorEffect):
    """x + s n, v + s' n'; n, n' standard normal."""

    entry: Noise

    def falsify(self) -> None:
        """Add noise; the number of random draws in a tick is constant."""
        entry = self.entry
        drawn = self.random.standard_normal(len(self.x) + 1)
        self.x += self.amount * drawn[:-1]
        self.v += entry.velocity_noise * drawn[-1]


class Quantised(SensorEffect):
    """s round(x / s)."""

    def falsify(self) -> None:
        """Rounds."""
        np.round(self.x / self.amount, out=self.x)
        self.x *= self.amount


class NoNumber(SensorEffect):
    """Not a number."""

    def falsify(self) -> None:
        """In place of the position, and of a velocity."""
        self.x[:] = self.v[:] = np.nan


class Swapped(SensorEffect):
    """Swap the readings of two sensors."""

    entry: Swap

    def __init__(self, entry: Swap, site: Site, random: np.random.Generator) -> None:
        super().__init__(entry, site, random)
        self._other = self.views(entry.other)

    def falsify(self) -> None:
        """Exchanges, velocities where both measure one."""
        x, v = self._other
        pairs = [(self.x, x)] + ([(self.v, v)] if len(self.v) == len(v) else [])
        for mine, other in pairs:
            kept = mine.copy()
            mine[:], other[:] = other, kept


class Scaled(SensorEffect):
    """c x, c v."""

    entry: Scale

    def falsify(self) -> None:
        """Multiplies."""
        self.x *= self.entry.factor
        self.v *= self.entry.factor


SENSOR_EFFECTS: dict[str, type[SensorEffect]] = {
    Bias.kind: Biased,
    Drift.kind: Drifting,
    Freeze.kind: Frozen,
    Noise.kind: Noisy,
    Quantise.kind: Quantised,
    NotANumber.kind: NoNumber,
    Swap.kind: Swapped,
    Scale.kind: Scaled,
}
