"""A quantity over the ticks of a record with its figures, and a signal with its changes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.machine.sections.signal_section import Signal
from linkwork.reports.quantities import rounded
from linkwork.rig.collected import Number, Relation, TestFindings


class MeasuredValue(float):
    """A float with name and unit; comparing it with <, <=, >, >= notes number and limit for the report.

    `findings` is where: those of the running test, None: nowhere. `tracked` is a map of a span of theirs and
    the coordinate whose error this is, where it is one.
    """

    name: str
    unit: str
    findings: TestFindings | None
    tracked: tuple[dict[str, float | None], str] | None
    _noted: Number | None

    def __new__(
        cls,
        value: float,
        name: str,
        unit: str,
        findings: TestFindings | None = None,
        tracked: tuple[dict[str, float | None], str] | None = None,
    ) -> MeasuredValue:
        """Make one."""
        self = super().__new__(cls, value)
        self.name, self.unit, self.findings, self.tracked = name, unit, findings, tracked
        self._noted = None
        return self

    def note(self) -> MeasuredValue:
        """Note the number for the report, also where it is compared with nothing."""
        if self.findings is not None:
            self._noted = Number(self.name, float(self), self.unit, "", math.nan, holds=True)
            self.findings.numbers.append(self._noted)
        return self

    def judged(self, relation: Relation, limit: float) -> Number:
        """The comparison, as it is noted."""
        value, bound = float(self), float(limit)
        holds = {
            "<": value < bound,
            "<=": value <= bound,
            ">": value > bound,
            ">=": value >= bound,
            "==": value == bound,
            "": True,
        }[relation]
        number = Number(self.name, value, self.unit, relation, bound, holds)
        if self.findings is not None:
            self.findings.numbers = [each for each in self.findings.numbers if each is not self._noted]
            self.findings.numbers.append(number)
        if self.tracked is not None and relation in ("<", "<="):
            limits, coordinate = self.tracked
            limits[coordinate] = bound
        return number

    def __lt__(self, limit: float) -> bool:
        return self.judged("<", limit).holds

    def __le__(self, limit: float) -> bool:
        return self.judged("<=", limit).holds

    def __gt__(self, limit: float) -> bool:
        return self.judged(">", limit).holds

    def __ge__(self, limit: float) -> bool:
        return self.judged(">=", limit).holds

    def __repr__(self) -> str:
        return f"{self.name} = {rounded(self):.6g} {self.unit}".rstrip()

    __str__ = __repr__


@dataclass(frozen=True, eq=False)
class Series:
    """`values` (n,) at the device times `time_s` (n,). NaN marks ticks in which the quantity is not known.

    name: as in the report: "tracking_error(x)". unit: of the values.
    """

    name: str
    unit: str
    time_s: Floats
    values: Floats
    findings: TestFindings | None = None
    tracked: tuple[dict[str, float | None], str] | None = None
    """As in `MeasuredValue`: for the figures that bound the whole, max."""

    @property
    def series(self) -> Floats:
        """The values (n,)."""
        return self.values

    @property
    def max(self) -> MeasuredValue:
        """The largest magnitude."""
        largest = float(np.max(np.abs(self._known())))
        return MeasuredValue(largest, f"{self.name}.max", self.unit, self.findings, self.tracked)

    @property
    def rms(self) -> MeasuredValue:
        """The root of the mean square."""
        return self._measured("rms", float(np.sqrt(np.mean(np.square(self._known())))))

    @property
    def last(self) -> MeasuredValue:
        """The value of the last tick in which it is known."""
        return self._measured("last", float(self._known()[-1]))

    @property
    def range(self) -> MeasuredValue:
        """The largest value less the smallest."""
        return self._measured("range", float(np.ptp(self._known())))

    @property
    def step(self) -> MeasuredValue:
        """The largest change from one tick to the next."""
        known = self._known()
        return self._measured("step", float(np.max(np.abs(np.diff(known)), initial=0.0)))

    def after(self, time_s: float) -> Series:
        """The part from this device time on."""
        there = self.time_s >= time_s
        return Series(self.name, self.unit, self.time_s[there], self.values[there], self.findings)

    def never_exceeds(self, limit: float) -> None:
        """Raise AssertionError where the magnitude is ever larger, saying when and by how much."""
        worst = self.max
        if not worst <= limit:
            at = int(np.nanargmax(np.abs(self.values)))
            raise AssertionError(
                f"{self.name} was {self.values[at]:.6g} {self.unit} at {self.time_s[at]:.4f} s; "
                f"{limit:g} {self.unit} is allowed"
            )

    def _known(self) -> Floats:
        known = self.values[np.isfinite(self.values)]
        if not len(known):
            raise AssertionError(f"{self.name} is unknown in all {len(self.values)} ticks of the record")
        return known

    def _measured(self, figure: str, value: float) -> MeasuredValue:
        return MeasuredValue(value, f"{self.name}.{figure}", self.unit, self.findings)


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
