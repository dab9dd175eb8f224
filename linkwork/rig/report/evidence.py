"""Evidence from the logs of a machine's tests, beside the tests' own measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.recordings.log_file import Ticks
from linkwork.rig.collected import TestFindings
from linkwork.rig.report.energy import Energy, balance
from linkwork.rig.report.fault_windows import FaultWindow, fault_windows
from linkwork.rig.report.following import Followed, followed
from linkwork.rig.report.logs import Logs, has_clock, latencies_us, overruns, periods_us, phases_us
from linkwork.rig.report.signals_over_time import SignalRun, signal_runs


@dataclass(frozen=True, eq=False)
class TimingEvidence:
    """Real time: microseconds between states, and from a state to its command; ticks without a state.

    phases_us: microseconds per phase of the loop's period, empty for logs of earlier versions. overruns: how
    many ticks overran their period, by cause, the most frequent first.
    """

    period_us: Floats
    latency_us: Floats
    ticks: int
    lost: int
    missed: int
    phases_us: Mapping[str, Floats] = field(default_factory=dict)
    overruns: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Closures:
    """Residual of the closures over all ticks of all runs, one run after another, also between the tests."""

    time_s: Floats
    residual: Floats
    limit: float
    recorded: Floats
    """Those of the tests' records: the same in two runs of the tests."""
    moved: Floats
    """Evidence from tests without injected faults."""


@dataclass
class Evidence:
    """Evidence of one machine: `energies` has one entry for each of `motions`; timing is None in lockstep."""

    motions: list[Followed] = field(default_factory=list)
    energies: list[Energy] = field(default_factory=list)
    fault_windows: list[FaultWindow] = field(default_factory=list)
    closures: Closures | None = None
    timing: TimingEvidence | None = None
    signals: list[SignalRun] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """The numbers as plain data, independent of the wall clock."""
        figures: dict[str, Any] = {
            "motions": [
                {
                    "test": motion.node,
                    "ticks": len(motion.time_s),
                    "errors": {
                        each.name: {
                            "max": each.worst,
                            "rms": each.rms,
                            "unit": each.unit,
                            "limit": each.limit,
                        }
                        for each in motion.coordinates
                    },
                    "peak_effort_share": float(np.abs(motion.effort).max()),
                    "work_exchanged_J": energy.exchanged,
                    "friction_J": float(energy.lost[-1]),
                    "energy_left_over_J": float(np.abs(energy.left_over).max()),
                }
                for motion, energy in zip(self.motions, self.energies, strict=True)
            ]
        }
        if self.closures is not None:
            figures["closure_residual"] = {
                "max_without_injection": float(self.closures.moved.max(initial=0.0)),
                "max": float(np.nanmax(self.closures.recorded, initial=0.0)),
                "limit": self.closures.limit,
            }
        if self.signals:
            figures["signals"] = [run.figures() for run in self.signals]
        return figures


def evidence(machine: Machine, tests: Sequence[TestFindings], logs: Logs) -> Evidence:
    """Read the logs that the tests name. Missing ones are left out."""
    found = Evidence(
        fault_windows=fault_windows(machine, tests, logs), signals=signal_runs(machine, tests, logs)
    )
    for test in tests:
        if test.injected or test.faults:
            continue
        for span in test.spans:
            ticks = logs.span(span)
            motion = None if ticks is None else followed(machine, test, span, ticks)
            if motion is not None:
                found.motions.append(motion)
                found.energies.append(balance(machine, motion.ticks))
    runs = [run for log in _logs_of(tests) if (run := logs.whole(log)) is not None]
    if not runs:
        return found
    if machine.is_constrained:
        found.closures = _closures(machine, tests, logs, runs)
    if all(has_clock(run) for run in runs):
        found.timing = _timing(runs)
    return found


def _logs_of(tests: Sequence[TestFindings]) -> list[str]:
    return list(dict.fromkeys(span.log for test in tests for span in test.spans))


def _closures(machine: Machine, tests: Sequence[TestFindings], logs: Logs, runs: Sequence[Ticks]) -> Closures:
    residual = np.concatenate([run.table["closure_residual"] for run in runs])
    time_s = machine.controller.period_s * np.arange(len(residual), dtype=np.float64)
    residuals = [
        (ticks.table["closure_residual"], not test.injected and not test.faults)
        for test in tests
        for span in test.spans
        if (ticks := logs.span(span)) is not None
    ]
    recorded = np.concatenate([np.zeros(0), *(values for values, _ in residuals)])
    moved = np.concatenate([np.zeros(0), *(values for values, calm in residuals if calm)])
    return Closures(time_s, residual, machine.controller.estimator.closure_residual_max, recorded, moved)


def _timing(runs: Sequence[Ticks]) -> TimingEvidence:
    tables = [run.table for run in runs]
    return TimingEvidence(
        np.concatenate([periods_us(run) for run in runs]),
        np.concatenate([latencies_us(run) for run in runs]),
        sum(len(table) for table in tables),
        sum(int(((table["fresh"] == 0) & (table["connected"] == 1)).sum()) for table in tables),
        sum(int(table["missed"].sum()) for table in tables),
        phases_us(runs),
        overruns(runs),
    )
