"""The z axes of two frames lie on one line, along which the bodies slide without turning: a guide."""

from dataclasses import dataclass
from typing import ClassVar

from linkwork.multibody.constraints.constraint import PARALLEL, POINT, Closure, Row, perpendicular


@dataclass(frozen=True, eq=False)
class PrismaticClosure(Closure):
    """Φ = (a_1'd, a_2'd, a_1'b_3, a_2'b_3, a_1'b_2) = 0, two rows in metres and three in radians.

    Multipliers: two forces on b (N) along a_1 and a_2, through the origin of b; then the moments λ b_3 × a_1,
    λ b_3 × a_2 and λ b_2 × a_1 on b (N m), the last one about -a_3.
    """

    fixed_rows: ClassVar[tuple[Row, ...]] = POINT[:2] + PARALLEL + (perpendicular(0, 1),)
