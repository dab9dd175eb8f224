"""A signal over the ticks of a record, with requirements on its value and its changes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from linkwork.machine.sections.signal_section import Signal
from linkwork.rig.series import MeasuredValue, Series


@dataclass(frozen=True)
class SignalEdge:
    """A change of a signal. tick, time_s: of the device, from which on it has `value`; text: as words."""

    text: str
    tick: int
    time_s: float
    value: float


@dataclass(frozen=True, eq=False)
class SignalRecord:
    """One signal over n ticks: an input as the device reports it, an output as it is in force.

    values: (n,) in the signal's unit, 0 and 1 of a digital one. device_tick: (n,).
    """

    signal: Signal
    values: Series
    device_tick: NDArray[np.int64]

    @cached_property
    def changes(self) -> tuple[SignalEdge, ...]:
        """Every change within the record, in order."""
        values = self.values.values
        rows = 1 + np.flatnonzero(values[1:] != values[:-1])
        return tuple(self._change(int(row)) for row in rows)

    def changes_to(
        self, value: bool | float | str, *, within_s: float | None = None, after: SignalEdge | None = None
    ) -> SignalEdge:
        """Require that the signal changes to this value, and return the first such change.

        after: a change of this or another signal from which on it counts (default: the record's beginning).
        within_s: largest delay from there, s; the report shows it beside the measured one. Raises
        AssertionError, saying what the signal did instead.
        """
        wanted = self.signal.read(value)
        found = [each for each in self._later(self.changes, after) if each.value == wanted]
        if not found:
            raise AssertionError(
                f"{self._text(wanted)} was expected{self._since(after)}; {self._instead(after)}"
            )
        self._in_time(found[0], within_s, after)
        return found[0]

    def reaches(
        self, value: bool | float | str, *, within_s: float | None = None, after: SignalEdge | None = None
    ) -> SignalEdge:
        """Require that the signal has this value, or that an analog one is at or beyond it.

        Unlike for `changes_to`, a signal that has the value from the beginning on complies. An analog signal
        reaches the value from the side on which it begins. Arguments and errors as there.
        """
        wanted = self.signal.read(value)
        first = 0 if after is None else int(np.searchsorted(self.device_tick, after.tick))
        values = self.values.values[first:]
        if not len(values):
            raise AssertionError(
                f"the record ends before {self._text(wanted)} was expected{self._since(after)}"
            )
        there = values >= wanted if values[0] <= wanted else values <= wanted
        rows = np.flatnonzero(there)
        if not len(rows):
            raise AssertionError(
                f"{self._text(wanted)} was expected{self._since(after)}; {self._instead(after)}"
            )
        reached = self._change(first + int(rows[0]))
        self._in_time(reached, within_s, after)
        return reached

    def stays(
        self, value: bool | float | str, *, for_s: float | None = None, after: SignalEdge | None = None
    ) -> None:
        """Require that the signal has this value in every tick, from `after` on, for so long (s).

        Default: to the record's end. Raises AssertionError with the first other value.
        """
        wanted = self.signal.read(value)
        begin = self.values.time_s[0] if after is None else after.time_s
        now = self.values.time_s >= begin - 1e-9
        if for_s is not None:
            now &= self.values.time_s <= begin + for_s + 1e-9
        others = np.flatnonzero(now & (self.values.values != wanted))
        if len(others):
            other = self._change(int(others[0]))
            raise AssertionError(
                f"{self._text(wanted)} was expected throughout{self._since(after)}; {other.text} at "
                f"{other.time_s:.4f} s"
            )

    def _in_time(self, change: SignalEdge, within_s: float | None, after: SignalEdge | None) -> None:
        if within_s is None:
            return
        begin = self.values.time_s[0] if after is None else after.time_s
        name = f"{change.text} after {'the beginning' if after is None else after.text}"
        delay = MeasuredValue(change.time_s - begin, name, "s", self.values.findings)
        if not delay <= within_s + 1e-9:
            raise AssertionError(f"{name}: {float(delay):.4g} s; {within_s:g} s are allowed")

    @staticmethod
    def _later(changes: tuple[SignalEdge, ...], after: SignalEdge | None) -> list[SignalEdge]:
        return [each for each in changes if after is None or each.tick >= after.tick]

    def _change(self, row: int) -> SignalEdge:
        value = float(self.values.values[row])
        time_s = float(self.values.time_s[row])
        return SignalEdge(self._text(value), int(self.device_tick[row]), time_s, value)

    def _text(self, value: float) -> str:
        return f"{self.signal.name} {self.signal.shown(value)}"

    @staticmethod
    def _since(after: SignalEdge | None) -> str:
        return "" if after is None else f" after {after.text} at {after.time_s:.4f} s"

    def _instead(self, after: SignalEdge | None) -> str:
        later = self._later(self.changes, after)
        if not later:
            return f"{self._text(float(self.values.values[-1]))} to the end of the record"
        shown = ", ".join(f"{each.text} at {each.time_s:.4f} s" for each in later[:3])
        return shown + (f" and {len(later) - 3} more changes" if len(later) > 3 else "")
