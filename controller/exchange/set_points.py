"""Set-points of streams on their way from the gateway to the loop: a ring of slots in shared memory.

The gateway writes a slot, its number last; the loop reads one slot a tick, and takes it when it has the
number that is due. Numbers count from 1 while a loop runs. A slot is written again only after the gateway has
seen, in a record, that the loop is far beyond it, so that it can still be logged from there.

    word 0 number    1 goal    2 stamp (s)    3 count of positions    4 count of velocities
    then the positions (rad or m), then the velocities (per second)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from linkwork.arrays import Floats

SLOTS = 512
SLOT_WORDS = 32
MOST_COORDINATES = 12
"""Coordinates of a set-point."""
LEAST_HZ, MOST_HZ = 20.0, 1000.0
"""Rates at which set-points may be sent."""
_HEAD = 5


class StreamState(IntEnum):
    """States of a stream."""

    NONE = 0
    """There is no stream."""
    WAITING = 1
    """No set-point has come yet."""
    RUNNING = 2
    """It follows the set-points."""
    STALE = 3
    """Set-points are missing: it has come to rest, or does so."""
    ENDING = 4
    """It plays the last set-points back, then comes to rest."""
    STOPPING = 5
    """It comes to rest at once."""


@dataclass(frozen=True, slots=True)
class SetPoint:
    """One set-point: when it holds by the sender's clock, positions (rad or m), and velocities if given."""

    number: int
    goal: int
    stamp_s: float
    positions: tuple[float, ...]
    velocities: tuple[float, ...] = ()

    def words(self) -> list[float]:
        """The words of its slot."""
        head = [self.number, self.goal, self.stamp_s, len(self.positions), len(self.velocities)]
        return [*head, *self.positions, *self.velocities]

    @classmethod
    def of_words(cls, words: list[float]) -> SetPoint:
        """The set-point in these words."""
        number, goal, stamp, positions, velocities = words[:_HEAD]
        middle = _HEAD + int(positions)
        return cls(
            int(number), int(goal), stamp, tuple(words[_HEAD:middle]),
            tuple(words[middle : middle + int(velocities)]),
        )  # fmt: skip


class SetPointRing:
    """The slots: a view (SLOTS × SLOT_WORDS) of the shared memory."""

    def __init__(self, words: Floats) -> None:
        self._slots = words.reshape(SLOTS, SLOT_WORDS)

    def write(self, point: SetPoint) -> None:
        """The gateway's write: the number is cleared first and written last."""
        slot, words = self._slots[point.number % SLOTS], point.words()
        slot[0] = 0.0
        slot[1 : len(words)] = words[1:]
        slot[0] = words[0]

    def read(self, number: int) -> SetPoint | None:
        """The set-point with this number, if it is there."""
        slot = self._slots[number % SLOTS]
        if slot[0] != number:
            return None
        words = slot.tolist()
        return SetPoint.of_words(words) if slot[0] == number == words[0] else None

    @property
    def newest(self) -> int:
        """The largest number in the slots."""
        return int(np.max(self._slots[:, 0]))
