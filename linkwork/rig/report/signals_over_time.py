"""Signals of tests over time, and their changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.machine.sections.signal_section import Signal
from linkwork.recordings.log_file import Ticks
from linkwork.rig.collected import Span, TestFindings
from linkwork.rig.report.logs import Logs

MOST_ROWS: Final = 30
"""Rows of a table of changes."""


@dataclass(frozen=True, eq=False)
class SignalRun:
    """Signals within a span of a test. time_s, tick: (n,); values: (n,) of each signal.

    injected_s: times at which injected faults of signals began, with their texts.
    """

    title: str
    node: str
    time_s: Floats
    tick: NDArray[np.int64]
    signals: tuple[Signal, ...]
    values: tuple[Floats, ...]
    injected_s: tuple[tuple[float, str], ...]

    @property
    def _values_of(self) -> dict[str, Floats]:
        return dict(zip((signal.name for signal in self.signals), self.values, strict=True))

    @property
    def changes(self) -> list[tuple[int, Signal]]:
        """Rows in which a digital signal or an output has another value than before, in order."""
        found = [
            (int(row) + 1, signal)
            for signal, values in zip(self.signals, self.values, strict=True)
            if signal.is_digital or not signal.is_input
            for row in np.flatnonzero(values[1:] != values[:-1])
        ]
        return sorted(found, key=lambda change: change[0])

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The changes as rows: time, tick, signal, its direction, values before and after."""
        values = self._values_of
        return [
            (
                f"{self.time_s[row]:.4f}",
                str(self.tick[row]),
                signal.name,
                signal.direction,
                f"{signal.shown(values[signal.name][row - 1])} → {signal.shown(values[signal.name][row])}",
            )
            for row, signal in self.changes
        ]

    def figures(self) -> dict[str, Any]:
        """Changes of each signal as plain data: tick from the span's beginning, value."""
        values = self._values_of
        changes = [[row, signal.name, float(values[signal.name][row])] for row, signal in self.changes]
        return {"test": self.node, "changes": len(changes), "first": changes[:MOST_ROWS]}


def signal_runs(machine: Machine, tests: Sequence[TestFindings], logs: Logs) -> list[SignalRun]:
    """Return the spans in which a signal changes, or that have a fault of one."""
    found = []
    for test in tests if machine.signals else ():
        for span in test.spans:
            ticks = logs.span(span)
            if ticks is None:
                continue
            run = _run(machine, test, span, ticks)
            if run.changes or run.injected_s:
                found.append(run)
    return found


def _run(machine: Machine, test: TestFindings, span: Span, ticks: Ticks) -> SignalRun:
    table = ticks.table
    columns = {
        signal.name: table[channel][:, at]
        for channel, signals in (("input", machine.inputs), ("output", machine.outputs))
        for at, signal in enumerate(signals)
    }
    names = [signal.name for signal in machine.signals]
    time_s, tick = table["time_s"] - table["time_s"][0], table["device_tick"]
    begun = [
        (float(time_s[int(np.searchsorted(tick, each["from_tick"]))]), str(each.get("kind", "fault")))
        for each in test.injected
        if each.get("of") in names and tick[0] <= (each.get("from_tick") or -1) <= tick[-1]
    ]
    values = tuple(columns[name] for name in names)
    return SignalRun(test.title_of(span), test.node, time_s, tick, machine.signals, values, tuple(begun))
