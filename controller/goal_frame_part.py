"""The frame part of a goal, as words behind its path: which moving frame, when in it, from where on.

    word 0            version
    word 1            number of the frame in the machine
    words 2 … 5       path parameters (s): it enters from … to, and leaves from … to
    word 6            displacement of the frame (m) for which the path is
    words 7, 8        smallest and largest speed (m/s) of the frame for which the goal is admitted
    words 9, 10       smallest and largest position (m) along it while the goal is in the frame
    words 11, 12      how long after its planning the goal begins at the earliest, and at the latest (s)
    k                 change of each coordinate of the goal per metre of the frame's motion

The path holds the goal coordinates as if the frame stood at that displacement. Of the frame's motion since
then, the share `weight(s)` is added: 0 before entering, 1 in the frame, 0 after leaving.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from linkwork.arrays import Floats

VERSION = 3
_HEADER = 13


@dataclass(frozen=True)
class FramePart:
    """The moving frame of a goal; see above. gains (k): change per metre of the frame's motion."""

    frame: int
    enters_s: tuple[float, float]
    leaves_s: tuple[float, float]
    origin_m: float
    speed_m_s: tuple[float, float]
    window_m: tuple[float, float]
    begins_s: tuple[float, float]
    gains: Floats

    def weight(self, s: float) -> tuple[float, float, float]:
        """Return the share of the frame's motion at s, and its first two derivatives with respect to s.

        Between 0 and 1 it is 10 x³ - 15 x⁴ + 6 x⁵, with x the share of the way.
        """
        for (begin, end), sign in ((self.enters_s, 1.0), (self.leaves_s, -1.0)):
            if s < end:
                if s <= begin:
                    return (0.0 if sign > 0.0 else 1.0), 0.0, 0.0
                length = end - begin
                x = (s - begin) / length
                value = x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)
                first = 30.0 * x * x * (1.0 - x) * (1.0 - x) / length
                second = 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / (length * length)
                return (value if sign > 0.0 else 1.0 - value), sign * first, sign * second
        return 0.0, 0.0, 0.0

    def inside(self, s: float) -> bool:
        """Whether the goal is wholly in the frame at s."""
        return self.enters_s[1] <= s <= self.leaves_s[0]

    def stretched(self, factor: float) -> FramePart:
        """Return the frame part along a path that is followed `factor` times as slow."""
        enters, leaves = ((begin * factor, end * factor) for begin, end in (self.enters_s, self.leaves_s))
        return replace(self, enters_s=enters, leaves_s=leaves)

    def words(self) -> Floats:
        """Return the part as a flat array, to be read by `from_words`."""
        times, ranges = (*self.enters_s, *self.leaves_s), (*self.speed_m_s, *self.window_m)
        return np.array([VERSION, self.frame, *times, self.origin_m, *ranges, *self.begins_s, *self.gains])

    @classmethod
    def from_words(cls, words: Floats) -> FramePart:
        """Return the part in a flat array. Raises ValueError when it holds none."""
        if len(words) <= _HEADER or words[0] != VERSION or not np.all(np.isfinite(words)):
            raise ValueError("the frame part of the goal has another version")
        a, b, c, d, origin, slow, fast, low, high, after, within = words[2:_HEADER].tolist()
        if not 0.0 <= a < b <= c < d:
            raise ValueError(f"the goal enters its frame at {a} … {b} s and leaves it at {c} … {d} s")
        gains = words[_HEADER:].copy()
        return cls(int(words[1]), (a, b), (c, d), origin, (slow, fast), (low, high), (after, within), gains)
