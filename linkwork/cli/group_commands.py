"""Commands that start plant and controller of a machine as a group: up, service."""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Final

from linkwork.cli.down_and_logs import end_group
from linkwork.cli.options.start import DaemonsOptions, ServiceOptions, UpOptions
from linkwork.controller.controller_options import ControllerOptions
from linkwork.launch.console_process import console_beside
from linkwork.launch.group import READY, Group, GroupFailed, GroupOptions, running_groups
from linkwork.launch.output_log import output_path
from linkwork.launch.unit_files import RUNTIME_FOLDER, UnitOptions, unit_files, unit_names
from linkwork.machine import load, name_in, shipped
from linkwork.options import words_of
from linkwork.plant.plant_options import SimulatorOptions
from linkwork.protocol.codes import Pace
from linkwork.protocol.endpoints import RunningProcess
from linkwork.terminal.failures import DONE, require, write_texts
from linkwork.terminal.output import console, emit, say
from linkwork.timing.children import Child

_LOOK_S: Final = 0.05
_CONSOLE_WITHIN_S: Final = 60.0
_MOST_SAID: Final = 1 << 20


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
    if options.detach:
        return _detached(name, options)
    plant, controller = _daemon_words(options, options.config)
    group = GroupOptions(name, plant, controller, options.restart == "on-failure")
    show = _ignored if options.as_json else _shown
    try:
        with console_beside([name]) if options.console_too else nullcontext():
            Group(group, show).run()
    except GroupFailed as failed:
        if sys.stdout.isatty() and not options.as_json:
            raise  # the daemon's own words stand above
        raise GroupFailed("\n  ".join((str(failed), *failed.said)), failed.status, failed.said) from None
    if options.as_json:
        emit({"name": name, "ended": True})
    return DONE


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
        page = _console_address(errors, child) if options.console_too else None
    path = output_path(name)
    if options.as_json:
        made = {"name": name, "process": found.pid, "text": found.text, "output": str(path)}
        emit(made if page is None else {**made, "console": page})
    else:
        say(f"{name} is up: {found.text}; supervisor process {found.pid}")
        if page is not None:
            say(f"console: {page}")
        say(f"`linkwork logs {name}` shows what the daemons print, `linkwork down {name}` ends them")
    return DONE


def _console_address(errors: IO[bytes], child: Child) -> str | None:
    """Return the address that the console beside a supervisor prints; None where it ended or says none."""
    due = time.monotonic() + _CONSOLE_WITHIN_S
    while child.alive and time.monotonic() < due:
        said = os.pread(errors.fileno(), _MOST_SAID, 0).decode(errors="replace")  # its end is the child's
        for line in said.splitlines():
            if line.startswith("console: http"):
                return line.removeprefix("console: ")
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
