"""The section `constraints`: one class for each `type`, which also makes what `multibody` calls it."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from linkwork.arrays import Floats
from linkwork.machine.problems import Place
from linkwork.machine.sections.constraint_base import OF, ConstraintSpec, CoordinateName
from linkwork.machine.sections.fields import Direction, Name, Number, Section, Vector3, entry, one_of, wrong
from linkwork.machine.sections.formulas import Formula, as_text
from linkwork.machine.sections.orientation import Orientation, unit
from linkwork.machine.sections.prescribed import ExpressionSpec, MotionSpec, VelocitySpec
from linkwork.multibody import constraints as made
from linkwork.multibody.tree.joint_dof import onto_z


class PlaceSpec(Section):
    """A place on a body."""

    body: Name = entry("The body, or `world`")
    at_m: Vector3 = entry("The position, in the body's frame", "m", [0.0, 0.0, 0.0])

    def axes(self) -> Floats:
        """Return the axes (3 × 3) of the frame there, in the body's; by default they are the body's own."""
        return np.eye(3)

    def frame(self) -> made.Frame:
        """Return the frame there."""
        return made.Frame(self.body, np.array(self.at_m, dtype=np.float64), self.axes())


class AxisPlaceSpec(PlaceSpec):
    """A place on a body, and a direction there."""

    axis: Direction = entry("Direction, in the body's frame; its length does not matter")

    def axes(self) -> Floats:
        """Return axes (3 × 3) whose z is the direction."""
        return onto_z(unit(self.axis))


class FramePlaceSpec(PlaceSpec, Orientation):
    """A place on a body, and a frame there."""

    def axes(self) -> Floats:
        """Return those (3 × 3) of the frame."""
        return self.rotation()


_CLOSURES: dict[str, Callable[..., made.Constraint]] = {
    "point": made.PointClosure,
    "pin": made.PinClosure,
    "distance": made.DistanceClosure,
    "revolute": made.RevoluteClosure,
    "cylindrical": made.CylindricalClosure,
    "universal": made.UniversalClosure,
    "prismatic": made.PrismaticClosure,
    "weld": made.WeldClosure,
    "rolling": made.RollingConstraint,
}


class _ClosureSpec(ConstraintSpec):
    """Base class of constraints between places on two bodies."""

    type: str
    a: PlaceSpec = entry("The point on the first body")
    b: PlaceSpec = entry("The point on the second body")

    def frames(self) -> tuple[made.Frame, made.Frame]:
        """Return the frames of a and b."""
        return self.a.frame(), self.b.frame()

    def sizes(self) -> dict[str, Any]:
        """Return the further arguments of the type."""
        return {}

    def make(self, name: str) -> made.Constraint:
        """Return what multibody calls it."""
        a, b = self.frames()
        return _CLOSURES[self.type](name, a=a, b=b, baumgarte=self.baumgarte(), **self.sizes())


class PointClosureSpec(_ClosureSpec):
    """Two points coincide."""

    type: Literal["point"] = entry("Two points coincide: a ball joint that closes a loop")


class PinSpec(_ClosureSpec):
    """Two points coincide as seen along a normal."""

    type: Literal["pin"] = entry("A hinge of a planar loop: two rows, in the plane across a normal")
    normal: Direction = entry("Normal of the plane, in the frame of a's body; its length does not matter")

    def frames(self) -> tuple[made.Frame, made.Frame]:
        """Return the frames of a, with the normal as z, and of b."""
        a, b = super().frames()
        return replace(a, rotation=onto_z(unit(self.normal))), b


class DistanceSpec(_ClosureSpec):
    """Two points keep a fixed distance."""

    type: Literal["distance"] = entry("Two points keep a fixed distance: a massless rod with ball joints")
    distance_m: Number = entry("The distance", "m", gt=0)

    def sizes(self) -> dict[str, Any]:
        """Return the distance."""
        return {"distance_m": self.distance_m}


class AxialSpec(_ClosureSpec):
    """Two bodies share a hinge, a sleeve, or a cardan cross."""

    type: Literal["revolute", "cylindrical", "universal"] = entry(
        "revolute: one hinge, the axes coincide; cylindrical: the same, free to slide; "
        "universal: a cardan cross, the axes are those of its cross"
    )
    a: AxisPlaceSpec = entry("Position and axis on the first body")
    b: AxisPlaceSpec = entry("Position and axis on the second body")


class PrismaticClosureSpec(_ClosureSpec):
    """A body slides along another without turning."""

    type: Literal["prismatic"] = entry("The frames slide along an axis and do not turn: a guide")
    axis: Direction = entry("Direction of sliding, in both frames; its length does not matter")
    a: FramePlaceSpec = entry("The frame on the first body")
    b: FramePlaceSpec = entry("The frame on the second body")

    def frames(self) -> tuple[made.Frame, made.Frame]:
        """Return both frames, turned so that the axis is their z."""
        turn = onto_z(unit(self.axis))
        a, b = (replace(frame, rotation=np.asarray(frame.rotation) @ turn) for frame in super().frames())
        return a, b


class WeldSpec(_ClosureSpec):
    """Two frames coincide."""

    type: Literal["weld"] = entry("Two frames coincide: a loop closed rigidly")
    a: FramePlaceSpec = entry("The frame on the first body")
    b: FramePlaceSpec = entry("The frame on the second body")


class RoundPlaceSpec(PlaceSpec):
    """The centre of a round body; with an axis it is a thin disc about it, without one a sphere."""

    axis: Direction | None = entry(
        "Of a thin disc: its axis, in the body's frame; without it the body touches as a sphere does",
        default=None,
    )

    def axes(self) -> Floats:
        """Return axes (3 × 3) whose z is that of a disc."""
        return super().axes() if self.axis is None else onto_z(unit(self.axis))


class RollingSpec(_ClosureSpec):
    """A round body rolls on a plane."""

    type: Literal["rolling"] = entry("A sphere, wheel or thin disc rolls on a plane without slipping")
    a: AxisPlaceSpec = entry("A point of the plane, and its normal, towards the round body")
    b: RoundPlaceSpec = entry("The centre of the round body")
    radius_m: Number = entry("Its radius", "m", gt=0)

    def sizes(self) -> dict[str, Any]:
        """Return the radius, and whether it is a disc."""
        return {"radius_m": self.radius_m, "disc": self.b.axis is not None}


class CoordinateSpec(ConstraintSpec):
    """A coordinate keeps its value."""

    type: Literal["coordinate"] = entry("A coordinate keeps a value: a guide, a locked joint, a drive")
    of: CoordinateName = entry(OF)
    equals_m: Formula | None = entry("The value of a length, a number or an expression", "m", None)
    equals_rad: Formula | None = entry("The value of an angle, a number or an expression", "rad", None)
    equals_deg: Formula | None = entry("The value of an angle, a number or an expression", "deg", None)

    @model_validator(mode="after")
    def _one_value(self) -> Self:
        one_of(self, "equals_m", "equals_rad", "equals_deg", needed=True)
        return self

    def named(self) -> list[tuple[Place, str]]:
        """Return the coordinate."""
        return [(("of",), self.of)]

    def formulas(self) -> list[tuple[Place, Any]]:
        """Return the value."""
        return [((key,), getattr(self, key)) for key in ("equals_m", "equals_rad", "equals_deg")]

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
    def _no_zero(self) -> Self:
        for name, factor in self.factors.items():
            if factor == 0.0:
                raise wrong(
                    "a factor of 0 has no effect", "0", "", "leave the coordinate out", ("factors", name)
                )
        return self

    def named(self) -> list[tuple[Place, str]]:
        """Return the coordinates that have a factor."""
        return [(("factors", name), name) for name in self.factors]

    def formulas(self) -> list[tuple[Place, Any]]:
        """Return the value of the sum."""
        return [(("equals",), self.equals)]

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
