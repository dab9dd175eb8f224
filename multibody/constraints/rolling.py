"""A round body rolls on a plane without slipping: nonholonomic rows on the level of velocities."""

from dataclasses import dataclass

from multibody.constraints.constraint import Closure, Row, along
from multibody.layout import NO_SLIP
from multibody.model import ModelError, _number


@dataclass(frozen=True, eq=False)
class RollingConstraint(Closure):
    """A sphere of radius c about b's origin rolls on the plane of a_1 and a_2 through a's origin.

    Rows: a_3'd - c = 0 (m), then the velocity of b's material against a's at the point of contact,
    p_b - c a_3, has no part along a_1 nor a_2 (m/s). A wheel whose axle stays parallel to the plane touches
    it as a sphere does. Multipliers: the forces of contact on b (N) along a_3 (pressing where positive;
    nothing here keeps it so), a_1 and a_2.
    """

    radius_m: float = 1.0

    def __post_init__(self) -> None:
        """Check the radius."""
        super().__post_init__()
        where = ("constraints", self.name, "radius_m")
        if not _number(self.radius_m, where) > 0.0:
            raise ModelError(f"expected more than 0, found {self.radius_m:g}", where)

    @property
    def rows(self) -> tuple[Row, ...]:
        """Height, then the two rows against slipping."""
        slip = [Row(f"slip_{'xy'[i]}", NO_SLIP, i, offset=self.radius_m) for i in range(2)]
        return (along(2, self.radius_m), *slip)
