"""`linkwork rig`: rig tests on machines, their report, and the comparison of two reports."""

import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linkwork.cli.options.study import RigCompareOptions, RigIndexOptions, RigTestOptions
from linkwork.controller.configuration import configured
from linkwork.launch.daemons import stamp
from linkwork.machine import Machine, MachineError, shipped
from linkwork.protocol.errors import EndpointError
from linkwork.protocol.sockets import DeviceClient
from linkwork.rig.report.report_data import BAD, VERDICTS, RigReport
from linkwork.rig.report.report_files import ReportFiles, differences, read_report, write_index
from linkwork.rig.rig_tests import RigTests, run_all
from linkwork.rig.running import RigRun, suites
from linkwork.terminal.failures import DONE, GOAL_FAILED, Misuse
from linkwork.terminal.output import console, emit, say, table


def run_rig_tests(options: RigTestOptions) -> int:
    """Run `linkwork rig test`."""
    run = RigRun(
        paths=options.path,
        suite=options.suite or (None if options.path else "standard"),
        pace=options.pace,
        seed=options.seed,
        law=options.law,
        plant=options.plant,
        controller=options.controller,
        keyword=options.keyword,
    )
    _check(run)
    machines = _machines(
        options.config, options.all_machines, attached=bool(options.plant or options.controller)
    )
    folder = options.out or Path("linkwork-out") / f"rig-{stamp()}"
    begun = time.monotonic()
    tests = RigTests(run, machines, folder)
    try:
        done = run_all(tests, console, sys.argv[1:], lambda: time.monotonic() - begun)
        if options.out is None:
            write_index(folder.parent)
    except OSError as error:
        raise Misuse(f"{error.filename or folder}: {error.strerror}") from None
    if options.as_json:
        emit(_summary(done.report, done.written, done.status))
    else:
        _show(done.report, done.written)
    return done.status


def index(options: RigIndexOptions) -> None:
    """Run `linkwork rig index`."""
    if not options.folder.is_dir():
        raise Misuse(f"{options.folder}: no such folder of reports")
    say(f"index: {shlex.quote(str(write_index(options.folder)))}")


def compare(options: RigCompareOptions) -> int:
    """Run `linkwork rig compare`."""
    found = differences(read_report(options.one), read_report(options.other), options.tolerance)
    if options.as_json:
        emit({"same": not found, "differences": [str(each) for each in found]})
    else:
        for each in found:
            say(str(each))
        say(f"{len(found)} differences" if found else "the same")
    return GOAL_FAILED if found else DONE


def _check(run: Any) -> None:
    """Raise Misuse for arguments that pytest would reject."""
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
    if endpoint is None:
        return
    try:
        DeviceClient(endpoint).close()
    except EndpointError as error:
        raise Misuse(f"{option}: {error}") from None


def _machines(configs: Sequence[str], every: bool, *, attached: bool) -> list[tuple[str, Machine]]:
    """Return configurations with their machines. Raises Misuse, MachineError."""
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


def _summary(report: RigReport, written: ReportFiles, status: int) -> dict[str, Any]:
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


def _show(report: RigReport, written: ReportFiles) -> None:
    """Print the table of verdicts, the failures, the tests that could not run, and the report's path."""
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
