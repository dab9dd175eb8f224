"""The section `constraints`: one class for each `type`, which also makes what `multibody` calls it."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from machine.fields import Name, Number, Section, Vector3, entry, one_of, wrong
from machine.joints import Orientation, unit_vector
from multibody import constraints as made
from multibody.freedoms import onto_z

COORDINATE_PATTERN = r"^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9]+)?$"
CoordinateName = Annotated[str, Field(pattern=COORDINATE_PATTERN, max_length=60)]
_OF = "A coordinate: a joint, JOINT.FREEDOM, a task coordinate, or POINT.x, .y, .z, .roll, .pitch, .yaw"


class PlaceSpec(Section):
    """A place on a body."""

    body: Name = entry("The body, or `world`")
    at_m: Vector3 = entry("The place, in the body's frame", "m", [0.0, 0.0, 0.0])

    def frame(self) -> made.Frame:
        """Return the frame there, with the body's own axes."""
        return made.Frame(self.body, np.array(self.at_m, dtype=np.float64))


class AxisPlaceSpec(PlaceSpec):
    """A place on a body, and a direction there."""

    axis: Vector3 = entry("Direction, in the body's frame; its length does not matter")

    @model_validator(mode="after")
    def _has_direction(self) -> AxisPlaceSpec:
        unit_vector(self, "axis")
        return self

    def frame(self) -> made.Frame:
        """Return a frame there whose z axis is the direction."""
        return made.Frame(self.body, np.array(self.at_m), onto_z(unit_vector(self, "axis")))


class FramePlaceSpec(PlaceSpec, Orientation):
    """A place on a body, and a frame there."""

    def frame(self) -> made.Frame:
        """Return the frame."""
        return made.Frame(self.body, np.array(self.at_m, dtype=np.float64), self.rotation())


class _ConstraintSpec(Section):
    """What all constraints share."""

    about: str = entry("What this constraint is, for people", default="")
    alpha_1_s: Number = entry("Baumgarte: damping of the residual", "1/s", 0.0, ge=0)
    beta_1_s2: Number = entry("Baumgarte: stiffness of the residual", "1/s²", 0.0, ge=0)

    def baumgarte(self) -> tuple[float, float]:
        """Return α and β."""
        return self.alpha_1_s, self.beta_1_s2


class PointSpec(_ConstraintSpec):
    """Two points coincide."""

    type: Literal["point"] = entry("Two points coincide: a ball joint that closes a loop")
    a: PlaceSpec = entry("The point on the first body")
    b: PlaceSpec = entry("The point on the second body")

    def make(self, name: str) -> made.Constraint:
        """Return what multibody calls it."""
        return made.PointClosure(name, a=self.a.frame(), b=self.b.frame(), baumgarte=self.baumgarte())


class DistanceSpec(_ConstraintSpec):
    """Two points keep their distance."""

    type: Literal["distance"] = entry("Two points keep their distance: a massless rod with ball joints")
    a: PlaceSpec = entry("The point on the first body")
    b: PlaceSpec = entry("The point on the second body")
    distance_m: Number = entry("The distance", "m", gt=0)

    def make(self, name: str) -> made.Constraint:
        """Return what multibody calls it."""
        return made.DistanceClosure(
            name, a=self.a.frame(), b=self.b.frame(), distance_m=self.distance_m, baumgarte=self.baumgarte()
        )


_AXIAL = {
    "revolute": made.RevoluteClosure,
    "cylindrical": made.CylindricalClosure,
    "universal": made.UniversalClosure,
}


class AxialSpec(_ConstraintSpec):
    """Two bodies share a hinge, a sleeve, or a cardan cross."""

    type: Literal["revolute", "cylindrical", "universal"] = entry(
        "revolute: one hinge, the axes coincide; cylindrical: the same, free to slide; "
        "universal: a cardan cross, the axes are its arms"
    )
    a: AxisPlaceSpec = entry("Place and axis on the first body")
    b: AxisPlaceSpec = entry("Place and axis on the second body")

    def make(self, name: str) -> made.Constraint:
        """Return what multibody calls it."""
        return _AXIAL[self.type](name, a=self.a.frame(), b=self.b.frame(), baumgarte=self.baumgarte())


