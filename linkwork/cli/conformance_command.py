"""`linkwork conformance`: test another program's end of the device link."""

from __future__ import annotations

from typing import Annotated

import typer

from linkwork.cli.connected import AsJson
from linkwork.cli.driver_commands import show, sum_up
from linkwork.cli.file_commands import Config

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
