"""Two points coincide: a ball joint that closes a loop."""

from dataclasses import dataclass
from typing import ClassVar

from linkwork.multibody.constraints.constraint import POINT, Closure, Row


@dataclass(frozen=True, eq=False)
class PointClosure(Closure):
    """Φ = (a_1'd, a_2'd, a_3'd) = 0, three rows in metres.

    Multipliers: the force on b (N), in the axes of frame a, through the common point. In planar machines the
    row along the normal is dependent; it does no harm, and a PinClosure has none.
    """

    fixed_rows: ClassVar[tuple[Row, ...]] = POINT
