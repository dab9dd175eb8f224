"""Effort saturation that keeps the direction of the motion instead of clipping each motor by itself."""

from __future__ import annotations

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import part


@part
def largest_share(most: Floats, motor: Integers, coasting: Floats, force: Floats) -> float:
    """Return the largest α in [0, 1] with |coasting + α (force − coasting)| ≤ most; negative: none.

    most, motor (motors): limits and the motors' joints; coasting, force (nv; N m or N).
    """
    share = 1.0
    for m in range(len(motor)):
        least, wanted = coasting[motor[m]], force[motor[m]]
        if abs(least) > most[m]:
            return -1.0
        change = wanted - least
        if abs(wanted) > most[m] and change != 0.0:
            room = most[m] - least if change > 0.0 else most[m] + least
            share = min(share, room / abs(change))
    return share


@part
def within(most: Floats, motor: Integers, force: Floats) -> bool:
    """Whether every motor can give its part of force (nv)."""
    beyond = False
    for m in range(len(motor)):
        beyond = beyond or abs(force[motor[m]]) > most[m]
    return not beyond


@part
def keep_direction(most: Floats, motor: Integers, coasting: Floats, force: Floats) -> float:
    """force := coasting + α (force − coasting), within the limits; return α, 0 where coasting is beyond them.

    Arguments as of `largest_share`: (motors) and (nv).
    """
    share = largest_share(most, motor, coasting, force)
    for m in range(len(motor)):
        c = motor[m]
        value = coasting[c] + max(share, 0.0) * (force[c] - coasting[c])
        force[c] = min(max(value, -most[m]), most[m])
    return max(share, 0.0)
