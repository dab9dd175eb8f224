"""Sensor faults. A reading (rad, m or N) is changed in place."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import model_validator

from linkwork.arrays import Floats
from linkwork.machine import Machine, Sensor
from linkwork.machine.sections.fields import Number, entry, wrong
from linkwork.machine.sections.force_sensors import ForceSensor
from linkwork.machine.sections.quantity import (
    EFFORT,
    EFFORT_RATE,
    POSITION,
    SPEED,
    Dimension,
    Quantity,
    without_degrees,
)
from linkwork.plant.faults.fault import FaultCheck, FaultyValues, MachineName, Named, Site, ValueFault
from linkwork.plant.faults.faulty_machinery import Acting


def _read(motion: Dimension, force: Dimension) -> Dimension:
    """Return the units of what sensors read: of an angle, a length, a force or a moment."""
    return Dimension(motion.of_angle, (*motion.of_length, *force.of_length, *force.of_angle))


READING, RATE = _read(POSITION, EFFORT), _read(SPEED, EFFORT_RATE)
SensorName = Annotated[Named, MachineName("sensor", lambda machine, fault: list(fault.choices(machine)))]
OtherName = Annotated[Named, MachineName("sensor like {of}", lambda machine, fault: fault.alike(machine))]


class SensorFault(ValueFault):
    """A sensor says something else than it should."""

    amount: ClassVar[Quantity[float] | None] = None
    """Its number, where it has one."""
    forces: ClassVar[bool] = True
    """Whether a force sensor can have it."""

    of: SensorName = entry("The sensor: the joint that it measures, or the force sensor's name")
    axis: Named | None = entry(
        "Component x, y or z of a force sensor, row of a constraint. Default: all", default=None
    )
    measures: Literal["motion", "force"] | None = entry(
        "Selects between two sensors of one name: joint motion, or force", default=None
    )

    def choices(self, machine: Machine) -> dict[str, Sensor | ForceSensor]:
        """Return by name the sensors among which it names one.

        They measure forces where it says so, by word or unit, and motion where it does so or names a joint.
        """
        joints = {sensor.name: sensor for sensor in machine.sensors}
        forces = {sensor.name: sensor for sensor in machine.force_sensors}
        if self.measures is not None:
            return {**forces} if self.measures == "force" else {**joints}
        if self.of not in joints:
            return {**joints, **forces}
        amount = type(self).amount
        given = amount.given(self) if amount is not None else None
        in_newtons = given is not None and given.unit.text.startswith("N")
        return {**forces} if in_newtons or self.axis is not None else {**joints}

    def compare(self, check: FaultCheck) -> None:
        """Its unit, its axis, and what only one kind of sensor has."""
        sensor, axis = self.choices(check.machine)[self.of], self.axis
        if isinstance(sensor, ForceSensor):
            units: tuple[str, ...] = (sensor.unit,)
            if not self.forces:
                check.note("of", "a force sensor cannot have this fault", self.of)
            if axis is not None and axis not in sensor.components:
                check.unknown("axis", axis, "component", sensor.components)
        else:
            units = ("rad", "deg") if sensor.is_angle else ("m",)
            if axis is not None:
                check.note("axis", "only a force sensor has axes", axis, remedy="remove axis")
        amount = type(self).amount
        if amount is not None and (given := amount.given(self)):
            allowed = [
                key for key, unit, _ in amount.spellings(None) if unit.text.removesuffix("/s") in units
            ]
            if given.key not in allowed:
                check.note(given.key, f"{self.of} is not measured in this unit", given.key,
                           ", ".join(allowed), f"write {allowed[0]}")  # fmt: skip

    def place(self, site: Site) -> tuple[Acting, Floats, Floats]:
        """Return what acts on readings, and views of this one: position or force (n), velocity (n or 0)."""
        return site.machinery.sensing, *self.views(site, self.of)

    def views(self, site: Site, name: str) -> tuple[Floats, Floats]:
        """Return views of a sensor's readings: position or force (n), velocity (n, or 0: not measured)."""
        measured, sensors = site.machinery.measured, site.machine.sensors
        sensor = self.choices(site.machine)[name]
        if isinstance(sensor, ForceSensor):
            at = sensor.numbers
            if self.axis is not None:
                first = sensor.first + sensor.components.index(self.axis)
                at = slice(first, first + 1)
            return measured.force[at], measured.v[:0]
        place = [each.name for each in sensors].index(name)
        return measured.q[place : place + 1], measured.v[place : place + sensor.velocity]


class Bias(SensorFault):
    """A constant is added."""

    sensor: Literal["bias"]
    amount = Quantity("by", READING, "Bias added to the reading")

    def change(self, values: FaultyValues) -> None:
        """x + b."""
        values.x += self.amount


