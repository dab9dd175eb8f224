"""The action part of a goal, as words behind its path: events, followers of the speed, a condition.

    word 0            version
    words 1 … 4     events e, followers f, samples m of their speeds, instructions p of the condition
    word 5            1: the condition pauses the goal, 0: it ends it
    e × 4             path parameter (s), lead (s), number of the output, value; by output and place
    f × 6             number of the output, unit per m/s, offset, lowest and highest value, lead (s)
    f × m             speed of each follower's point per unit of the path rate (m/s), at m equal steps
    p × 2             instructions of the condition (multibody.expressions.condition_program)

An event with several outputs has one row for each. A bound beyond the range of its output is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from linkwork.arrays import Floats

VERSION = 1
_HEADER = 6
EVENT_NUMBERS, FOLLOWER_NUMBERS = 4, 6
NO_BOUND = 1e300
NEAREST_PERIODS = 1.5
"""Periods from a tick to the end of the half period around the sample at which its outputs are in force."""


def _table(columns: int) -> Floats:
    return np.zeros((0, columns))


@dataclass(frozen=True)
class ActionPart:
    """Events (e, 4), followers (f, 6), their speeds (f, m) and the condition (p, 2) of a goal; see above."""

    events: Floats = field(default_factory=lambda: _table(EVENT_NUMBERS))
    followers: Floats = field(default_factory=lambda: _table(FOLLOWER_NUMBERS))
    speeds: Floats = field(default_factory=lambda: _table(0))
    condition: Floats = field(default_factory=lambda: _table(2))
    pauses: bool = False

    def stretched(self, factor: float) -> ActionPart:
        """Return the part along a path that is followed `factor` times as slow."""
        events = self.events.copy()
        events[:, 0] *= factor
        return replace(self, events=events, speeds=self.speeds / factor)

    def words(self) -> Floats:
        """Return the part as a flat array, to be read by `from_words`."""
        samples = self.speeds.shape[1] if len(self.followers) else 0
        head = (VERSION, len(self.events), len(self.followers), samples, len(self.condition), self.pauses)
        tables = (self.events, self.followers, self.speeds, self.condition)
        return np.concatenate([np.array(head, np.float64), *(table.ravel() for table in tables)])

    @classmethod
    def from_words(cls, words: Floats) -> ActionPart:
        """Return the part in a flat array, as views of it. Raises ValueError when it holds none."""
        if len(words) < _HEADER or words[0] != VERSION:
            raise ValueError("the actions of the goal have another version")
        e, f, m, p = (int(number) for number in words[1:5])
        sizes = (EVENT_NUMBERS * e, FOLLOWER_NUMBERS * f, f * m, 2 * p)
        if min(e, f, m, p) < 0 or len(words) != _HEADER + sum(sizes) or (f and m < 2):
            raise ValueError(f"{len(words)} words for {e} events, {f} followers, {m} samples, {p} steps")
        ends = _HEADER + np.cumsum(sizes)
        tables = [words[end - size : end] for end, size in zip(ends, sizes, strict=True)]
        return cls(
            tables[0].reshape(e, EVENT_NUMBERS), tables[1].reshape(f, FOLLOWER_NUMBERS),
            tables[2].reshape(f, m), tables[3].reshape(p, 2), bool(words[5]),
        )  # fmt: skip
