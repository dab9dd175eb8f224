"""Commands for a machine's daemons as a group: up, down, logs, service; options of the daemons."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Final, get_type_hints

import typer

from linkwork.cli.choices import RestartChoice
from linkwork.cli.connected import AsJson
from linkwork.cli.console_command import require_console
from linkwork.controller.__main__ import PaceChoice, controller
from linkwork.plant.__main__ import plant
from linkwork.terminal.failures import DONE, Misuse
from linkwork.terminal.output import console, emit, say

if TYPE_CHECKING:
    from linkwork.protocol.endpoints import RunningProcess
    from linkwork.timing.children import Child

Config = Annotated[
    str, typer.Argument(metavar="MACHINE", help="Machine file, or the name of one of linkwork's.")
]
Name = Annotated[str | None, typer.Argument(metavar="NAME", help="Which machine, where several are up.")]
_LOOK_S = 0.05
_ENDS_WITHIN_S = 180.0
_CONSOLE_WITHIN_S, _MOST_SAID = 60.0, 1 << 20
_BOTH: Final = ("realtime", "cpu")
_PLANT: Final = ("plant_set", "driver", "driver_set", "seed", "truth", "faults", "inject")
_CONTROLLER: Final = (
    "pace", "lockstep", "law", "log", "no_log", "twin", "telemetry", "endpoint", "keys", "allowed",
)  # fmt: skip


@dataclass(frozen=True)
class DaemonWords:
    """Arguments of the daemons, the machine file first; `given`: the options once, as they were given."""

    plant: list[str]
    controller: list[str]
    given: list[str]


def with_daemon_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the daemons to a command.

    The function's first two parameters are the machine file and the `DaemonWords`; the command line gets the
    options in place of the second.
    """
    hints = get_type_hints(function, include_extras=True)
    config, _, *own = inspect.signature(function).parameters.values()
    shared = _options()
    parameters = [each.replace(annotation=hints[each.name]) for each in (config, *own)]
    parameters += [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in shared.values()]

    def command(**given: Any) -> Any:
        options = {name: given.pop(name) for name in shared}
        machine = given.pop(config.name)
        return function(machine, _words(machine, options), **given)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _options() -> dict[str, inspect.Parameter]:
    found: dict[str, inspect.Parameter] = {}
    for daemon, names in ((controller, (*_BOTH, *_CONTROLLER)), (plant, _PLANT)):
        hints = get_type_hints(daemon, include_extras=True)
        parameters = inspect.signature(daemon).parameters
        found |= {name: parameters[name].replace(annotation=hints[name]) for name in names}
    return found


def _words(machine: str, options: dict[str, Any]) -> DaemonWords:
    if options["lockstep"]:  # the plant knows it by its other name
        options = {**options, "lockstep": False, "pace": PaceChoice.LOCKSTEP}
    defaults = {name: parameter.default for name, parameter in _options().items()}
    words = {name: _as_words(name, value) for name, value in options.items() if value != defaults[name]}

    def chosen(names: Sequence[str]) -> list[str]:
        return [machine, *(word for name in names for word in words.get(name, ()))]

    return DaemonWords(
        chosen((*_BOTH, "pace", *_PLANT)),
        chosen((*_BOTH, *_CONTROLLER)),
        chosen((*_BOTH, *_CONTROLLER, *_PLANT)),
    )


