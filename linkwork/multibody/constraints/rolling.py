"""A round body rolls on a plane without slipping: nonholonomic rows on the level of velocities."""

from dataclasses import dataclass

from linkwork.multibody.constraints.constraint import Closure, Row, along
from linkwork.multibody.kernels.layout import DISC, NO_SLIP
from linkwork.multibody.model import ModelError, _number

_ON_DISC = (("z", 2), ("slip_x", 0), ("slip_y", 1))


@dataclass(frozen=True, eq=False)
class RollingConstraint(Closure):
    """A sphere or thin disc of radius c about b's origin rolls on the plane of a_1, a_2 through a's origin.

    The point of contact is p_b - c e. For a sphere e = a_3; a wheel whose axle stays parallel to the plane
    touches it as a sphere does. A disc (`disc`) lies normal to b_3, and e is the direction within it that is
    nearest to a_3; it must not lie flat. Rows: a_3'(d - c e) = 0 (m), then the velocity of b's material
    against a's at the point of contact has no part along a_1 nor a_2 (m/s); these two are on the level of
    velocities and constrain no position. Multipliers: the forces of contact on b (N) along a_3 (pressing
    where positive; the constraint does not enforce this), a_1 and a_2.
    """

    radius_m: float = 1.0
    disc: bool = False

    def __post_init__(self) -> None:
        """Check the radius."""
        super().__post_init__()
        where = ("constraints", self.name, "radius_m")
        if not _number(self.radius_m, where) > 0.0:
            raise ModelError(f"expected more than 0, found {self.radius_m:g}", where)

    @property
    def rows(self) -> tuple[Row, ...]:
        """Height, then the two rows against slipping."""
        if self.disc:
            return tuple(Row(name, DISC, i, offset=self.radius_m) for name, i in _ON_DISC)
        slip = [Row(f"slip_{'xy'[i]}", NO_SLIP, i, offset=self.radius_m) for i in range(2)]
        return (along(2, self.radius_m), *slip)
