"""Commands about files and this computer: check, robots, schema, latency."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.choices import SchemaChoice
from linkwork.cli.connected import AsJson
from linkwork.cli.folding import MOST_ALIKE, ShowAll, left_out, passive_joints
from linkwork.machine.problems import REFUSES, counted
from linkwork.terminal.failures import DONE, USAGE, Misuse
from linkwork.terminal.output import complain, console, emit, say

if TYPE_CHECKING:
    from linkwork.machine import Problem

Config = Annotated[str, typer.Argument(metavar="MACHINE", help="A machine file, or a machine of linkwork.")]


def check(config: Config, show_all: ShowAll = False, as_json: AsJson = False) -> int:
    """Validate a machine file; errors name line, key, found and allowed values.

    What the controller would refuse is an error too, but not of a machine with neither motors nor sensors.
    """
    from linkwork.machine import load_with_problems
    from linkwork.machine.checks.controllability import refusals
    from linkwork.machine.checks.rank_gap import rank_decision

    machine, problems = load_with_problems(config)
    refused = [] if machine is None else [each.message for each in refusals(machine)]
    content: dict[str, Any] = {
        "valid": machine is not None,
        "controllable": machine is not None and not refused,
        "refusals": refused,
        "problems": [vars(problem) for problem in problems],
    }
    if machine is not None:
        content |= {
            "name": machine.name,
            "joints": list(machine.mechanism.joint_names),
            "coordinates": list(machine.mechanism.coordinate_names),
            "interface": machine.interface_hash,
            "model": machine.model_hash,
            "config": machine.config_hash,
            "degrees_of_freedom": machine.dof,
            "rank": machine.assembly.ordinary_rank,
            "rank_decision": rank_decision(machine),
        }
    _complain_of(problems, show_all=show_all)
    if as_json:
        emit(content)
    elif machine is not None:
        joints = machine.mechanism.joint_names
        driven = [motor.joint for motor in machine.motors] or machine.assembly.kept
        hidden = passive_joints(joints, driven, show_all=show_all)
        shown = ", ".join(name for name in joints if name not in hidden)
        more = f"; {left_out(hidden)}" if hidden else ""
        alone = " for plant and simulation alone" if refused else ""
        say(f"{machine.name}: valid{alone}; {counted(len(joints), 'joint')}: {shown}{more}")
        for reason in refused if not any(each.severity == "error" for each in problems) else ():
            say(f"{REFUSES}: {reason}")
        say(f"interface {machine.interface_hash}")
    return USAGE if any(problem.severity == "error" for problem in problems) else DONE


def _complain_of(problems: Sequence[Problem], *, show_all: bool) -> None:
    """Print problems; of many that differ only in their place, the first, and the number of the others."""
    alike = Counter((problem.severity, problem.message) for problem in problems)
    said: Counter[tuple[str, str]] = Counter()
    for problem in problems:
        kind = (problem.severity, problem.message)
        said[kind] += 1
        if show_all or said[kind] <= MOST_ALIKE:
            complain(str(problem))
        if not show_all and said[kind] == MOST_ALIKE < alike[kind]:
            complain(f"and {alike[kind] - MOST_ALIKE} more of this kind (--all shows them)")


def robots(as_json: AsJson = False) -> None:
    """List the shipped machines and the running ones."""
    from linkwork.launch.group import running_groups
    from linkwork.machine import load, shipped, shipped_path
    from linkwork.protocol.endpoints import running

    groups = running_groups()
    there = {role: {found.name: found.pid for found in running(role)} for role in ("plant", "gateway")}
    listed = []
    for name in shipped():
        machine = load(name)
        listed.append(
            {
                "name": name,
                "about": machine.about,
                "file": str(shipped_path(name)),
                "joints": list(machine.mechanism.joint_names),
            }
        )
    if as_json:
        emit(
            {
                "robots": listed,
                "running": {
                    "plants": there["plant"],
                    "controllers": there["gateway"],
                    "groups": {found.name: found.pid for found in groups},
                },
            }
        )
        return
    for each in listed:
        say(f"{each['name']}  {each['about']}")
        say(f"    {each['file']}")
    for role, word in (("plant", "plant"), ("gateway", "controller")):
        for name, pid in there[role].items():
            say(f"running: {word} of {name}, process {pid}")
    for found in groups:
        say(f"up: {found.name}, {found.text}; supervisor process {found.pid}")


def schema(
    what: Annotated[
        SchemaChoice, typer.Argument(metavar="WHAT", help="Of machine files, timelines or campaigns.")
    ] = (SchemaChoice.MACHINE),
) -> None:
    """Print the JSON schema of machine files or time lines, for completion in editors."""
    if what is SchemaChoice.FAULTS:
        from linkwork.plant.faults.timeline import schema as content
    elif what is SchemaChoice.CAMPAIGN:
        from linkwork.campaigns.campaign_file import schema as content
    else:
        from linkwork.machine import schema as content

    say(json.dumps(content(), indent=2, ensure_ascii=False))


def latency(
    for_seconds: Annotated[
        float | None, typer.Argument(min=0.1, metavar="SECONDS", help="The same as --seconds.")
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Duration of the measurement, s.")
    ] = 10.0,
    period: Annotated[float, typer.Option(min=1e-4, max=1.0, metavar="SECONDS", help="Period, s.")] = 0.001,
    load: Annotated[
        bool, typer.Option("--load", help="Load processor, disk, memory and sockets in every second block.")
    ] = False,
    blame: Annotated[
        bool,
        typer.Option("--blame", help="Show the kernel's activity during the latest wake-ups; needs root."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure this computer's timing and the round trip of the device link."""
    from linkwork.diagnostics.latency import LOAD, LatencyError, run_latency
    from linkwork.diagnostics.latency_text import report_text
    from linkwork.terminal.output import goal_bar

    if not as_json and not load:
        console.print(LOAD, style="dim")
    try:
        with goal_bar(console, "measuring") as progress:
            report = run_latency(
                for_seconds or seconds, period_s=period, under_load=load, blame=blame, progress=progress
            )
    except LatencyError as error:
        raise Misuse(str(error)) from None
    if as_json:
        emit(report.as_dict())
    else:
        say(report_text(report))
