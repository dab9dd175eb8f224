"""A quantity over the ticks of a record, with the figures that people ask of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
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
