"""Actions of a goal on its path, as text: planned events, and the reports of its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from linkwork.display_units import shown
from linkwork.protocol.results import PathReport

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
