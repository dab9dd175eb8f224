"""Findings of a session of rig tests, test by test: the input of a report.

Plain data, filled by the plug-in. `rig.collecting` writes it line by line and reads it back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from linkwork.reports.quantities import rounded

Verdict = Literal["passed", "failed", "error", "skipped", "not run"]
Relation = Literal["<", "<=", ">", ">=", "==", ""]
KILL = "kill"
"""Kind of the entry of a daemon that a test killed, among the injected faults."""


@dataclass(frozen=True)
class Number:
    """A number that was compared with a limit: `value relation limit` held, or did not. relation: "" for a
    number that was only noted.

    name: the measured quantity, as an expression of the record: "tracking_error(x).max". unit: of both
    numbers.
    """

    name: str
    value: float
    unit: str
    relation: Relation
    limit: float
    holds: bool


@dataclass(frozen=True)
class FaultSeen:
    """An expected fault, and its detection. Times count from the beginning of the injected fault.

    injected: the injected entry as text. expected: the expected codes. found: the code that was latched, None
    where none was. delay_ticks, delay_s: until it was latched. allowed_ticks: the limit of the test.
    reaction: the controller's state afterwards. stopping_s: from the fault to rest, None where the record
    ends before; stopping_distance: travel of each joint meanwhile (rad or m).
    """

    injected: dict[str, Any]
    expected: tuple[str, ...]
    found: str | None
    text: str
    delay_ticks: int | None
    delay_s: float | None
    allowed_ticks: int | None
    reaction: str
    stopping_s: float | None
    stopping_distance: dict[str, float]
    holds: bool


@dataclass(frozen=True)
class Tolerated:
    """An injected fault that is tolerated by design; `because` is the reason, `bound` the evidence."""

    injected: dict[str, Any]
    because: str
    bound: Number


@dataclass(frozen=True)
class Span:
    """Ticks of a log that a test is about; the report draws them.

    log: a segment of the run. first_tick, last_tick: of the channel `tick`, both included. tracked:
    coordinates whose errors were asked for, with the limit they were held against, or none (rad, m). loop:
    which loop of the log, from 0; ticks are counted from 0 by a loop that follows one that was killed.
    """

    log: str
    first_tick: int
    last_tick: int
    title: str = ""
    tracked: Mapping[str, float | None] = field(default_factory=dict)
    loop: int = 0


@dataclass
class TestFindings:
    """One test. `requirement` is its docstring's first paragraph; `reason` says why it was skipped.

    text: what pytest says of a failure. seconds: wall time. stage: where it failed: setup, call, teardown.
    """

    __test__ = False

    node: str
    name: str
    requirement: str
    rig: str = ""
    verdict: Verdict = "not run"
    reason: str = ""
    text: str = ""
    stage: str = ""
    seconds: float = 0.0
    numbers: list[Number] = field(default_factory=list)
    faults: list[FaultSeen] = field(default_factory=list)
    tolerated: list[Tolerated] = field(default_factory=list)
    injected: list[dict[str, Any]] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)

    def title_of(self, span: Span) -> str:
        """The requirement, and the span's title where the test has several."""
        if not span.title or len(self.spans) < 2:
            return self.requirement
        return f"{self.requirement.rstrip('.')}: {span.title}"

    @property
    def why(self) -> str:
        """The reason of a skip, or the assertion that failed; else the numbers beyond their limits."""
        lines = self.text.splitlines()
        said = [at for at, line in enumerate(lines) if line.startswith("E ")]
        last = [at for number, at in enumerate(said) if at - number == said[-1] - len(said) + 1]
        words = [lines[at][1:].strip() for at in last]
        shown = words[:1] + [line for line in words[1:] if not line.startswith("+")]
        return self.reason or "\n".join(shown) or ", ".join(self.figures) or self.verdict

    @property
    def explained(self) -> list[str]:
        """The assertion and the figures, line by line."""
        return [*self.why.splitlines(), *(line for line in self.figures if line not in self.why)]

    @property
    def figures(self) -> list[str]:
        """Numbers beyond their limits, and faults that were not detected as expected, each as one line."""
        numbers = [
            f"{one.name} = {rounded(one.value):.6g} {one.unit}".strip()
            + f", not {one.relation} {one.limit:.6g}"
            for one in self.numbers
            if not one.holds
        ]
        return numbers + [
            f"{one.injected.get('kind', 'fault')} {one.injected.get('of') or ''}".strip()
            + (f": {one.found} after {one.delay_ticks} ticks" if one.found else ": not detected")
            + ("" if one.allowed_ticks is None else f", {one.allowed_ticks} allowed")
            for one in self.faults
            if not one.holds
        ]


@dataclass
class Collection:
    """A session: `rigs` has the provenance of every machine under test, by name.

    Keys of a rig: config (file), machine, config_hash, interface, model, version, pace, law, seed, period_s,
    real_time (requested and obtained settings), plant, controller (endpoints of those attached to, or "own").
    """

    rigs: dict[str, dict[str, Any]] = field(default_factory=dict)
    tests: dict[str, TestFindings] = field(default_factory=dict)

    def test(self, node: str, name: str, requirement: str) -> TestFindings:
        """The findings of a test, begun where there are none yet."""
        return self.tests.setdefault(node, TestFindings(node, name, requirement))
