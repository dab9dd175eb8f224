"""Signals of tests over time: digital ones as bands, analog ones as lines, and a table of the changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.machine.signal_values import Signal
from linkwork.recordings.log_file import Ticks
from linkwork.reports.chart import HUES, Band, Chart, ChartLine, Moment, bands, figure
from linkwork.reports.markup import Markup, element, plain_table
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
    def changes(self) -> list[tuple[int, Signal]]:
        """Rows in which a digital signal or an output has another value than before, in order."""
        found = [
            (int(row) + 1, signal)
            for signal, values in zip(self.signals, self.values, strict=True)
            if signal.is_digital or not signal.is_input
            for row in np.flatnonzero(values[1:] != values[:-1])
        ]
        return sorted(found, key=lambda change: change[0])

    def figures(self) -> dict[str, Any]:
        """Changes of each signal as plain data: tick from the span's beginning, value."""
        values = dict(zip((signal.name for signal in self.signals), self.values, strict=True))
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


def signal_section(runs: Sequence[SignalRun]) -> list[Markup]:
    """The part of the page; empty without runs."""
    if not runs:
        return []
    parts = [element("h3", "Signals")]
    for run in runs:
        parts += [element("p", run.title), element("div", *_charts(run), class_="charts"), _table(run)]
    return parts


def _charts(run: SignalRun) -> list[Markup]:
    both = list(zip(run.signals, run.values, strict=True))
    moments = [Moment(time_s, text.replace(".", ": ")) for time_s, text in run.injected_s]
    digital = [each for each in both if each[0].is_digital]
    shown = [Band(signal.name, values, at % HUES + 1) for at, (signal, values) in enumerate(digital)]
    charts = [bands("Digital signals", run.time_s, shown, moments)] if shown else []
    units = dict.fromkeys(signal.unit for signal, _ in both if not signal.is_digital)
    for unit in units:
        mine = [each for each in both if not each[0].is_digital and each[0].unit == unit]
        lines = [
            ChartLine(signal.name, run.time_s, values, at % HUES + 1, dashed=at >= HUES)
            for at, (signal, values) in enumerate(mine)
        ]
        title = ", ".join(signal.name for signal, _ in mine)
        label = f"value / {unit}" if unit else "value"
        charts.append(figure(Chart(title, "time / s", label, tuple(lines), moments=tuple(moments))))
    return charts


def _table(run: SignalRun) -> Markup:
    values = dict(zip(run.signals, run.values, strict=True))
    rows = [
        (
            f"{run.time_s[row]:.4f}",
            str(run.tick[row]),
            signal.name,
            "input" if signal.is_input else "output",
            f"{signal.shown(values[signal][row - 1])} → {signal.shown(values[signal][row])}",
        )
        for row, signal in run.changes
    ]
    table = plain_table(("time / s", "device tick", "signal", "", "change"), rows[:MOST_ROWS], (0, 1))
    more = len(rows) - MOST_ROWS
    return element(
        "div", table, element("p", f"and {more} more changes", class_="quiet") if more > 0 else None
    )
