"""The section `driver`: scaling and signs of a device's channels, for hardware in place of the simulated
plant."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import model_validator

from linkwork.machine.sections.constraint_base import CoordinateName
from linkwork.machine.sections.fields import Count, Number, Section, Switch, entry, one_of
from linkwork.machine.sections.quantity import POSITION, Quantity

Homing = Literal["device", "here", "procedure"]


class DriverSensorSpec(Section):
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
    def _one_of_each(self) -> DriverSensorSpec:
        one_of(self, "counts_per_turn", "counts_per_m")
        return self


class DriverMotorSpec(Section):
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
    max_temperature_degC: Number | None = entry(
        "Temperature above which the plant brakes with OVER_TEMPERATURE. Default: not monitored", "°C", None
    )


class DriverSpec(Section):
    """Hardware in place of the simulated plant, with `linkwork plant FILE --driver …`."""

    options: dict[str, Any] = entry("Options of the driver; see its page", default={})
    homing: Literal["device", "here", "procedure"] = entry(
        "Homing. device: the device reports when it is homed; here: the machine is in its initial pose when "
        "the plant starts; procedure: the driver's homing procedure runs before clients may connect",
        default="device",
    )
    homing_timeout_s: Number = entry("Time limit of the driver's homing procedure", "s", 60.0, gt=0, le=3600)
    motors: dict[CoordinateName, DriverMotorSpec] = entry("The motors, by the names in `motors`", default={})
    sensors: dict[CoordinateName, DriverSensorSpec] = entry(
        "The sensors, by the names in `sensors`", default={}
    )


@dataclass(frozen=True)
class MotorScale:
    """device's number = `per_effort` × effort at the joint (N m or N); `max_temperature` in °C or inf."""

    channel: int
    per_effort: float
    max_temperature: float = math.inf


@dataclass(frozen=True)
class SensorScale:
    """position of the joint (rad or m) = `per_count` × the device's number + `at_zero`."""

    channel: int
    per_count: float
    at_zero: float = 0.0


@dataclass(frozen=True)
class DriverSettings:
    """The section `driver` in SI units; one entry for each motor and each sensor of the machine, in order."""

    options: dict[str, Any] = field(default_factory=dict)
    homing: Homing = "device"
    homing_timeout_s: float = 60.0
    motors: tuple[MotorScale, ...] = ()
    sensors: tuple[SensorScale, ...] = ()
