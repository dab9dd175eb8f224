"""Constraints on coordinates of interest: prescribed values, couplings, expressions, velocities."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from linkwork.multibody.constraints.constraint import Constraint, Row
from linkwork.multibody.expressions import ExpressionError, parse
from linkwork.multibody.expressions.text import TIME, Node
from linkwork.multibody.kernels.layout import EXPRESSION, LINEAR_ROW, VELOCITY
from linkwork.multibody.model import ModelError, _number


@dataclass(frozen=True, eq=False)
class CoordinateConstraint(Constraint):
    """A coordinate of interest is prescribed: held at a value, or following a function of time.

    Φ = θ - c(t) = 0, one row; θ is any of the mechanism's coordinates of interest.

    c is `value` (rad or m), or the workspace's target: value and time derivatives at the target's time.
    Multiplier: the generalized force that the coordinate's drive applies (N m or N): its power is λ θ˙.
    """

    of: str = ""
    value: float = 0.0

    def __post_init__(self) -> None:
        """Check the value."""
        super().__post_init__()
        _number(self.value, ("constraints", self.name, "value"))

    @property
    def rows(self) -> tuple[Row, ...]:
        """The one row."""
        return (Row("value", LINEAR_ROW),)


@dataclass(frozen=True, eq=False)
class CouplingConstraint(Constraint):
    """A weighted sum of coordinates of interest is prescribed: gears, belts, differentials.

    Φ = Σ factor θ - c(t) = 0, one row; `factors` gives the factor of each coordinate of interest by name.

    c is `value`, or the workspace's target. Multiplier: coordinate θ receives the generalized force
    λ · factor (N m or N).
    """

    factors: Mapping[str, float] = field(default_factory=dict)
    value: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        super().__post_init__()
        where = ("constraints", self.name, "factors")
        if not self.factors:
            raise ModelError("a coupling needs at least one coordinate", where)
        for name, factor in self.factors.items():
            if _number(factor, (*where, name)) == 0.0:
                raise ModelError("a factor of 0 has no effect", (*where, name))
        _number(self.value, ("constraints", self.name, "value"))

    @property
    def rows(self) -> tuple[Row, ...]:
        """The one row."""
        return (Row("sum", LINEAR_ROW),)


@dataclass(frozen=True, eq=False)
class ExpressionConstraint(Constraint):
    """Expressions in coordinates and time are to be zero: cams, linkages in closed form, prescribed motion.

    Φ_i(θ, t) = 0, one row for each entry of `expressions`: a name, and the text of Φ_i.

    The texts name coordinates of interest, `t` (s), and functions (expressions/text.py); rad and m.
    An angle in space (roll, pitch, yaw) that stands alone before a minus, "angle - …", is compared up to
    whole turns, by which it may jump. Multiplier λ_i: coordinate θ receives the
    generalized force λ_i ∂Φ_i/∂θ (N m or N where Φ is an angle or a length). Where Φ depends on t, the
    constraint does work on the mechanism, of power -λ ∂Φ/∂t.
    """

    expressions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the texts; names are checked when the mechanism is built."""
        super().__post_init__()
        where = ("constraints", self.name, "expressions")
        if not self.expressions:
            raise ModelError("an expression is missing", where)
        for name, text in self.expressions.items():
            try:
                parse(text)
            except ExpressionError as error:
                raise ModelError(str(error), (*where, name)) from None

    @property
    def rows(self) -> tuple[Row, ...]:
        """One row for each expression."""
        return tuple(Row(name, EXPRESSION) for name in self.expressions)

    @property
    def moves_with_time(self) -> bool:
        """Whether Φ depends on t."""

        def named(node: Node) -> bool:
            return node.head == TIME or any(named(each) for each in node.arguments)

        return any(named(parse(text)) for text in self.expressions.values())


@dataclass(frozen=True, eq=False)
class VelocityConstraint(Constraint):
    """A weighted sum of velocities is prescribed: a skate, a wheel, a knife edge; nonholonomic in general.

    Σ f_k(θ, t) θ˙_k = g(θ, t), one row on the level of velocities; positions are not constrained.

    `factors` gives the text of f_k for each coordinate of interest, `value` that of g, in rad, m and s.
    Multiplier: coordinate θ_k receives the generalized force λ f_k; the constraint's power is λ g.
    """

    factors: Mapping[str, str] = field(default_factory=dict)
    value: str = "0"

    def __post_init__(self) -> None:
        """Check the texts; names are checked when the mechanism is built."""
        super().__post_init__()
        where = ("constraints", self.name)
        if not self.factors:
            raise ModelError("a velocity needs at least one coordinate", (*where, "factors"))
        for key, text in {**self.factors, "": self.value}.items():
            try:
                parse(text)
            except ExpressionError as error:
                place = ("factors", key) if key else ("value",)
                raise ModelError(str(error), (*where, *place)) from None

    @property
    def rows(self) -> tuple[Row, ...]:
        """The one row."""
        return (Row("velocity", VELOCITY),)
