"""Constraints that are written as formulas: equations, motion prescribed in time, and sums of velocities."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from linkwork.machine.problems import Place
from linkwork.machine.sections.constraint_base import OF, ConstraintSpec, CoordinateName
from linkwork.machine.sections.fields import Number, Section, Vector3, entry, one_of, wrong
from linkwork.machine.sections.formulas import Equation, Formula, as_text
from linkwork.multibody import constraints as made

_IN = (
    "in rad, m and s; it may name coordinates, t, pi, deg, and sin, cos, tan, asin, acos, atan, atan2, "
    "sqrt, exp, log, tanh"
)


class ExpressionSpec(ConstraintSpec):
    """An equation between coordinates and time holds."""

    type: Literal["expression"] = entry("An equation between coordinates and time: cams, linkages")
    equation: Equation = entry(f"left = right, {_IN}")

    def formulas(self) -> list[tuple[Place, Any]]:
        """Return the equation."""
        return [(("equation",), self.equation)]

    def make(self, name: str) -> made.Constraint:
        """Return the `multibody` constraint."""
        left, _, right = self.equation.partition("=")
        return made.ExpressionConstraint(
            name, expressions={"equation": f"{left} - ({right})"}, baumgarte=self.baumgarte()
        )


class LineSpec(Section):
    """A straight line."""

    from_m: Vector3 = entry("Position at time 0", "m")
    to_m: Vector3 = entry("Position at `duration_s`; it continues with the same rate", "m")
    duration_s: Number = entry("Time from the first position to the second", "s", gt=0)

    def texts(self) -> list[str]:
        """Return the three expressions of time."""
        return [
            f"{a!r} + {(b - a) / self.duration_s!r}*t" for a, b in zip(self.from_m, self.to_m, strict=True)
        ]


class CircleSpec(Section):
    """A circle in a horizontal plane."""

    center_m: Vector3 = entry("Its centre", "m")
    radius_m: Number = entry("Its radius", "m", gt=0)
    rate_rad_s: Number = entry("Angle per time, from +y towards +x", "rad/s")
    phase_rad: Number = entry("Angle at time 0", "rad", 0.0)

    def texts(self) -> list[str]:
        """Return the three expressions of time."""
        x, y, z = self.center_m
        angle = f"{self.rate_rad_s!r}*t + {self.phase_rad!r}"
        return [f"{x!r} + {self.radius_m!r}*sin({angle})", f"{y!r} + {self.radius_m!r}*cos({angle})", repr(z)]


class HelixSpec(CircleSpec):
    """A circle that rises."""

    pitch_speed_m_s: Number = entry("Speed along z", "m/s")

    def texts(self) -> list[str]:
        """Return the three expressions of time."""
        x, y, z = super().texts()
        return [x, y, f"{z} + {self.pitch_speed_m_s!r}*t"]


class CurveSpec(Section):
    """A named curve in three coordinates, as in trajectory files; it has no end."""

    line: LineSpec | None = entry("A straight line", default=None)
    circle: CircleSpec | None = entry("A horizontal circle", default=None)
    helix: HelixSpec | None = entry("A horizontal circle that rises", default=None)
    of: Annotated[list[CoordinateName], Field(min_length=3, max_length=3)] = entry(
        f"The three coordinates that its axes refer to. {OF}", default=["x", "y", "z"]
    )

    @model_validator(mode="after")
    def _one_curve(self) -> Self:
        one_of(self, "line", "circle", "helix", needed=True)
        for index, name in enumerate(self.of):
            if name in self.of[:index]:
                raise wrong("this coordinate is given twice", name, "three different ones", "", ("of", index))
        return self

    def texts(self) -> dict[str, str]:
        """Return the expression of each coordinate."""
        shape = self.line or self.circle or self.helix
        assert shape is not None, "checked above"
        return dict(zip(self.of, shape.texts(), strict=True))


class MotionSpec(ConstraintSpec):
    """Coordinates follow functions of time, as with ideal servo drives."""

    type: Literal["motion"] = entry(
        "Coordinates follow functions of time; the constraint gives the force that this needs"
    )
    coordinates: dict[CoordinateName, Formula] = entry(
        f"The value of each coordinate, by name, {_IN}. {OF}", default={}
    )
    curve: CurveSpec | None = entry("A named curve that three coordinates follow", default=None)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.coordinates and self.curve is None:
            raise wrong("coordinates or curve is missing", "nothing", "", "add coordinates")
        for name in self.curve.of if self.curve else ():
            if name in self.coordinates:
                at = ("coordinates", name)
                raise wrong("the curve moves this coordinate already", name, "", "keep one of the two", at)
        return self

    def named(self) -> list[tuple[Place, str]]:
        """Return the coordinates that follow a function, and those that follow the curve."""
        curve = self.curve.of if self.curve else []
        found: list[tuple[Place, str]] = [(("coordinates", name), name) for name in self.coordinates]
        return [*found, *((("curve", "of", index), name) for index, name in enumerate(curve))]

    def formulas(self) -> list[tuple[Place, Any]]:
        """Return the functions of time."""
        return [(("coordinates", name), value) for name, value in self.coordinates.items()]

    def texts(self) -> dict[str, float | str]:
        """Return the formula of each coordinate."""
        return {**(self.curve.texts() if self.curve else {}), **self.coordinates}

    def make(self, name: str) -> made.Constraint:
        """Return the `multibody` constraint."""
        texts = {each: f"{each} - {as_text(value)}" for each, value in self.texts().items()}
        return made.ExpressionConstraint(name, expressions=texts, baumgarte=self.baumgarte())


class VelocitySpec(ConstraintSpec):
    """A weighted sum of velocities keeps a value: a constraint on velocities, also a nonholonomic one."""

    type: Literal["velocity"] = entry(
        "A weighted sum of velocities keeps a value: skates, wheels, knife edges (nonholonomic)"
    )
    factors: Annotated[dict[CoordinateName, Formula], Field(min_length=1)] = entry(
        f"The factor of each coordinate's velocity, by name, {_IN}. {OF}"
    )
    equals: Formula = entry(f"The value of the sum, {_IN}", default=0.0)

    def named(self) -> list[tuple[Place, str]]:
        """Return the coordinates whose velocity has a factor."""
        return [(("factors", name), name) for name in self.factors]

    def formulas(self) -> list[tuple[Place, Any]]:
        """Return the factors, and the value of the sum."""
        found: list[tuple[Place, Any]] = [(("factors", name), value) for name, value in self.factors.items()]
        return [*found, (("equals",), self.equals)]

    def make(self, name: str) -> made.Constraint:
        """Return the `multibody` constraint."""
        return made.VelocityConstraint(
            name,
            factors={each: as_text(factor) for each, factor in self.factors.items()},
            value=as_text(self.equals),
            baumgarte=self.baumgarte(),
        )
