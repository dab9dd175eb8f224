"""A pin of a planar loop: two points coincide as seen along a normal."""

from dataclasses import dataclass
from typing import ClassVar

from linkwork.multibody.constraints.constraint import POINT, Closure, Row


@dataclass(frozen=True, eq=False)
class PinClosure(Closure):
    """Φ = (a_1'd, a_2'd) = 0, two rows in metres; the z axis of frame a is the normal of the plane.

    The origin of b lies on the line through the origin of a along the normal. Where the joints keep the
    bodies in planes across the normal this is a hinge, without the rows that repeat the joints' conditions.
    Multipliers: two forces on b (N) along a_1 and a_2, through the origin of b.
    """

    fixed_rows: ClassVar[tuple[Row, ...]] = POINT[:2]
