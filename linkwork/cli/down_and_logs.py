"""Commands on machines that `linkwork up` started: down, logs."""

from __future__ import annotations

import signal
from contextlib import closing, suppress
from typing import Final

from linkwork.cli.options.start import DownOptions, LogsOptions
from linkwork.launch.group import running_groups
from linkwork.launch.output_log import follow_output, output_folder, output_path, read_output, recorded_groups
from linkwork.protocol.endpoints import RunningProcess, running
from linkwork.protocol.errors import EndpointError, NobodyThere
from linkwork.terminal.failures import DONE, Misuse
from linkwork.terminal.output import emit, say
from linkwork.timing.children import Process

_ENDS_WITHIN_S: Final = 180.0


def down(options: DownOptions) -> int:
    """Run `linkwork down`."""
    if options.every and options.name is not None:
        raise Misuse("give a machine's name or --all, not both")
    groups = running_groups() if options.every else [_group(options.name)]
    for found in groups:
        if not end_group(found.pid):
            raise Misuse(
                f"{found.name} has not ended after {_ENDS_WITHIN_S:g} s; see `linkwork logs {found.name}`, "
                f"or end process {found.pid} with `kill -9`: plant and controller end with it"
            )
        if not options.as_json:
            say(f"{found.name} is down")
    if options.as_json:
        emit({"down": [found.name for found in groups]})
    elif not groups:
        say("no machine is up")
    return DONE


def _group(name: str | None) -> RunningProcess:
    """Return the supervisor of this machine, or the only one. Raises NobodyThere, EndpointError."""
    groups = running_groups()
    names = ", ".join(found.name for found in groups)
    chosen = [found for found in groups if name in (None, found.name)]
    if len(chosen) > 1:
        raise EndpointError(f"several machines are up: {names}; name one of them, or use --all")
    if chosen:
        return chosen[0]
    if name in [found.name for role in ("plant", "gateway") for found in running(role)]:
        raise NobodyThere(
            f"{name} was not started with `linkwork up`; press Ctrl-C in the terminals of its daemons"
        )
    there = f" (up: {names})" if names else ""
    what = "no machine" if name is None else f"no machine {name!r}"
    raise NobodyThere(f"{what} is up{there}; `linkwork up {name or 'scara'}` starts one")


def logs(options: LogsOptions) -> int:
    """Run `linkwork logs`."""
    if options.plant and options.controller:
        raise Misuse("give --plant or --controller; without either, lines of both are shown")
    if options.follow and options.as_json:
        raise Misuse("--json gives one object, which --follow would never complete")
    source = "plant" if options.plant else "controller" if options.controller else None
    path = output_path(_recorded(options.name))
    new = follow_output(path, source) if options.follow else None  # first, so that no line is missed
    try:
        found = read_output(path, source, options.lines)
    except OSError as error:
        raise Misuse(f"{path} cannot be read: {error.strerror}") from None
    if options.as_json:
        emit({"file": str(path), "lines": found})
        return DONE
    for line in found:
        say(line)
    if new is not None:
        with suppress(KeyboardInterrupt), closing(new):
            for line in new:
                say(line)
    return DONE


def _recorded(name: str | None) -> str:
    """Return a machine with output: this one, the only running one, or the only one. Raises Misuse."""
    names = recorded_groups()
    if name is not None:
        if name in names:
            return name
        there = f"there is output of {', '.join(names)}" if names else f"{output_folder()} holds none"
        raise Misuse(f"there is no output of {name!r}; {there}; `linkwork up {name}` starts a machine")
    running = [found.name for found in running_groups()]
    for chosen in (running, names):
        if len(chosen) == 1:
            return chosen[0]
    if not names:
        raise Misuse(f"{output_folder()} holds no output; `linkwork up scara` starts a machine")
    raise Misuse(f"there is output of several machines; name one of {', '.join(names)}")


def end_group(pid: int) -> bool:
    """Ask a supervisor to end, and wait; return whether it has ended."""
    try:
        process = Process(pid)
    except ProcessLookupError:
        return True
    try:
        process.send_signal(signal.SIGTERM)
        return process.wait(_ENDS_WITHIN_S)
    finally:
        process.close()
