"""The report of an import as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linkwork.convert.robots.import_report import ImportFinding, body_rows, joint_rows
from linkwork.convert.robots.importing import Imported
from linkwork.machine.problems import counted
from linkwork.reports.markup import Markup, definitions, document, element, plain_table

_MARKS = {"": "", "good": "✓ ", "bad": "✕ "}


def import_page(
    found: Imported, model: dict[str, Any], rows: list[ImportFinding], provenance: dict[str, Any]
) -> str:
    """Return the whole file."""
    bad = sum(row.verdict == "bad" for row in rows) + sum(map(is_bad, found.remarks))
    verdict = element(
        "b",
        f"✕ {counted(bad, 'problem')}" if bad else "✓ no problems",
        class_="bad" if bad else "good",
    )
    header = element(
        "header",
        element("h1", f"Import of {found.machine.name}"),
        element("p", f"{Path(found.source.file).name}, {provenance['made']}", class_="lead"),
        element("p", verdict, class_="verdict"),
    )
    sections = [
        element("h2", "The machine"),
        definitions((row.title, _marked(row)) for row in rows),
        *_list("To note", [each for each in found.remarks if each not in found.robot.left_out]),
        *_list("Changed", found.changes),
        element("h2", "Bodies"),
        plain_table(("body", "mass / kg", "principal moments / kg m²", ""), body_rows(found.machine), (1, 2)),
        element("h2", "Joints"),
        plain_table(("joint", "type", "bodies", "position", "motor"), joint_rows(found.machine, model)),
    ]
    if model["closures"]:
        closures = [(each["name"], each["type"], str(each["rows"])) for each in model["closures"]]
        sections += [element("h2", "Closures"), plain_table(("closure", "type", "rows"), closures, (2,))]
    if found.renamed:
        sections += [
            element("h2", "Names"),
            plain_table(("in the source", "in the machine file"), list(found.renamed.items())),
        ]
    versions = ", ".join(f"{name} {number}" for name, number in provenance["versions"].items())
    origin = [("command", provenance["command"]), ("system", provenance["system"]), ("versions", versions)]
    sections += [element("h2", "Provenance"), definitions(origin)]
    return document(f"Import of {found.machine.name}", header, element("main", *sections))


def is_bad(remark: str) -> bool:
    """Whether a remark is about a value that is wrong, and not only absent."""
    return remark.startswith(("NO BODY", "UNITS"))


def _marked(row: ImportFinding) -> Markup:
    return element("span", f"{_MARKS[row.verdict]}{row.text}", class_=row.verdict or None)


def _list(title: str, lines: list[str]) -> list[Markup]:
    if not lines:
        return []
    items = [element("li", line, class_="bad" if is_bad(line) else None) for line in lines]
    return [element("h3", title), element("ul", *items)]
