"""Force reference of a law: the rows that are pressed, the wanted forces, and the gaps to hold instead."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats


class Grip(IntEnum):
    """Control mode of one force of the machine (`Machine.force_rows`)."""

    FREE = 0
    """Motion control alone."""
    PRESS = 1
    """The force is controlled; motion along the normal follows from it."""
    HOLD_GAP = 2
    """The gap of a contact is held where it is: its force has gone."""


@dataclass(slots=True)
class ForceReference:
    """One entry for each force of the machine; N, N m and m.

    `grip`: Grip. `wanted`: force wanted, positive where the machine is pushed back by what it touches, or the
    multiplier of a constraint. `push`: the force that the motors apply: the wanted force and its correction.
    `damping`: added along the normal (N s/m). `gap`: what HOLD_GAP holds.
    """

    grip: NDArray[np.int64]
    wanted: Floats
    push: Floats
    damping: Floats
    gap: Floats

    @classmethod
    def sized(cls, count: int) -> ForceReference:
        """Reference for a number of forces, all in motion control."""
        return cls(np.zeros(count, np.int64), *(np.zeros(count) for _ in range(4)))