def _as_words(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if value is True:
        return [flag]
    if isinstance(value, list):
        return [word for each in value for word in (flag, each)]
    if isinstance(value, Enum):
        return [flag, str(value.value)]
    return [flag, str(value.absolute() if isinstance(value, Path) else value)]


@with_daemon_options
def up(
    config: Config,
    words: DaemonWords,
    detach: Annotated[
        bool,
        typer.Option("--detach", "-d", help="Return when the machine is ready; `linkwork down` ends it."),
    ] = False,
    restart: Annotated[
        RestartChoice, typer.Option(help="Start a daemon again when it has crashed, or end both.")
    ] = RestartChoice.ON_FAILURE,
    console_too: Annotated[
        bool, typer.Option("--console", help="Serve `linkwork console` for it, too, until it is down.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Start plant and controller of a machine together, and supervise them until Ctrl-C or `linkwork down`.

    The machine starts braked. A daemon that crashes is reported and restarted; the machine is never enabled
    automatically. Ctrl-C stops the machine on its path, disables it and ends both daemons; a second Ctrl-C
    brakes at once.
    """
    name = _machine_name(config)
    if console_too:
        require_console()
    if detach:
        more = ["--console"] if console_too else []
        return _detached(name, [*words.given, "--restart", restart.value, *more], as_json=as_json)
    from linkwork.launch.console_process import console_beside
    from linkwork.launch.group import Group, GroupFailed, GroupOptions

    options = GroupOptions(name, words.plant, words.controller, restart is RestartChoice.ON_FAILURE)
    show = _ignored if as_json else _shown
    try:
        with console_beside([name]) if console_too else nullcontext():
            Group(options, show).run()
    except GroupFailed as failed:
        if sys.stdout.isatty() and not as_json:
            raise  # the daemon's own words stand above
        raise GroupFailed("\n  ".join((str(failed), *failed.said)), failed.status, failed.said) from None
    if as_json:
        emit({"name": name, "ended": True})
    return DONE


def _machine_name(config: str) -> str:
    """Return the name in a machine file. Raises MachineError."""
    from linkwork.machine import load, name_in

    return name_in(config) or load(config).name


def _shown(source: str, text: str) -> None:
    with suppress(BrokenPipeError):
        say(f"{source:<10}  {text}")


def _ignored(source: str, text: str) -> None:
    """Ignore progress: with --json nothing is shown meanwhile."""


def _detached(name: str, words: list[str], *, as_json: bool) -> int:
    """Start a supervisor without a terminal, and wait until the machine is ready or the supervisor ends."""
    from linkwork.launch.output_log import output_path
    from linkwork.timing.children import Child

    argv = [sys.executable, "-m", "linkwork", "up", *words]
    with tempfile.TemporaryFile() as errors:
        child = Child.start(argv, lifeline=False, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            with console.status(f"starting {name}"):
                found = _ready(name, child)
        except KeyboardInterrupt:
            _end(child.pid)
            raise
        if found is None:
            return _failed(errors, child.stop(0.0), as_json=as_json)
        page = _console_address(errors, child) if "--console" in words else None
    path = output_path(name)
    if as_json:
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
    from linkwork.launch.group import READY, running_groups

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


def down(
    name: Name = None,
    every: Annotated[bool, typer.Option("--all", help="Every machine that is up.")] = False,
    as_json: AsJson = False,
) -> int:
    """End machines that `linkwork up` started: each is stopped on its path and disabled first.

    Ctrl-C ends the waiting, not the shutdown of the machine.
    """
    from linkwork.launch.group import running_groups

    if every and name is not None:
        raise Misuse("give a machine's name or --all, not both")
    groups = running_groups() if every else [_group(name)]
    for found in groups:
        if not _end(found.pid):
            raise Misuse(
                f"{found.name} has not ended after {_ENDS_WITHIN_S:g} s; see `linkwork logs {found.name}`, "
                f"or end process {found.pid} with `kill -9`: plant and controller end with it"
            )
        if not as_json:
            say(f"{found.name} is down")
    if as_json:
        emit({"down": [found.name for found in groups]})
    elif not groups:
        say("no machine is up")
    return DONE


def _group(name: str | None) -> RunningProcess:
    """Return the supervisor of this machine, or the only one. Raises NobodyThere, EndpointError."""
    from linkwork.launch.group import running_groups
    from linkwork.protocol.endpoints import running
    from linkwork.protocol.errors import EndpointError, NobodyThere

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


def _end(pid: int) -> bool:
    """Ask a supervisor to end, and wait; return whether it has ended."""
    import signal

    from linkwork.timing.children import Process

    try:
        process = Process(pid)
    except ProcessLookupError:
        return True
    try:
        process.send_signal(signal.SIGTERM)
        return process.wait(_ENDS_WITHIN_S)
    finally:
        process.close()


def logs(
    name: Name = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Continue with new lines until Ctrl-C.")
    ] = False,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=0, metavar="N", help="Last lines to show.")
    ] = 100,
    plant: Annotated[bool, typer.Option("--plant", help="Only the output of the plant.")] = False,
    controller: Annotated[
        bool, typer.Option("--controller", help="Only the output of the controller.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show the output of the daemons of `linkwork up`, with the time in UTC; also after they have ended."""
    from linkwork.launch.output_log import follow_output, output_path, read_output

    if plant and controller:
        raise Misuse("give --plant or --controller; without either, lines of both are shown")
    if follow and as_json:
        raise Misuse("--json gives one object, which --follow would never complete")
    source = "plant" if plant else "controller" if controller else None
    path = output_path(_recorded(name))
    new = follow_output(path, source) if follow else None  # first, so that no line is missed
    try:
        found = read_output(path, source, lines)
    except OSError as error:
        raise Misuse(f"{path} cannot be read: {error.strerror}") from None
    if as_json:
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
    from linkwork.launch.group import running_groups
    from linkwork.launch.output_log import output_folder, recorded_groups

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


@with_daemon_options
def service(
    config: Annotated[
        str, typer.Argument(metavar="MACHINE", help="Machine file, or the name of one of linkwork's.")
    ],
    words: DaemonWords,
    user: Annotated[
        bool,
        typer.Option("--user", help="For your own systemd (systemctl --user) instead of the computer's."),
    ] = False,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write the two files.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Write systemd units for plant and controller of a machine, and print how to install them.

    The services report readiness, are restarted when they crash or hang, and always start braked. The other
    options are passed to the daemons.
    """
    import getpass

    from linkwork.launch.unit_files import RUNTIME_FOLDER, UnitOptions, unit_files, unit_names
    from linkwork.machine import load, shipped

    name = load(config).name
    machine = config if config in shipped() else str(Path(config).absolute())
    account = None if user else getpass.getuser()
    plant, controller = ([machine, *each[1:]] for each in (words.plant, words.controller))
    files = unit_files(UnitOptions(name, plant, controller, Path.cwd(), account))
    try:
        output.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (output / file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Misuse(f"{error.filename or output} cannot be written: {error.strerror}") from None
    paths = [str(output / file) for file in files]
    if as_json:
        emit({"name": name, "files": paths, "account": account})
        return
    for path in paths:
        say(path)
    unit = unit_names(name)["controller"]
    if user:
        say(f"install: cp {' '.join(paths)} ~/.config/systemd/user/ && systemctl --user daemon-reload")
        say(f"start now and with every login: systemctl --user enable --now {unit}")
    else:
        say(f"install: sudo cp {' '.join(paths)} /etc/systemd/system/ && sudo systemctl daemon-reload")
        say(f"start now and with every boot: sudo systemctl enable --now {unit}")
        say(f"clients, as {account}: export LINKWORK_RUNTIME_DIR={RUNTIME_FOLDER}")
