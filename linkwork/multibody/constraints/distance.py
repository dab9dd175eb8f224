"""Two points keep a fixed distance: a massless rod with ball joints at its ends."""

from dataclasses import dataclass

from linkwork.multibody.constraints.constraint import Closure, Row
from linkwork.multibody.kernels.layout import DISTANCE
from linkwork.multibody.model import ModelError, _number


@dataclass(frozen=True, eq=False)
class DistanceClosure(Closure):
    """Φ = |p_b - p_a| - c = 0, one row in metres; c is `distance_m`, or follows the workspace's target.

    Multiplier: the force on b (N) along the line from a to b, positive where it pushes. The distance must be
    positive: where the points coincide, the row has no direction and is NaN.
    """

    distance_m: float = 1.0

    def __post_init__(self) -> None:
        """Check the distance."""
        super().__post_init__()
        where = ("constraints", self.name, "distance_m")
        if not _number(self.distance_m, where) > 0.0:
            raise ModelError(
                f"expected more than 0, found {self.distance_m:g}; points that coincide are a PointClosure",
                where,
            )

    @property
    def rows(self) -> tuple[Row, ...]:
        """The one row."""
        return (Row("distance", DISTANCE),)
