"""The command `linkwork`: all commands by name, each imported when it is called."""

from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

import click

from linkwork.command_line import (
    CommandGroup,
    OptionsCommand,
    help_text,
    imported,
    paragraphs,
    parameter_rows,
)
from linkwork.demos import DEMOS
from linkwork.protocol.request_table import REQUESTS
from linkwork.terminal.failures import require
from linkwork.terminal.output import say
from linkwork.version import __version__

_PANELS: Final = {
    "Start": "demo up down logs console foxglove ros plant controller",
    "Look": "status state watch describe faults",
    "Move": "move send time jog stream teach confirm-branch speed switch set wait edges gain payload advance",
    "When something went wrong": "",
    "Inject faults": "inject",
    "Record and replay": "record replay plot export animate",
    "Test a rig": "rig explore",
    "Study": "campaign tune",
    "Identify": "excite identify validate calibrate",
    "Files and this computer": "service drive check robots schema latency import convert model symbolic "
    "codegen simulate build-kernels keys driver conformance dev",
}
"""Commands by panel of the help; `build` adds those that derive from requests to the third and fourth."""
_AFTER_FAULTS: Final = ("recover", "estop", "reset")

WRITTEN: Final = frozenset(
    {
        "state", "describe", "status", "faults", "move", "send", "append", "check", "jog", "speed", "advance",
        "set_gain", "payload", "switch", "set", "wait", "edges", "acquire", "release", "stream",
        "set_points", "path", "confirm_branch",
    }
)  # fmt: skip
"""Requests that have a separate command, or none. Commands that need the lease acquire and release it."""

