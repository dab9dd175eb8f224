"""The section `driver`: what a device's own numbers mean where hardware stands in the plant's place."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import model_validator

from linkwork.machine.sections.constraint_base import CoordinateName
from linkwork.machine.sections.fields import Count, Number, Section, Switch, entry, one_of

Homing = Literal["device", "here", "procedure"]


class DriverSensorSpec(Section):
    """What a position of the device is at the joint."""

    channel: Count | None = entry(
        "Number of the device's sensor, from 0; none: the place in `sensors`", default=None, ge=0, lt=256
    )
    counts_per_turn: Number | None = entry(
        "Counts of the encoder for one turn of its shaft; none: the device says rad", default=None, gt=0
    )
    counts_per_m: Number | None = entry(
        "Counts of the encoder for one metre of a slide; none: the device says m", "1/m", None, gt=0
    )
    gear: Number = entry("Turns of the encoder's shaft for one turn of the joint", "1", 1.0, gt=0)
    reversed: Switch = entry(
        "Whether the device counts down where the joint's coordinate grows", default=False
    )
    at_zero_deg: Number | None = entry("Angle of the joint where the device says 0", "deg", None)
    at_zero_rad: Number | None = entry("Angle of the joint where the device says 0", "rad", None)
    at_zero_m: Number | None = entry("Position of the slide where the device says 0", "m", None)

    @model_validator(mode="after")
    def _one_of_each(self) -> DriverSensorSpec:
        one_of(self, "at_zero_deg", "at_zero_rad", "at_zero_m")
        one_of(self, "counts_per_turn", "counts_per_m")
        return self


class DriverMotorSpec(Section):
    """What an effort at the joint is to the device. The gear is that of the section `motors`."""

    channel: Count | None = entry(
        "Number of the device's motor, from 0; none: the place in `motors`", default=None, ge=0, lt=256
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
        "Temperature above which the plant brakes and says OVER_TEMPERATURE; none: not watched", "°C", None
    )


class DriverSpec(Section):
    """How hardware stands in the plant's place, with `linkwork plant FILE --driver …`."""

    options: dict[str, Any] = entry("The driver's own options; its page lists them", default={})
    homing: Literal["device", "here", "procedure"] = entry(
        "Who knows where zero is: the device says when it is homed; or the machine stands in its initial "
        "pose when the plant starts; or the driver's procedure finds it, before anybody may connect",
        default="device",
    )
    homing_timeout_s: Number = entry("Longest time for the driver's procedure", "s", 60.0, gt=0, le=3600)
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
