"""The section `joints`: one class for each `type`. A new type is a new class and one more line in `Joint`."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from machine.fields import Name, Number, Section, Vector3, entry, one_of, wrong
from machine.limits import AngleLimits, LengthLimits

_SHORTEST_AXIS = 1e-6


class _JointSpec(Section):
    """What all joints share: which bodies they join, and where."""

    about: str = entry("What this joint is, for people", default="")
    parent: Name = entry("The body, or `world` for the ground, that carries the joint")
    child: Name = entry("The body that the joint carries")
    at_m: Vector3 = entry("Place of the child's frame, in the parent's frame", "m", [0.0, 0.0, 0.0])
    rpy_rad: Vector3 | None = entry(
        "Roll, pitch, yaw of the child's frame in the parent's at zero: Rz(yaw) Ry(pitch) Rx(roll)",
        "rad",
        None,
    )
    rpy_deg: Vector3 | None = entry("The same in degrees", "deg", None)

    @model_validator(mode="after")
    def _one_orientation(self) -> _JointSpec:
        one_of(self, "rpy_rad", "rpy_deg")
        return self

    def rotation(self) -> NDArray[np.float64]:
        """Return the rotation matrix of the child's frame in the parent's, with the joint at zero."""
        if self.rpy_deg is not None:
            roll, pitch, yaw = (math.radians(angle) for angle in self.rpy_deg)
        else:
            roll, pitch, yaw = self.rpy_rad or (0.0, 0.0, 0.0)
        cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
        cy, sy = math.cos(yaw), math.sin(yaw)
        return np.array(
            [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ]
        )


class _AxisSpec(_JointSpec):
    """A joint of one freedom, about or along an axis."""

    axis: Vector3 = entry("Direction of the axis, in the child's frame; its length does not matter")

    @model_validator(mode="after")
    def _has_direction(self) -> _AxisSpec:
        if math.hypot(*self.axis) < _SHORTEST_AXIS:
            raise wrong(
                "an axis needs a direction", f"{self.axis}", "a vector that is not zero", "", ("axis",)
            )
        return self

    def direction(self) -> NDArray[np.float64]:
        """Return the unit vector of the axis."""
        axis: NDArray[np.float64] = np.array(self.axis, dtype=np.float64)
        return axis / np.linalg.norm(axis)


class RevoluteSpec(_AxisSpec):
    """A hinge. Its coordinate is an angle in rad."""

    type: Literal["revolute"] = entry("A hinge: one rotation about an axis")
    limits: AngleLimits = entry("Limits of the angle and its rates", default=AngleLimits())
    armature_kg_m2: Number = entry("Inertia added to the joint, beside that of rotors", "kg m²", 0.0, ge=0)
    viscous_N_m_s: Number = entry("Viscous friction", "N m s/rad", 0.0, ge=0)
    coulomb_N_m: Number = entry("Dry friction", "N m", 0.0, ge=0)
    coulomb_speed_rad_s: Number = entry("Speed at which dry friction is nearly full", "rad/s", 1e-3, gt=0)


class PrismaticSpec(_AxisSpec):
    """A slide. Its coordinate is a length in m."""

    type: Literal["prismatic"] = entry("A slide: one translation along an axis")
    limits: LengthLimits = entry("Limits of the position and its rates", default=LengthLimits())
    armature_kg: Number = entry("Mass added to the joint, beside that of rotors", "kg", 0.0, ge=0)
    viscous_N_s_m: Number = entry("Viscous friction", "N s/m", 0.0, ge=0)
    coulomb_N: Number = entry("Dry friction", "N", 0.0, ge=0)
    coulomb_speed_m_s: Number = entry("Speed at which dry friction is nearly full", "m/s", 1e-3, gt=0)


class ScrewSpec(_AxisSpec):
    """A screw: it moves along its axis as it turns. Its coordinate is the angle in rad."""

    type: Literal["screw"] = entry("A screw: rotation about an axis with translation along it")
    pitch_m_per_rad: Number | None = entry("Translation for each radian", "m/rad", None)
    pitch_m_per_turn: Number | None = entry("Translation for each turn", "m/turn", None)
    limits: AngleLimits = entry("Limits of the angle and its rates", default=AngleLimits())
    armature_kg_m2: Number = entry("Inertia added to the joint, beside that of rotors", "kg m²", 0.0, ge=0)
    viscous_N_m_s: Number = entry("Viscous friction", "N m s/rad", 0.0, ge=0)
    coulomb_N_m: Number = entry("Dry friction", "N m", 0.0, ge=0)
    coulomb_speed_rad_s: Number = entry("Speed at which dry friction is nearly full", "rad/s", 1e-3, gt=0)

    @model_validator(mode="after")
    def _one_pitch(self) -> ScrewSpec:
        one_of(self, "pitch_m_per_rad", "pitch_m_per_turn", needed=True)
        return self

    def pitch(self) -> float:
        """Return the pitch in m/rad."""
        if self.pitch_m_per_turn is not None:
            return self.pitch_m_per_turn / math.tau
        return self.pitch_m_per_rad or 0.0


class FixedSpec(_JointSpec):
    """A weld: no freedom, no coordinate."""

    type: Literal["fixed"] = entry("A weld: the child does not move in the parent")


Joint = Annotated[RevoluteSpec | PrismaticSpec | ScrewSpec | FixedSpec, Field(discriminator="type")]


def friction(joint: RevoluteSpec | PrismaticSpec | ScrewSpec) -> tuple[float, float, float, float]:
    """Return armature, viscous, coulomb and the coulomb speed of a joint in SI units."""
    if isinstance(joint, PrismaticSpec):
        return joint.armature_kg, joint.viscous_N_s_m, joint.coulomb_N, joint.coulomb_speed_m_s
    return joint.armature_kg_m2, joint.viscous_N_m_s, joint.coulomb_N_m, joint.coulomb_speed_rad_s