COMMANDS: Final = {
    "up": ("cli.options.start:UpOptions", "cli.group_commands:up"),
    "down": ("cli.options.start:DownOptions", "cli.group_commands:down"),
    "logs": ("cli.options.start:LogsOptions", "cli.group_commands:logs"),
    "service": ("cli.options.start:ServiceOptions", "cli.group_commands:service"),
    "console": ("cli.options.start:ConsoleOptions", "cli.console_command:console"),
    "foxglove": ("cli.options.start:FoxgloveOptions", "cli.foxglove_command:foxglove"),
    "ros": ("cli.options.start:RosOptions", "cli.ros_command:ros"),
    "plant": ("plant.plant_options:PlantOptions", "plant.daemon.plant_daemon:plant"),
    "drive": ("plant.plant_options:DriveOptions", "cia402.drive_bench:drive"),
    "controller": (
        "controller.controller_options:GatewayOptions",
        "controller.gateway.gateway_process:controller",
    ),
    "status": ("cli.options.operate:StatusOptions", "cli.status_commands:status"),
    "state": ("cli.options.operate:StateOptions", "cli.status_commands:state"),
    "describe": ("cli.options.operate:DescribeOptions", "cli.status_commands:describe"),
    "watch": ("cli.options.operate:WatchOptions", "cli.live_table:watch"),
    "faults": ("cli.options.operate:FaultsOptions", "cli.status_commands:faults"),
    "faults show": ("cli.options.operate:ShowFaultOptions", "cli.fault_commands:show_fault"),
    "move": ("cli.options.operate:MoveOptions", "cli.motion_commands:move"),
    "send": ("cli.options.operate:SendOptions", "cli.motion_commands:send"),
    "time": ("cli.options.operate:TimeOptions", "cli.time_command:time_trajectory"),
    "jog": ("cli.options.operate:JogOptions", "cli.motion_commands:jog"),
    "stream": ("cli.options.operate:StreamOptions", "cli.stream_command:stream"),
    "teach": ("cli.options.operate:TeachOptions", "cli.teach_command:teach"),
    "confirm-branch": ("cli.options.operate:ConfirmBranchOptions", "cli.state_commands:confirm_branch"),
    "speed": ("cli.options.operate:SpeedOptions", "cli.state_commands:speed"),
    "switch": ("cli.options.operate:SwitchOptions", "cli.state_commands:switch"),
    "set": ("cli.options.operate:SetOutputsOptions", "cli.state_commands:set_outputs"),
    "wait": ("cli.options.operate:WaitOptions", "cli.state_commands:wait"),
    "edges": ("cli.options.operate:EdgesOptions", "cli.state_commands:edges"),
    "gain": ("cli.options.operate:GainOptions", "cli.state_commands:gain"),
    "payload": ("cli.options.operate:PayloadOptions", "cli.state_commands:payload"),
    "advance": ("cli.options.operate:AdvanceOptions", "cli.state_commands:advance"),
    "inject": ("cli.options.operate:InjectOptions", "cli.inject_command:inject"),
    "record": ("cli.options.study:RecordOptions", "cli.recording_commands:record"),
    "replay": ("cli.options.study:ReplayOptions", "cli.recording_commands:replay"),
    "plot": ("cli.options.study:PlotOptions", "cli.recording_commands:plot"),
    "export": ("cli.options.study:ExportOptions", "cli.recording_commands:export"),
    "animate": ("cli.options.study:AnimateOptions", "cli.recording_commands:animate"),
    "rig test": ("cli.options.study:RigTestOptions", "cli.rig_commands:run_rig_tests"),
    "rig index": ("cli.options.study:RigIndexOptions", "cli.rig_commands:index"),
    "rig compare": ("cli.options.study:RigCompareOptions", "cli.rig_commands:compare"),
    "explore": ("cli.options.study:ExploreOptions", "cli.explore_command:explore_machine"),
    "campaign": ("cli.options.study:CampaignCommandOptions", "cli.campaign_command:campaign"),
    "tune": ("cli.options.study:TuneOptions", "cli.tune_command:tune"),
    "excite": ("cli.options.study:ExciteOptions", "cli.excite_command:excite_machine"),
    "identify": ("cli.options.study:IdentifyOptions", "cli.identify_command:identify_machine"),
    "validate": ("cli.options.study:ValidateOptions", "cli.identify_command:validate_machine"),
    "calibrate": ("cli.options.study:CalibrateOptions", "cli.calibrate_command:calibrate_machine"),
    "check": ("cli.options.files:CheckOptions", "cli.file_commands:check"),
    "robots": ("cli.options.files:RobotsOptions", "cli.file_commands:robots"),
    "schema": ("cli.options.files:SchemaOptions", "cli.extension_commands:schema"),
    "latency": ("cli.options.files:LatencyOptions", "cli.latency_command:latency"),
    "import": ("cli.options.files:ImportCommandOptions", "cli.import_command:import_robot"),
    "convert": ("cli.options.files:ConvertOptions", "cli.convert_command:convert"),
    "model": ("cli.options.files:ModelOptions", "cli.model_command:model"),
    "symbolic": ("cli.options.files:SymbolicOptions", "cli.symbolic_command:symbolic"),
    "codegen": ("cli.options.files:CodegenOptions", "cli.codegen_command:codegen"),
    "simulate": ("cli.options.files:SimulateOptions", "cli.simulate_command:simulate"),
    "build-kernels": ("cli.options.files:BuildKernelsOptions", "cli.extension_commands:build_kernels"),
    "dev new-law": ("cli.options.files:NewLawOptions", "cli.dev_commands:new_law"),
    "dev new-request": ("cli.options.files:NewRequestOptions", "cli.dev_commands:new_request"),
    "dev new-joint": ("cli.options.files:NewJointOptions", "cli.dev_commands:new_joint"),
    "keys make": ("cli.options.files:MakeKeysOptions", "cli.key_commands:make"),
    "keys allow": ("cli.options.files:AllowKeyOptions", "cli.key_commands:allow"),
    "keys revoke": ("cli.options.files:RevokeKeyOptions", "cli.key_commands:revoke"),
    "keys list": ("cli.options.files:ListKeysOptions", "cli.key_commands:list_clients"),
    "driver check": ("cli.options.files:CheckDriverOptions", "cli.driver_commands:check"),
    "conformance controller": ("cli.options.files:CheckControllerOptions", "cli.driver_commands:controller"),
}
"""Class of the options and function of every command, as "module:name" in linkwork."""
_CAMPAIGNS: Final = ("campaigns", "campaign", "pyarrow", "jinja2")
_MESSAGES: Final = ("sensor_msgs", "std_srvs", "trajectory_msgs", "diagnostic_msgs")
_NEEDS: Final = {
    "console": ("pages of the console", "console", "nicegui"),
    "foxglove": ("live data for Foxglove", "foxglove", "foxglove"),
    "ros": ("ROS nodes outside of a sourced ROS 2 workspace", "ros", "rclpy", *_MESSAGES),
    "campaign": _CAMPAIGNS,
    "tune": _CAMPAIGNS,
    "drive": ("simulated drives", "can", "can"),
    "explore": ("simulated sessions", "explore", "greenlet"),
    "import": ("imports", "import", "defusedxml", "jinja2"),
    "rig test": ("rig tests", "rig", "pytest", "jinja2"),
    "rig index": ("reports of rig tests", "rig", "jinja2"),
    "rig compare": ("reports of rig tests", "rig", "jinja2"),
    "symbolic": ("symbolic equations", "symbolic", "sympy"),
}
"""What needs an extra of linkwork, the extra, and its packages, by command."""
DAEMONS: Final = ("plant", "controller")
"""Commands that are the process of a daemon. Their option --json is about log lines."""
_REQUEST: Final = "cli.request_commands:request_command"
_DEMO: Final = "demos.demo_options:DemoOptions"
_GROUPS: Final = {
    "demo": "Show a machine in motion, with one command.",
    "faults": "List the latest faults; show the record before one of them.",
    "rig": "Tests of a machine with its controller and plant.",
    "keys": "Keys for connections between computers, and what each client may do.",
    "driver": "Hardware drivers, which replace the simulated plant.",
    "dev": "Begin a new part of linkwork, in a checkout of it.",
    "conformance": "Test whether your own programs follow the protocol.",
}
_EXAMPLES: Final = """
demo NAME --console; demo NAME --lockstep --json; up scara --detach; down scara; logs scara --follow
console; console run.mcap --beside earlier.mcap; ros --robot five_bar
ros --controller arm_controller -- --ros-args -r __ns:=/cell
plant scara --inject; controller scara --telemetry tcp://127.0.0.1:9872
status --json; state --all; watch --for 10; describe --json; faults; faults show 1 --save fault.png
move shoulder_deg=30 elbow_deg=-60; move home --speed 0.2; move z=0.02 --until-force table=5
send path.yaml --approach; send path.yaml --check; time path.yaml --machine five_bar
jog; jog shoulder_deg_s=5 --for 2
stream points.csv --rate 100; stream --from leader --map shoulder=left; teach points.yaml --jog
confirm-branch coupler_deg=40; speed 0.5; switch latch on; set gripper=on glue_flow=0.4
wait part_present=on --timeout 5; wait "lift < 0.1"; edges part_present --after 3; gain --bandwidth 60
payload tool 0.8 --com 0 0 0.02; advance 1000; law damp; preload left_elbow=1.5
cancel --goal 3; inject faults.yaml; inject --clear all; record run.mcap --seconds 10; replay run.mcap
plot run.mcap --signal effort --csv; export run.mcap --npz; animate run.mcap --out run.gif --speed 0.5
explore scara --seeds 20; explore my_arm.yaml --minutes 10 --json
explore scara --seed 71342 --shrink --out failure.json
rig test --rig scara --out report; rig compare a.json b.json; campaign friction.yaml --workers 2
tune gains.yaml --out tuned; service scara --user; check my_arm.yaml; schema > schema.json; latency 10 --load
import robot.urdf --out robot.yaml; convert delta --to mjcf --out delta.xml; model delta --draw delta.png
excite five_bar --out motion.yaml --seconds 20; excite delta --for friction --after run.mcap
model five_bar --identifiable; validate five_bar run.mcap
identify five_bar run.mcap --validate other.mcap --out five_bar.identified.yaml
identify delta drives.csv --json; identify scara before.mcap after.mcap --payload tool
calibrate five_bar points.csv --out five_bar.calibrated.yaml
calibrate five_bar --plan 20 --kind distance --out points.csv
symbolic scara --show inertia; codegen scara --out generated; codegen five_bar --fmu five_bar.fmu
simulate scara --duration 1 --plot motion.png
keys make anna; keys allow anna.public --role operate; keys revoke anna; keys list
driver check my_arm:Arm --config my_arm.yaml; drive five_bar; build-kernels my_law; dev new-law soft --dry-run
dev new-request greet; dev new-joint table
conformance controller scara -- ./my_controller
"""
"""Examples for the end of each command's help, by its first words; one without any has its name alone."""
_IN_PLACE_OF_COMMANDS: Final = (
    ("--version", "Show the version.", "cli.app:show_version"),
    ("--install-completion", "Install completion for the current shell.", "cli.completion:install"),
    ("--show-completion", "Show completion for the current shell, to copy it.", "cli.completion:show"),
)
VARIABLE: Final = "_LINKWORK_COMPLETE"
"""Environment variable by which the shell asks for completions."""
_HELP: Final = "Real-time control of machines whose joints are constrained."
_STATUS: Final = "Exit status: 0 done, 1 the goal failed, 2 wrong usage or file, 3 refused, 4 no daemon."


