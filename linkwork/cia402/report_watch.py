"""Signs of faults that a drive does not report itself: frozen values, jumps, a stuck brake."""

from collections import deque
from typing import Final

_MOVED: Final = 10
"""Thousandths by which the target torque of a frozen drive has changed."""
_STUCK: Final = 200
"""Thousandths by which the torque changes while a motor does not move."""
_STUCK_CYCLES: Final = 10
"""Cycles for which it must have changed: a motor needs time to begin to move."""
_STILL: Final = 2
"""Counts that are no motion."""
_JUMP: Final = 100
"""Counts that a motor does not move in one cycle between two cycles at rest."""


class ReportWatch:
    """Compares the reports of a drive with its target torques (thousandths of the rated one)."""

    def __init__(self, cycles: int) -> None:
        self._cycles = cycles
        self._last, self._equal = b"", 0
        self._low = self._high = 0
        self._anchor = self._torque_there = 0
        self._pushed = 0
        self._suspected = False
        self._places: deque[int] = deque(maxlen=4)

    def frozen(self, data: bytes, torque: int, enabled: bool) -> str:
        """Return in words that the report repeats though the torque changes; else an empty text."""
        if data != self._last or not enabled:
            self._last, self._equal, self._low, self._high = data, 0, torque, torque
            return ""
        self._equal += 1
        self._low, self._high = min(self._low, torque), max(self._high, torque)
        change = self._high - self._low
        if self._equal < self._cycles or change < _MOVED:
            return ""
        share = f"{change / 10:.1f} % of the rated one"
        return f"its TPDO is frozen: equal for {self._equal} cycles while its torque changed by {share}"

    def stuck(self, position: int, torque: int, enabled: bool) -> str:
        """Return in words, once, that the motor does not move though its torque changes much."""
        if not enabled or abs(position - self._anchor) > _STILL:
            self._anchor, self._torque_there, self._pushed = position, torque, 0
            return ""
        change = abs(torque - self._torque_there)
        self._pushed = self._pushed + 1 if change > _STUCK else 0
        if self._suspected or self._pushed < _STUCK_CYCLES:
            return ""
        self._suspected = True
        return (
            f"suspicion: its torque changed by {change / 10:.0f} % of the rated one and it does not move: "
            "brake stuck, or blocked"
        )

    def jumped(self, position: int) -> str:
        """Return in words that the position jumped in one cycle, and rested before and after it."""
        self._places.append(position)
        if len(self._places) < 4:
            return ""
        first, before, after, last = self._places
        way = after - before
        if abs(way) < _JUMP or max(abs(before - first), abs(last - after)) > _STILL:
            return ""
        share = f" ({100 * way / before:+.1f} %)" if before else ""
        what = f"its position jumped by {way} counts{share} at rest"
        return f"suspicion: {what}: wrong scale of counts, or encoder"
