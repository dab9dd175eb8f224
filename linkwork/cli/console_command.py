"""The command `console`: a page in the browser that shows a machine and moves it, or plays a recording."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwork.cli.connected import ControllerConnection, connected
from linkwork.terminal.failures import DONE, Misuse, require
from linkwork.terminal.output import emit, say

if TYPE_CHECKING:
    from linkwork.console.console_server import Served


@connected
def console(
    link: ControllerConnection,
    machine: Annotated[
        str | None,
        typer.Argument(
            metavar="MACHINE|FILE.mcap", help="A running machine, as --robot; or a recording, or a log."
        ),
    ] = None,
    beside: Annotated[
        Path | None,
        typer.Option("--beside", metavar="FILE.mcap", help="Compare the recording with this one."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Port of the page.", show_default="8720, or a free one"),
    ] = None,
    observe: Annotated[bool, typer.Option("--observe", help="Show the machine only; STOP stays.")] = False,
    host: Annotated[
        str, typer.Option(help="Address to serve at; beyond this computer with a password and TLS only.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="HOST", help="Further name by which browsers reach this computer."),
    ] = None,
    password_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with the password.")
    ] = None,
    certificate: Annotated[Path | None, typer.Option(metavar="FILE", help="TLS certificate, PEM.")] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its key, PEM.")] = None,
    lifeline: Annotated[bool, typer.Option("--lifeline", hidden=True)] = False,
) -> int:
    """Show a machine in the browser, and move it; or play a recording. Ctrl-C ends it.

    It prints the address of the page, which has a random token and is served to this computer only. Ending
    the console stops a jog, and nothing else. A recording or a log needs no controller.
    """
    require_console()
    from linkwork.console.console_server import ServerOptions, check, serve

    options = ServerOptions(host, port, tuple(name or ()), password_file, certificate, key, lifeline)
    check(options)

    def ready(url: str) -> None:
        if link.as_json:
            emit({"address": url})
        else:
            say(f"console: {url}")

    if machine is not None and Path(machine).suffix == ".mcap":
        service, page = _of_recordings(Path(machine), beside)
    elif beside is not None:
        raise Misuse("--beside compares two recordings: give the first one as FILE.mcap")
    else:
        service, page = _of_machine(link, machine, observe_only=observe)
    serve(service, page, options, ready)
    return DONE


def require_console() -> None:
    """Raise Misuse where the console's packages are not installed."""
    require("pages of the console", "console", "nicegui")


def _of_machine(
    link: ControllerConnection, machine: str | None, *, observe_only: bool
) -> tuple[Served, Callable[[], None]]:
    from linkwork.client.connection import default_owner
    from linkwork.console.console_page import build_page
    from linkwork.console.console_service import ConsoleService
    from linkwork.console.machine_feed import Address

    address = Address(machine or link.robot_name, link.endpoint, link.client_keys)
    owner = link.owner or f"{default_owner()[:48]}/console-{os.getpid()}"  # each console has its own lease
    service = ConsoleService(address, owner, observe_only=observe_only)
    return service, lambda: build_page(service)


def _of_recordings(file: Path, beside: Path | None) -> tuple[Served, Callable[[], None]]:
    """Raises Misuse for files that cannot be played."""
    from linkwork.console.recorded_motion import RecordedMotion
    from linkwork.console.recording_page import build_recording_page
    from linkwork.console.recording_service import RecordingService
    from linkwork.machine.problems import MachineError
    from linkwork.recordings.recording import NoRecording

    def read(path: Path) -> RecordedMotion:
        try:
            return RecordedMotion(path)
        except NoRecording as error:
            raise Misuse(str(error)) from None
        except MachineError as error:
            raise Misuse(f"the machine file in {path} does not suit this linkwork: {error}") from None
        except OSError as error:
            raise Misuse(f"{path} cannot be read: {error.strerror}") from None

    service = RecordingService(read(file), None if beside is None else read(beside))
    return service, lambda: build_recording_page(service)
