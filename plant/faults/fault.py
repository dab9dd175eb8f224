"""One fault of a time line: its start, its name, and its reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from linkwork.multibody.expressions.conditions import Condition
from linkwork.plant.faults.effects import FaultEffect, ticks_of
from linkwork.plant.faults.entries import FaultEntry, condition_in
from linkwork.protocol.injection import FaultReport

State = Literal["waiting", "acting", "ended", "cleared"]
WAITING: Final = "waiting"
ACTING: Final = "acting"
ENDED: Final = "ended"
CLEARED: Final = "cleared"


@dataclass(eq=False)
class InjectedFault:
    """A fault and its status. Ticks are the plant's, counted since it started.

    `given_tick`: from which `after_s` and `after_ticks` count, None until the first session begins; `first`:
    the tick at which the session of its beginning began.
    """

    entry: FaultEntry
    name: str
    period_s: float
    effect: FaultEffect | None
    given_tick: int | None
    state: State = WAITING
    from_tick: int | None = None
    to_tick: int | None = None
    first: int = 0
    text: str = ""
    met: bool = False
    """Whether the condition has been seen to hold."""

    def __post_init__(self) -> None:
        """Evaluate the entry's condition once."""
        self.condition: Condition | None = None if self.entry.when is None else condition_in(self.entry.when)
        self.ticks = ticks_of(self.entry, self.period_s)

    def due_tick(self, first: int | None) -> int | None:
        """The earliest tick at which it may begin; None: not known yet. `first`: of the present session."""
        entry = self.entry
        if entry.at_s is not None:
            return round(entry.at_s / self.period_s)
        if entry.at_tick is not None:
            return None if first is None else first + entry.at_tick
        if self.given_tick is None:
            return None
        if entry.after_s is not None:
            return self.given_tick + round(entry.after_s / self.period_s)
        return self.given_tick + (entry.after_ticks or 0)

    def due(self, tick: int, first: int | None) -> bool:
        """Whether it begins at this tick."""
        due = self.due_tick(first)
        return due is not None and tick >= due and (self.condition is None or self.met)

    def report(self, first: int | None) -> FaultReport:
        """Report of the fault; `first` is the first tick of the present session."""
        begins, ends, of_session = self.from_tick, self.to_tick, self.first
        if begins is None and self.state == WAITING and self.condition is None:
            begins, of_session = self.due_tick(first), first or 0
        if ends is None and begins is not None and self.ticks is not None and self.state in (WAITING, ACTING):
            ends = begins + self.ticks
        return FaultReport(
            name=self.name,
            kind=self.entry.kind,
            of=self.entry.about,
            state=self.state,
            applied=self.from_tick is not None,
            from_tick=None if begins is None else begins - of_session,
            to_tick=None if ends is None else ends - of_session,
            from_s=None if begins is None else begins * self.period_s,
            to_s=None if ends is None else ends * self.period_s,
            text=self.text,
        )
