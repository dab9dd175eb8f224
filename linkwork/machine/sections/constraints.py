"""The section `constraints`: one class for each `type`, which also makes what `multibody` calls it."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from linkwork.machine.sections.constraint_base import OF, ConstraintSpec, CoordinateName
from linkwork.machine.sections.fields import Name, Number, Section, Vector3, entry, one_of, wrong
from linkwork.machine.sections.formulas import Formula, as_text
from linkwork.machine.sections.joints import unit_vector
from linkwork.machine.sections.orientation import Orientation
from linkwork.machine.sections.prescribed import ExpressionSpec, MotionSpec, VelocitySpec, formulas_of
from linkwork.multibody import constraints as made
from linkwork.multibody.expressions import names_in, parse
from linkwork.multibody.tree.joint_dof import onto_z


class PlaceSpec(Section):
    """A place on a body."""

    body: Name = entry("The body, or `world`")
    at_m: Vector3 = entry("The position, in the body's frame", "m", [0.0, 0.0, 0.0])

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


class PointClosureSpec(ConstraintSpec):
    """Two points coincide."""

    type: Literal["point"] = entry("Two points coincide: a ball joint that closes a loop")
    a: PlaceSpec = entry("The point on the first body")
    b: PlaceSpec = entry("The point on the second body")

    def make(self, name: str) -> made.Constraint:
        """Return what multibody calls it."""
        return made.PointClosure(name, a=self.a.frame(), b=self.b.frame(), baumgarte=self.baumgarte())


class PinSpec(ConstraintSpec):
    """Two points coincide as seen along a normal."""

    type: Literal["pin"] = entry("A hinge of a planar loop: two rows, in the plane across a normal")
    a: PlaceSpec = entry("The point on the first body")
    b: PlaceSpec = entry("The point on the second body")
    normal: Vector3 = entry("Normal of the plane, in the frame of a's body; its length does not matter")

    @model_validator(mode="after")
    def _has_direction(self) -> PinSpec:
        unit_vector(self, "normal")
        return self

    def make(self, name: str) -> made.Constraint:
        """Return what multibody calls it."""
        a = made.Frame(self.a.body, np.array(self.a.at_m), onto_z(unit_vector(self, "normal")))
        return made.PinClosure(name, a=a, b=self.b.frame(), baumgarte=self.baumgarte())


class DistanceSpec(ConstraintSpec):
    """Two points keep a fixed distance."""

    type: Literal["distance"] = entry("Two points keep a fixed distance: a massless rod with ball joints")
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


class AxialSpec(ConstraintSpec):
    """Two bodies share a hinge, a sleeve, or a cardan cross."""

    type: Literal["revolute", "cylindrical", "universal"] = entry(
        "revolute: one hinge, the axes coincide; cylindrical: the same, free to slide; "
        "universal: a cardan cross, the axes are those of its cross"
    )
    a: AxisPlaceSpec = entry("Position and axis on the first body")
    b: AxisPlaceSpec = entry("Position and axis on the second body")

    def make(self, name: str) -> made.Constraint:
        """Return what multibody calls it."""
        return _AXIAL[self.type](name, a=self.a.frame(), b=self.b.frame(), baumgarte=self.baumgarte())


class PrismaticClosureSpec(ConstraintSpec):
    """A body slides along another without turning."""

    type: Literal["prismatic"] = entry("The frames slide along an axis and do not turn: a guide")
    axis: Vector3 = entry("Direction of sliding, in both frames; its length does not matter")
    a: FramePlaceSpec = entry("The frame on the first body")
    b: FramePlaceSpec = entry("The frame on the second body")

    @model_validator(mode="after")
    def _has_direction(self) -> PrismaticClosureSpec:
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


class WeldSpec(ConstraintSpec):
    """Two frames coincide."""

    type: Literal["weld"] = entry("Two frames coincide: a loop closed rigidly")
    a: FramePlaceSpec = entry("The frame on the first body")
    b: FramePlaceSpec = entry("The frame on the second body")

    def make(self, name: str) -> made.Constraint:
        """Return what multibody calls it."""
        return made.WeldClosure(name, a=self.a.frame(), b=self.b.frame(), baumgarte=self.baumgarte())


class RoundPlaceSpec(PlaceSpec):
    """The centre of a round body; with an axis it is a thin disc about it, without one a sphere."""

    axis: Vector3 | None = entry(
        "Of a thin disc: its axis, in the body's frame; without it the body touches as a sphere does",
        default=None,
    )

    @model_validator(mode="after")
    def _has_direction(self) -> RoundPlaceSpec:
        if self.axis is not None:
            unit_vector(self, "axis")
        return self

    def frame(self) -> made.Frame:
        """Return a frame at the centre, of a disc with its axis as z."""
        if self.axis is None:
            return super().frame()
        return made.Frame(self.body, np.array(self.at_m), onto_z(unit_vector(self, "axis")))


class RollingSpec(ConstraintSpec):
    """A round body rolls on a plane."""

    type: Literal["rolling"] = entry("A sphere, wheel or thin disc rolls on a plane without slipping")
    a: AxisPlaceSpec = entry("A point of the plane, and its normal, towards the round body")
    b: RoundPlaceSpec = entry("The centre of the round body")
    radius_m: Number = entry("Its radius", "m", gt=0)

    def make(self, name: str) -> made.Constraint:
        """Return what multibody calls it."""
        return made.RollingConstraint(
            name,
            a=self.a.frame(),
            b=self.b.frame(),
            radius_m=self.radius_m,
            disc=self.b.axis is not None,
            baumgarte=self.baumgarte(),
        )


class CoordinateSpec(ConstraintSpec):
    """A coordinate keeps its value."""

    type: Literal["coordinate"] = entry("A coordinate keeps a value: a guide, a locked joint, a drive")
    of: CoordinateName = entry(OF)
    equals_m: Formula | None = entry("The value of a length, a number or an expression", "m", None)
    equals_rad: Formula | None = entry("The value of an angle, a number or an expression", "rad", None)
    equals_deg: Formula | None = entry("The value of an angle, a number or an expression", "deg", None)

    @model_validator(mode="after")
    def _one_value(self) -> CoordinateSpec:
        one_of(self, "equals_m", "equals_rad", "equals_deg", needed=True)
        return self

    def turns(self) -> bool:
        """Return whether the value is one of an angle."""
        return self.equals_m is None

    def value(self) -> float | str:
        """Return the value in m or rad."""
        if isinstance(self.equals_deg, str):
            return f"({self.equals_deg})*deg"
        if self.equals_deg is not None:
            return math.radians(self.equals_deg)
        value = self.equals_m if self.equals_rad is None else self.equals_rad
        return 0.0 if value is None else value

    def make(self, name: str) -> made.Constraint:
        """Return what multibody calls it."""
        value = self.value()
        if isinstance(value, str):
            texts = {"value": f"{self.of} - {as_text(value)}"}
            return made.ExpressionConstraint(name, expressions=texts, baumgarte=self.baumgarte())
        return made.CoordinateConstraint(name, of=self.of, value=value, baumgarte=self.baumgarte())


class CouplingSpec(ConstraintSpec):
    """A weighted sum of coordinates keeps its value."""

    type: Literal["coupling"] = entry("A weighted sum of coordinates keeps a value: gears, belts")
    factors: Annotated[dict[CoordinateName, Number], Field(min_length=1)] = entry(
        f"The factor of each coordinate, by name. {OF}"
    )
    equals: Formula = entry(
        "The value of the sum, a number or an expression, in rad and m times the factors", default=0.0
    )

    @model_validator(mode="after")
    def _no_zero(self) -> CouplingSpec:
        for name, factor in self.factors.items():
            if factor == 0.0:
                raise wrong(
                    "a factor of 0 has no effect", "0", "", "leave the coordinate out", ("factors", name)
                )
        return self

    def make(self, name: str) -> made.Constraint:
        """Return what multibody calls it."""
        if isinstance(self.equals, str):
            total = " + ".join(f"{factor!r}*{each}" for each, factor in self.factors.items())
            texts = {"sum": f"{total} - {as_text(self.equals)}"}
            return made.ExpressionConstraint(name, expressions=texts, baumgarte=self.baumgarte())
        return made.CouplingConstraint(
            name, factors=dict(self.factors), value=self.equals, baumgarte=self.baumgarte()
        )


Constraint = Annotated[
    PointClosureSpec
    | PinSpec
    | DistanceSpec
    | AxialSpec
    | PrismaticClosureSpec
    | WeldSpec
    | RollingSpec
    | CoordinateSpec
    | CouplingSpec
    | ExpressionSpec
    | MotionSpec
    | VelocitySpec,
    Field(discriminator="type"),
]


def named_coordinates(constraint: Constraint) -> list[tuple[tuple[Any, ...], str]]:
    """Return the coordinates that a constraint names, each with its place within the constraint.

    Those that its formulas name are not among them, see `coordinates_in_formulas`.
    """
    if isinstance(constraint, CoordinateSpec):
        return [(("of",), constraint.of)]
    if isinstance(constraint, (CouplingSpec, VelocitySpec)):
        return [(("factors", name), name) for name in constraint.factors]
    if isinstance(constraint, MotionSpec):
        curve = constraint.curve.of if constraint.curve else []
        return [
            *((("coordinates", name), name) for name in constraint.coordinates),
            *((("curve", "of", index), name) for index, name in enumerate(curve)),
        ]
    return []


def coordinates_in_formulas(constraint: Constraint) -> list[tuple[tuple[Any, ...], str, int]]:
    """Return the coordinates that formulas name: place of the formula, name, and character within it."""
    return [
        (place, name, at)
        for place, text in formulas_of(constraint)
        for side, start in _sides(text)
        for name, at in ((name, start + at) for name, at in names_in(parse(side)).items())
    ]


def _sides(text: str) -> list[tuple[str, int]]:
    left, equals, right = text.partition("=")
    return [(left, 0), (right, len(left) + 1)] if equals else [(left, 0)]


def places_of(constraint: Constraint) -> dict[str, PlaceSpec]:
    """Return the places a and b of a constraint between bodies."""
    if isinstance(constraint, (CoordinateSpec, CouplingSpec, ExpressionSpec, MotionSpec, VelocitySpec)):
        return {}
    return {"a": constraint.a, "b": constraint.b}
