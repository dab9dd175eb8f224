"""From a device's own numbers to those of the joint, and back: counts, gears, constants, signs, zeros."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.machine import Machine
from linkwork.machine.problems import refuse
from linkwork.machine.sections.drivers import DriverMotor, DriverSensor, channels
from linkwork.plant.drivers.driver import Description, Reading


class Scaling:
    """Scaling between machine and device, from the section `driver` of a machine file; `resolution`: a count
    of each, rad or m.

    Raises MachineError where the device lacks a channel that the file uses.
    """

    def __init__(self, machine: Machine, description: Description) -> None:
        motors = machine.driver.motors_of(motor.joint for motor in machine.motors)
        sensors = machine.driver.sensors_of(sensor.joint for sensor in machine.sensors)
        _refuse_misfits(machine, description, motors, sensors)
        self._motor_at = np.array(channels(motors), np.int64)
        self._sensor_at = np.array(channels(sensors), np.int64)
        gears = [motor.gear_ratio for motor in machine.motors]
        self._per_effort = np.array([row.per_effort(gear) for row, gear in zip(motors, gears, strict=True)])
        self._per_count = np.array([sensor.per_count for sensor in sensors])
        self._zero = np.array([sensor.at_zero for sensor in sensors])
        joints = [sensor.joint for sensor in machine.sensors]
        self._sensor_of = [joints.index(each.joint) for each in machine.motors if each.joint in joints]
        self._measures = np.array([float(sensor.velocity) for sensor in machine.sensors])
        self.resolution: Floats = np.abs(self._per_count)

    def to_device(self, effort: Floats, out: Floats) -> None:
        """Write the device's numbers of `effort` (motors; N m or N) to `out` (channels)."""
        out[self._motor_at] = effort * self._per_effort

    def positions_to_device(self, position: Floats, out: Floats) -> None:
        """Write the encoders' readings at `position` (motors; rad or m) to `out` (channels)."""
        at = self._sensor_of
        out[self._motor_at] = (position - self._zero[at]) / self._per_count[at]

    def from_device(
        self, reading: Reading, q: Floats, v: Floats, effort: Floats, temperature: Floats
    ) -> None:
        """Write a device's report to q, v, effort and temperature, in the machine file's order and units.

        q, v (sensors): rad or m, and per second, 0 where none are sent. effort (motors): N m or N;
        temperature (motors): °C.
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


def _refuse_misfits(
    machine: Machine,
    description: Description,
    motors: Sequence[DriverMotor],
    sensors: Sequence[DriverSensor],
) -> None:
    document = machine.document
    problems = []

    def misfit(path: tuple[str, ...], message: str, found: str, allowed: str, remedy: str = "") -> None:
        rest: dict[str, Any] = {"found": found, "allowed": allowed, "remedy": remedy}
        problems.append(document.problem(path, message, of_key=True, **rest))

    name = description.name
    shortest, longest = description.period_s
    if not shortest <= machine.plant.period_s <= longest:
        found, allowed = f"{machine.plant.period_s:g} s", f"{shortest:g} to {longest:g} s"
        misfit(("plant", "period_s"), f"{name} does not support this period", found, allowed)
    for what, rows, joints, there in (
        ("motor", motors, [motor.joint for motor in machine.motors], description.motors),
        ("sensor", sensors, [sensor.joint for sensor in machine.sensors], description.sensors),
    ):
        for joint, channel in zip(joints, channels(rows), strict=True):
            if channel >= there:
                message, allowed = f"{name} has no {what} with this channel", f"0 to {there - 1}"
                path = ("driver", f"{what}s", joint)
                misfit(path, message, f"channel {channel}", allowed, "give another `channel`")
    for row, motor in zip(motors, machine.motors, strict=True):
        if np.isfinite(row.max_temperature) and not description.temperatures:
            path = ("driver", "motors", motor.joint)
            misfit(path, f"{name} measures no temperature", "max_temperature_degC", "nothing", "remove it")
    for sensor in machine.sensors:
        if sensor.velocity and not description.velocities:
            path, remedy = ("sensors", sensor.joint, "velocity"), "remove it: the observer estimates it"
            misfit(path, f"{name} does not measure velocity", "true", "false", remedy)
    if machine.driver.follows_positions and not description.positions:
        remedy = "remove it: the law closes the loop"
        misfit(("driver", "motors"), f"{name} follows no positions", "mode: csp", "mode: cst", remedy)
    felt = description.force_channels
    if machine.force_numbers > felt:
        found, allowed = f"{machine.force_numbers} channels of force sensors", str(felt or "none")
        remedy = "remove them: forces are estimated by the model"
        has = f"has only {felt}" if felt else "measures no forces"
        misfit(("force_sensors",), f"{name} {has}", found, allowed, remedy)
    for kind, wanted, count in (
        ("input", len(machine.inputs), description.input_channels),
        ("output", len(machine.outputs), description.output_channels),
    ):
        if wanted > count:
            message = f"{name} has only {count} {kind} signals" if count else f"{name} has no {kind} signals"
            misfit(("signals",), message, f"{wanted} {kind}s", str(count or "none"))
    refuse(problems)
