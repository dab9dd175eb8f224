"""A report's three files: junit.xml for machines, report.html for people, report.json for comparisons.

`differences` puts the numbers of two reports side by side, apart from where and when they were made.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from linkwork.regular_files import check_regular
from linkwork.reports.pages import render, write_whole, xml_text
from linkwork.rig.collected import TestFindings
from linkwork.rig.report.report_data import FORMAT, VERDICTS, MachineReport, RigReport, as_data
from linkwork.rig.report.rig_page import page
from linkwork.terminal.output import finite

LEFT_OUT: Final = frozenset({"provenance", "timing", "text"})
"""Keys that are not compared: where and when; times of a clock; the words of failures."""


class NoReport(ValueError):
    """A file that is no report. The text says which and why."""


@dataclass(frozen=True)
class ChangedNumber:
    """Place of a difference between two reports: "five_bar / test_stops.py::test_brakes / numbers / 0 /
    value".
    """

    place: str
    one: Any
    other: Any

    def __str__(self) -> str:
        """Return the difference as one line."""
        return f"{self.place}: {_shown(self.one)}, {_shown(self.other)}"


def read_report(path: Path) -> dict[str, Any]:
    """Return the content of a report.json. Raises NoReport."""
    try:
        check_regular(path)
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NoReport(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise NoReport(f"{path} is not a report: it is not JSON ({error})") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise NoReport(f"{path} is not a report of this version: its `format` is not {FORMAT!r}")
    return found


def differences(one: Any, other: Any, tolerance: float = 0.0) -> list[ChangedNumber]:
    """All of them. tolerance: by how much numbers may differ, as a part of the larger."""
    return list(_compared("", one, other, tolerance))


_ABSENT: Final = object()


def _compared(place: str, one: Any, other: Any, tolerance: float) -> Iterator[ChangedNumber]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys([*one, *other]):
            if key not in LEFT_OUT:
                yield from _compared(
                    _below(place, key), one.get(key, _ABSENT), other.get(key, _ABSENT), tolerance
                )
    elif isinstance(one, list) and isinstance(other, list):
        ones, others = _named(one), _named(other)
        for key in dict.fromkeys([*ones, *others]):
            yield from _compared(
                _below(place, key), ones.get(key, _ABSENT), others.get(key, _ABSENT), tolerance
            )
    elif not _same(one, other, tolerance):
        yield ChangedNumber(place, one, other)


def _named(items: list[Any]) -> dict[str, Any]:
    """Items by their own names where they have some, else by their places."""
    named: dict[str, Any] = {}
    for index, item in enumerate(items):
        name = item.get("node", item.get("name")) if isinstance(item, Mapping) else None
        key = str(index) if name is None else str(name)
        named[key if key not in named else f"{key} {index}"] = item
    return named


def _same(one: Any, other: Any, tolerance: float) -> bool:
    numbers = all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in (one, other))
    if numbers and tolerance:
        return math.isclose(one, other, rel_tol=tolerance)
    return bool(one == other)


def _below(place: str, key: str) -> str:
    return f"{place} / {key}" if place and place != "machines" else key


def _shown(value: Any) -> str:
    return "not there" if value is _ABSENT else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class ReportFiles:
    """Paths of the files."""

    html: Path
    junit: Path
    json: Path


def write_report(report: RigReport, folder: Path) -> ReportFiles:
    """Write all three, each whole or not at all. Raises OSError."""
    there = ReportFiles(folder / "report.html", folder / "junit.xml", folder / "report.json")
    texts = {
        there.html: page(report),
        there.junit: junit(report),
        there.json: json.dumps(finite(as_data(report)), ensure_ascii=False, indent=1) + "\n",
    }
    for path, text in texts.items():
        write_whole(path, text)
    return there


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
        SubElement(suite, "system-err").text = xml_text(machine.problem)


def _case(suite: Element, machine: str, test: TestFindings) -> None:
    file, _, name = test.node.partition("::")
    module = file.removesuffix(".py").replace("/", ".")
    case = SubElement(
        suite,
        "testcase",
        {"classname": xml_text(f"{machine}.{module}"), "name": xml_text(name), "time": f"{test.seconds:.3f}"},
    )
    _properties(case, _properties_of(test))
    text = xml_text(test.text)
    if test.verdict == "skipped":
        SubElement(case, "skipped", {"type": "pytest.skip", "message": xml_text(test.reason)})
    elif test.verdict == "failed":
        SubElement(case, "failure", {"message": xml_text(test.why)}).text = text
    elif test.verdict in ("error", "not run"):
        SubElement(case, "error", {"message": xml_text(test.why)}).text = text


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
        SubElement(properties, "property", {"name": xml_text(name), "value": xml_text(str(value))})


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
        page_path = path.with_name("report.html").relative_to(folder).as_posix()
        found.append((report["provenance"]["made"], page_path, report["machines"]))
    found.sort(key=lambda one: one[:2], reverse=True)
    text = render("rig_index.html", title="Rig tests", reports=found, verdicts=VERDICTS, most=MOST_FAILURES)
    return write_whole(folder / "index.html", text)
