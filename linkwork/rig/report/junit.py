"""The report as JUnit XML, as continuous-integration systems read it: a suite a machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from linkwork.rig.collected import TestFindings
from linkwork.rig.report.report_data import MachineReport, RigReport

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
