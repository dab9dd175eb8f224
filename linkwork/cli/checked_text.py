"""The answer of `check` as text: reasons for a refusal, and the use of each limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from linkwork.cli.path_text import planned_lines
from linkwork.protocol.results import Checked
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
