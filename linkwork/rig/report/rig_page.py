"""The page of a report: requirements with their numbers, faults with detection and reaction, evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from linkwork.reports.chart import Chart
from linkwork.reports.pages import render
from linkwork.reports.provenance import origin
from linkwork.reports.quantities import THIN, amount
from linkwork.rig.collected import FaultSeen, Number, Verdict
from linkwork.rig.report import evidence_charts
from linkwork.rig.report.evidence import FaultWindow, TimingEvidence
from linkwork.rig.report.report_data import BAD, MachineReport, RigReport, quantiles
from linkwork.rig.report.signals_over_time import MOST_ROWS

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
        origin=origin,
        most_rows=MOST_ROWS,
        fault_charts=_fault_charts,
        motion_charts=evidence_charts.motion_charts,
        signal_charts=evidence_charts.signal_charts,
        closure_chart=evidence_charts.closure_chart,
        timing_charts=evidence_charts.timing_charts,
        timing_rows=_timing_rows,
    )


def _fault_charts(windows: list[FaultWindow]) -> list[Chart]:
    return [evidence_charts.fault_chart(injection(each.injected)[0], each) for each in windows]


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
