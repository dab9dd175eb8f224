"""Charts of one machine's evidence: faults, motion, energy, closures, signals, timing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.reports.chart import HUES, Chart
from linkwork.reports.quantities import amount, digits, scale
from linkwork.rig.report.evidence import (
    Closures,
    Energy,
    FaultWindow,
    Followed,
    FollowedCoordinate,
    TimingEvidence,
)
from linkwork.rig.report.report_data import MachineReport
from linkwork.rig.report.signals_over_time import SignalRun


def fault_chart(title: str, one: FaultWindow) -> Chart:
    """The velocity of the joint concerned around an injected fault, with detection and rest."""
    factor, shown = scale(float(np.nanmax(np.abs(one.velocity), initial=0.0)), one.unit)
    time_ms = 1e3 * one.time_s
    note = f"{one.found or 'tolerated by design'}: {one.requirement}"
    chart = Chart(title, "time since the injection / ms", f"velocity of {one.joint} / {shown}", note=note)
    chart.line("from states", time_ms, one.velocity * factor)
    if np.isfinite(one.predicted).any():
        chart.line("predicted", time_ms, one.predicted * factor, dashed=True)
    chart.moment(0.0, "injected")
    if np.isfinite(one.detected_s):
        chart.moment(1e3 * one.detected_s, "detected")
    if np.isfinite(one.at_rest_s) and 1e3 * one.at_rest_s <= time_ms[-1]:
        chart.moment(1e3 * one.at_rest_s, "at rest")
    return chart


def motion_charts(report: MachineReport, motion: Followed, energy: Energy) -> list[Chart]:
    """Positions and tracking errors, of lengths and of angles; efforts; energy."""
    charts = []
    both = {each.unit for each in motion.coordinates} == {"m", "rad"}
    for unit, what in (("m", ", lengths"), ("rad", ", angles")):
        mine = [each for each in motion.coordinates if each.unit == unit][:HUES]
        if mine:
            kind = what if both else ""
            charts += [
                _positions(motion, mine, f"Motion{kind}"),
                _errors(motion, mine, f"Tracking error{kind}"),
            ]
    return [*charts, _effort(motion, report), _energy(energy)]


def _positions(motion: Followed, mine: list[FollowedCoordinate], title: str) -> Chart:
    largest = max(float(np.nanmax(np.abs(each.actual))) for each in mine)
    factor, shown = scale(largest, mine[0].unit)
    chart = Chart(title, "time / s", f"position / {shown}")
    for each in mine:
        chart.line(each.name, motion.time_s, each.actual * factor)
    return chart


def _errors(motion: Followed, mine: list[FollowedCoordinate], title: str) -> Chart:
    unit = mine[0].unit
    note = "; ".join(
        f"{each.name} {amount(each.worst, unit)} max, {amount(each.rms, unit)} rms" for each in mine
    )
    chart = Chart(title, "time / s", f"magnitude / {unit}", log=True, note=note)
    limits: dict[float, list[str]] = {}
    for each in mine:
        chart.line(each.name, motion.time_s, each.error)
        if each.limit is not None and np.isfinite(each.limit):
            limits.setdefault(each.limit, []).append(each.name)
    for value, names in limits.items():
        chart.limit(
            value, f"limit {amount(value, unit)}" if len(limits) == 1 else f"limit of {', '.join(names)}"
        )
    return chart


def _effort(motion: Followed, report: MachineReport) -> Chart:
    peak = 100.0 * float(np.abs(motion.effort).max())
    note = f"peak {digits(peak)} % of the motor's limit"
    chart = Chart("Effort", "time / s", "share of each motor's limit / %", note=note)
    names = [motor.joint for motor in report.machine.motors] if report.machine is not None else []
    for at, name in enumerate(names):
        chart.line(name, motion.time_s, 100.0 * motion.effort[:, at])
    if peak > 50.0:
        chart.limit(100.0, "most")
        chart.limit(-100.0, "most")
    return chart


def _energy(energy: Energy) -> Chart:
    factor, shown = scale(
        max(float(np.abs(each).max()) for each in (energy.stored, energy.work, energy.lost)), "J"
    )
    left = amount(float(np.abs(energy.left_over).max()), "J")
    note = f"{amount(energy.exchanged, 'J')} exchanged; at most {left} is unaccounted for"
    chart = Chart("Energy", "time / s", f"energy / {shown}", note=note)
    chart.line("work", energy.time_s, energy.work * factor)
    chart.line("stored", energy.time_s, energy.stored * factor, dashed=True)
    chart.line("friction", energy.time_s, energy.lost * factor)
    return chart


def closure_chart(closures: Closures) -> Chart:
    """The residual over all runs, with the limit of the fault."""
    calm = digits(float(closures.moved.max(initial=0.0)))
    chart = Chart(
        "Largest residual",
        "time of all tests, one after another / s",
        "typical lengths, or rad",
        log=True,
        decades=12,
        note=f"at most {calm} in tests that inject nothing",
    )
    chart.line("residual", closures.time_s, closures.residual)
    chart.limit(closures.limit, f"fault beyond {digits(closures.limit)}")
    return chart


def signal_charts(run: SignalRun) -> list[Chart]:
    """Digital signals as bands, then analog signals as lines, those of one unit in one chart."""
    both = list(zip(run.signals, run.values, strict=True))
    digital = [each for each in both if each[0].is_digital]
    charts = []
    if digital:
        charts.append(
            Chart("Digital signals", "time / s", rows=len(digital) + (len(run.injected_s) + 1) // 2)
        )
        for signal, values in digital:
            charts[0].band(signal.name, run.time_s, values)
    for unit in dict.fromkeys(signal.unit for signal, _ in both if not signal.is_digital):
        mine = [each for each in both if not each[0].is_digital and each[0].unit == unit]
        title = ", ".join(signal.name for signal, _ in mine)
        charts.append(Chart(title, "time / s", f"value / {unit}" if unit else "value"))
        for signal, values in mine:
            charts[-1].line(signal.name, run.time_s, values)
    for chart in charts:
        for time_s, text in run.injected_s:
            chart.moment(time_s, text.replace(".", ": "))
    return charts


def timing_charts(timing: TimingEvidence, facts: Mapping[str, Any]) -> Sequence[Chart]:
    """Histograms of period and latency."""
    period, latency = Chart("Period", "Period / µs", "ticks"), Chart("Latency", "Latency / µs", "ticks")
    period.histogram(timing.period_us, 1e6 * float(facts["period_s"]) if "period_s" in facts else None)
    latency.histogram(timing.latency_us)
    return period, latency
