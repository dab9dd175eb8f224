"""The report as one self-contained HTML file: no scripts, no external fonts or pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkwork.reports.document import definitions, document, plain_table
from linkwork.reports.markup import Markup, element, join
from linkwork.rig.collected import Verdict
from linkwork.rig.report.machine_section import section
from linkwork.rig.report.report_data import BAD, VERDICTS, RigReport


def page(report: RigReport) -> str:
    """The whole file."""
    names = ", ".join(each.name for each in report.machines)
    return document(
        f"{'Passed' if report.passed else 'Not passed'}: {names}",
        _summary(report),
        element("main", *(section(each) for each in report.machines)),
        _provenance(report),
    )


def _summary(report: RigReport) -> Markup:
    machines = report.machines
    title = machines[0].name if len(machines) == 1 else f"{len(machines)} machines"
    verdict = _verdict(report.passed, "b")
    counts = [
        element("span", f"{number} {name}")
        for name, number in report.counts.items()
        if number or name == "passed"
    ]
    return element(
        "header",
        element("h1", f"Rig test, {title}"),
        element("p", report.provenance["made"], class_="lead"),
        element("p", verdict, *counts, class_="verdict"),
        _strip(report),
        _machines(report) if len(machines) > 1 else None,
    )


def _verdict(passed: bool, tag: str) -> Markup:
    return element(tag, "✓ passed" if passed else "✕ not passed", class_="good" if passed else "bad")


def _strip(report: RigReport) -> Markup:
    """One piece a test, in their order."""
    hues = {"passed": None, "skipped": "skip"}
    pieces = [
        element(
            "i", class_=hues.get(test.verdict, "bad"), title=f"{machine.name}: {test.name}, {test.verdict}"
        )
        for machine in report.machines
        for test in machine.tests
    ]
    return element("div", *pieces, class_="strip")


def _machines(report: RigReport) -> Markup:
    shown = [name for name in VERDICTS if name == "passed" or report.counts[name]]
    rows = [
        (
            element("a", each.name, href=f"#machine-{each.name}"),
            *(_count(name, each.counts[name]) for name in shown),
            _verdict(each.passed, "span"),
        )
        for each in report.machines
    ]
    table = plain_table(("machine", *shown, ""), rows, range(1, 1 + len(shown)))
    return element("div", element("h3", "Machines"), table)


def _count(verdict: Verdict, number: int) -> Markup:
    return element("span", str(number), class_="bad" if verdict in BAD and number else None)


def _provenance(report: RigReport) -> Markup:
    made = report.provenance
    rows: list[tuple[str, str]] = [
        ("command", str(made["command"])),
        ("made", f"{made['made']}, in {made['took_s']} s"),
        ("versions", ", ".join(f"{name} {number}" for name, number in made["versions"].items())),
        ("source", str(made["sources"])),
        ("system", ", ".join(filter(None, (made["system"], made["processor"])))),
    ]
    parts: list[Markup] = [definitions(rows)]
    for each in report.machines:
        rows = list(_rig(each.facts))
        if rows:
            parts += [element("h3", each.name), definitions(rows)]
    return element("section", element("h2", "Provenance"), join(*parts))


def _rig(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = []
    for key, value in facts.items():
        if isinstance(value, Mapping):
            rows += [(f"{key.replace('_', ' ')}, {part}", str(each)) for part, each in value.items()]
        elif value not in (None, "", [], ()):
            rows.append((key.replace("_", " "), str(value)))
    return rows
