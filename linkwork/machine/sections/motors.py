"""The section `motors`: one entry under the name of the joint it drives; efforts are those at the joint."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Discriminator, Tag, model_validator

from linkwork.machine.sections.angle_or_length import ANGLE, LENGTH, angle_or_length
from linkwork.machine.sections.fields import Number, Section, entry, wrong


@dataclass(frozen=True)
class MotorValues:
    """A motor's numbers in SI units, at the joint: N m and rad, or N and m."""

    max_effort: float
    max_speed: float
    max_effort_rate: float
    brake_effort: float
    brake_release_s: float
    damping: float
    gear: float
    rotor_inertia: float
    viscous: float
    coulomb: float
    bandwidth: float

    @property
    def armature(self) -> float:
        """Inertia (or mass) of the rotor, reflected to the joint: gear² × rotor inertia."""
        return self.gear**2 * self.rotor_inertia


def bandwidth(hertz: float | None) -> float:
    """Return it in rad/s, infinite where there is no lag."""
    return math.inf if hertz is None else 2.0 * math.pi * hertz


class AngleMotorSpec(Section):
    """The motor of a hinge or a screw."""

    kind: ClassVar[str] = ANGLE
    about: str = entry("Description of the motor", default="")
    max_torque_N_m: Number = entry("Largest torque at the joint", "N m", gt=0)
    max_speed_rad_s: Number = entry("Largest speed of the joint that the motor can drive", "rad/s", gt=0)
    max_torque_rate_N_m_s: Number | None = entry(
        "Largest rate of the torque. Default: no limit", "N m/s", None, gt=0
    )
    brake_torque_N_m: Number = entry("Friction of the brake at the joint; 0: no brake", "N m", 0.0, ge=0)
    brake_release_s: Number = entry(
        "Time from the release command until the brake is open", "s", 0.05, ge=0, le=10
    )
    damping_N_m_s: Number | None = entry(
        "Damping of the motor with `on_timeout: damp`. Default: maximum torque at maximum speed",
        "N m s/rad",
        None,
        ge=0,
    )
    gear: Number = entry("Turns of the rotor for one turn of the joint", "1", 1.0, gt=0)
    rotor_inertia_kg_m2: Number = entry(
        "Inertia of the rotor about its own axis, before the gear", "kg m²", 0.0, ge=0
    )
    viscous_N_m_s: Number = entry("Viscous friction of motor and gear", "N m s/rad", 0.0, ge=0)
    coulomb_N_m: Number = entry("Dry friction of motor and gear", "N m", 0.0, ge=0)

    bandwidth_Hz: Number | None = entry(
        "Bandwidth of the effort: it follows its command with a first-order lag. Default: no lag",
        "Hz",
        None,
        gt=0,
    )

    def values(self) -> MotorValues:
        """Return the numbers in SI units."""
        return MotorValues(
            max_effort=self.max_torque_N_m,
            max_speed=self.max_speed_rad_s,
            max_effort_rate=math.inf if self.max_torque_rate_N_m_s is None else self.max_torque_rate_N_m_s,
            brake_effort=self.brake_torque_N_m,
            brake_release_s=self.brake_release_s,
            damping=self.max_torque_N_m / self.max_speed_rad_s
            if self.damping_N_m_s is None
            else self.damping_N_m_s,
            gear=self.gear,
            rotor_inertia=self.rotor_inertia_kg_m2,
            viscous=self.viscous_N_m_s,
            coulomb=self.coulomb_N_m,
            bandwidth=bandwidth(self.bandwidth_Hz),
        )


class LengthMotorSpec(Section):
    """The motor of a slide."""

    kind: ClassVar[str] = LENGTH
    about: str = entry("Description of the motor", default="")
    max_force_N: Number = entry("Largest force at the joint", "N", gt=0)
    max_speed_m_s: Number = entry("Largest speed of the joint that the motor can drive", "m/s", gt=0)
    max_force_rate_N_s: Number | None = entry(
        "Largest rate of the force. Default: no limit", "N/s", None, gt=0
    )
    brake_force_N: Number = entry("Friction of the brake at the joint; 0: no brake", "N", 0.0, ge=0)
    brake_release_s: Number = entry(
        "Time from the release command until the brake is open", "s", 0.05, ge=0, le=10
    )
    damping_N_s_m: Number | None = entry(
        "Damping of the motor with `on_timeout: damp`. Default: maximum force at maximum speed",
        "N s/m",
        None,
        ge=0,
    )
    gear_rad_m: Number | None = entry("Angle of the rotor for each metre of the joint", "rad/m", None, gt=0)
    rotor_inertia_kg_m2: Number = entry(
        "Inertia of the rotor about its own axis, before the gear", "kg m²", 0.0, ge=0
    )
    viscous_N_s_m: Number = entry("Viscous friction of motor and gear", "N s/m", 0.0, ge=0)
    coulomb_N: Number = entry("Dry friction of motor and gear", "N", 0.0, ge=0)

    @model_validator(mode="after")
    def _rotor_needs_a_gear(self) -> LengthMotorSpec:
        if self.rotor_inertia_kg_m2 > 0 and self.gear_rad_m is None:
            allowed = "the angle of the rotor for each metre"
            raise wrong("a rotor on a slide needs gear_rad_m", "nothing", allowed, "add gear_rad_m")
        return self

    bandwidth_Hz: Number | None = entry(
        "Bandwidth of the effort: it follows its command with a first-order lag. Default: no lag",
        "Hz",
        None,
        gt=0,
    )

    def values(self) -> MotorValues:
        """Return the numbers in SI units."""
        return MotorValues(
            max_effort=self.max_force_N,
            max_speed=self.max_speed_m_s,
            max_effort_rate=math.inf if self.max_force_rate_N_s is None else self.max_force_rate_N_s,
            brake_effort=self.brake_force_N,
            brake_release_s=self.brake_release_s,
            damping=self.max_force_N / self.max_speed_m_s
            if self.damping_N_s_m is None
            else self.damping_N_s_m,
            gear=1.0 if self.gear_rad_m is None else self.gear_rad_m,
            rotor_inertia=self.rotor_inertia_kg_m2,
            viscous=self.viscous_N_s_m,
            coulomb=self.coulomb_N,
            bandwidth=bandwidth(self.bandwidth_Hz),
        )


Motor = Annotated[
    Annotated[AngleMotorSpec, Tag(ANGLE)] | Annotated[LengthMotorSpec, Tag(LENGTH)],
    Discriminator(angle_or_length),
]
