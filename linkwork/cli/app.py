"""The command `linkwork` put together."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import typer
from typer.main import get_command_name
from typer.models import OptionInfo

from linkwork.terminal.output import say

_PANELS: dict[str, dict[str, str]] = {
    "Start": {
        "cli.start_commands": "demo",
        "cli.group_commands": "up down logs",
        "cli.console_command": "console",
        "plant.__main__": "plant",
        "controller.__main__": "controller",
    },
    "Look": {"cli.status_commands": "status state watch describe", "cli.fault_commands": "faults"},
    "Move": {
        "cli.motion_commands": "move send jog",
        "cli.stream_command": "stream",
        "cli.teach_command": "teach",
        "cli.state_commands": ("confirm_branch speed switch set=set_outputs wait edges gain payload advance"),
    },
    "When something went wrong": {},
    "Inject faults": {"cli.inject_command": "inject"},
    "Record and replay": {"cli.recording_commands": "record replay plot export animate"},
    "Test a rig": {"cli.rig_commands": "rig"},
    "Study": {"cli.campaign_command": "campaign", "cli.tune_command": "tune"},
    "Files and this computer": {
        "cli.group_commands": "service",
        "cli.file_commands": "check robots schema latency",
        "cli.import_command": "import=import_robot convert",
        "cli.model_command": "model",
        "cli.symbolic_command": "symbolic codegen",
        "cli.simulate_command": "simulate",
        "cli.key_commands": "keys",
        "cli.driver_commands": "driver conformance",
        "cli.kernels_command": "build_kernels",
    },
}
"""Panels: module → its commands, `command=function` where the names differ. Only what runs is imported."""
_EXAMPLES = """
demo NAME --console; demo NAME --lockstep --json; up scara --detach; down scara; logs scara --follow
console; console run.mcap --beside earlier.mcap; plant scara --inject; controller scara --telemetry tcp://127.0.0.1:9872
status --json; state --all; watch --for 10; describe --json; faults; faults show 1 --save fault.png
move shoulder_deg=30 elbow_deg=-60; move home --speed 0.2; move z=0.02 --until-force table=5
send path.yaml --approach; send path.yaml --check; jog; jog shoulder_deg_s=5 --for 2
stream points.csv --rate 100; stream --from leader --map shoulder=left; teach points.yaml --jog
confirm-branch coupler_deg=40; speed 0.5; switch latch on; set gripper=on glue_flow=0.4
wait part_present=on --timeout 5; wait "lift < 0.1"; edges part_present --after 3; gain --bandwidth 60
payload tool 0.8 --com 0 0 0.02; advance 1000; law damp; preload left_elbow=1.5
cancel --goal 3; inject faults.yaml; inject --clear all; record run.mcap --seconds 10; replay run.mcap
plot run.mcap --signal effort --csv; export run.mcap --npz; animate run.mcap --out run.gif --speed 0.5
rig test --rig scara --out report; rig compare a.json b.json; campaign friction.yaml --workers 2
tune gains.yaml --out tuned; service scara --user; check my_arm.yaml; schema > schema.json; latency 10 --load
import robot.urdf --out robot.yaml; convert delta --to mjcf --out delta.xml; model delta --draw delta.png
symbolic scara --show inertia; codegen scara --out generated; simulate scara --duration 1 --plot motion.png
keys make anna; keys allow anna.public --role operate; keys revoke anna; keys list
driver check my_arm:Arm --config my_arm.yaml; build-kernels my_law
conformance controller scara -- ./my_controller
"""
"""Examples for the end of each command's help, by its first words; one without any has its name alone."""
_AFTER_FAULTS = ("recover", "estop", "reset")


def _show_version(asked: bool) -> None:
    if asked:
        import linkwork

        say(f"linkwork {linkwork.__version__}")
        raise typer.Exit


def build(first: str = "") -> typer.Typer:
    """Return the application, every command in its panel.

    first: the first word on the command line. Where it names a command, the others are left out.
    """
    app = typer.Typer(
        name="linkwork",
        no_args_is_help=True,
        pretty_exceptions_show_locals=False,
        help="Real-time control of machines whose joints are constrained.",
        epilog="Exit status: 0 done, 1 the goal failed, 2 wrong usage or file, 3 refused, 4 no daemon.",
    )
    app.callback()(_options)
    commands = [each for each in _commands() if each[1] == first] or _commands()
    for panel, name, load in commands:
        command = load()
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=panel, epilog=_examples(name))
            for each in command.registered_commands:
                word = each.name or get_command_name(getattr(each.callback, "__name__", ""))
                each.epilog = _examples(f"{name} {word}", name)
        else:
            app.command(name, rich_help_panel=panel, epilog=_examples(name))(command)
    return app


