"""The section `motors`: one entry under the name of the joint it drives; efforts are those at the joint."""

import math
from typing import Literal, Self

from pydantic import model_validator

from linkwork.machine.sections.fields import Number, entry, wrong
from linkwork.machine.sections.quantity import (
    DAMPING,
    EFFORT,
    EFFORT_RATE,
    SPEED,
    Dimension,
    DofSection,
    Quantity,
    Unit,
    one_unit,
    without_degrees,
)

_TEMPERATURE = one_unit("degC", "°C")
_HEAT_KEYS = (
    "thermal_time_s", "winding_time_s", "winding_share", "max_temperature_degC", "ambient_degC",
    "temperature_sensor",
)  # fmt: skip
"""Keys that describe a thermal model, and need each other."""
_GEAR = Dimension((Unit("", "1"),), (Unit("rad_m", "rad/m"),))


class Motor(DofSection, common=True):
    """A motor at the degree of freedom `joint`, whose coordinate and speed are q[index] and v[index].

    In SI units, at the joint: N m and rad, or N and m. `max_effort_rate` is infinite where not limited;
    `brake_effort` is 0 without a brake; `damping` is the effort per speed of the damp action. `gear_ratio` is
    the rotor's turns per joint turn (rad of the rotor per m), `rotor_inertia` that of the rotor itself in
    kg m². `bandwidth` (rad/s) is that of the lag with which the effort follows its command, infinite without
    one. `continuous_effort` is infinite where not limited; `thermal_time_s` is None without a thermal model
    (motor_heat.py).
    """

    about: str = entry("Description of the motor", default="")
    max_effort = Quantity("max_{effort}", EFFORT, "Largest {effort} at the joint", gt=0)
    max_speed = Quantity(
        "max_speed", without_degrees(SPEED), "Largest speed of the joint that the motor can drive", gt=0
    )
    max_effort_rate = Quantity(
        "max_{effort}_rate", EFFORT_RATE, "Largest rate of the {effort}. Default: no limit", None,
        absent=math.inf, gt=0,
    )  # fmt: skip
    brake_effort = Quantity(
        "brake_{effort}", EFFORT, "Friction of the brake at the joint; 0: no brake", 0.0, ge=0
    )
    brake_release_s: Number = entry(
        "Time from the release command until the brake is open", "s", 0.05, ge=0, le=10
    )
    damping = Quantity(
        "damping", DAMPING,
        "Damping of the motor with `on_timeout: damp`. Default: maximum {effort} at maximum speed", None,
        absent=lambda motor: motor.max_effort / motor.max_speed, ge=0,
    )  # fmt: skip
    gear_ratio = Quantity("gear", _GEAR, "Turns of the rotor for one turn of the joint", 1.0, gt=0)
    rotor_inertia = Quantity(
        "rotor_inertia", one_unit("kg_m2", "kg m²"),
        "Inertia of the rotor about its own axis, before the gear", 0.0, ge=0,
    )  # fmt: skip
    viscous = Quantity("viscous", DAMPING, "Viscous friction of motor and gear", 0.0, ge=0)
    coulomb = Quantity("coulomb", EFFORT, "Dry friction of motor and gear", 0.0, ge=0)
    bandwidth = Quantity(
        "bandwidth", one_unit("Hz", "Hz", math.tau),
        "Bandwidth of the effort: it follows its command with a first-order lag. Default: no lag", None,
        absent=math.inf, gt=0,
    )  # fmt: skip

    continuous_effort = Quantity(
        "continuous_{effort}", EFFORT,
        "Largest {effort} without end: the winding gets to its largest temperature. Default: no limit", None,
        absent=math.inf, gt=0,
    )  # fmt: skip
    thermal_time_s: Number | None = entry(
        "Thermal time constant of the motor; with a winding's, that of its body. Default: no estimate of the "
        "temperature", "s", None, gt=0,
    )  # fmt: skip
    winding_time_s: Number | None = entry(
        "Thermal time constant of the winding against the motor's body. Default: both are one",
        "s",
        None,
        gt=0,
    )
    winding_share: Number = entry(
        "Share of the rise of temperature between winding and body, with `winding_time_s`",
        "1",
        0.4,
        gt=0,
        lt=1,
    )
    max_temperature = Quantity(
        "max_temperature", _TEMPERATURE, "Largest temperature of the winding", 100.0, ge=-50, le=500
    )
    ambient = Quantity(
        "ambient", _TEMPERATURE, "Temperature of the surroundings, at which the continuous {effort} holds",
        25.0, ge=-100, le=200,
    )  # fmt: skip
    temperature_sensor: Literal["winding", "body"] | None = entry(
        "Part of the motor whose temperature the drive measures; the simulated plant reports it then. "
        "Default: the winding, where a driver reports a temperature",
        default=None,
    )

    @model_validator(mode="after")
    def _heat_needs_its_keys(self) -> Self:
        (effort,) = type(self).continuous_effort.keys(self.is_angle)
        asks = [key for key in _HEAT_KEYS if getattr(self, key) != type(self).model_fields[key].default]
        for needed in (effort, "thermal_time_s"):
            if asks and getattr(self, needed) is None:
                raise wrong(
                    f"{', '.join(asks)} needs {needed}", "nothing", "the datasheet's", f"add {needed}"
                )
        if self.ambient >= self.max_temperature:
            found = f"{self.ambient:g} °C"
            allowed = f"below max_temperature_degC, {self.max_temperature:g} °C"
            raise wrong("the surroundings are too hot", found, allowed, "correct ambient_degC")
        return self

    @property
    def joint(self) -> str:
        """The joint that it drives, or its degree of freedom JOINT.DOF."""
        return self.name

    @property
    def armature(self) -> float:
        """Inertia (or mass) of the rotor, reflected to the joint: gear² × rotor inertia."""
        return self.gear_ratio**2 * self.rotor_inertia


class AngleMotor(Motor):
    """The motor of a hinge or a screw."""

    is_angle = True


class LengthMotor(Motor):
    """The motor of a slide."""

    is_angle = False
    gear_ratio = Quantity(
        "gear", _GEAR, "Angle of the rotor for each metre of the joint", None, absent=1.0, gt=0
    )

    @model_validator(mode="after")
    def _rotor_needs_a_gear(self) -> Self:
        if self.rotor_inertia > 0 and type(self).gear_ratio.given(self) is None:
            allowed = "the angle of the rotor for each metre"
            raise wrong("a rotor on a slide needs gear_rad_m", "nothing", allowed, "add gear_rad_m")
        return self
