"""Commands on plant and controller of a machine as a group: up, service, down, logs."""

import getpass
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Final

from linkwork.cli.options.start import DaemonsOptions, DownOptions, LogsOptions, ServiceOptions, UpOptions
from linkwork.controller.controller_options import ControllerOptions
from linkwork.launch.daemons import served_beside
from linkwork.launch.group import READY, Group, GroupFailed, GroupOptions, running_groups
from linkwork.launch.output_log import follow_output, output_folder, output_path, read_output, recorded_groups
from linkwork.launch.unit_files import RUNTIME_FOLDER, UnitOptions, unit_files, unit_names
from linkwork.machine import load, name_in, shipped
from linkwork.options import words_of
from linkwork.plant.plant_options import SimulatorOptions
from linkwork.protocol.codes import Pace
from linkwork.protocol.endpoints import RunningProcess, running
from linkwork.protocol.errors import EndpointError, NobodyThere
from linkwork.terminal.failures import DONE, Misuse, require, write_texts
from linkwork.terminal.output import console, emit, say
from linkwork.timing.children import Child, Process

_LOOK_S: Final = 0.05
_SERVED_WITHIN_S: Final = 60.0
_MOST_SAID: Final = 1 << 20


_ENDS_WITHIN_S: Final = 180.0


def _daemon_words(options: DaemonsOptions, machine: str) -> tuple[list[str], list[str]]:
    """Return the command lines of plant and controller as words, the machine file first."""
    if options.lockstep:  # the plant knows it by its other name
        options = replace(options, lockstep=False, pace=Pace.LOCKSTEP)
    pace = [] if options.pace is Pace.DEVICE else ["--pace", options.pace.value]
    plant = [machine, *words_of(options, SimulatorOptions), *pace]
    return plant, [machine, *words_of(options, ControllerOptions)]


def up(options: UpOptions) -> int:
    """Run `linkwork up`."""
    name = name_in(options.config) or load(options.config).name
    if options.console_too:
        require("pages of the console", "console", "nicegui")
    if options.foxglove_too:
        require("live data for Foxglove", "foxglove", "foxglove")
    if options.detach:
        return _detached(name, options)
    plant, controller = _daemon_words(options, options.config)
    group = GroupOptions(name, plant, controller, options.restart == "on-failure")
    show = _ignored if options.as_json else _shown
    try:
        with ExitStack() as stack:
            for command in _beside(options):
                stack.enter_context(served_beside(command, [name]))
            Group(group, show).run()
    except GroupFailed as failed:
        if sys.stdout.isatty() and not options.as_json:
            raise  # the daemon's own words stand above
        raise GroupFailed("\n  ".join((str(failed), *failed.said)), failed.status, failed.said) from None
    if options.as_json:
        emit({"name": name, "ended": True})
    return DONE


def _beside(options: UpOptions) -> list[str]:
    """Return the commands that serve the machine to viewers."""
    wanted = {"console": options.console_too, "foxglove": options.foxglove_too}
    return [command for command, there in wanted.items() if there]


def _shown(source: str, text: str) -> None:
    with suppress(BrokenPipeError):
        say(f"{source:<10}  {text}")


def _ignored(source: str, text: str) -> None:
    """Ignore progress: with --json nothing is shown meanwhile."""


def _detached(name: str, options: UpOptions) -> int:
    """Start a supervisor without a terminal, and wait until the machine is ready or the supervisor ends."""
    words = words_of(replace(options, detach=False, as_json=False))
    argv = [sys.executable, "-m", "linkwork", "up", *words]
    with tempfile.TemporaryFile() as errors:
        child = Child.start(argv, lifeline=False, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            with console.status(f"starting {name}"):
                found = _ready(name, child)
        except KeyboardInterrupt:
            end_group(child.pid)
            raise
        if found is None:
            return _failed(errors, child.stop(0.0), as_json=options.as_json)
        pages = {command: _address_said(errors, child, command) for command in _beside(options)}
    path = output_path(name)
    if options.as_json:
        made = {"name": name, "process": found.pid, "text": found.text, "output": str(path)}
        emit(made | {command: page for command, page in pages.items() if page is not None})
    else:
        say(f"{name} is up: {found.text}; supervisor process {found.pid}")
        for command, page in pages.items():
            if page is not None:
                say(f"{command}: {page}")
        say(f"`linkwork logs {name}` shows what the daemons print, `linkwork down {name}` ends them")
    return DONE


def _address_said(errors: IO[bytes], child: Child, command: str) -> str | None:
    """Return the address that a command beside a supervisor prints; None where it ended or says none."""
    due = time.monotonic() + _SERVED_WITHIN_S
    while child.alive and time.monotonic() < due:
        said = os.pread(errors.fileno(), _MOST_SAID, 0).decode(errors="replace")  # its end is the child's
        for line in said.splitlines():
            if line.startswith((f"{command}: http", f"{command}: ws")):
                return line.removeprefix(f"{command}: ")
        time.sleep(_LOOK_S)
    return None


def _ready(name: str, child: Child) -> RunningProcess | None:
    """Return the supervisor once its machine is ready; None when it has ended."""
    while child.alive:
        for found in running_groups():
            if (found.name, found.pid) == (name, child.pid) and found.text.startswith(READY):
                return found
        time.sleep(_LOOK_S)
    return None


def _failed(errors: IO[bytes], status: int, *, as_json: bool) -> int:
    errors.seek(0)
    text = errors.read().decode(errors="replace").strip()
    console.print(text, markup=False, style="red")
    if as_json:
        emit({"error": {"name": "NOT_STARTED", "message": text}})
    return status if status > 0 else 1


def service(options: ServiceOptions) -> None:
    """Run `linkwork service`."""
    name = load(options.config).name
    machine = options.config if options.config in shipped() else str(Path(options.config).absolute())
    account = None if options.user else getpass.getuser()
    plant, controller = _daemon_words(options, machine)
    files = unit_files(UnitOptions(name, plant, controller, Path.cwd(), account))
    paths = [str(path) for path in write_texts(options.output, files)]
    if options.as_json:
        emit({"name": name, "files": paths, "account": account})
        return
    for path in paths:
        say(path)
    unit = unit_names(name)["controller"]
    if options.user:
        say(f"install: cp {' '.join(paths)} ~/.config/systemd/user/ && systemctl --user daemon-reload")
        say(f"start now and with every login: systemctl --user enable --now {unit}")
    else:
        say(f"install: sudo cp {' '.join(paths)} /etc/systemd/system/ && sudo systemctl daemon-reload")
        say(f"start now and with every boot: sudo systemctl enable --now {unit}")
        say(f"clients, as {account}: export LINKWORK_RUNTIME_DIR={RUNTIME_FOLDER}")


def down(options: DownOptions) -> int:
    """Run `linkwork down`."""
    if options.every and options.name is not None:
        raise Misuse("give a machine's name or --all, not both")
    groups = running_groups() if options.every else [_group(options.name)]
    for group in groups:
        if not end_group(group.pid):
            raise Misuse(
                f"{group.name} has not ended after {_ENDS_WITHIN_S:g} s; see `linkwork logs {group.name}`, "
                f"or end process {group.pid} with `kill -9`: plant and controller end with it"
            )
        if not options.as_json:
            say(f"{group.name} is down")
    if options.as_json:
        emit({"down": [group.name for group in groups]})
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
