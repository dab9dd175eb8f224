"""A report's three files: junit.xml for machines, report.html for people, report.json for comparisons."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from linkwork.rig.collecting import finite
from linkwork.rig.report.junit import junit
from linkwork.rig.report.page import page
from linkwork.rig.report.report_data import RigReport, as_data


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


def write_whole(path: Path, text: str) -> Path:
    """Write a file whole or not at all; return its path. Raises OSError."""
    beside = path.with_name(path.name + ".part")
    beside.write_text(text, encoding="utf-8")
    return beside.replace(path)
