"""`linkwork` and `python -m linkwork`: the only file of this room that reads the command line."""

import os
import sys
from collections.abc import Sequence

from linkwork.cli.app import DAEMONS, VARIABLE, build
from linkwork.command_line import CommandLineError, call, imported
from linkwork.terminal.failures import Misuse, run


def main() -> None:
    """Run the command and end the process with its exit status."""
    words = sys.argv[1:]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # on a loaded computer its threads wait for each other
    as_json = "--json" in words and words[0] not in DAEMONS
    status = run(lambda: run_command(words), as_json=as_json)
    sys.stdout.flush()
    sys.exit(status)


def run_command(words: Sequence[str]) -> int:
    """Read a command line and run its command; return the exit status. Raises Misuse and its errors."""
    command = build()
    if VARIABLE in os.environ:
        status: int = imported("cli.completion:complete")(command)
        return status
    try:
        return call(command, words, "linkwork")
    except CommandLineError as error:
        raise Misuse(str(error)) from None


if __name__ == "__main__":
    main()
