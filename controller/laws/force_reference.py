"""What a law is told about forces: which rows are pressed, how hard, and which gaps it must hold instead."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats


class Grip(IntEnum):
    """What is done about one force of the machine (`Machine.force_rows`)."""

    FREE = 0
    """Nothing: motion alone is controlled."""
    PRESS = 1
    """The force is controlled; motion along the normal follows from it."""
    HOLD_GAP = 2
    """The gap of a contact is held where it is: its force has gone."""


@dataclass(slots=True)
class ForceReference:
    """One entry a force of the machine; N, N m and m.

    `grip`: Grip. `wanted`: force wanted, positive where the machine is pushed back by what it touches, or the
    multiplier of a constraint. `push`: what the motors press with: the wanted force and its correction.
    `damping`: added along the normal (N s/m). `gap`: what HOLD_GAP holds.
    """

    grip: NDArray[np.int64]
    wanted: Floats
    push: Floats
    damping: Floats
    gap: Floats

    @classmethod
    def sized(cls, count: int) -> ForceReference:
        """For so many forces, none of them minded."""
        return cls(np.zeros(count, np.int64), *(np.zeros(count) for _ in range(4)))
