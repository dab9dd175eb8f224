"""Signs of faults that a drive does not report itself: frozen values, jumps, a stuck brake."""

from collections import deque
from typing import Final

from linkwork.cia402.drive_settings import Cia402Settings
from linkwork.cia402.objects import OperationMode

_MOVED: Final = 10
"""Thousandths, or counts, by which the target of a frozen drive has changed."""
_STUCK: Final = 100
"""Thousandths by which the torque changes while a motor does not move."""
_STUCK_S: Final = 0.02
"""Time for which it must have changed: a motor needs time to begin to move."""
_STILL: Final = 2
"""Counts that are no motion."""
_CREEPING: Final = 0.002
"""Share of the fastest motion so far that is none either: a gear yields behind a brake."""
_JUMP: Final = 100
"""Counts that a motor does not move in one cycle between two cycles at rest."""


class ReportWatch:
    """Compares the reports of a drive with its targets: thousandths of the rated torque, or counts."""

    def __init__(self, settings: Cia402Settings) -> None:
        self._cycles, self._mode = settings.frozen_cycles, settings.mode
        self._last, self._equal = b"", 0
        self._low = self._high = 0
        self._patience = max(5, round(_STUCK_S / settings.period_s))
        self._path: deque[int] = deque(maxlen=self._patience)
        self._fastest = self._target_there = self._pushed = 0
        self._suspected = False
        self._places: deque[int] = deque(maxlen=4)
        self._targets: deque[int] = deque(maxlen=4)

    def frozen(self, data: bytes, target: int, enabled: bool) -> str:
        """Return in words that the report repeats though the target changes; else an empty text."""
        if data != self._last or not enabled:
            self._last, self._equal, self._low, self._high = data, 0, target, target
            return ""
        self._low, self._high = min(self._low, target), max(self._high, target)
        change = self._high - self._low
        self._equal = self._equal + 1 if change >= _MOVED else 0  # at rest a report repeats for long
        if self._equal < self._cycles:
            return ""
        what = f"torque changed by {change / 10:.1f} % of the rated one"
        if self._mode is OperationMode.POSITION:
            what = f"target changed by {change} counts"
        return f"its TPDO is frozen: equal for {self._equal} cycles while its {what}"

    def stuck(self, position: int, target: int, enabled: bool) -> str:
        """Return in words, once, that the motor does not move though its target changes much, or is away."""
        path = self._path
        if not enabled:
            path.clear()
        if path:
            self._fastest = max(self._fastest, abs(position - path[-1]))
        path.append(position)
        creeps = _STILL + len(path) * self._fastest * _CREEPING
        if len(path) < 2 or abs(position - path[0]) > creeps:
            self._target_there, self._pushed = target, 0
            return ""
        change, enough = abs(target - self._target_there), _STUCK
        what = f"its torque changed by {change / 10:.0f} % of the rated one"
        if self._mode is OperationMode.POSITION:
            change, enough = abs(target - position), max(_JUMP, 2 * self._fastest)
            what = f"its target is {change} counts away"
        self._pushed = self._pushed + 1 if change > enough else 0
        if self._suspected or self._pushed < self._patience:
            return ""
        self._suspected = True
        return f"suspicion: {what} and it does not move: brake stuck, or blocked"

    def jumped(self, position: int, target: int) -> str:
        """Return in words that the position jumped in one cycle, and rested before and after it.

        In position mode the drive does not let it rest after it: then the target must have rested.
        """
        if self._mode is OperationMode.POSITION:
            self._targets.append(target)
        self._places.append(position)
        if len(self._places) < 4:
            return ""
        first, before, after, last = self._places
        way = after - before
        asked = list(self._targets)[:3]  # the fourth may be the answer to the jump
        held = len(asked) == 3 and max(asked) - min(asked) <= _STILL
        if abs(way) < _JUMP or abs(before - first) > _STILL or (abs(last - after) > _STILL and not held):
            return ""
        share = f" ({100 * way / before:+.1f} %)" if before else ""
        what = f"its position jumped by {way} counts{share} at rest"
        return f"suspicion: {what}: wrong scale of counts, or encoder"
