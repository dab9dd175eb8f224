"""`linkwork rig`: rig tests on machines, their report, and the comparison of two reports."""

from __future__ import annotations

import shlex
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.connected import AsJson
from linkwork.protocol.laws import MotionLawName
from linkwork.terminal.failures import DONE, GOAL_FAILED, Misuse, require
from linkwork.terminal.output import console, emit, say, table

if TYPE_CHECKING:
    from linkwork.machine import Machine
    from linkwork.rig.report.report_data import RigReport
    from linkwork.rig.report.report_files import Written

rig = typer.Typer(no_args_is_help=True, help="Tests of a machine with its controller and plant.")


class RigPace(StrEnum):
    """Clocks of a rig test."""

    LOCKSTEP = "lockstep"
    DEVICE = "device"
    HOST = "host"


@rig.callback()
def commands() -> None:
    """Tests of a machine with its controller and plant."""


@rig.command(name="test")
def run_rig_tests(
    path: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH...", help="Test files, folders, FILE::TEST. Default: the suite."),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--rig", metavar="MACHINE", help="Machine file, or the name of one of linkwork's; repeatable."
        ),
    ] = None,
    all_machines: Annotated[
        bool, typer.Option("--all-machines", help="Every machine of linkwork that has motors.")
    ] = False,
    suite: Annotated[
        str | None, typer.Option(metavar="NAME", help="Suite of linkwork. Default, without PATH: standard.")
    ] = None,
    pace: Annotated[
        RigPace, typer.Option(help="Pace: lockstep (no clock), or the clock of the plant or the controller.")
    ] = RigPace.LOCKSTEP,
    seed: Annotated[int, typer.Option(min=0, help="Seed of noise and injected faults.")] = 0,
    law: Annotated[
        MotionLawName | None, typer.Option(help="Law of motion. Default: the machine file's.")
    ] = None,
    plant: Annotated[
        str | None, typer.Option(metavar="ENDPOINT", help="Endpoint of a running plant. Default: start one.")
    ] = None,
    controller: Annotated[
        str | None,
        typer.Option(metavar="ENDPOINT", help="Endpoint of a running controller. Default: start one."),
    ] = None,
    keyword: Annotated[
        str | None, typer.Option("-k", metavar="EXPR", help="Only tests whose names match, as pytest's -k.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the report. Default: a new one in linkwork-out."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Run rig tests on machines, one after another; write report.html, junit.xml and report.json.

    Exit status: 0 all passed, 1 some did not, 2 wrong usage or file, 3 refused, 4 no daemon.
    """
    require("rig tests", "rig", "pytest", "jinja2")
    from linkwork.launch.daemons import stamp
    from linkwork.rig.report.report_files import write_index
    from linkwork.rig.rig_tests import RigTests, run_all
    from linkwork.rig.running import RigRun

    run = RigRun(
        paths=tuple(path or ()),
        suite=suite or (None if path else "standard"),
        pace=pace.value,
        seed=seed,
        law=law,
        plant=plant,
        controller=controller,
        keyword=keyword,
    )
    _check(run)
    machines = _machines(config or [], all_machines, attached=bool(plant or controller))
    folder = out or Path("linkwork-out") / f"rig-{stamp()}"
    begun = time.monotonic()
    tests = RigTests(run, machines, folder)
    try:
        done = run_all(tests, console, sys.argv[1:], lambda: time.monotonic() - begun)
        if out is None:
            write_index(folder.parent)
    except OSError as error:
        raise Misuse(f"{error.filename or folder}: {error.strerror}") from None
    if as_json:
        emit(_summary(done.report, done.written, done.status))
    else:
        _show(done.report, done.written)
    return done.status


@rig.command()
def index(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the reports.")] = Path(
        "linkwork-out"
    ),
) -> None:
    """Write index.html in a folder: a page that lists all reports of rig tests below it, newest first."""
    require("reports of rig tests", "rig", "jinja2")
    from linkwork.rig.report.report_files import write_index

    if not folder.is_dir():
        raise Misuse(f"{folder}: no such folder of reports")
    say(f"index: {shlex.quote(str(write_index(folder)))}")


@rig.command()
def compare(
    one: Annotated[Path, typer.Argument(metavar="A.json", help="A report.json.")],
    other: Annotated[Path, typer.Argument(metavar="B.json", help="Another one.")],
    tolerance: Annotated[float, typer.Option(min=0.0, help="Relative tolerance for numbers; 0: none.")] = 0.0,
    as_json: AsJson = False,
) -> int:
    """Print the differences between two reports: verdicts, numbers and faults, not place and date.

    Exit status: 0 no difference, 1 differences, 2 wrong usage or file.
    """
    from linkwork.rig.report.compare import NoReport, differences, read_report

    try:
        found = differences(read_report(one), read_report(other), tolerance)
    except NoReport as error:
        raise Misuse(str(error)) from None
    if as_json:
        emit({"same": not found, "differences": [str(each) for each in found]})
    else:
        for each in found:
            say(str(each))
        say(f"{len(found)} differences" if found else "the same")
    return GOAL_FAILED if found else DONE


def _check(run: Any) -> None:
    """Raise Misuse for arguments that pytest would reject."""
    from linkwork.rig.running import suites

    if run.suite is not None and run.suite not in suites():
        raise Misuse(f"no suite {run.suite!r} ships; there are: {', '.join(suites())}")
    for path in run.paths:
        if not Path(path.partition("::")[0]).exists():
            raise Misuse(f"{path}: no such file or folder of tests")
    _check_endpoint("--plant", run.plant)
    if run.controller != "none":
        _check_endpoint("--controller", run.controller)


def _check_endpoint(option: str, endpoint: str | None) -> None:
    """Raise Misuse for an invalid endpoint."""
    from linkwork.protocol.errors import EndpointError
    from linkwork.protocol.sockets import DeviceClient

    if endpoint is None:
        return
    try:
        DeviceClient(endpoint).close()
    except EndpointError as error:
        raise Misuse(f"{option}: {error}") from None


def _machines(configs: list[str], every: bool, *, attached: bool) -> list[tuple[str, Machine]]:
    """Return configurations with their machines. Raises Misuse, MachineError."""
    from linkwork.controller.configuration import configured
    from linkwork.machine import MachineError, shipped

    if every == bool(configs):
        raise Misuse("name the machine: --rig CONFIG, once or more; or --all-machines")
    if attached and (every or len(configs) > 1):
        raise Misuse("--plant and --controller are for one machine: give one --rig")
    if not every:
        return [(config, configured(config)) for config in configs]
    found = []
    for name in shipped():
        try:
            found.append((name, configured(name)))
        except MachineError:  # a machine without motors, to be simulated only
            continue
    return found


def _summary(report: RigReport, written: Written, status: int) -> dict[str, Any]:
    return {
        "passed": report.passed,
        "status": status,
        "counts": report.counts,
        "machines": [
            {"name": each.name, "passed": each.passed, "counts": each.counts, "problem": each.problem}
            for each in report.machines
        ],
        "html": str(written.html),
        "junit": str(written.junit),
        "json": str(written.json),
    }


def _show(report: RigReport, written: Written) -> None:
    """Print the table of verdicts, the failures, the tests that could not run, and the report's path."""
    from linkwork.rig.report.report_data import BAD, VERDICTS

    shown = [name for name in VERDICTS if name == "passed" or report.counts[name]]
    rows = [[each.name, *(str(each.counts[name]) for name in shown)] for each in report.machines]
    console.print(table("rig tests", ("machine", *shown), rows))
    for machine in report.machines:
        for found in machine.tests:
            if found.verdict in BAD and found.verdict != "not run":
                console.print(f"{machine.name}: {found.node} {found.verdict}", markup=False, style="red")
                for line in found.explained:
                    console.print(f"    {line}", markup=False, highlight=False)
        if machine.problem:
            console.print(f"{machine.name}: {machine.problem}", markup=False, style="red")
        elif machine.passed and not machine.counts["passed"]:
            console.print(f"{machine.name}: every test was skipped: no result", markup=False)
    say("passed" if report.passed else "not passed")
    say(f"report: {shlex.quote(str(written.html))}")
