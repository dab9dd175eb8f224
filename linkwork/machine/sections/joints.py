"""Joints of one degree of freedom and none, of the section `joints`: one class for each `type`."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from linkwork.machine.sections.fields import (
    Alias,
    Name,
    Number,
    Section,
    Switch,
    Vector3,
    alias,
    entry,
    one_of,
    wrong,
)
from linkwork.machine.sections.limits import AngleLimits, LengthLimits
from linkwork.machine.sections.orientation import Orientation
from linkwork.machine.sections.stops import ABOUT, AngleStopSpec, LengthStopSpec, refuse_without_limits

_SHORTEST_AXIS = 1e-6
Friction = tuple[float, float, float, float]
NO_FRICTION: Friction = (0.0, 0.0, 0.0, 1e-3)


def unit_vector(section: Section, key: str) -> NDArray[np.float64]:
    """Return the direction (3, of length 1) that a key gives. Raises the error of a section for a zero
    vector.
    """
    given = getattr(section, key)
    if math.hypot(*given) < _SHORTEST_AXIS:
        raise wrong("an axis needs a direction", f"{given}", "a vector that is not zero", "", (key,))
    axis: NDArray[np.float64] = np.array(given, dtype=np.float64)
    return axis / np.linalg.norm(axis)


class JointSpec(Orientation):
    """Common keys of all joints: the joined bodies and the place of the joint."""

    about: str = entry("Description of the joint", default="")
    alias: Alias | None = alias()
    parent: Name = entry("The body, or `world` for the ground, that carries the joint")
    child: Name = entry("The body that the joint carries")
    at_m: Vector3 = entry("Place of the child's frame, in the parent's frame", "m", [0.0, 0.0, 0.0])
    idle: Switch | None = entry(
        "Whether the joint has a motion that matters to nothing else, as a rod with two ball joints about "
        "itself: the plant has it, lightly damped, the controller ignores it. Not given: found when the "
        "machine is loaded",
        default=None,
    )

    def degrees_of_freedom(self) -> dict[str, bool]:
        """Return the degrees of freedom: name after the joint's name and a dot -> whether it is an angle.

        A single degree of freedom has the empty name: it has the joint's name.
        """
        return {}

    def of_quaternion(self) -> tuple[str, ...]:
        """Return the three degrees of freedom whose coordinates are a unit quaternion; none by default."""
        return ()

    def friction(self) -> Friction:
        """Return armature, viscous and dry friction and the speed of dry friction, in SI units."""
        return NO_FRICTION

    def geometry(self) -> dict[str, Any]:
        """Return the type's arguments of `multibody.Joint`: axes, pitch, columns, choice of coordinates."""
        return {}

    def dof_setting(self, key: Literal["limits", "stop"], dof: str) -> Any:
        """Return the limits or the stop of a degree of freedom; None where the file gives none."""
        given = getattr(self, key, None)
        return given.get(dof) if isinstance(given, dict) else given


class AxisSpec(JointSpec):
    """A joint with an axis."""

    axis: Vector3 = entry("Direction of the axis, in the child's frame; its length does not matter")

    @model_validator(mode="after")
    def _has_direction(self) -> AxisSpec:
        unit_vector(self, "axis")
        return self

    def direction(self) -> NDArray[np.float64]:
        """Return the unit vector (3) of the axis."""
        return unit_vector(self, "axis")

    def geometry(self) -> dict[str, Any]:
        """See `JointSpec`."""
        return {"axis": self.direction()}


class RevoluteSpec(AxisSpec):
    """A hinge. Its coordinate is an angle in rad."""

    type: Literal["revolute"] = entry("A hinge: one rotation about an axis")
    limits: AngleLimits = entry("Limits of the angle and its rates", default=AngleLimits())
    stop: AngleStopSpec | None = entry(ABOUT, default=None)
    armature_kg_m2: Number = entry("Inertia added to the joint, beside that of rotors", "kg m²", 0.0, ge=0)
    viscous_N_m_s: Number = entry("Viscous friction", "N m s/rad", 0.0, ge=0)
    coulomb_N_m: Number = entry("Dry friction", "N m", 0.0, ge=0)
    coulomb_speed_rad_s: Number = entry("Speed at which dry friction is nearly full", "rad/s", 1e-3, gt=0)

    @model_validator(mode="after")
    def _stop_stands_somewhere(self) -> RevoluteSpec:
        refuse_without_limits(self.stop, self.limits, ("stop",))
        return self

    def degrees_of_freedom(self) -> dict[str, bool]:
        """Return the one degree of freedom, with the joint's name: an angle."""
        return {"": True}

    def friction(self) -> Friction:
        """See `JointSpec`."""
        return self.armature_kg_m2, self.viscous_N_m_s, self.coulomb_N_m, self.coulomb_speed_rad_s


