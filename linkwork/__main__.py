"""`linkwork` and `python -m linkwork`: the only file of this room that reads the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

_DAEMONS = ("plant", "controller")


def main() -> None:
    """Run the command and end the process with its exit status."""
    words = sys.argv[1:]
    if words[:1] and words[0] in _DAEMONS:
        from linkwork.timing.realtime import single_threaded_blas

        single_threaded_blas()  # a daemon's linear algebra stays in its own thread; before numpy is imported
    from linkwork.terminal.failures import run

    as_json = "--json" in words and words[0] not in _DAEMONS
    status = run(_command, as_json=as_json)
    sys.stdout.flush()
    sys.exit(status)


def _command() -> int:
    from linkwork.cli.app import build, plain_call

    call = plain_call(sys.argv[1:])
    if call is not None:
        return int(call() or 0)
    return run_app(build(*sys.argv[1:2]))


def run_app(app: Callable[..., object]) -> int:
    """Return the exit status of a typer application. Raises Misuse, KeyboardInterrupt and its errors."""
    import typer

    from linkwork.terminal.failures import Misuse

    try:
        status: Any = app(prog_name="linkwork", standalone_mode=False)
        return int(status or 0)
    except typer.Abort as abort:  # of an interrupt, and of every EOFError
        if isinstance(abort.__cause__, EOFError):
            raise abort.__cause__ from None
        raise KeyboardInterrupt from None
    except Exception as error:
        # typer's own click or the library's, depending on the version: only their common part is used
        if not (hasattr(error, "format_message") and hasattr(error, "ctx")):
            raise
        context = error.ctx
        usage = f"{context.get_usage()}\n" if context is not None else ""
        known = ""
        if "No such command" in error.format_message() and hasattr(
            getattr(context, "command", None), "commands"
        ):
            known = f" There are: {', '.join(context.command.list_commands(context))}"
        raise Misuse(usage + error.format_message() + known) from None


if __name__ == "__main__":
    main()
