"""A weighted sum of coordinates of interest is prescribed: gears, belts, differentials."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from linkwork.multibody.constraints.constraint import Constraint, Row
from linkwork.multibody.kernels.layout import LINEAR_ROW
from linkwork.multibody.model import ModelError, _number


@dataclass(frozen=True, eq=False)
class CouplingConstraint(Constraint):
    """Φ = Σ factor θ - c(t) = 0, one row; `factors` gives the factor of each coordinate of interest by name.

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
