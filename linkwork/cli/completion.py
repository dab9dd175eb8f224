"""Completion of commands and options by the shell."""

import os
from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class, shell_complete

from linkwork.cli.app import VARIABLE
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import say

PROGRAM: Final = "linkwork"
_READ_BY: Final = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/completions/linkwork.fish"}
"""File in the home folder that each shell reads."""


def complete(command: click.Command) -> int:
    """Answer the shell, which asks for completions in the environment; return the exit status."""
    return shell_complete(command, {}, PROGRAM, VARIABLE, os.environ[VARIABLE])


def _script(ctx: click.Context) -> tuple[str, str]:
    """Return the current shell, and the script that makes it complete. Raises Misuse for an unknown shell."""
    shell = Path(os.environ.get("SHELL", "bash")).name
    kind = get_completion_class(shell)
    if kind is None or shell not in _READ_BY:
        raise Misuse(f"there is no completion for the shell {shell!r}; $SHELL may be {', '.join(_READ_BY)}")
    return shell, kind(ctx.command, {}, PROGRAM, VARIABLE).source()


def show(ctx: click.Context) -> None:
    """Print the script."""
    say(_script(ctx)[1])


def install(ctx: click.Context) -> None:
    """Write the script to the file that the shell reads, once."""
    shell, script = _script(ctx)
    path = Path.home() / _READ_BY[shell]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") if path.exists() and shell != "fish" else ""
        if script not in before:
            path.write_text(f"{before}\n{script}" if before else script, encoding="utf-8")
    except OSError as error:
        raise Misuse(f"{path} cannot be written: {error.strerror}") from None
    say(f"{shell} completion is installed in {path}; it works in new terminals")
