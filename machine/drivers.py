"""The section `driver`: what a device's own numbers mean where hardware stands in the plant's place."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import model_validator

from machine.constraint_base import CoordinateName
from machine.fields import Count, Number, Section, Switch, entry, one_of
from machine.problems import Problem
from machine.unknown import unknown
from machine.yaml import Document

if TYPE_CHECKING:
    from machine.description import Motor, Sensor
    from machine.file import MachineFile

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


def driver_settings(
    spec: DriverSpec, motors: tuple[Motor, ...], sensors: tuple[Sensor, ...]
) -> DriverSettings:
    """Return the settings; a motor or sensor that the section leaves out takes the device's numbers as SI."""
    return DriverSettings(
        options=spec.options,
        homing=spec.homing,
        homing_timeout_s=spec.homing_timeout_s,
        motors=tuple(
            _motor(spec.motors.get(motor.joint, DriverMotorSpec()), motor, place)
            for place, motor in enumerate(motors)
        ),
        sensors=tuple(
            _sensor(spec.sensors.get(sensor.joint, DriverSensorSpec()), place)
            for place, sensor in enumerate(sensors)
        ),
    )


def _motor(spec: DriverMotorSpec, motor: Motor, place: int) -> MotorScale:
    per_effort = spec.scale / motor.gear / (spec.torque_constant_N_m_A or 1.0)
    hottest = math.inf if spec.max_temperature_degC is None else spec.max_temperature_degC
    channel = place if spec.channel is None else spec.channel
    return MotorScale(channel, -per_effort if spec.reversed else per_effort, hottest)


def _sensor(spec: DriverSensorSpec, place: int) -> SensorScale:
    counted = math.tau / spec.counts_per_turn if spec.counts_per_turn else 1.0 / (spec.counts_per_m or 1.0)
    per_count = counted / spec.gear
    zero = spec.at_zero_m or spec.at_zero_rad or math.radians(spec.at_zero_deg or 0.0)
    channel = place if spec.channel is None else spec.channel
    return SensorScale(channel, -per_count if spec.reversed else per_count, zero)


def check_driver(file: MachineFile, document: Document, is_angle: dict[str, bool]) -> Iterator[Problem]:
    """Yield what is wrong with the names, the kinds and the channels; `is_angle` of every freedom."""
    for section, known in (("motors", file.motors), ("sensors", file.sensors)):
        rows: dict[str, DriverMotorSpec | DriverSensorSpec] = dict(getattr(file.driver, section))
        for name in rows:
            if name not in known:
                path = ("driver", section, name)
                yield unknown(document, path, name, section[:-1], known, of_key=True)
        used: dict[int, str] = {}
        for place, name in enumerate(known):
            row = rows.get(name)
            channel = place if row is None or row.channel is None else row.channel
            if channel in used:
                at = ("driver", section, name) if name in rows else ("driver", section, used[channel])
                yield document.problem(
                    at,
                    "two have the same channel of the device",
                    of_key=True,
                    found=f"channel {channel} for {used[channel]} and for {name}",
                    remedy="give each its own `channel`",
                )
            used[channel] = name
    for name, sensor in file.driver.sensors.items():
        turns = is_angle.get(name, True)
        wrong = ("counts_per_m", "at_zero_m") if turns else ("counts_per_turn", "at_zero_deg", "at_zero_rad")
        right = "counts_per_turn, at_zero_deg or at_zero_rad" if turns else "counts_per_m or at_zero_m"
        for key in wrong:
            if getattr(sensor, key) is not None and name in file.sensors:
                yield document.problem(
                    ("driver", "sensors", name, key),
                    f"this joint {'turns' if turns else 'slides'}",
                    of_key=True,
                    found=key,
                    allowed=right,
                )
