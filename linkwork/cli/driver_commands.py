"""`linkwork driver` and `linkwork conformance`: check that a driver or a controller keeps its contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.connected import AsJson
from linkwork.cli.file_commands import Config
from linkwork.terminal.failures import DONE, GOAL_FAILED, Misuse
from linkwork.terminal.output import console, emit

if TYPE_CHECKING:
    from linkwork.plant.drivers.findings import Finding

driver = typer.Typer(no_args_is_help=True, help="Hardware drivers, which replace the simulated plant.")


@driver.callback()
def drivers() -> None:
    """Hardware drivers, which replace the simulated plant."""


@driver.command()
def check(
    name: Annotated[
        str, typer.Argument(metavar="MODULE:CLASS", help="The driver: package.module:Class, or udp.")
    ],
    config: Annotated[
        str | None, typer.Option(help="Machine file, for its section `driver` and its size.")
    ] = None,
    driver_set: Annotated[
        list[str] | None,
        typer.Option("--driver-set", metavar="KEY=VALUE", help="An option of the driver: port=5800."),
    ] = None,
    move: Annotated[
        bool, typer.Option("--move", help="Also move each motor slightly. Needs --config and free space.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Test a driver with its device, braked: nothing moves without --move.

    Exit status: 0 nothing failed, 1 something did, 2 wrong usage or file.
    """
    from linkwork.machine import load
    from linkwork.plant.drivers.checking import Examination
    from linkwork.plant.drivers.driver import Setup
    from linkwork.plant.drivers.finding import NoDriver, find_driver, read_options
    from linkwork.plant.drivers.findings import ExerciseVerdict
    from linkwork.plant.drivers.moving import MovingExamination

    if move and config is None:
        raise Misuse("--move needs --config: the machine file defines safe efforts")
    try:
        kind, options = find_driver(name), read_options(driver_set or [])
    except NoDriver as error:
        raise Misuse(str(error)) from None
    machine = None if config is None else load(config)
    setup = Setup(options, period_s=0.002)
    if machine is not None:
        setup = Setup.for_machine(machine, options)

    found: list[Finding] = []
    for finding in Examination(kind, setup).findings():
        found.append(show(finding, as_json=as_json))
    failed = any(finding.verdict is ExerciseVerdict.FAILED for finding in found)
    if move and machine is not None and not failed:
        for finding in MovingExamination(kind, setup).for_machine(machine).moves():
            found.append(show(finding, as_json=as_json))
    return sum_up(found, {"driver": name, "moved": move}, as_json=as_json)


def show(finding: Finding, *, as_json: bool) -> Finding:
    """Print the result of an exercise; return it."""
    if not as_json:
        colour = {"failed": "red", "warning": "yellow", "passed": "green"}.get(finding.verdict, "dim")
        text = f": {finding.text}" if finding.text else ""
        console.print(f"{finding.verdict:<8}", style=colour, end="")
        console.print(f"{finding.name}{text}", markup=False)
    return finding


def sum_up(found: list[Finding], about: dict[str, Any], *, as_json: bool) -> int:
    """Print the end of a check, and return the exit status."""
    failed = sum(finding.verdict == "failed" for finding in found)
    if as_json:
        rows = [{"name": each.name, "verdict": str(each.verdict), "text": each.text} for each in found]
        emit({**about, "passed": not failed, "findings": rows})
    else:
        console.print(f"{failed} of {len(found)} exercises failed" if failed else "nothing failed")
    return GOAL_FAILED if failed else DONE


conformance = typer.Typer(no_args_is_help=True, help="Test whether your own programs follow the protocol.")


@conformance.callback()
def suites() -> None:
    """Test whether your own programs follow the protocol."""


@conformance.command()
def controller(
    config: Config,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COMMAND...", help="After --: the controller; {endpoint}, {interface} are replaced."
        ),
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(help="Endpoint to listen on in the plant's place. Default: in the runtime folder."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Take the plant's place and test the controller that connects.

    Exit status: 0 nothing failed, 1 something did, 2 wrong usage or file.
    """
    from contextlib import nullcontext

    from linkwork.diagnostics.conformance.exercises import ControllerExamination
    from linkwork.machine import load
    from linkwork.protocol.endpoints import MachineEndpoints, claim

    machine = load(config)
    seat = MachineEndpoints.named(machine.name)
    held = nullcontext() if endpoint else claim(seat.folder, "plant", f"examiner at {seat.plant}")
    with held:
        examined = ControllerExamination(machine, endpoint or seat.plant, command or ())
        found = [show(finding, as_json=as_json) for finding in examined.findings()]
    return sum_up(found, {"machine": machine.name}, as_json=as_json)
