"""From a device's own numbers to those of the joint, and back: counts, gears, constants, signs, zeros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.machine import Machine, MachineError
from linkwork.plant.drivers.driver import Description, Reading


class Scaling:
    """Scaling between machine and device, from the section `driver` of a machine file; `resolution`: a count
    of each, rad or m.

    Raises MachineError where the device lacks a channel that the file uses.
    """

    def __init__(self, machine: Machine, description: Description) -> None:
        _refuse_misfits(machine, description)
        motors, sensors = machine.driver.motors, machine.driver.sensors
        self._motor_at = np.array([motor.channel for motor in motors], np.int64)
        self._sensor_at = np.array([sensor.channel for sensor in sensors], np.int64)
        self._per_effort = np.array([motor.per_effort for motor in motors])
        self._per_count = np.array([sensor.per_count for sensor in sensors])
        self._zero = np.array([sensor.at_zero for sensor in sensors])
        self._measures = np.array([float(sensor.velocity) for sensor in machine.sensors])
        self.resolution: Floats = np.abs(self._per_count)

    def to_device(self, effort: Floats, out: Floats) -> None:
        """Write the device's numbers of `effort` (motors; N m or N) to `out` (channels)."""
        out[self._motor_at] = effort * self._per_effort

    def from_device(
        self, reading: Reading, q: Floats, v: Floats, effort: Floats, temperature: Floats
    ) -> None:
        """Write positions and velocities (sensors; 0 where none are sent), efforts and °C (motors), in the
        file's order.
        """
        np.multiply(reading.position[self._sensor_at], self._per_count, out=q)
        q += self._zero
        np.multiply(reading.velocity[self._sensor_at], self._per_count * self._measures, out=v)
        np.divide(reading.effort[self._motor_at], self._per_effort, out=effort)
        temperature[:] = reading.temperature[self._motor_at]

    def motor_reports(self, reading: Reading, out: Integers) -> None:
        """Write status, fault and mode of each motor (3, motors) in the file's order."""
        out[:] = reading.motors[:, self._motor_at]

    @property
    def zero(self) -> Floats:
        """Positions of the joints (sensors; rad or m) at which the device's sensors read 0."""
        return self._zero

    def put(self, measured: Floats, actual: Sequence[float]) -> None:
        """Shift the zeros so that readings `measured` (sensors; rad or m) become positions `actual`."""
        self._zero += np.asarray(actual) - measured


def _refuse_misfits(machine: Machine, description: Description) -> None:
    document = machine.document
    problems = []

    def misfit(path: tuple[str, ...], message: str, found: str, allowed: str, remedy: str = "") -> None:
        rest: dict[str, Any] = {"found": found, "allowed": allowed, "remedy": remedy}
        problems.append(document.problem(path, message, of_key=True, **rest))

    name, settings = description.name, machine.driver
    shortest, longest = description.period_s
    if not shortest <= machine.plant.period_s <= longest:
        found, allowed = f"{machine.plant.period_s:g} s", f"{shortest:g} to {longest:g} s"
        misfit(("plant", "period_s"), f"{name} does not support this period", found, allowed)
    for row, motor in zip(settings.motors, machine.motors, strict=True):
        path = ("driver", "motors", motor.joint)
        if row.channel >= description.motors:
            found, allowed = f"channel {row.channel}", f"0 to {description.motors - 1}"
            misfit(path, f"{name} has no motor with this channel", found, allowed, "give another `channel`")
        if np.isfinite(row.max_temperature) and not description.temperatures:
            misfit(path, f"{name} measures no temperature", "max_temperature_degC", "nothing", "remove it")
    for place, sensor in zip(settings.sensors, machine.sensors, strict=True):
        if place.channel >= description.sensors:
            found, allowed = f"channel {place.channel}", f"0 to {description.sensors - 1}"
            path = ("driver", "sensors", sensor.joint)
            misfit(path, f"{name} has no sensor with this channel", found, allowed, "give another `channel`")
        if sensor.velocity and not description.velocities:
            path = ("sensors", sensor.joint, "velocity")
            misfit(
                path,
                f"{name} does not measure velocity",
                "true",
                "false",
                "remove it: the observer estimates it",
            )
    channels = description.force_channels
    if machine.force_numbers > channels:
        found, allowed = f"{machine.force_numbers} channels of force sensors", str(channels or "none")
        remedy = "remove them: forces are estimated by the model"
        has = f"has only {channels}" if channels else "measures no forces"
        misfit(("force_sensors",), f"{name} {has}", found, allowed, remedy)
    for what, wanted, there in (
        ("input", len(machine.inputs), description.input_channels),
        ("output", len(machine.outputs), description.output_channels),
    ):
        if wanted > there:
            message = f"{name} has only {there} {what} signals" if there else f"{name} has no {what} signals"
            misfit(("signals",), message, f"{wanted} {what}s", str(there or "none"))
    if problems:
        raise MachineError(problems)