def _examples(command: str, group: str = "") -> str:
    """Return the examples of a command as paragraphs; those of its group name it as NAME."""
    given = [each.strip() for line in _EXAMPLES.splitlines() for each in line.split(";")]
    word = command.removeprefix(f"{group} ")
    named = (each.replace(f"{group} NAME", f"{group} {word}") if group else each for each in given)
    found = [each for each in named if f"{each} ".startswith(f"{command} ")] or [command]
    return "\n\n".join(["Examples:", *(f"linkwork {each}" for each in found)])


def plain_call(words: Sequence[str]) -> Callable[[], Any] | None:
    """Return the call of a simple command on a controller; None where typer has to read the words."""
    for _, name, load in _commands() if words else ():
        if name == words[0] and load.args[0] in ("cli.state_commands", "cli.status_commands", name):
            command = load()
            given = read_words(command, words[1:])
            return None if given is None else partial(command, **given)
    return None


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Real-time control of machines whose joints are constrained."""


def _commands() -> list[tuple[str, str, partial[Any]]]:
    """Return panel, name and loader of every command; those of one request each first in their panel."""
    from linkwork.cli.request_commands import WRITTEN, request_command
    from linkwork.protocol.request_table import REQUESTS

    found: list[tuple[str, str, partial[Any]]] = []
    for panel, modules in _PANELS.items():
        for method in REQUESTS:
            home = "When something went wrong" if method in _AFTER_FAULTS else "Move"
            if panel == home and method not in WRITTEN:
                found.append((panel, method.replace("_", "-"), partial(request_command, method)))
        for module, words in modules.items():
            for word in words.split():
                name, _, function = word.partition("=")
                load = partial(_imported, module, function or name)
                found.append((panel, name.replace("_", "-"), load))
    return found


def _imported(module: str, function: str) -> Any:
    return getattr(import_module(f"linkwork.{module}"), function)


_SCALARS = (str, int, float, Path)


def read_words(command: Callable[..., Any], words: Sequence[str]) -> dict[str, Any] | None:
    """Return the arguments of a command by name, or None where typer has to read the words."""
    parameters = inspect.signature(command).parameters
    options: dict[str, str] = {}
    places: list[str] = []
    for name, parameter in parameters.items():
        declared = parameter.annotation.__metadata__[0]
        if isinstance(declared, OptionInfo):
            spelled = [
                each for each in (declared.default, *(declared.param_decls or ())) if isinstance(each, str)
            ]
            spelled = spelled or [
                f"--{name.replace('_', '-')}"
            ]  # an annotation's first word is its `default`
            options |= dict.fromkeys(spelled, name)
        else:
            places.append(name)
    texts: dict[str, list[str]] = {}
    left = list(words)
    while left:
        option, sign, value = left.pop(0).partition("=")
        if not option.startswith("-"):
            texts.setdefault(places[0] if places else "", []).append(option + sign + value)
            if places and not _bare(parameters[places[0]])[1]:
                places.pop(0)
            continue
        name = options.get(option, "")
        if not name or name in texts:
            return None
        if _bare(parameters[name])[0] is bool:
            if sign:
                return None
        elif not sign:
            if not left:
                return None
            value = left.pop(0)
        texts[name] = [value]
    defaults: dict[str, Any] = {name: each.default for name, each in parameters.items()}
    if "" in texts or any(defaults[name] is inspect.Parameter.empty for name in defaults.keys() - texts):
        return None
    try:
        given = {name: _converted(parameters[name], found) for name, found in texts.items()}
    except (ValueError, KeyError):
        return None
    return defaults | given


def _bare(parameter: inspect.Parameter) -> tuple[Any, bool]:
    """Return the type of a parameter's value without None, and whether it takes several words."""
    whole = parameter.annotation.__origin__
    bare = whole
    if isinstance(whole, UnionType) or get_origin(whole) is Union:
        bare = next(kind for kind in get_args(whole) if kind is not NoneType)
    return (str, True) if bare == list[str] else (bare, False)


def _converted(parameter: inspect.Parameter, texts: list[str]) -> Any:
    """Return a parameter's value. Raises ValueError, KeyError for what typer has to judge."""
    kind, several = _bare(parameter)
    if several:
        return texts
    if kind is bool:
        return True
    if not (kind in _SCALARS or (isinstance(kind, type) and issubclass(kind, Enum))):
        raise KeyError(kind)
    value = kind(texts[0])
    declared = parameter.annotation.__metadata__[0]
    for bound, sign in ((declared.min, 1), (declared.max, -1)):
        if bound is not None and not sign * value >= sign * bound:
            raise ValueError(value)
    return value
