"""A page that lists the reports below a folder, so that runs can be compared by eye."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linkwork.reports.document import document, plain_table
from linkwork.reports.markup import Content, element
from linkwork.rig.report.compare import NoReport, read_report
from linkwork.rig.report.report_data import VERDICTS
from linkwork.rig.report.report_files import write_whole

MOST_FAILURES = 5
"""Failures that are named for each machine; the report has all."""


def write_index(folder: Path) -> Path:
    """Write index.html over every report.json below the folder, the newest first. Raises OSError."""
    found: list[tuple[str, str, dict[str, Any]]] = []
    for path in folder.rglob("report.json"):
        try:
            report = read_report(path)
        except NoReport:
            continue
        found.append(
            (
                report["provenance"]["made"],
                path.with_name("report.html").relative_to(folder).as_posix(),
                report,
            )
        )
    rows = [
        row
        for made, page, report in sorted(found, key=lambda one: one[:2], reverse=True)
        for row in _rows(made, page, report)
    ]
    titles = ("made", "machine", "", *VERDICTS, "failures")
    table = plain_table(titles, rows, range(3, 3 + len(VERDICTS)))
    text = document(
        "Rig tests",
        element("header", element("h1", "Rig tests"), element("p", f"{len(found)} reports", class_="lead")),
        element("main", table),
    )
    return write_whole(folder / "index.html", text)


def _rows(made: str, page: str, report: dict[str, Any]) -> list[list[Content]]:
    rows: list[list[Content]] = []
    for machine in report["machines"]:
        bad = [test for test in machine["tests"] if test["verdict"] not in ("passed", "skipped")]
        names = [test["name"] for test in bad[:MOST_FAILURES]]
        names += [f"and {len(bad) - MOST_FAILURES} more"] if len(bad) > MOST_FAILURES else []
        passed = machine["passed"]
        rows.append(
            [
                made,
                element("a", machine["name"], href=f"{page}#machine-{machine['name']}"),
                element("span", "✓ passed" if passed else "✕ not passed", class_="good" if passed else "bad"),
                *(str(machine["counts"][verdict]) for verdict in VERDICTS),
                ", ".join(filter(None, (machine["problem"], *names))),
            ]
        )
    return rows
