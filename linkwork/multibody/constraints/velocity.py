"""A weighted sum of velocities is prescribed: a skate, a wheel, a knife edge; nonholonomic in general."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from linkwork.multibody.constraints.constraint import Constraint, Row
from linkwork.multibody.expressions import ExpressionError, parse
from linkwork.multibody.kernels.layout import VELOCITY
from linkwork.multibody.model import ModelError


@dataclass(frozen=True, eq=False)
class VelocityConstraint(Constraint):
    """Σ f_k(θ, t) θ˙_k = g(θ, t), one row on the level of velocities; positions are not constrained.

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
