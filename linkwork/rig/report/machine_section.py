"""One machine's part of the page: requirements, faults, motion, timing, closures, energy."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.reports.chart import HUES, Chart, ChartLine, Limit, Moment, figure, histogram
from linkwork.reports.markup import Markup, element, plain_table
from linkwork.reports.quantities import amount, digits, scale
from linkwork.rig.report.evidence import (
    Closures,
    Energy,
    FaultWindow,
    Followed,
    FollowedCoordinate,
    TimingEvidence,
)
from linkwork.rig.report.report_data import MachineReport, quantiles
from linkwork.rig.report.signals_over_time import signal_section
from linkwork.rig.report.tables import faults, injected, requirements


def section(report: MachineReport) -> Markup:
    """The whole part."""
    facts = report.facts
    lead = [
        _pace(str(facts.get("pace", ""))),
        f"seed {facts['seed']}" if "seed" in facts else "",
        f"period {amount(facts['period_s'], 's')}" if "period_s" in facts else "",
        f"law {facts['law']}" if facts.get("law") else "",
    ]
    about = report.machine.about if report.machine is not None else ""
    return element(
        "section",
        element("h2", report.name),
        element("p", about, class_="lead") if about else None,
        element("p", ", ".join(filter(None, lead)), class_="lead") if any(lead) else None,
        element("p", f"✕ {report.problem}", class_="bad") if report.problem else None,
        element("h3", "Requirements"),
        requirements(report.tests),
        *_faults(report),
        *_motions(report),
        *signal_section(report.evidence.signals),
        *_closures(report.evidence.closures),
        *_timing(report.evidence.timing, facts),
        id=f"machine-{report.name}",
    )


def _pace(pace: str) -> str:
    return {
        "lockstep": "in lockstep",
        "device": "in real time, the plant is the clock",
        "host": "in real time, the controller is the clock",
    }.get(pace, pace)


def _faults(report: MachineReport) -> list[Markup]:
    machine = report.machine
    units = {} if machine is None else {m.name: "rad" if m.is_angle else "m" for m in machine.joints}
    period_s = float(report.facts.get("period_s", 0.001))
    table = faults(report.tests, units, period_s)
    if table is None:
        return []
    charts = [_around(each) for each in report.evidence.fault_windows]
    pictures = [element("div", *charts, class_="charts")] if charts else []
    return [element("h3", "Faults"), table, *pictures]


def _around(one: FaultWindow) -> Markup:
    """The joint concerned around an injected fault: its velocity, with what happened when."""
    factor, shown = scale(float(np.nanmax(np.abs(one.velocity), initial=0.0)), one.unit)
    time_ms = 1e3 * one.time_s
    lines = [ChartLine("from states", time_ms, one.velocity * factor, 1)]
    if np.isfinite(one.predicted).any():
        lines.append(ChartLine("predicted", time_ms, one.predicted * factor, 2, dashed=True))
    moments = [Moment(0.0, "injected")]
    if np.isfinite(one.detected_s):
        moments.append(Moment(1e3 * one.detected_s, "detected"))
    if np.isfinite(one.at_rest_s) and 1e3 * one.at_rest_s <= time_ms[-1]:
        moments.append(Moment(1e3 * one.at_rest_s, "at rest"))
    note = f"{one.found or 'tolerated by design'}: {one.requirement}"
    title = "".join(str(part) for part in injected(one.injected)[:1])
    return figure(
        Chart(
            title,
            "time since the injection / ms",
            f"velocity of {one.joint} / {shown}",
            tuple(lines),
            moments=tuple(moments),
            note=note,
        )
    )


def _motions(report: MachineReport) -> list[Markup]:
    evidence = report.evidence
    if not evidence.motions:
        return []
    parts = [element("h3", "Motion and energy")]
    for motion, energy in zip(evidence.motions, evidence.energies, strict=True):
        charts = [*_tracking(motion), _effort(motion, report), _energy(energy)]
        parts.append(element("p", motion.title))
        parts.append(element("div", *charts, class_="charts"))
    return parts


def _tracking(motion: Followed) -> list[Markup]:
    """For lengths and for angles: where it should be and was; and by how much it was not."""
    charts = []
    for unit, what in (("m", "lengths"), ("rad", "angles")):
        mine = [each for each in motion.coordinates if each.unit == unit][:HUES]
        if not mine:
            continue
        both = {each.unit for each in motion.coordinates} == {"m", "rad"}
        charts.append(_positions(motion, mine, unit, f"Motion, {what}" if both else "Motion"))
        charts.append(_errors(motion, mine, unit, f"Tracking error, {what}" if both else "Tracking error"))
    return [figure(chart) for chart in charts]


def _positions(motion: Followed, mine: list[FollowedCoordinate], unit: str, title: str) -> Chart:
    largest = max(float(np.nanmax(np.abs(each.actual))) for each in mine)
    factor, shown = scale(largest, unit)
    lines = [
        ChartLine(each.name, motion.time_s, each.actual * factor, hue + 1) for hue, each in enumerate(mine)
    ]
    return Chart(title, "time / s", f"position / {shown}", tuple(lines))


def _errors(motion: Followed, mine: list[FollowedCoordinate], unit: str, title: str) -> Chart:
    lines = [
        ChartLine(each.name, motion.time_s, np.abs(each.error), hue + 1) for hue, each in enumerate(mine)
    ]
    limits: dict[float, list[str]] = {}
    for each in mine:
        if each.limit is not None and np.isfinite(each.limit):
            limits.setdefault(each.limit, []).append(each.name)
    shown = [
        Limit(value, f"limit {amount(value, unit)}" if len(limits) == 1 else f"limit of {', '.join(names)}")
        for value, names in limits.items()
    ]
    note = "; ".join(
        f"{each.name} {amount(each.worst, unit)} max, {amount(each.rms, unit)} rms" for each in mine
    )
    return Chart(title, "time / s", f"magnitude / {unit}", tuple(lines), tuple(shown), log=True, note=note)


def _effort(motion: Followed, report: MachineReport) -> Markup:
    names = [motor.joint for motor in report.machine.motors] if report.machine is not None else []
    lines = [
        ChartLine(name, motion.time_s, 100.0 * motion.effort[:, at], at % HUES + 1, dashed=at >= HUES)
        for at, name in enumerate(names)
    ]
    peak = 100.0 * float(np.abs(motion.effort).max())
    limits = (Limit(100.0, "most"), Limit(-100.0, "most")) if peak > 50.0 else ()
    note = f"peak {digits(peak)} % of the motor's limit"
    return figure(
        Chart("Effort", "time / s", "share of each motor's limit / %", tuple(lines), limits, note=note)
    )


def _energy(energy: Energy) -> Markup:
    largest = max(float(np.abs(each).max()) for each in (energy.stored, energy.work, energy.lost))
    factor, shown = scale(largest, "J")
    lines = (
        ChartLine("work", energy.time_s, energy.work * factor, 1),
        ChartLine("stored", energy.time_s, energy.stored * factor, 2, dashed=True),
        ChartLine("friction", energy.time_s, energy.lost * factor, 3),
    )
    left = amount(float(np.abs(energy.left_over).max()), "J")
    note = f"{amount(energy.exchanged, 'J')} exchanged; at most {left} is unaccounted for"
    return figure(Chart("Energy", "time / s", f"energy / {shown}", lines, note=note))


def _closures(closures: Closures | None) -> list[Markup]:
    if closures is None:
        return []
    line = ChartLine("residual", closures.time_s, closures.residual, 1)
    limit = Limit(closures.limit, f"fault beyond {digits(closures.limit)}")
    calm = digits(float(closures.moved.max(initial=0.0)))
    chart = Chart(
        "Largest residual",
        "time of all tests, one after another / s",
        "typical lengths, or rad",
        (line,),
        (limit,),
        log=True,
        decades=12,
        note=f"at most {calm} in tests that inject nothing",
    )
    return [element("h3", "Closures"), element("div", figure(chart), class_="charts")]


def _timing(timing: TimingEvidence | None, facts: dict[str, Any]) -> list[Markup]:
    if timing is None or not len(timing.period_us) or not len(timing.latency_us):
        if facts.get("pace") != "lockstep":
            return []
        note = "Lockstep: no clock. The plant advances one period with each command, as fast as it comes."
        return [element("h3", "Timing"), element("p", note, class_="quiet")]
    measured = {"period": timing.period_us, "latency, state to command": timing.latency_us}
    measured |= {f"phase {name}": values for name, values in timing.phases_us.items()}
    rows = [
        (name, *(f"{each:.1f}" for each in quantiles(values).values()))
        for name, values in measured.items()
        if len(values)
    ]
    table = plain_table(("µs", "p50", "p99", "max"), rows, (1, 2, 3))
    period_us = 1e6 * float(facts["period_s"]) if "period_s" in facts else None
    charts = [
        histogram("Period", timing.period_us, "µs", period_us),
        histogram("Latency", timing.latency_us, "µs"),
    ]
    note = f"{timing.ticks} ticks; {timing.lost} without a fresh state, {timing.missed} periods skipped."
    if timing.overruns:
        causes = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in timing.overruns.items())
        note += f" Overruns by cause: {causes}."
    return [element("h3", "Timing"), element("p", note), table, element("div", *charts, class_="charts")]