def build() -> CommandGroup:
    """Return the command `linkwork`."""
    panels = {panel: names.split() for panel, names in _PANELS.items()}
    derived = [method for method in REQUESTS if method not in WRITTEN]
    for panel, after in (("Move", False), ("When something went wrong", True)):
        names = [each.replace("_", "-") for each in derived if (each in _AFTER_FAULTS) is after]
        panels[panel][:0] = names
    params = [_eager(word, about, what) for word, about, what in _IN_PLACE_OF_COMMANDS]
    return CommandGroup("linkwork", _HELP, panels, _command, epilog=_STATUS, params=params)


class CommandHelp(NamedTuple):
    """Help of one command: its parts, and the whole as plain text without colours.

    words: the command after `linkwork`, as "rig test". panel: the group of the main help that holds it.
    about: paragraphs, of which the first is the summary. parameters: words and description of each argument
    and option. examples: command lines.
    """

    words: str
    panel: str
    usage: str
    about: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]
    examples: tuple[str, ...]
    text: str


def command_helps(width: int = 100) -> Iterator[CommandHelp]:
    """Yield the help of every command, in the order of the main help; groups come before their members."""
    top = build()
    whole = click.Context(top, info_name="linkwork")
    for panel, names in top.panels.items():
        for name in names:
            yield from _helps(top.load(name), whole, panel, width)


