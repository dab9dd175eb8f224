"""A number that records its comparisons."""

from __future__ import annotations

import math

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
        return f"{self.name} = {float(self):.6g}{' ' if self.unit else ''}{self.unit}"

    __str__ = __repr__
