"""Commands about machine files: check, robots."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from linkwork.cli.options.files import CheckOptions, RobotsOptions
from linkwork.launch.group import running_groups
from linkwork.machine import Problem, load, load_with_problems, shipped, shipped_path
from linkwork.machine.checks.controllability import refusals
from linkwork.machine.checks.rank_gap import rank_decision, undetermined_cells
from linkwork.machine.problems import REFUSES, counted
from linkwork.protocol.endpoints import running
from linkwork.terminal.failures import DONE, USAGE
from linkwork.terminal.output import MOST_ALIKE, complain, emit, left_out, passive_joints, say


def check(options: CheckOptions) -> int:
    """Run `linkwork check`."""
    machine, problems = load_with_problems(options.config)
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
    _complain_of(problems, show_all=options.show_all)
    if options.as_json:
        emit(content)
    elif machine is not None:
        joints = machine.mechanism.joint_names
        driven = [motor.joint for motor in machine.motors] or machine.assembly.kept
        hidden = passive_joints(joints, driven, show_all=options.show_all)
        shown = ", ".join(name for name in joints if name not in hidden)
        more = f"; {left_out(hidden)}" if hidden else ""
        where = "offline simulation" if any(undetermined_cells(machine)) else "plant and simulation"
        alone = f" for {where} alone" if refused else ""
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


def robots(options: RobotsOptions) -> None:
    """Run `linkwork robots`."""
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
    if options.as_json:
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
