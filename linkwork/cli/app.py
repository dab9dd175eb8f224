"""The command `linkwork` put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from linkwork.cli import (
    campaign_command as campaigns,
)
from linkwork.cli import (
    codegen_command as codegen,
)
from linkwork.cli import (
    conformance_command as conformance,
)
from linkwork.cli import (
    console_command as consoles,
)
from linkwork.cli import (
    convert_command as converting,
)
from linkwork.cli import (
    driver_commands as drivers,
)
from linkwork.cli import (
    fault_commands as faults,
)
from linkwork.cli import (
    file_commands as files,
)
from linkwork.cli import (
    group_commands as groups,
)
from linkwork.cli import (
    import_command as importing,
)
from linkwork.cli import (
    inject_command as injecting,
)
from linkwork.cli import (
    key_commands as keys,
)
from linkwork.cli import (
    model_command as model,
)
from linkwork.cli import (
    motion_commands as motion,
)
from linkwork.cli import (
    recording_commands as recordings,
)
from linkwork.cli import (
    rig_commands as rig,
)
from linkwork.cli import (
    service_command as service,
)
from linkwork.cli import (
    simulate_command as simulating,
)
from linkwork.cli import (
    start_commands as daemons,
)
from linkwork.cli import (
    state_commands as states,
)
from linkwork.cli import (
    status_commands as looking,
)
from linkwork.cli import (
    stream_command as streaming,
)
from linkwork.cli import (
    symbolic_command as symbolic,
)
from linkwork.cli import (
    teach_command as teaching,
)
from linkwork.cli import (
    tune_command as tuning,
)
from linkwork.controller.__main__ import controller
from linkwork.plant.__main__ import plant
from linkwork.terminal.output import say

_PANELS: dict[str, tuple[Any, ...]] = {
    "Start": (daemons.demo, groups.up, groups.down, groups.logs, consoles.console, plant, controller),
    "Look": (looking.status, looking.state, looking.watch, looking.describe, faults.faults),
    "Move": (
        motion.move,
        motion.send,
        motion.jog,
        streaming.stream,
        teaching.teach,
        states.confirm_branch,
        states.speed,
        states.switch,
        states.set_outputs,
        states.wait,
        states.edges,
        states.gain,
        states.payload,
        states.advance,
    ),
    "When something went wrong": (),
    "Inject faults": (injecting.inject,),
    "Record and replay": (
        recordings.record,
        recordings.replay,
        recordings.plot,
        recordings.export,
        recordings.animate,
    ),
    "Test a rig": (rig.rig,),
    "Study": (campaigns.campaign, tuning.tune),
    "Files and this computer": (
        service.service,
        files.check,
        files.robots,
        files.schema,
        importing.import_robot,
        converting.convert,
        model.model,
        symbolic.symbolic,
        codegen.codegen,
        simulating.simulate,
        files.latency,
        files.warm,
        keys.keys,
        drivers.driver,
        conformance.conformance,
    ),
}
_GROUPS = {
    "demo": daemons.demo,
    "driver": drivers.driver,
    "faults": faults.faults,
    "keys": keys.keys,
    "conformance": conformance.conformance,
    "rig": rig.rig,
}
"""Commands with commands of their own, by name."""
_AFTER_FAULTS = ("recover", "estop", "reset")


def _show_version(asked: bool) -> None:
    if asked:
        import linkwork

        say(f"linkwork {linkwork.__version__}")
        raise typer.Exit


def build(first: str = "") -> typer.Typer:
    """Return the application, every command in its panel.

    first: the first word on the command line. Where it names another command, those derived from the table of
    requests, which takes long to load, are left out.
    """
    app = typer.Typer(
        name="linkwork",
        no_args_is_help=True,
        pretty_exceptions_show_locals=False,
        help="Real-time control of machines whose joints are constrained.",
        epilog="Exit status: 0 done, 1 the goal failed, 2 wrong usage or file, 3 refused, 4 no daemon.",
    )
    app.callback()(_options)
    derived = {} if first in {"--version", *_names()} else _derived()
    for panel, commands in _PANELS.items():
        for command in (*derived.get(panel, ()), *commands):
            if isinstance(command, typer.Typer):
                name = next(name for name, group in _GROUPS.items() if group is command)
                app.add_typer(command, name=name, rich_help_panel=panel)
            else:
                app.command(rich_help_panel=panel)(command)
    return app


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Real-time control of machines whose joints are constrained."""


def _derived() -> dict[str, list[Callable[..., Any]]]:
    """Return the commands derived from the table of requests, by panel."""
    from linkwork.cli.request_commands import derived_commands

    found: dict[str, list[Callable[..., Any]]] = {}
    for method, command in derived_commands():
        panel = "When something went wrong" if method in _AFTER_FAULTS else "Move"
        found.setdefault(panel, []).append(command)
    return found


def _names() -> set[str]:
    commands = [command for panel in _PANELS.values() for command in panel]
    return {*_GROUPS, *(command.__name__ for command in commands if not isinstance(command, typer.Typer))}