class PrismaticSpec(_ConstraintSpec):
    """A body slides along another without turning."""

    type: Literal["prismatic"] = entry("The frames slide along an axis and do not turn: a guide")
    axis: Vector3 = entry("Direction of sliding, in both frames; its length does not matter")
    a: FramePlaceSpec = entry("The frame on the first body")
    b: FramePlaceSpec = entry("The frame on the second body")

    @model_validator(mode="after")
    def _has_direction(self) -> PrismaticSpec:
        unit_vector(self, "axis")
        return self

    def make(self, name: str) -> made.Constraint:
        """Return what multibody calls it."""
        turn = onto_z(unit_vector(self, "axis"))
        a, b = (
            made.Frame(place.body, np.array(place.at_m), place.rotation() @ turn)
            for place in (self.a, self.b)
        )
        return made.PrismaticClosure(name, a=a, b=b, baumgarte=self.baumgarte())


class WeldSpec(_ConstraintSpec):
    """Two frames coincide."""

    type: Literal["weld"] = entry("Two frames coincide: a loop closed rigidly")
    a: FramePlaceSpec = entry("The frame on the first body")
    b: FramePlaceSpec = entry("The frame on the second body")

    def make(self, name: str) -> made.Constraint:
        """Return what multibody calls it."""
        return made.WeldClosure(name, a=self.a.frame(), b=self.b.frame(), baumgarte=self.baumgarte())


class RollingSpec(_ConstraintSpec):
    """A round body rolls on a plane."""

    type: Literal["rolling"] = entry("A sphere or wheel rolls on a plane without slipping")
    a: AxisPlaceSpec = entry("A place of the plane, and its normal, towards the round body")
    b: PlaceSpec = entry("The centre of the round body")
    radius_m: Number = entry("Its radius", "m", gt=0)

    def make(self, name: str) -> made.Constraint:
        """Return what multibody calls it."""
        return made.RollingConstraint(
            name, a=self.a.frame(), b=self.b.frame(), radius_m=self.radius_m, baumgarte=self.baumgarte()
        )


class CoordinateSpec(_ConstraintSpec):
    """A coordinate keeps its value."""

    type: Literal["coordinate"] = entry("A coordinate keeps a value: a guide, a locked joint")
    of: CoordinateName = entry(_OF)
    equals_m: Number | None = entry("The value of a length", "m", None)
    equals_rad: Number | None = entry("The value of an angle", "rad", None)
    equals_deg: Number | None = entry("The value of an angle", "deg", None)

    @model_validator(mode="after")
    def _one_value(self) -> CoordinateSpec:
        one_of(self, "equals_m", "equals_rad", "equals_deg", needed=True)
        return self

    def is_angle(self) -> bool:
        """Return whether the value is one of an angle."""
        return self.equals_m is None

    def value(self) -> float:
        """Return the value in m or rad."""
        if self.equals_deg is not None:
            return math.radians(self.equals_deg)
        return (self.equals_m if self.equals_rad is None else self.equals_rad) or 0.0

    def make(self, name: str) -> made.Constraint:
        """Return what multibody calls it."""
        return made.CoordinateConstraint(name, of=self.of, value=self.value(), baumgarte=self.baumgarte())


class CouplingSpec(_ConstraintSpec):
    """A weighted sum of coordinates keeps its value."""

    type: Literal["coupling"] = entry("A weighted sum of coordinates keeps a value: gears, belts")
    factors: Annotated[dict[CoordinateName, Number], Field(min_length=1)] = entry(
        f"The factor of each coordinate, by name. {_OF}"
    )
    equals: Number = entry("The value of the sum, in rad and m times the factors", default=0.0)

    @model_validator(mode="after")
    def _no_zero(self) -> CouplingSpec:
        for name, factor in self.factors.items():
            if factor == 0.0:
                raise wrong(
                    "a factor of 0 couples nothing", "0", "", "leave the coordinate out", ("factors", name)
                )
        return self

    def make(self, name: str) -> made.Constraint:
        """Return what multibody calls it."""
        return made.CouplingConstraint(
            name, factors=dict(self.factors), value=self.equals, baumgarte=self.baumgarte()
        )


Constraint = Annotated[
    PointSpec
    | DistanceSpec
    | AxialSpec
    | PrismaticSpec
    | WeldSpec
    | RollingSpec
    | CoordinateSpec
    | CouplingSpec,
    Field(discriminator="type"),
]


def named_coordinates(constraint: Constraint) -> list[tuple[tuple[Any, ...], str]]:
    """Return the coordinates that a constraint names, each with its place within the constraint."""
    if isinstance(constraint, CoordinateSpec):
        return [(("of",), constraint.of)]
    if isinstance(constraint, CouplingSpec):
        return [(("factors", name), name) for name in constraint.factors]
    return []


def places_of(constraint: Constraint) -> dict[str, PlaceSpec]:
    """Return the places a and b of a constraint between bodies."""
    if isinstance(constraint, (CoordinateSpec, CouplingSpec)):
        return {}
    return {"a": constraint.a, "b": constraint.b}
