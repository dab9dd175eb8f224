"""Collect the ticks and events of a rig into records; advance the machine's time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from linkwork.controller.gateway.records import idle_ticks
from linkwork.controller.gateway.records.log_segment import CHUNK_BYTES
from linkwork.controller.records import layout_for
from linkwork.plant.truth import BUFFER_BYTES
from linkwork.protocol.errors import NobodyThere
from linkwork.protocol.results import StateResult
from linkwork.rig.attached import AttachedRig
from linkwork.rig.collected import Span
from linkwork.rig.quantity_names import Names
from linkwork.rig.record import RigRecord
from linkwork.rig.tap import LogTap, TruthTap

_STEP_S: Final = 0.01
"""Of the machine's time, between two looks at its state."""
_LOOK_S: Final = 0.01
_REST_S: Final = 10.0
"""Wall-clock time within which lockstep time stops."""
_RECONNECT_S: Final = 3.0
"""Wall-clock time in which a link comes back that is not cut for good."""


class Recorder:
    """The ticks, events and truth of one rig, from where its controller's log lies."""

    def __init__(self, rig: AttachedRig) -> None:
        """Open what there is. Raises FileNotFoundError when the controller keeps no log on this computer."""
        self._rig = rig
        self._log: LogTap | None = None
        self._truth: TruthTap | None = None
        self._first = 0
        layout = layout_for(rig.machine)
        columns = 1 + len(rig.machine.mechanism.position_names) + 2 * len(rig.machine.mechanism.joint_names)
        self._flush_ticks = 2 + max(
            CHUNK_BYTES // layout.deterministic_bytes, BUFFER_BYTES // (8 * columns), idle_ticks.MOST
        )
        self.reopen()

    def reopen(self) -> None:
        """Open the files of daemons that were restarted."""
        self.close()
        path = self._rig.robot.status["log"]
        if path is None or not Path(path).exists():
            text = f"the controller's log {path or '(none)'} cannot be read here: records are made from it"
            raise FileNotFoundError(f"{text}; start the controller on this computer, without --no-log")
        self._log = LogTap(Path(path))
        if self._rig.daemons.truth is not None:
            self._truth = TruthTap(self._rig.daemons.truth)

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
        now = self._rig.state
        self._first = now["tick"] + 1
        return now

    def end(self, title: str, result: Mapping[str, Any] | None = None, last: int | None = None) -> RigRecord:
        """The record up to tick `last`; None: up to now."""
        rig, log = self._rig, self._open_log
        if last is None:
            last = rig.state["tick"]
        self._pass_until(last)
        if self.lockstep:
            self.come_to_rest()
            rig.robot.advance(self._flush_ticks)
        log.wait_until(last, lambda: rig.daemons.alive)
        ticks = log.ticks(self._first, last)
        truth = None
        if self._truth is not None:
            period_s = rig.machine.plant.period_s
            from_tick, to_tick = (round(float(ticks.table["time_s"][at]) / period_s) for at in (0, -1))
            if self._truth.wait_until(to_tick, lambda: rig.daemons.alive):
                truth = self._truth.truth(rig.machine, from_tick, to_tick)
        tracked: dict[str, float | None] = {}
        span = Span(str(log.path), self._first, last, title or "run", tracked)
        record = RigRecord(
            machine=rig.machine,
            ticks=ticks,
            result=result,
            events=[event for event in log.events if self._first <= int(event.get("tick", -1)) <= last],
            injected=tuple(rig.injected),
            truth=truth,
            goal=None if result is None else log.goals.get(int(result["goal"])),
            real_time=not self.lockstep,
            findings=rig.findings,
            tracked=tracked,
        )
        if rig.findings is not None:
            rig.findings.spans.append(span)
            rig.findings.injected += [dict(one) for one in record.injected]
        return record

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
            if now < tick:
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
        """Wait for values of signals. See `RecordedRig.wait`."""
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
        found = ", ".join(
            f"{signal.name} {signal.shown(float(now['signals'][signal.name]))}"
            for signal in machine.signals
            if signal.name in wanted
        )
        asked = ", ".join(
            f"{signal.name} {signal.shown(float(wanted[signal.name]))}"
            for signal in machine.signals
            if signal.name in wanted
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
