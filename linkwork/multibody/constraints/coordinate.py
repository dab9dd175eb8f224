"""A coordinate of interest is prescribed: held at a value, or following a function of time."""

from dataclasses import dataclass

from linkwork.multibody.constraints.constraint import Constraint, Row
from linkwork.multibody.kernels.layout import LINEAR_ROW
from linkwork.multibody.model import _number


@dataclass(frozen=True, eq=False)
class CoordinateConstraint(Constraint):
    """Φ = θ - c(t) = 0, one row; θ is any of the mechanism's coordinates of interest.

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
