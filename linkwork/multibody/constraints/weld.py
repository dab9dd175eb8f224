"""Two frames coincide: a loop closed rigidly, or a gripper that holds."""

from dataclasses import dataclass
from typing import ClassVar

from linkwork.multibody.constraints.constraint import POINT, Closure, Row, perpendicular


@dataclass(frozen=True, eq=False)
class WeldClosure(Closure):
    """Φ = (a_1'd, a_2'd, a_3'd, a_1'b_2, a_2'b_3, a_3'b_1) = 0, three rows in metres and three in radians.

    Multipliers: the force on b (N) in the axes of frame a; then the moments λ b_2 × a_1, λ b_3 × a_2 and
    λ b_1 × a_3 on b (N m), which are about -a_3, -a_1 and -a_2. Frames that differ by half a turn about an
    axis satisfy the equations too; assembly stays with the ones it starts near.
    """

    fixed_rows: ClassVar[tuple[Row, ...]] = (
        *POINT,
        perpendicular(0, 1),
        perpendicular(1, 2),
        perpendicular(2, 0),
    )
