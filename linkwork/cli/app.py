"""The command `linkwork` put together."""

from __future__ import annotations

import typer

from linkwork.cli import (
    codegen_command as codegen,
)
from linkwork.cli import (
    conformance_command as conformance,
)
from linkwork.cli import (
    driver_commands as drivers,
)
from linkwork.cli import (
    file_commands as files,
)
from linkwork.cli import (
    inject_command as injecting,
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
    symbolic_command as symbolic,
)
from linkwork.cli import (
    teach_command as teaching,
)
from linkwork.controller.__main__ import controller
from linkwork.plant.__main__ import plant

_PANELS = {
    "Start": (daemons.demo, plant, controller),
    "Look": (looking.status, looking.state, looking.watch, looking.describe, looking.faults),
    "Move": (
        states.confirm_branch,
        states.enable,
        motion.move,
        motion.send,
        motion.jog,
        teaching.teach,
        states.pause,
        states.resume,
        states.speed,
        states.preload,
        states.switch,
        states.cancel,
        states.stop,
        states.disable,
        states.law,
        states.gain,
        states.payload,
        states.advance,
    ),
    "When something went wrong": (states.recover, states.estop, states.reset),
    "Let something go wrong": (injecting.inject,),
    "Record and replay": (
        recordings.record,
        recordings.replay,
        recordings.plot,
        recordings.export,
        recordings.animate,
    ),
    "Test a rig": (rig.rig,),
    "Files and this computer": (
        files.check,
        files.robots,
        files.schema,
        model.model,
        symbolic.symbolic,
        codegen.codegen,
        simulating.simulate,
        files.latency,
        files.warm,
        files.keys,
        drivers.driver,
        conformance.conformance,
    ),
}
_GROUPS = {
    "demo": daemons.demo,
    "driver": drivers.driver,
    "conformance": conformance.conformance,
    "rig": rig.rig,
}
"""Commands with commands of their own, by name."""


def build() -> typer.Typer:
    """The application, every command in its panel."""
    app = typer.Typer(
        name="linkwork",
        no_args_is_help=True,
        pretty_exceptions_show_locals=False,
        help="Real-time control of machines whose joints are constrained.",
        epilog="Exit status: 0 done, 1 the goal failed, 2 wrong usage or file, 3 refused, 4 nobody there.",
    )
    for panel, commands in _PANELS.items():
        for command in commands:
            if isinstance(command, typer.Typer):
                name = next(name for name, group in _GROUPS.items() if group is command)
                app.add_typer(command, name=name, rich_help_panel=panel)
            else:
                app.command(rich_help_panel=panel)(command)
    return app
