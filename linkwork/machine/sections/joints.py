"""Joints of one degree of freedom and none, of the section `joints`: one class for each `type`."""

import math
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from linkwork.machine.sections.fields import Alias, Direction, Name, Switch, Vector3, alias, entry
from linkwork.machine.sections.limits import (
    ABOUT,
    AngleLimits,
    AngleStop,
    LengthLimits,
    LengthStop,
    refuse_without_limits,
)
from linkwork.machine.sections.orientation import Orientation, unit
from linkwork.machine.sections.quantity import (
    DAMPING,
    EFFORT,
    INERTIA,
    SPEED,
    Dimension,
    Quantity,
    Unit,
    without_degrees,
)

_PITCH = Dimension((Unit("m_per_rad", "m/rad"), Unit("m_per_turn", "m/turn", divisor=math.tau)), ())
Friction = tuple[float, float, float, float]
NO_FRICTION: Friction = (0.0, 0.0, 0.0, 1e-3)


class JointSpec(Orientation):
    """Common keys of all joints: the joined bodies and the place of the joint."""

    about: str = entry("Description of the joint", default="")
    alias: Alias | None = alias()
    parent: Name = entry("The body, or `world` for the ground, that carries the joint")
    child: Name = entry("The body that the joint carries")
    at_m: Vector3 = entry("Place of the child's frame, in the parent's frame", "m", [0.0, 0.0, 0.0])
    idle: Switch | None = entry(
        "Whether the joint has an idle degree of freedom, such as a rod's rotation about itself between two "
        "ball joints: the plant has it, lightly damped, the controller ignores it. Not given: found when the "
        "machine is loaded",
        default=None,
    )

    @model_validator(mode="after")
    def _stops_stand_somewhere(self) -> Self:
        stop = getattr(self, "stop", None)
        for dof, each in stop.items() if isinstance(stop, dict) else [("", stop)]:
            if each is not None:
                refuse_without_limits(
                    each, self.dof_setting("limits", dof), ("stop", dof) if dof else ("stop",)
                )
        return self

    dof: ClassVar[dict[str, bool]] = {}
    """Degrees of freedom of the type, see `degrees_of_freedom`."""

    def degrees_of_freedom(self) -> dict[str, bool]:
        """Return the degrees of freedom: name after the joint's name and a dot -> whether it is an angle.

        A single degree of freedom has the empty name: it has the joint's name.
        """
        return self.dof

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

    axis: Direction = entry("Direction of the axis, in the child's frame; its length does not matter")

    def geometry(self) -> dict[str, Any]:
        """Return the axis."""
        return {"axis": unit(self.axis)}


class FrictionSpec(JointSpec, common=True):
    """A joint whose degrees of freedom, of one kind, all have the same added inertia and friction."""

    armature = Quantity(
        "armature", INERTIA, "{inertia} added to each degree of freedom, beside that of rotors", 0.0, ge=0
    )
    viscous = Quantity("viscous", DAMPING, "Viscous friction of each degree of freedom", 0.0, ge=0)
    coulomb = Quantity("coulomb", EFFORT, "Dry friction of each degree of freedom", 0.0, ge=0)
    coulomb_speed = Quantity(
        "coulomb_speed", without_degrees(SPEED), "Speed at which dry friction is nearly full", 1e-3, gt=0
    )

    def friction(self) -> Friction:
        """Return armature, viscous and dry friction and the speed of dry friction, in SI units."""
        return self.armature, self.viscous, self.coulomb, self.coulomb_speed


class OneDofSpec(AxisSpec, FrictionSpec, common=True):
    """A joint with one degree of freedom, which has the joint's name."""

    def degrees_of_freedom(self) -> dict[str, bool]:
        """Return the one degree of freedom, with the empty name."""
        return {"": self.is_angle is True}


class RevoluteSpec(OneDofSpec):
    """A hinge. Its coordinate is an angle in rad."""

    is_angle = True
    type: Literal["revolute"] = entry("A hinge: one rotation about an axis")
    limits: AngleLimits = entry("Limits of the angle and its rates", default=AngleLimits())
    stop: AngleStop | None = entry(ABOUT, default=None)


class PrismaticSpec(OneDofSpec):
    """A slide. Its coordinate is a length in m."""

    is_angle = False
    type: Literal["prismatic"] = entry("A slide: one translation along an axis")
    limits: LengthLimits = entry("Limits of the position and its rates", default=LengthLimits())
    stop: LengthStop | None = entry(ABOUT, default=None)


class ScrewSpec(OneDofSpec):
    """A screw: it moves along its axis as it turns. Its coordinate is the angle in rad."""

    is_angle = True
    type: Literal["screw"] = entry("A screw: rotation about an axis with translation along it")
    pitch = Quantity("pitch", _PITCH, "Translation along the axis")
    limits: AngleLimits = entry("Limits of the angle and its rates", default=AngleLimits())
    stop: AngleStop | None = entry(ABOUT, default=None)

    def geometry(self) -> dict[str, Any]:
        """Return the axis and the pitch."""
        return super().geometry() | {"pitch_m_per_rad": self.pitch}


class FixedSpec(JointSpec):
    """A weld, without degree of freedom or coordinate."""

    type: Literal["fixed", "weld"] = entry("A weld: the child does not move in the parent")
