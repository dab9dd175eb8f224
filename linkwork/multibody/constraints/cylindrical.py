"""The z axes of two frames lie on one line, along which and about which the bodies are free."""

from dataclasses import dataclass
from typing import ClassVar

from linkwork.multibody.constraints.constraint import PARALLEL, POINT, Closure, Row


@dataclass(frozen=True, eq=False)
class CylindricalClosure(Closure):
    """Φ = (a_1'd, a_2'd, a_1'b_3, a_2'b_3) = 0, two rows in metres and two in radians.

    Multipliers: two forces on b (N) along a_1 and a_2, through the origin of b; then the moments λ b_3 × a_1
    and λ b_3 × a_2 on b (N m).
    """

    fixed_rows: ClassVar[tuple[Row, ...]] = POINT[:2] + PARALLEL
