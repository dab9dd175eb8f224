"""Expressions in coordinates and time are to be zero: cams, linkages in closed form, prescribed motion."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from linkwork.multibody.constraints.constraint import Constraint, Row
from linkwork.multibody.expressions import ExpressionError, parse
from linkwork.multibody.kernels.layout import EXPRESSION
from linkwork.multibody.model import ModelError


@dataclass(frozen=True, eq=False)
class ExpressionConstraint(Constraint):
    """Φ_i(θ, t) = 0, one row for each entry of `expressions`: a name, and the text of Φ_i.

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
