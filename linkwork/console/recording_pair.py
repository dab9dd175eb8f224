"""Two recordings laid on each other: the tick of the second at a time of the first, and their differences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.console.recorded_motion import RecordedMotion

ALIGNMENTS: Final = ("first goal", "begin", "device time")
"""Instants at which two recordings can be laid on each other."""


@dataclass(frozen=True)
class Difference:
    """First minus second of one coordinate over the common time. unit: rad or m.

    largest: the value of the largest magnitude, with its sign; at_s: its time in the first.
    """

    name: str
    unit: str
    largest: float
    at_s: float
    rms: float


class MotionPair:
    """Two recordings on one time line: that of the first. offset_s: added to times of the second."""

    def __init__(self, first: RecordedMotion, second: RecordedMotion) -> None:
        self.first, self.second = first, second
        self.offset_s = 0.0
        self.align("first goal")

    def align(self, how: str) -> None:
        """Lay the second one on the first at one of ALIGNMENTS; without goals, at the begin."""
        goals = self.first.first_goal_s, self.second.first_goal_s
        if how == "device time":
            first, second = (float(each.run.records["time_s"][0]) for each in (self.first, self.second))
            self.offset_s = second - first
        elif how == "first goal" and goals[0] is not None and goals[1] is not None:
            self.offset_s = goals[0] - goals[1]
        else:
            self.offset_s = 0.0

    def second_row(self, time_s: float) -> int | None:
        """Return the nearest tick of the second at a time of the first; None where it has none."""
        found = self._rows(np.array([time_s]))
        return None if found[0] < 0 else int(found[0])

    def differences(self) -> list[Difference]:
        """Return how far the machines are apart, by coordinate that both have."""
        others = self._rows(self.first.time_s)
        rows = np.flatnonzero(others >= 0)
        others = others[rows]
        found: list[Difference] = []
        if not len(rows):
            return found
        names = {each["name"] for each in self.second.coordinates}
        for each in self.first.coordinates:
            if each["name"] not in names:
                continue
            channel = f"coordinate.{each['name']}"
            apart = self.first.run.columns[channel][rows] - self.second.run.columns[channel][others]
            if not np.isfinite(apart).any():
                continue
            at = int(np.nanargmax(np.abs(apart)))
            at_s = float(self.first.time_s[rows[at]])
            rms = math.sqrt(float(np.nanmean(np.square(apart))))
            found.append(Difference(each["name"], each["unit"], float(apart[at]), at_s, rms))
        return found

    def _rows(self, time_s: Floats) -> NDArray[np.int64]:
        """Return the ticks (n) of the second nearest to these times (n) of the first; −1: it has none."""
        times, wanted = self.second.time_s, time_s - self.offset_s
        after = np.minimum(np.searchsorted(times, wanted), len(times) - 1)
        before = np.maximum(after - 1, 0)
        nearest = np.where(wanted - times[before] < times[after] - wanted, before, after)
        margin_s = self.second.run.machine.controller.period_s
        inside = (wanted >= times[0] - margin_s) & (wanted <= times[-1] + margin_s)
        return np.where(inside, nearest, -1)
