"""The section `driver`: scaling and signs of a device's channels, for hardware in place of the simulated
plant."""

import math
from collections.abc import Iterable
from typing import Any, Literal, Self

from pydantic import model_validator

from linkwork.machine.sections.constraint_base import CoordinateName
from linkwork.machine.sections.fields import Count, Number, Section, Switch, entry, one_of
from linkwork.machine.sections.quantity import POSITION, Quantity, one_unit


class DriverSensor(Section):
    """Conversion of a device's position reading to the joint."""

    channel: Count | None = entry(
        "Number of the device's sensor, from 0. Default: its position in `sensors`",
        default=None,
        ge=0,
        lt=256,
    )
    counts_per_turn: Number | None = entry(
        "Counts of the encoder for one turn of its shaft; default: the device reports rad", default=None, gt=0
    )
    counts_per_m: Number | None = entry(
        "Counts of the encoder for one metre of a slide; default: the device reports m", "1/m", None, gt=0
    )
    gear: Number = entry("Turns of the encoder's shaft for one turn of the joint", "1", 1.0, gt=0)
    reversed: Switch = entry(
        "Whether the device counts down when the joint's coordinate increases", default=False
    )
    at_zero = Quantity("at_zero", POSITION, "The joint's {position} at device reading 0. Default: 0", 0.0)

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        one_of(self, "counts_per_turn", "counts_per_m")
        return self

    @property
    def per_count(self) -> float:
        """Position of the joint (rad or m) for each of the device's numbers."""
        counts = self.counts_per_turn / math.tau if self.counts_per_turn else self.counts_per_m or 1.0
        return (-1.0 if self.reversed else 1.0) / counts / self.gear


class DriverMotor(Section):
    """Conversion of an effort at the joint to the device. The gear is that of the section `motors`."""

    channel: Count | None = entry(
        "Number of the device's motor, from 0. Default: its position in `motors`", default=None, ge=0, lt=256
    )
    torque_constant_N_m_A: Number | None = entry(
        "Torque of the rotor for one ampere; none: the device takes the torque, or the force, itself",
        "N m/A",
        None,
        gt=0,
    )
    scale: Number = entry(
        "The device's number for one ampere, or without a torque constant for one N m or N", "1", 1.0, gt=0
    )
    reversed: Switch = entry("Whether a positive command moves the joint backwards", default=False)
    mode: Literal["cst", "csp"] = entry(
        "What the drive follows. cst: efforts; csp: positions, in its own loop, with the law's feed-forward "
        "effort added. One for all motors",
        default="cst",
    )
    max_temperature = Quantity(
        "max_temperature", one_unit("degC", "°C"),
        "Temperature above which the plant brakes with OVER_TEMPERATURE. Default: not monitored", None,
        absent=math.inf,
    )  # fmt: skip

    def per_effort(self, gear_ratio: float) -> float:
        """Return the device's number for an effort of 1 N m or 1 N at the joint."""
        own = self.scale / gear_ratio / (self.torque_constant_N_m_A or 1.0)
        return -own if self.reversed else own


class DriverSettings(Section):
    """Hardware in place of the simulated plant, with `linkwork plant FILE --driver …`."""

    options: dict[str, Any] = entry("Options of the driver; see its page", default={})
    homing: Literal["device", "here", "procedure"] = entry(
        "Homing. device: the device reports when it is homed; here: the machine is in its initial pose when "
        "the plant starts; procedure: the driver's homing procedure runs before clients may connect",
        default="device",
    )
    homing_timeout_s: Number = entry("Time limit of the driver's homing procedure", "s", 60.0, gt=0, le=3600)
    motors: dict[CoordinateName, DriverMotor] = entry("The motors, by the names in `motors`", default={})
    sensors: dict[CoordinateName, DriverSensor] = entry("The sensors, by the names in `sensors`", default={})

    @property
    def follows_positions(self) -> bool:
        """Whether the drives close the position loop themselves (mode csp)."""
        return any(row.mode == "csp" for row in self.motors.values())

    def motors_of(self, names: Iterable[str]) -> list[DriverMotor]:
        """Return the conversions of these motors; one that is left out takes the effort as it is."""
        return [self.motors.get(name, DriverMotor()) for name in names]

    def sensors_of(self, names: Iterable[str]) -> list[DriverSensor]:
        """Return the conversions of these sensors; one that is left out reports rad or m."""
        return [self.sensors.get(name, DriverSensor()) for name in names]


def channels(rows: Iterable[DriverMotor | DriverSensor]) -> list[int]:
    """Return the device's number of each motor or sensor; that of its place where the file gives none."""
    return [place if row.channel is None else row.channel for place, row in enumerate(rows)]
