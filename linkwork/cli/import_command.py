"""`linkwork import`: a machine file from another description of the robot."""

import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

import defusedxml  # noqa: F401 - the extra `import`, which every source in XML needs

from linkwork.cli.motion_files import refuse_existing
from linkwork.cli.options.files import ImportCommandOptions
from linkwork.convert.model_report import report
from linkwork.convert.robots.import_report import (
    ImportFinding,
    body_rows,
    joint_rows,
    report_rows,
    searched_modes,
)
from linkwork.convert.robots.importing import Imported, ImportOptions
from linkwork.convert.robots.importing import import_robot as imported
from linkwork.convert.robots.proof import prove
from linkwork.convert.robots.same_motion import motion_difference
from linkwork.reports.pages import render
from linkwork.reports.provenance import origin, provenance
from linkwork.terminal.failures import DONE, GOAL_FAILED, Misuse, write_text
from linkwork.terminal.output import emit, say


def import_robot(options: ImportCommandOptions) -> int:
    """Run `linkwork import`."""
    if options.no_closures and options.closures is not None:
        raise Misuse("give --closures or --no-closures, not both")
    begin = perf_counter()
    how = ImportOptions(
        options.closures,
        _packages(options.package),
        options.base,
        literal=options.literal,
        repair=options.repair,
        effort=options.effort,
        seconds=options.timeout,
        folder=Path() if options.out is None else options.out.parent,
        no_closures=options.no_closures,
    )
    found = imported(options.file, how)
    to_output = options.out is not None and str(options.out) == "-"
    target = options.out or Path(f"{found.machine.name}.yaml")
    if to_output:
        sys.stdout.write(found.text)
        return DONE
    refuse_existing(target, overwrite=options.overwrite)
    write_text(target, found.text)
    model = report(found.machine)
    proof = prove(found.source, options.timeout)
    moved = None
    if found.changes and not options.repair:
        moved = motion_difference(found.source, found.robot, found.machine)
    modes = searched_modes(found.machine)
    rows = report_rows(found, model, proof, moved, modes)
    if options.html is not None:
        write_text(
            options.html, import_page(found, model, rows, provenance(sys.argv[1:], perf_counter() - begin))
        )
    summary = {
        "out": str(target),
        "changes": found.changes,
        "remarks": found.remarks,
        "left_out": found.robot.left_out,
        "renamed": found.renamed,
        "proof": asdict(proof),
        "motion_difference": None if moved is None or math.isnan(moved) else moved,
        "assembly_modes": None
        if modes is None
        else {"count": len(modes.modes), "starts": modes.starts, "cut_short": modes.cut_short},
        "report": [asdict(row) for row in rows],
        "model": model,
    }
    if options.as_json:
        emit(summary)
    else:
        _say_import(found, rows, target)
    unexplained = not proof.complete and not found.robot.left_out
    return GOAL_FAILED if proof.agrees is False or unexplained else DONE


def _packages(given: Sequence[str]) -> dict[str, Path]:
    """Return the folders of --package by name."""
    folders = {}
    for each in given:
        name, equals, folder = each.partition("=")
        if not (name and equals and folder):
            raise Misuse(f"--package {each}: expected NAME=DIR, for example --package my_robot=./my_robot")
        if not Path(folder).is_dir():
            raise Misuse(f"--package {each}: there is no folder {folder}")
        folders[name] = Path(folder)
    return folders


def _say_import(found: Imported, rows: list[ImportFinding], target: Path) -> None:
    """Print the result of an import."""
    say(f"{target} is written")
    for row in rows:
        mark = {"good": "✓", "bad": "✕"}.get(row.verdict, " ")
        say(f"{mark} {row.title}: {row.text}")
    remarks = [each for each in found.remarks if each not in found.robot.left_out]
    for title, lines in (("changed", found.changes), ("to note", remarks)):
        if lines:
            say(f"{title}:")
        for line in lines:
            say(f"  {line}")
    if found.renamed:
        say("names:")
    for old, new in found.renamed.items():
        say(f"  {old} → {new}")
    say(f"to show it: linkwork model {target}; to move it: linkwork simulate {target} --duration 1")


def import_page(
    found: Imported, model: dict[str, Any], rows: list[ImportFinding], provenance: dict[str, Any]
) -> str:
    """Return the report of an import as one HTML file.

    model: as `linkwork model --json` prints it. rows: findings. provenance: where and how the import ran.
    """
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
