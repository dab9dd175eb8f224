"""Commands that import a robot from another description, and write a machine as one."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from linkwork.cli.connected import AsJson
from linkwork.cli.file_commands import Config
from linkwork.terminal.failures import DONE, GOAL_FAILED, Misuse, require
from linkwork.terminal.output import emit, say

if TYPE_CHECKING:
    from linkwork.convert.robots.import_report import ImportFinding
    from linkwork.convert.robots.importing import Imported

Base = Literal["fixed", "floating"]


def import_robot(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The robot: URDF, SDF, MJCF or .xacro.")],
    closures: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Its closures. Default: robot.yaml beside it, if there is one."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.yaml", help="Machine file to write; -: to the terminal. Default: NAME.yaml."
        ),
    ] = None,
    no_closures: Annotated[
        bool, typer.Option("--no-closures", help="Import the tree alone, without closures and their sheet.")
    ] = False,
    literal: Annotated[bool, typer.Option("--literal", help="Simplify nothing.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Mend inertias that no body has.")] = False,
    package: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=DIR",
            help="Folder of package://NAME/ and model://NAME/; may be repeated. Files outside the folder of "
            "FILE and these folders are not read.",
        ),
    ] = None,
    base: Annotated[
        Base | None,
        typer.Option(help="The robot stands or floats. Default: URDF stands, others as FILE says."),
    ] = None,
    effort: Annotated[
        float | None,
        typer.Option(metavar="N", min=1e-6, help="Largest effort of the motors, N m or N. Default: of FILE."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write the report as a page, too.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Processor time of a library that reads FILE.")
    ] = 5.0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing machine file.")] = False,
    as_json: AsJson = False,
) -> int:
    """Import a robot with closed loops from URDF, SDF or MJCF: write its machine file, and list findings.

    Exit status 1: the machine is written, but does not agree with FILE.
    """
    require("imports", "import", "defusedxml", "jinja2")
    from linkwork.cli.import_page import import_page
    from linkwork.convert.model_report import report
    from linkwork.convert.robots.import_report import report_rows, searched_modes
    from linkwork.convert.robots.importing import ImportOptions
    from linkwork.convert.robots.importing import import_robot as imported
    from linkwork.convert.robots.proof import prove
    from linkwork.convert.robots.robot_model import ImportProblem
    from linkwork.convert.robots.same_motion import motion_difference
    from linkwork.reports.provenance import provenance

    if no_closures and closures is not None:
        raise Misuse("give --closures or --no-closures, not both")
    begin = perf_counter()
    options = ImportOptions(
        closures,
        _packages(package or []),
        base,
        literal=literal,
        repair=repair,
        effort=effort,
        seconds=timeout,
        folder=Path() if out is None else out.parent,
        no_closures=no_closures,
    )
    try:
        found = imported(file, options)
    except ImportProblem as problem:
        raise Misuse(str(problem)) from None
    to_output = out is not None and str(out) == "-"
    target = out or Path(f"{found.machine.name}.yaml")
    if to_output:
        sys.stdout.write(found.text)
        return DONE
    if target.exists() and not overwrite:
        raise Misuse(f"{target} exists; choose another with --out, or give --overwrite")
    try:
        target.write_text(found.text, encoding="utf-8")
    except OSError as error:
        raise Misuse(f"{target} cannot be written: {error.strerror}") from None
    model = report(found.machine)
    proof = prove(found.source, timeout)
    moved = None
    if found.changes and not repair:
        moved = motion_difference(found.source, found.robot, found.machine)
    modes = searched_modes(found.machine)
    rows = report_rows(found, model, proof, moved, modes)
    if html is not None:
        _write_page(html, import_page(found, model, rows, provenance(sys.argv[1:], perf_counter() - begin)))
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
    if as_json:
        emit(summary)
    else:
        _say_import(found, rows, target)
    unexplained = not proof.complete and not found.robot.left_out
    return GOAL_FAILED if proof.agrees is False or unexplained else DONE


def _packages(given: list[str]) -> dict[str, Path]:
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


def _write_page(target: Path, text: str) -> None:
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Misuse(f"{target} cannot be written: {error.strerror}") from None


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


_ENDINGS = {"urdf": "urdf", "mjcf": "xml", "sdf": "sdf"}


def convert(
    config: Config,
    to: Annotated[Literal["urdf", "mjcf", "sdf"], typer.Option(help="The format.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File to write; -: to the terminal. Default: named as the machine."
        ),
    ] = None,
    lossy: Annotated[bool, typer.Option("--lossy", help="Leave out what the format cannot express.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
) -> None:
    """Write a machine as URDF, MJCF or SDF, with its closures; `linkwork import` reads the result back."""
    from linkwork.convert.robots.exporting import UnwritableMachine
    from linkwork.convert.robots.robot_writing import written
    from linkwork.machine import load

    machine = load(config)
    try:
        text, found = written(machine, to, None if out is None else out.parent)
    except UnwritableMachine as problem:
        raise Misuse(f"{machine.name} cannot be written as {to}: {problem}") from None
    if found.losses and not lossy:
        listed = "".join(f"\n  {loss}" for loss in found.losses)
        raise Misuse(f"{to} cannot express parts of {machine.name}; --lossy leaves them out:{listed}")
    if out is not None and str(out) == "-":
        sys.stdout.write(text)
        return
    target = out or Path(f"{machine.name}.{_ENDINGS[to]}")
    if target.exists() and not overwrite:
        raise Misuse(f"{target} exists; choose another with --out, or give --overwrite")
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Misuse(f"{target} cannot be written: {error.strerror}") from None
    say(f"{target} is written")
    for loss in found.losses:
        say(f"  left out: {loss}")
    for note in found.notes:
        say(f"  {note}")