class Drift(SensorFault):
    """The offset grows with time; a measured velocity changes by the rate."""

    sensor: Literal["drift"]
    amount = Quantity("rate", RATE, "Drift rate")

    def change(self, values: FaultyValues) -> None:
        """x + r (t - t0), v + r."""
        values.x += self.amount * values.elapsed_ticks * values.site.period_s
        values.v += self.amount


class Freeze(SensorFault):
    """The last reading stays, of position and velocity."""

    sensor: Literal["freeze"]

    def change(self, values: FaultyValues) -> None:
        """The last reading before the fault."""
        values.x[:], values.v[:] = values.last


class Noise(SensorFault):
    """Normally distributed numbers are added."""

    sensor: Literal["noise"]
    amount = Quantity("std", READING, "Standard deviation", ge=0)
    velocity_noise = Quantity(
        "velocity_std", without_degrees(SPEED), "Standard deviation of a measured velocity", 0.0, ge=0
    )

    def compare(self, check: FaultCheck) -> None:
        """Also that the velocity is measured, and its unit."""
        super().compare(check)
        sensor, amount = self.choices(check.machine)[self.of], type(self).velocity_noise
        given = amount.given(self)
        if given is None:
            return
        if isinstance(sensor, ForceSensor) or not sensor.velocity:
            remedy = f"remove {given.key}"
            check.note(given.key, f"{self.of} does not measure velocity", given.key, remedy=remedy)
        elif given not in amount.spellings(sensor.is_angle):
            check.note(given.key, f"the velocity of {self.of} has another unit", given.key)

    def change(self, values: FaultyValues) -> None:
        """x + s n, v + s' n'; n, n' standard normal. The number of random draws in a tick is constant."""
        drawn = values.site.random.standard_normal(len(values.x) + 1)
        values.x += self.amount * drawn[:-1]
        values.v += self.velocity_noise * drawn[-1]


class Quantise(SensorFault):
    """Readings are rounded to whole steps."""

    sensor: Literal["quantise"]
    amount = Quantity("step", READING, "The step", gt=0)

    def change(self, values: FaultyValues) -> None:
        """s round(x / s)."""
        values.x[:] = np.round(values.x / self.amount) * self.amount


class NotANumber(SensorFault):
    """The reading is not a number."""

    forces: ClassVar[bool] = False
    sensor: Literal["nan"]

    def change(self, values: FaultyValues) -> None:
        """Not a number, in place of the position and of a velocity."""
        values.x[:] = values.v[:] = np.nan


class Swap(SensorFault):
    """Two sensors of one kind speak in each other's place."""

    sensor: Literal["swap"]
    other: OtherName = entry("The other sensor")

    @model_validator(mode="after")
    def _two(self) -> Swap:
        if self.other == self.of:
            raise wrong(
                "a sensor is not swapped with itself", self.other, remedy="name another", at=("other",)
            )
        return self

    @classmethod
    def missing(cls, machine: Machine) -> str:
        """Return that no two sensors are of one kind."""
        kinds = [*map(_kind, machine.sensors), *map(_kind, machine.force_sensors)]
        return "" if len(kinds) > len(set(kinds)) else "the machine has no two sensors of the same kind"

    def alike(self, machine: Machine) -> list[str]:
        """Return the names of the other sensors of this kind."""
        sensors = self.choices(machine)
        kind = _kind(sensors[self.of])
        return [name for name, each in sensors.items() if _kind(each) == kind and name != self.of]

    def effect(self, site: Site) -> SwappedReadings:
        """Return the readings of both sensors."""
        return SwappedReadings(self, site)

    def change(self, values: FaultyValues) -> None:
        """The reading of the other sensor, and the other way round; velocities where both measure one."""
        assert isinstance(values, SwappedReadings)
        x, v = values.other
        pairs = [(values.x, x)] + ([(values.v, v)] if len(values.v) == len(v) else [])
        for mine, other in pairs:
            kept = mine.copy()
            mine[:], other[:] = other, kept


class SwappedReadings(FaultyValues):
    """The readings of two sensors: beside those of one, views of the `other`'s."""

    def __init__(self, fault: Swap, site: Site) -> None:
        super().__init__(fault, site)
        self.other = fault.views(site, fault.other)


class Scale(SensorFault):
    """Readings are multiplied, of position and velocity."""

    sensor: Literal["scale"]
    factor: Number = entry("Factor of the reading")

    def change(self, values: FaultyValues) -> None:
        """c x, c v."""
        values.x *= self.factor
        values.v *= self.factor


def _kind(sensor: Sensor | ForceSensor) -> object:
    if isinstance(sensor, ForceSensor):
        return sensor.unit, len(sensor.components)
    return sensor.is_angle


SENSOR = (Bias, Drift, Freeze, Noise, Quantise, NotANumber, Swap, Scale)
