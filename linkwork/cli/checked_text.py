"""Paths as text: the answer of `check` with the use of each limit, planned events, reports of results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from linkwork.display_units import shown
from linkwork.protocol.results import Checked, PathReport
from linkwork.terminal.output import number, table

_NEAR = 0.5
"""Share of a limit from which on it is worth a line."""


def lines(found: Checked) -> Iterator[str]:
    """Return the verdict in a few lines."""
    what = f"{found['duration_s']:.3f} s in {', '.join(found['coordinates'])}"
    if found["feasible"]:
        yield f"would be accepted: {what}"
    else:
        yield f"would be refused: {what}"
    for violation in found["violations"]:
        where = f"on the way to point {violation['point']}: " if violation["point"] is not None else ""
        yield f"  {where}{violation['text']}{_span(violation)}"
    if not found["feasible"]:
        stretch = found["min_time_stretch"]
        yield (f"stretch its time by {stretch:.4g} at least" if stretch else "no longer duration would help")
    elif found["largest_speed"]:
        yield f"within all limits up to {found['largest_speed']:.3g} times its own speed"
    yield from planned_lines(found["report"])
    yield from _distances(found["report"])


def _span(violation: Mapping[str, Any]) -> str:
    """Return the time span, where more than one sample is beyond the limit."""
    if violation.get("samples", 0) < 2:
        return ""
    return f"; {violation['samples']} samples from {violation['from_s']:.3f} s to {violation['to_s']:.3f} s"


def _distances(report: Mapping[str, Any]) -> Iterator[str]:
    """Return the distances from singularities of coordinates, closures and motors."""
    for name, entry in (report.get("singularities") or {}).items():
        if entry is not None:
            needed = f", at least {number(entry['limit'])} is needed" if "limit" in entry else ""
            least, when = number(entry["smallest"]), entry["time_s"]
            yield f"smallest singular value of the {name}: {least} at {when:.3f} s{needed}"


def limits_table(found: Checked) -> Table | None:
    """Return a table of limits that are nearly reached or exceeded, and of every effort.

    None where the path could not be computed.
    """
    limits: Mapping[str, Mapping[str, Mapping[str, Any]]] = found["report"].get("limits", {})
    rows = [
        (
            quantity,
            name,
            number(entry["value"]),
            number(entry["limit"]),
            entry["unit"],
            f"{entry['used']:.0%}",
            f"{entry['time_s']:.3f}",
        )
        for quantity, names in limits.items()
        for name, entry in names.items()
        if entry["used"] >= _NEAR or quantity.startswith("effort")
    ]
    columns = ("quantity", "of", "peak", "limit", "unit", "used", "at s")
    return table("", columns, rows) if rows else None


MOST_LINES = 20
"""Events and edges that are printed; `--json` has all."""


def planned_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Return warnings and events of a trajectory that was checked or accepted, from its report."""
    yield from (f"  warning: {text}" for text in report.get("warnings") or ())
    events = report.get("events") or []
    for told in events[:MOST_LINES]:
        early = f", set at {told['fires_s']:.4g} s" if told["fires_s"] != told["time_s"] else ""
        along = f" ({told['path_m']:.4g} m)" if told.get("path_m") is not None else ""
        yield f"  event {told['event']} at {told['time_s']:.4g} s{along}{early}: {_values(told['set'])}"
    yield from _rest(len(events) - MOST_LINES, "events")


def result_lines(result: PathReport) -> Iterator[str]:
    """Return the largest errors, events, captured edges and condition of a result."""
    worst: dict[str, Any] = {}
    for error in result.get("largest_errors") or ():
        if error["value"] >= worst.get(error["unit"], error)["value"]:
            worst[error["unit"]] = error
    if worst:
        errors = (f"{shown(each['value'], unit)} ({each['coordinate']})" for unit, each in worst.items())
        yield f"  largest error {', '.join(errors)}"
    events = result.get("events") or []
    for told in events[:MOST_LINES]:
        when = "not reached" if told["tick"] is None else f"tick {told['tick']}, {told['time_s']:.3f} s"
        yield f"  event {told['event']}: {when}: {_values(told['set'])}"
    yield from _rest(len(events) - MOST_LINES, "events")
    edges = result.get("captures") or []
    for edge in edges[:MOST_LINES]:
        along = "" if edge["path_m"] is None else f", {edge['path_m']:.4g} m along the path"
        value = _values({edge["input"]: edge["value"]})
        yield f"  {edge['capture']}: tick {edge['tick']}, {edge['time_s']:.3f} s{along}: {value}"
    yield from _rest(len(edges) - MOST_LINES + result.get("captures_more", 0), "edges")
    until = result.get("until")
    if until is not None:
        often = f"began to hold {until['met']} times, last in" if until["met"] > 1 else "was met in"
        when = "was not met" if until["tick"] is None else f"{often} tick {until['tick']}"
        yield f"  the condition {when}"


def _rest(count: int, what: str) -> Iterator[str]:
    if count > 0:
        yield f"  and {count} more {what}"


def _values(values: Mapping[str, bool | float]) -> str:
    """Signals and their values as people write them."""
    words = {True: "on", False: "off"}
    return ", ".join(
        f"{name} {words[value] if isinstance(value, bool) else f'{value:g}'}"
        for name, value in values.items()
    )