class PrismaticSpec(AxisSpec):
    """A slide. Its coordinate is a length in m."""

    type: Literal["prismatic"] = entry("A slide: one translation along an axis")
    limits: LengthLimits = entry("Limits of the position and its rates", default=LengthLimits())
    stop: LengthStopSpec | None = entry(ABOUT, default=None)
    armature_kg: Number = entry("Mass added to the joint, beside that of rotors", "kg", 0.0, ge=0)
    viscous_N_s_m: Number = entry("Viscous friction", "N s/m", 0.0, ge=0)
    coulomb_N: Number = entry("Dry friction", "N", 0.0, ge=0)
    coulomb_speed_m_s: Number = entry("Speed at which dry friction is nearly full", "m/s", 1e-3, gt=0)

    @model_validator(mode="after")
    def _stop_stands_somewhere(self) -> PrismaticSpec:
        refuse_without_limits(self.stop, self.limits, ("stop",))
        return self

    def degrees_of_freedom(self) -> dict[str, bool]:
        """Return the one degree of freedom, with the joint's name: a length."""
        return {"": False}

    def friction(self) -> Friction:
        """See `JointSpec`."""
        return self.armature_kg, self.viscous_N_s_m, self.coulomb_N, self.coulomb_speed_m_s


class ScrewSpec(AxisSpec):
    """A screw: it moves along its axis as it turns. Its coordinate is the angle in rad."""

    type: Literal["screw"] = entry("A screw: rotation about an axis with translation along it")
    pitch_m_per_rad: Number | None = entry("Translation for each radian", "m/rad", None)
    pitch_m_per_turn: Number | None = entry("Translation for each turn", "m/turn", None)
    limits: AngleLimits = entry("Limits of the angle and its rates", default=AngleLimits())
    stop: AngleStopSpec | None = entry(ABOUT, default=None)
    armature_kg_m2: Number = entry("Inertia added to the joint, beside that of rotors", "kg m²", 0.0, ge=0)
    viscous_N_m_s: Number = entry("Viscous friction", "N m s/rad", 0.0, ge=0)
    coulomb_N_m: Number = entry("Dry friction", "N m", 0.0, ge=0)
    coulomb_speed_rad_s: Number = entry("Speed at which dry friction is nearly full", "rad/s", 1e-3, gt=0)

    @model_validator(mode="after")
    def _one_pitch(self) -> ScrewSpec:
        one_of(self, "pitch_m_per_rad", "pitch_m_per_turn", needed=True)
        return self

    @model_validator(mode="after")
    def _stop_stands_somewhere(self) -> ScrewSpec:
        refuse_without_limits(self.stop, self.limits, ("stop",))
        return self

    def degrees_of_freedom(self) -> dict[str, bool]:
        """Return the one degree of freedom, with the joint's name: an angle."""
        return {"": True}

    def friction(self) -> Friction:
        """See `JointSpec`."""
        return self.armature_kg_m2, self.viscous_N_m_s, self.coulomb_N_m, self.coulomb_speed_rad_s

    def geometry(self) -> dict[str, Any]:
        """See `JointSpec`."""
        return super().geometry() | {"pitch_m_per_rad": self.pitch()}

    def pitch(self) -> float:
        """Return the pitch in m/rad."""
        if self.pitch_m_per_turn is not None:
            return self.pitch_m_per_turn / math.tau
        return self.pitch_m_per_rad or 0.0


class FixedSpec(JointSpec):
    """A weld, without degree of freedom or coordinate."""

    type: Literal["fixed", "weld"] = entry("A weld: the child does not move in the parent")
