"""The page of a report: requirements with numbers, faults with detection and reaction, charts of evidence."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from linkwork.reports.chart import HUES, Chart
from linkwork.reports.pages import render
from linkwork.reports.provenance import origin
from linkwork.reports.quantities import THIN, amount, digits, scale
from linkwork.rig.collected import FaultSeen, Number, Verdict
from linkwork.rig.report.evidence import (
    Closures,
    Energy,
    FaultWindow,
    Followed,
    FollowedCoordinate,
    TimingEvidence,
)
from linkwork.rig.report.report_data import BAD, MachineReport, RigReport, quantiles
from linkwork.rig.report.signals_over_time import MOST_ROWS, SignalRun

MARKS: Final[dict[Verdict, tuple[str, str]]] = {
    "passed": ("✓ passed", "good"),
    "failed": ("✕ failed", "bad"),
    "error": ("✕ error", "bad"),
    "skipped": ("– skipped", "skip"),
    "not run": ("✕ not run", "bad"),
}
"""Sign, word and colour of a verdict; the colour is never the only mark."""
_SIGNS: Final = {"<": "<", "<=": "≤", ">": ">", ">=": "≥", "==": "="}
_UNITS: Final = {
    "_rad_s": "rad/s", "_m_s": "m/s", "_N_m": "N m", "_rad": "rad", "_ticks": "ticks", "_kg": "kg",
    "_N": "N", "_ms": "ms", "_hz": "Hz", "_s": "s", "_m": "m",
}  # fmt: skip
"""Ends of keys, and the units they say."""
_SHOWN: Final = frozenset(
    {"kind", "of", "from_tick", "to_tick", "state", "applied", "text", "id", "seed", "name"}
    | {"wire", "sensor", "actuator", "mechanism", "processor", "time_s", "braked_after_ticks"}
)
"""Keys whose values are shown elsewhere, or describe the present state."""
_PACES: Final = {
    "lockstep": "in lockstep",
    "device": "in real time, the plant is the clock",
    "host": "in real time, the controller is the clock",
}


def page(report: RigReport) -> str:
    """The whole file."""
    names = ", ".join(each.name for each in report.machines)
    return render(
        "rig.html",
        title=f"{'Passed' if report.passed else 'Not passed'}: {names}",
        report=report,
        one_machine=len(report.machines) == 1,
        shown=[name for name, number in report.counts.items() if number or name == "passed"],
        bad=BAD,
        marks=MARKS,
        signs=_SIGNS,
        words=words,
        used_share=_used_share,
        injection=injection,
        furthest=furthest,
        settings=_settings,
        facts=_facts,
        origin=origin(report.provenance),
        most_rows=MOST_ROWS,
        fault_charts=lambda windows: [fault_chart(injection(each.injected)[0], each) for each in windows],
        motion_charts=motion_charts,
        signal_charts=signal_charts,
        closure_chart=closure_chart,
        timing_charts=timing_charts,
        timing_rows=_timing_rows,
    )


def _settings(facts: Mapping[str, Any]) -> str:
    pace = str(facts.get("pace", ""))
    parts = [
        _PACES.get(pace, pace),
        f"seed {facts['seed']}" if "seed" in facts else "",
        f"period {amount(facts['period_s'], 's')}" if "period_s" in facts else "",
        f"law {facts['law']}" if facts.get("law") else "",
    ]
    return ", ".join(filter(None, parts))


def words(name: str) -> str:
    """A number's name as words: "tracking error x, max"."""
    return name.replace(").", ", ").replace("(", " ").replace(")", "").replace(".", ", ").replace("_", " ")


def _used_share(number: Number) -> float | None:
    """Return the used share of an upper limit."""
    used = abs(number.value) / abs(number.limit) if number.limit else math.inf
    return used if number.relation in ("<", "<=") and math.isfinite(used) else None


def injection(entry: Mapping[str, Any]) -> tuple[str, str]:
    """An injected fault in words: its kind and of what; its numbers."""
    kind = str(entry.get("kind") or next(iter(entry), "fault")).replace(".", ": ").replace("_", " ")
    of = entry.get("of")
    settings = [
        _setting(key, value)
        for key, value in entry.items()
        if key not in _SHOWN and value is not None and not isinstance(value, (dict, list))
    ]
    return f"{kind}, {of}" if of else kind, ", ".join(settings)


def _setting(key: str, value: Any) -> str:
    """A number of a time line with its unit, which the key's end says: "by 0.01 rad"."""
    end = next((end for end in _UNITS if key.endswith(end)), "")
    if not end or not isinstance(value, (int, float)):
        shown = f"{value:g}" if isinstance(value, float) else value
        return f"{key.replace('_', ' ')} {shown}"
    what = key.removesuffix(end).replace("_", " ").strip()
    return f"{what} {value:g}{THIN}{_UNITS[end]}".strip()


def furthest(fault: FaultSeen, units: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the joint of each unit that moved furthest while the machine stopped, and how far."""
    if fault.stopping_s is None:
        return []
    found: dict[str, tuple[str, float]] = {}
    for joint, way in fault.stopping_distance.items():
        unit = units.get(joint, "rad")
        if abs(way) >= abs(found.get(unit, ("", 0.0))[1]):
            found[unit] = joint, way
    return [(joint, amount(way, unit)) for unit, (joint, way) in found.items()]


def _timing_rows(timing: TimingEvidence) -> list[tuple[str, ...]]:
    measured = {"period": timing.period_us, "latency, state to command": timing.latency_us}
    measured |= {f"phase {name}": values for name, values in timing.phases_us.items()}
    return [
        (name, *(f"{each:.1f}" for each in quantiles(values).values()))
        for name, values in measured.items()
        if len(values)
    ]


def _facts(one: MachineReport) -> list[tuple[str, str]]:
    rows = []
    for key, value in one.facts.items():
        if isinstance(value, Mapping):
            rows += [(f"{key.replace('_', ' ')}, {part}", str(each)) for part, each in value.items()]
        elif value not in (None, "", [], ()):
            rows.append((key.replace("_", " "), str(value)))
    return rows


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
