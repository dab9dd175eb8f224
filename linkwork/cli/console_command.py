"""The command `console`: a page in the browser that shows a machine and moves it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from linkwork.cli.connected import ControllerConnection, connected
from linkwork.terminal.failures import DONE, Misuse
from linkwork.terminal.output import emit, say


@connected
def console(
    link: ControllerConnection,
    machine: Annotated[
        str | None, typer.Argument(metavar="[MACHINE]", help="Name of a running machine; as --robot.")
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
    """Show a machine in the browser, and move it: prints the address of the page. Ctrl-C ends it.

    The page is served to this computer only, under an address with a random token. Ending the console stops a
    jog, and nothing else.
    """
    if find_spec("nicegui") is None:
        raise Misuse("the console needs its extra: pip install 'linkwork[console]'")
    from linkwork.console.console_server import ServerOptions, check, serve
    from linkwork.console.machine_feed import Address

    options = ServerOptions(
        host, port, tuple(name or ()), password_file, certificate, key, observe, link.owner, lifeline
    )
    check(options)
    address = Address(machine or link.robot_name, link.endpoint, link.client_keys)

    def ready(url: str) -> None:
        if link.as_json:
            emit({"address": url})
        else:
            say(f"console: {url}")

    serve(address, options, ready)
    return DONE
