"""`linkwork driver` and `linkwork conformance`: check that a driver or a controller keeps its contract."""

from typing import Any

from linkwork.cli.options.files import CheckControllerOptions, CheckDriverOptions
from linkwork.diagnostics.conformance.driver_check import DriverCheck, MovingExamination
from linkwork.diagnostics.conformance.exercises import ControllerExercises
from linkwork.machine import load
from linkwork.plant.drivers.driver import Setup, find_driver, read_options
from linkwork.plant.drivers.findings import ExerciseVerdict, Finding
from linkwork.protocol.endpoints import MachineEndpoints, claim
from linkwork.terminal.failures import DONE, GOAL_FAILED, Misuse
from linkwork.terminal.output import console, emit


def check(options: CheckDriverOptions) -> int:
    """Run `linkwork driver check`."""
    if options.move and options.config is None:
        raise Misuse("--move needs --config: the machine file defines safe efforts")
    kind, settings = find_driver(options.name), read_options(list(options.driver_set))
    machine = None if options.config is None else load(options.config)
    setup = Setup(settings, period_s=0.002)
    if machine is not None:
        setup = Setup.for_machine(machine, settings)
    found: list[Finding] = []
    for finding in DriverCheck(kind, setup).findings():
        found.append(show(finding, as_json=options.as_json))
    failed = any(finding.verdict is ExerciseVerdict.FAILED for finding in found)
    if options.move and machine is not None and not failed:
        for finding in MovingExamination(kind, setup).for_machine(machine).moves():
            found.append(show(finding, as_json=options.as_json))
    return sum_up(found, {"driver": options.name, "moved": options.move}, as_json=options.as_json)


def show(finding: Finding, *, as_json: bool) -> Finding:
    """Print the result of an exercise; return it."""
    if not as_json:
        colour = {"failed": "red", "warning": "yellow", "passed": "green"}.get(finding.verdict, "dim")
        text = f": {finding.text}" if finding.text else ""
        console.print(f"{finding.verdict:<8}", style=colour, end="")
        console.print(f"{finding.name}{text}", markup=False)
    return finding


def sum_up(found: list[Finding], about: dict[str, Any], *, as_json: bool) -> int:
    """Print the end of a check, and return the exit status.

    found: results of its exercises. about: keys that --json adds.
    """
    failed = sum(finding.verdict == "failed" for finding in found)
    if as_json:
        rows = [{"name": each.name, "verdict": str(each.verdict), "text": each.text} for each in found]
        emit({**about, "passed": not failed, "findings": rows})
    else:
        console.print(f"{failed} of {len(found)} exercises failed" if failed else "nothing failed")
    return GOAL_FAILED if failed else DONE


def controller(options: CheckControllerOptions) -> int:
    """Run `linkwork conformance controller`."""
    from contextlib import nullcontext

    machine = load(options.config)
    seat = MachineEndpoints.named(machine.name)
    held = nullcontext() if options.endpoint else claim(seat.folder, "plant", f"examiner at {seat.plant}")
    with held:
        examined = ControllerExercises(machine, options.endpoint or seat.plant, options.command)
        found = [show(finding, as_json=options.as_json) for finding in examined.findings()]
    return sum_up(found, {"machine": machine.name}, as_json=options.as_json)
