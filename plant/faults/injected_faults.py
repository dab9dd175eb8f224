"""The faults of a running plant: each begins and ends at its tick, and all are remembered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from linkwork.multibody.expressions.conditions import Condition
from linkwork.plant.faults.fault import CannotBegin, Clear, Effect, PlantFault, Site, condition_in
from linkwork.plant.faults.timeline import TimeLine
from linkwork.plant.faults.wire_faults import Disconnect
from linkwork.protocol.injection import FaultReport

REMEMBERED: Final = 200
"""Number of ended faults that are kept for reports."""
MOST_BEGUN: Final = 20
"""Faults that begin in one tick; others that are due begin in the ticks after it."""


class Faults:
    """A plant's faults. `say(event, text, **data)` reports each beginning and end.

    A tick is `begin`, then the plant's own steps, and `check_conditions` after the measurement: a condition
    that holds for the measurement of a tick begins its fault at the next one.
    """

    def __init__(self, site: Site, say: Callable[..., None]) -> None:
        self.site, self._say = site, say
        self.first: int | None = None
        """Tick of the plant at which the present session began; None: there is none."""
        self._all: list[InjectedFault] = []
        self._waiting: list[InjectedFault] = []
        self._acting: list[InjectedFault] = []
        self._begun = -1

    def give(self, line: TimeLine, *, from_file: bool = False) -> None:
        """Accept a checked time line; immediate entries begin with the next tick."""
        now = None if from_file else self.site.machinery.tick
        for number, (entry, name) in enumerate(zip(line.entries, line.names, strict=True)):
            random = np.random.default_rng([line.seed, number])
            effect = entry.effect(replace(self.site, random=random, built=line.built.get(number)))
            fault = InjectedFault(entry, name, self.site.period_s, effect, now)
            self._all.append(fault)
            self._waiting.append(fault)
        self._wake()
        over = [fault for fault in self._all if fault.state in (ENDED, CLEARED)]
        for fault in over[: max(0, len(self._all) - REMEMBERED)]:
            self._all.remove(fault)

    @property
    def taken(self) -> set[str]:
        """Names of faults that wait or act, but for those that the next tick will clear."""
        found: set[str] = set()
        for fault in self._all:
            if fault.state not in (WAITING, ACTING):
                continue
            if not isinstance(fault.entry, Clear):
                found.add(fault.name)
            elif fault.entry.at_once:
                fault.entry.frees(found)
        return found

    @property
    def operations(self) -> int:
        """Operations, names and numbers of the conditions that are looked at in each tick."""
        return sum(each.condition.size for each in self._waiting if each.condition is not None)

    @property
    def names(self) -> set[str]:
        """Names of all faults that are remembered."""
        return {fault.name for fault in self._all if not isinstance(fault.entry, Clear)}

    @property
    def acting(self) -> bool:
        """Whether any fault acts now."""
        return bool(self._acting)

    @property
    def mends(self) -> bool:
        """Whether the link is cut and time alone makes it whole: a fault's own end, or a `clear` to come."""
        if not self.site.wire.cuts:
            return False
        ends = any(each.to_tick is not None and isinstance(each.entry, Disconnect) for each in self._acting)
        return ends or any(
            isinstance(each.entry, Clear) and each.condition is None and each.due_tick(self.first) is not None
            for each in self._waiting
        )

    def _wake(self) -> None:
        """Whether time continues while the link is cut; in lockstep, if that restores the link."""
        wire = self.site.wire
        self.site.machinery.awake = wire.cuts > 0 and (not wire.lockstep or self.mends)

    def enter(self, tick: int) -> None:
        """A session begins at this tick."""
        self.first = tick
        for fault in self._waiting:
            if fault.given_tick is None:
                fault.given_tick = tick

    def begin(self, tick: int) -> None:
        """Begin a tick: end expired faults, begin due ones."""
        if tick == self._begun or not (self._waiting or self._acting):
            return
        self._begun = tick
        for fault in [each for each in self._acting if each.to_tick is not None and tick >= each.to_tick]:
            self._end(fault, tick, ENDED)
        for fault in [each for each in self._waiting if each.due(tick, self.first)][:MOST_BEGUN]:
            if fault.state == WAITING:  # another one, due before it, may have cleared it
                self._start(fault, tick)
        for fault in self._acting:
            fault.effect.tick(tick)
        self._wake()

    def check_conditions(self) -> None:
        """The plant has measured: conditions are looked at."""
        values = None
        for fault in self._waiting:
            if fault.condition is None or fault.met:
                continue
            due = fault.due_tick(self.first)
            if due is None or self.site.machinery.tick < due:
                continue
            values = values or self._values()
            fault.met = fault.condition.met(values)

    def reports(self) -> list[FaultReport]:
        """All faults that are remembered, in the order in which they were given."""
        return [fault.report(self.first) for fault in self._all if not isinstance(fault.entry, Clear)]

    def _start(self, fault: InjectedFault, tick: int) -> None:
        fault.from_tick, fault.first = tick, self.first or 0
        self._waiting.remove(fault)
        if isinstance(fault.entry, Clear):
            fault.state = ENDED
            self._clear(fault, fault.entry.clear, tick)
            return
        try:
            fault.text = fault.effect.begin(tick)
        except CannotBegin as why:
            fault.from_tick, fault.state, fault.text = None, ENDED, str(why)
            self._tell(fault, "refused", tick)
            return
        fault.state = ACTING
        fault.to_tick = None if fault.ticks is None else tick + fault.ticks
        self._acting.append(fault)
        self._tell(fault, "begins", tick)

    def _end(self, fault: InjectedFault, tick: int, state: State) -> None:
        self._acting.remove(fault)
        fault.text = fault.effect.end() or fault.text
        fault.state, fault.to_tick = state, tick
        self._tell(fault, "ends", tick)

    def _clear(self, clear: InjectedFault, wanted: str, tick: int) -> None:
        """End the faults with the wanted name, or all, that were given before this one."""
        for fault in self._all[: self._all.index(clear)]:
            if wanted not in ("all", fault.name):
                continue
            if fault.state == ACTING:
                self._end(fault, tick, CLEARED)
            elif fault.state == WAITING:
                self._waiting.remove(fault)
                fault.state = CLEARED

    def _tell(self, fault: InjectedFault, what: str, tick: int) -> None:
        report = fault.report(self.first)
        of = f" of {report.of}" if report.of else ""
        seq = tick - (self.first or 0)
        text = f"fault {fault.name} ({report.kind}{of}) {what} at tick {seq} ({tick * fault.period_s:.6g} s)"
        note = f": {fault.text}" if fault.text else ""
        self._say("fault", text + note, what=what, **report.model_dump(exclude={"text"}))

    def _values(self) -> dict[str, float]:
        """Values that conditions use: the machine's measurements without sensor faults."""
        site, machinery = self.site, self.site.machinery.inner
        tick = machinery.tick
        values = {"time_s": tick * site.period_s, "tick": float(tick - (self.first or 0))}
        for place, sensor in enumerate(site.machine.sensors):
            values[f"{sensor.joint}.position"] = float(machinery.measured.q[place])
            values[f"{sensor.joint}.velocity"] = float(machinery.measured.v[place])
        for place, motor in enumerate(site.machine.motors):
            values[f"{motor.joint}.effort"] = float(machinery.measured.effort[place])
        for signals, array in (
            (site.machine.inputs, machinery.measured.inputs),
            (site.machine.outputs, machinery.measured.outputs),
        ):
            values |= {signal.name: float(value) for signal, value in zip(signals, array, strict=True)}
        return values


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

    entry: PlantFault
    name: str
    period_s: float
    effect: Effect[Any]
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
        self.ticks = self.entry.ticks(self.period_s)

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
