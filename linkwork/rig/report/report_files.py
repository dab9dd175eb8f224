"""A report's three files: junit.xml for machines, report.html for people, report.json for comparisons."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from linkwork.reports.markup import (
    Content,
    Markup,
    definitions,
    document,
    element,
    join,
    plain_table,
    write_whole,
)
from linkwork.reports.provenance import origin
from linkwork.rig.collected import TestFindings, Verdict
from linkwork.rig.collecting import finite
from linkwork.rig.report.compare import NoReport, read_report
from linkwork.rig.report.machine_section import section
from linkwork.rig.report.report_data import BAD, VERDICTS, MachineReport, RigReport, as_data


@dataclass(frozen=True)
class Written:
    """Paths of the files."""

    html: Path
    junit: Path
    json: Path


def write_report(report: RigReport, folder: Path) -> Written:
    """Write all three, each whole or not at all. Raises OSError."""
    there = Written(folder / "report.html", folder / "junit.xml", folder / "report.json")
    texts = {
        there.html: page(report),
        there.junit: junit(report),
        there.json: json.dumps(finite(as_data(report)), ensure_ascii=False, indent=1) + "\n",
    }
    for path, text in texts.items():
        write_whole(path, text)
    return there


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
    parts: list[Markup] = [definitions(origin(report.provenance))]
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


_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: RigReport) -> str:
    """The file's text."""
    root = Element("testsuites", _attributes("linkwork rig test", report.counts, _seconds(*report.machines)))
    for machine in report.machines:
        _suite(root, machine)
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, machine: MachineReport) -> None:
    suite = SubElement(root, "testsuite", _attributes(machine.name, machine.counts, _seconds(machine)))
    plain = (str, int, float)
    named = [(key, value) for key, value in machine.facts.items() if isinstance(value, plain) and value != ""]
    if named:
        _properties(suite, named)
    for test in machine.tests:
        _case(suite, machine.name, test)
    if machine.problem:
        SubElement(suite, "system-err").text = _clean(machine.problem)


def _case(suite: Element, machine: str, test: TestFindings) -> None:
    file, _, name = test.node.partition("::")
    module = file.removesuffix(".py").replace("/", ".")
    case = SubElement(
        suite,
        "testcase",
        {"classname": _clean(f"{machine}.{module}"), "name": _clean(name), "time": f"{test.seconds:.3f}"},
    )
    _properties(case, _properties_of(test))
    text = _clean(test.text)
    if test.verdict == "skipped":
        SubElement(case, "skipped", {"type": "pytest.skip", "message": _clean(test.reason)})
    elif test.verdict == "failed":
        SubElement(case, "failure", {"message": _clean(test.why)}).text = text
    elif test.verdict in ("error", "not run"):
        SubElement(case, "error", {"message": _clean(test.why)}).text = text


def _properties_of(test: TestFindings) -> list[tuple[str, Any]]:
    """Requirement, numbers and faults as pairs of name and value."""
    named: list[tuple[str, Any]] = [("requirement", test.requirement)]
    for number in test.numbers:
        unit = f" {number.unit}" if number.unit else ""
        limit = f" {number.relation} {number.limit:.9g}{unit}" if number.relation else ""
        named.append((number.name, f"{number.value:.9g}{unit}{limit}"))
    for fault in test.faults:
        after = "" if fault.delay_ticks is None else f" after {fault.delay_ticks} ticks"
        named.append((_fault(fault.injected), f"{fault.found or 'nothing'}{after}"))
    named += [(_fault(each.injected), f"tolerated: {each.because}") for each in test.tolerated]
    return named


def _fault(injected: Mapping[str, Any]) -> str:
    return f"fault {injected.get('kind', '')} {injected.get('of') or ''}".strip()


def _properties(parent: Element, named: Sequence[tuple[str, Any]]) -> None:
    properties = SubElement(parent, "properties")
    for name, value in named:
        SubElement(properties, "property", {"name": _clean(name), "value": _clean(str(value))})


def _attributes(name: str, counts: Mapping[Any, int], seconds: float) -> dict[str, str]:
    return {
        "name": name,
        "tests": str(sum(counts.values())),
        "failures": str(counts["failed"]),
        "errors": str(counts["error"] + counts["not run"]),
        "skipped": str(counts["skipped"]),
        "time": f"{seconds:.3f}",
    }


def _seconds(*machines: MachineReport) -> float:
    return sum(test.seconds for machine in machines for test in machine.tests)


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)


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
