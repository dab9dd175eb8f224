"""Collect the ticks and events of a rig into records; advance the machine's time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from linkwork.controller.exchange.records import layout_for
from linkwork.controller.gateway.records import idle_ticks
from linkwork.controller.gateway.records.log_segment import CHUNK_BYTES
from linkwork.protocol.errors import NobodyThere
from linkwork.protocol.results import StateResult
from linkwork.recordings.log_file import Ticks
from linkwork.rig.collected import KILL, Span
from linkwork.rig.record import Names, RigRecord
from linkwork.rig.rig_daemons import PATIENCE_S, Role
from linkwork.rig.tap import LogTap, PlantTruth, TruthTap

if TYPE_CHECKING:
    from linkwork.rig.under_test import RigUnderTest

_STEP_S: Final = 0.01
"""Of the machine's time, between two looks at its state."""
_LOOK_S: Final = 0.01
_REST_S: Final = 10.0
"""Wall-clock time within which lockstep time stops."""
_RECONNECT_S: Final = 3.0
"""Wall-clock time in which a link comes back that is not cut for good."""
_REACTION_S: Final = 3.0
"""Wall-clock time for which a record waits, at its end, for the reaction to a daemon's death."""


class Recorder:
    """The ticks, events and truth of one rig, from where its controller's log lies."""

    def __init__(self, rig: RigUnderTest) -> None:
        """Open what there is. Raises FileNotFoundError when the controller keeps no log on this computer."""
        self._rig = rig
        self._log: LogTap | None = None
        self._truth: TruthTap | None = None
        self._path = Path()
        self._begun: StateResult | None = None
        self._kills: list[Kill] = []
        layout = layout_for(rig.machine)
        self._flush_ticks = 2 + max(CHUNK_BYTES // layout.deterministic_bytes, idle_ticks.MOST)
        self.reopen()

    def reopen(self) -> None:
        """Open the files of daemons that were restarted. A record under way continues in them."""
        path = self._rig.robot.status["log"]
        if path is None or not Path(path).exists():
            text = f"the controller's log {path or '(none)'} cannot be read here: records are made from it"
            raise FileNotFoundError(f"{text}; start the controller on this computer, without --no-log")
        if self._log is None:
            self._log = LogTap(Path(path))
        elif Path(path) != self._path:
            self._log.continue_in(Path(path))
        self._path = Path(path)
        truth = self._rig.daemons.truth
        if truth is not None and (self._truth is None or self._truth.path != truth):
            self._truth = TruthTap(truth)

    @property
    def _open_log(self) -> LogTap:
        assert self._log is not None, "the recorder was closed"
        return self._log

    @property
    def lockstep(self) -> bool:
        """Whether time runs only on request."""
        return self._rig.pace == "lockstep"

    def begin(self) -> StateResult:
        """The record begins with the next tick. Returns the state before it."""
        self._open_log.forget()
        if self._truth is not None:
            self._truth.forget()
        self._kills, self._begun = [], self._rig.state
        return self._begun

    def kill(self, role: Role) -> None:
        """Kill a daemon; the record under way has the death and the reaction to it."""
        rig = self._rig
        loop_pid = rig.robot.status["loop_pid"]
        kill = Kill(role, rig.state, len(rig.daemons.plant_events()), self._truth)
        rig.daemons.kill("gateway" if role == "controller" else role, loop_pid)
        if role == "controller":
            rig.daemons.kill("loop", loop_pid)
        elif role == "loop":
            self._open_log.expect_another_loop()
        self._kills.append(kill)

    def end(self, title: str, result: Mapping[str, Any] | None = None, last: int | None = None) -> RigRecord:
        """The record up to tick `last`; None: up to now, and to the reaction to a daemon's death."""
        rig, log, now = self._rig, self._open_log, self._begun
        assert now is not None, "no record was begun"
        for kill in self._kills:
            timeout_s = rig.machine.plant.peer_timeout_s if self.lockstep else 0.0
            kill.wait_for_reaction(rig, _REACTION_S + timeout_s)
        if rig.daemons.ended("controller"):
            log.read()
        else:
            last = rig.state["tick"] if last is None else last
            self._pass_until(last)
            if self.lockstep:
                self._revive_plant()
                self.come_to_rest()
                rig.robot.advance(self._flush_ticks)
            log.wait_until(last, lambda: not rig.daemons.ended("controller"))
        ticks, spans = log.ticks(now["tick"] + 1, last)
        tracked: dict[str, float | None] = {}
        kills = [
            kill.entry(rig.machine.plant.period_s, ticks, rig.daemons.plant_events()) for kill in self._kills
        ]
        record = RigRecord(
            machine=rig.machine,
            ticks=ticks,
            result=result,
            events=[each for each in log.events if spans and _within(int(each.get("tick", -1)), spans)],
            injected=(*rig.injected, *kills),
            truth=self._truth_of(now, ticks),
            goal=None if result is None else log.goals.get(int(result["goal"])),
            real_time=not self.lockstep,
            findings=rig.findings,
            tracked=tracked,
        )
        if rig.findings is not None:
            rig.findings.spans += [replace(span, title=title or "run", tracked=tracked) for span in spans]
            rig.findings.injected += [dict(one) for one in record.injected]
        return record

    def _revive_plant(self) -> None:
        """Restart a plant that was killed in lockstep: without it no time passes, and no tick is logged."""
        if not self._rig.daemons.ended("plant"):
            return
        self._rig.daemons.restart("plant")
        deadline = time.monotonic() + PATIENCE_S
        while not self._rig.state["device"]["connected"] and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        self.reopen()

    def _truth_of(self, begun: StateResult, ticks: Ticks) -> PlantTruth | None:
        """The true motion during a record: to its last tick, or to all that is known where daemons died."""
        machine, daemons = self._rig.machine, self._rig.daemons
        tap = next((kill.truth for kill in self._kills if kill.role == "plant"), self._truth)
        if tap is None:
            return None
        period_s = machine.plant.period_s
        if self._kills:
            tap.read()
            return tap.truth(machine, round(begun["time_s"] / period_s) + 1, None)
        first, last = (round(float(ticks.table["time_s"][at]) / period_s) for at in (0, -1))
        return tap.truth(machine, first, last) if tap.wait_until(last, lambda: daemons.alive) else None

    def true_positions(self) -> dict[str, float]:
        """True position of every joint with one degree of freedom (rad or m); empty for hardware."""
        rig, tap = self._rig, self._truth
        if tap is None:
            return {}
        tick = round(rig.state["time_s"] / rig.machine.plant.period_s)
        if self.lockstep:
            self.come_to_rest()
            rig.robot.advance(self._flush_ticks)
        if not tap.wait_until(tick, lambda: rig.daemons.alive):
            return {}
        truth = tap.truth(rig.machine, tick, tick)
        if truth is None:
            return {}
        names = rig.machine.mechanism.position_names
        return {name: float(truth.q[-1, at]) for at, name in enumerate(names)}

    def pass_time(self, seconds: float) -> None:
        """Pass a time (s) of the machine; in lockstep after the time that it runs by itself."""
        if self._rig.daemons.ended("controller"):
            time.sleep(seconds)  # no controller counts ticks
            return
        ticks = max(1, round(seconds / self._rig.period_s))
        if self.lockstep:
            if self._rig.state["goal"] is None:
                self.come_to_rest()
            self._rig.robot.advance(ticks)
        else:
            self._pass_until(self._rig.state["tick"] + ticks)

    def _pass_until(self, tick: int) -> None:
        """Until this tick has been."""
        if self.lockstep:
            self.come_to_rest()
            now = self._rig.state["tick"]
            if now < tick and self._rig.state["device"]["connected"]:
                self._rig.robot.advance(tick - now)
            return
        while self._rig.state["tick"] < tick:
            time.sleep(_LOOK_S)

    def wait_for(self, state: str, within_s: float) -> StateResult:
        """Wait for a state, so much of the machine's time. Raises AssertionError with what came instead."""
        now = self._wait_until(lambda now: now["state"] == state, within_s, _STEP_S)
        if now["state"] == state:
            return now
        fault = now["fault"]
        why = f" ({fault['name']}: {fault['text']})" if fault is not None else ""
        raise AssertionError(f"the controller is {now['state']}{why} after {within_s:g} s, not {state}")

    def wait_for_signals(self, values: Mapping[str, bool | float | str], within_s: float) -> StateResult:
        """Wait for values of signals. See `RigUnderTest.wait`."""
        names, machine = Names(self._rig.machine), self._rig.machine
        for name in values:
            names.signal(name)
        wanted = {
            signal.name: signal.plain(signal.read(values[signal.name]))
            for signal in machine.signals
            if signal.name in values
        }

        def there(now: StateResult) -> bool:
            return all(now["signals"][name] == value for name, value in wanted.items())

        now = self._wait_until(there, within_s, self._rig.period_s)
        if there(now):
            return now
        shown = [signal for signal in machine.signals if signal.name in wanted]
        found, asked = (
            ", ".join(f"{signal.name} {signal.shown(float(values[signal.name]))}" for signal in shown)
            for values in (now["signals"], wanted)
        )
        raise AssertionError(f"{found} after {within_s:g} s, not {asked}")

    def _wait_until(
        self, holds: Callable[[StateResult], bool], within_s: float, step_s: float
    ) -> StateResult:
        """Pass time in steps until a state complies, at most `within_s`; return the last one."""
        now = self._rig.state
        end = now["tick"] + round(within_s / self._rig.period_s)
        deadline = time.monotonic() + within_s + 30.0
        while not holds(now) and now["tick"] < end and time.monotonic() < deadline:
            if self.lockstep and now["device"]["connected"]:
                self.pass_time(step_s)
            else:
                time.sleep(_LOOK_S)
            now = self._rig.state
        return now

    def come_to_rest(self) -> None:
        """Wait in lockstep until time stops, so that the next request takes effect at the next tick.

        It also waits for a lost link.
        """
        now = time.monotonic()
        deadline, reconnected_by = now + _REST_S, now + _RECONNECT_S
        while self.lockstep and now < deadline:
            try:
                state = self._rig.state
            except NobodyThere:
                return
            if state["time_stands"] or (not state["device"]["connected"] and now > reconnected_by):
                return
            time.sleep(_LOOK_S)
            now = time.monotonic()

    def close(self) -> None:
        """Close the open files and connections."""
        if self._log is not None:
            self._log.close()
            self._log = None
        self._truth = None


def _within(tick: int, spans: Sequence[Span]) -> bool:
    return any(span.first_tick <= tick <= span.last_tick for span in spans)


@dataclass(frozen=True)
class Kill:
    """A daemon that was killed. before: the state before; told: events of the plant until then.

    truth: the record of the plant that ran then.
    """

    role: Role
    before: StateResult
    told: int
    truth: TruthTap | None

    def wait_for_reaction(self, rig: RigUnderTest, seconds: float) -> None:
        """Wait until the other daemons have reacted and the machine rests, at most so long."""
        deadline = time.monotonic() + seconds
        while not self._reacted(rig) and time.monotonic() < deadline:
            time.sleep(_LOOK_S)

    def _reacted(self, rig: RigUnderTest) -> bool:
        if self.role == "plant":
            return rig.state["state"] != "active"
        trips = [event for event in rig.daemons.plant_events()[self.told :] if event["event"] == "watchdog"]
        rests = self.truth is not None and self.truth.rests_after(self.before["time_s"])
        if self.role == "gateway" or not (trips and rests):
            return rests and self.role == "gateway"
        try:
            return self.role == "controller" or rig.state["state"] != "active"
        except NobodyThere:
            return False

    def entry(self, period_s: float, ticks: Ticks, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The death, as an injected fault is reported. period_s, events: of the plant.

        from_tick: the first tick of the device without the killed daemon. braked_at_tick: where the plant's
        watchdog braked, None where it did not.
        """
        before = round(self.before["time_s"] / period_s)
        tick = before + 1
        trips = [event for event in events[self.told :] if event["event"] == "watchdog"]
        trip = trips[0] if trips and self.role in ("loop", "controller") else None
        if trip is not None:
            tick = int(trip["last_fresh_tick"]) + 1
        elif self.role == "plant":
            table = ticks.table
            lost = np.flatnonzero((table["fresh"] == 0) & (table["tick"] > self.before["tick"]))
            tick = before + int(table["tick"][lost[0]]) - self.before["tick"] if len(lost) else tick
        return {
            "name": f"{KILL} {self.role}",
            "kind": KILL,
            "of": self.role,
            "applied": True,
            "from_tick": self.before["device_tick"] + tick - before,
            "time_s": tick * period_s,
            "braked_after_ticks": None if trip is None else int(trip["tick"]) - tick,
        }
