"""Two frames share their origin and the direction of their z axes: a hinge that closes a loop."""

from dataclasses import dataclass
from typing import ClassVar

from linkwork.multibody.constraints.constraint import PARALLEL, POINT, Closure, Row


@dataclass(frozen=True, eq=False)
class RevoluteClosure(Closure):
    """Φ = (a_1'd, a_2'd, a_3'd, a_1'b_3, a_2'b_3) = 0, three rows in metres and two in radians.

    Multipliers: the force on b (N) in the axes of frame a, through the common point; then two moments: λ_4
    acts on b as the moment λ_4 b_3 × a_1, λ_5 as λ_5 b_3 × a_2 (N m), which is about a_2 and -a_1. Opposite z
    axes satisfy the equations too; assembly stays with the ones it starts near.
    """

    fixed_rows: ClassVar[tuple[Row, ...]] = POINT + PARALLEL
