"""Two frames share their origin and their z axes stay perpendicular: a cardan cross."""

from dataclasses import dataclass
from typing import ClassVar

from linkwork.multibody.constraints.constraint import POINT, Closure, Row, perpendicular


@dataclass(frozen=True, eq=False)
class UniversalClosure(Closure):
    """Φ = (a_1'd, a_2'd, a_3'd, a_3'b_3) = 0, three rows in metres and one in radians.

    The z axes are the arms of the cross. Multipliers: the force on b (N) in the axes of frame a; then the
    moment λ b_3 × a_3 on b (N m), normal to the cross.
    """

    fixed_rows: ClassVar[tuple[Row, ...]] = (*POINT, perpendicular(2, 2))
