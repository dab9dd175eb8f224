"""The command that writes a machine in the format of another program."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from linkwork.cli.file_commands import Config
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import say

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
