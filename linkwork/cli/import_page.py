"""The report of an import as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linkwork.convert.robots.import_report import ImportFinding, body_rows, joint_rows
from linkwork.convert.robots.importing import Imported
from linkwork.reports.pages import render
from linkwork.reports.provenance import origin


def import_page(
    found: Imported, model: dict[str, Any], rows: list[ImportFinding], provenance: dict[str, Any]
) -> str:
    """Return the whole file."""
    return render(
        "import.html",
        title=f"Import of {found.machine.name}",
        file=Path(found.source.file).name,
        found=found,
        rows=rows,
        bad=sum(row.verdict == "bad" for row in rows) + sum(map(is_bad, found.remarks)),
        is_bad=is_bad,
        bodies=body_rows(found.machine),
        joints=joint_rows(found.machine, model),
        closures=[(each["name"], each["type"], each["rows"]) for each in model["closures"]],
        provenance=provenance,
        origin=origin(provenance),
    )


def is_bad(remark: str) -> bool:
    """Whether a remark is about a value that is wrong, and not only absent."""
    return remark.startswith(("NO BODY", "UNITS"))