def _helps(command: click.Command, parent: click.Context, panel: str, width: int) -> Iterator[CommandHelp]:
    ctx = click.Context(command, info_name=command.name, parent=parent, terminal_width=width)
    words = ctx.command_path.partition(" ")[2]
    rows = [row for rows in parameter_rows(command, ctx).values() for row in rows]
    yield CommandHelp(
        words,
        panel,
        usage=command.get_usage(ctx).removeprefix("Usage: "),
        about=tuple(paragraphs(command)),
        parameters=tuple((f"{name} {kind}".rstrip(), text) for _, name, kind, text in rows),
        examples=tuple((command.epilog or "").split("\n\n")[1:]),
        text=help_text(command, ctx, width),
    )
    if isinstance(command, CommandGroup):
        for name in command.list_commands(ctx):
            yield from _helps(command.load(name), ctx, panel, width)


def _command(name: str) -> click.Command:
    """Return a command, or a group of commands."""
    group, _, word = name.partition(" ")
    epilog = _examples(name, group if word else "")
    own: OptionsCommand | None = None
    if name in COMMANDS:
        options, what = COMMANDS[name]
        before = partial(require, *_NEEDS[name]) if name in _NEEDS else None
        if name in DAEMONS:  # a daemon's linear algebra stays in its own thread; before numpy is imported
            before = imported("timing.realtime:single_threaded_blas")
        own = OptionsCommand(word or name, imported(options), what, epilog=epilog, before=before)
    elif group == "demo" and word:
        about = f"{DEMOS[word]}: plant and controller are started, used, and ended."
        own = OptionsCommand(word, imported(_DEMO), "cli.demo_command:demo", about, epilog, {"name": word})
    elif name not in _GROUPS:
        command: click.Command = imported(_REQUEST)(name, epilog)
        return command
    if own is not None and name not in _GROUPS:
        return own
    members = [each.removeprefix(f"{name} ") for each in COMMANDS if each.startswith(f"{name} ")]
    panels = {"Commands": list(DEMOS) if name == "demo" else members}
    return CommandGroup(name, _GROUPS[name], panels, lambda word: _command(f"{name} {word}"), own, epilog)


def _examples(command: str, group: str = "") -> str:
    """Return the examples of a command as paragraphs; those of its group name it as NAME."""
    given = [each.strip() for line in _EXAMPLES.splitlines() for each in line.split(";")]
    word = command.removeprefix(f"{group} ")
    named = (each.replace(f"{group} NAME", f"{group} {word}") if group else each for each in given)
    found = [each for each in named if f"{each} ".startswith(f"{command} ")] or [command]
    return "\n\n".join(["Examples:", *(f"linkwork {each}" for each in found)])


def _eager(word: str, about: str, what: str) -> click.Option:
    """Return an option that does something in place of the commands: a function of the context."""

    def act(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
        if asked:
            imported(what)(ctx)
            ctx.exit()

    return click.Option([word], is_flag=True, is_eager=True, expose_value=False, callback=act, help=about)


def show_version(_: click.Context) -> None:
    """Print the version."""
    say(f"linkwork {__version__}")
