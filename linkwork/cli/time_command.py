"""`linkwork time`: the fastest time law of a path, what limits it where, what larger limits would save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from linkwork.cli.motion_commands import placed, planned_lines
from linkwork.cli.motion_files import written
from linkwork.cli.options.operate import TimeOptions
from linkwork.cli.robot_connection import robot_of
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import judge, plan
from linkwork.machine import load
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import Trajectory
from linkwork.terminal.failures import DONE, REFUSED
from linkwork.terminal.output import console, emit, say, table
from linkwork.trajectories.trajectory_file import TIME, read_trajectory_file

_LEAST_LISTED = 0.01
"""Share of the time from which on a stretch is printed."""
_HUES = 10


def time_trajectory(options: TimeOptions) -> int:
    """Run `linkwork time`."""
    read = read_trajectory_file(options.file)
    asked: dict[str, Any] = {"timing": "fastest"}
    if options.margin is not None:
        asked["margin"] = options.margin
    if options.cycle:
        asked["cycle"] = True
    trajectory = read.trajectory.model_copy(update=asked)
    try:
        if options.machine is not None:
            found = _offline(options.machine, trajectory)
        else:
            with robot_of(options, lease=False) as robot:
                found = dict(robot.check(trajectory))
    except RequestError as error:
        raise placed(error, read) from None
    timing = found["report"].get("timing")
    if options.plot is not None and timing is not None:
        written(options.plot, partial(draw_timing, timing, options.plot))
    if options.as_json:
        emit(found | ({} if options.plot is None else {"plot": str(options.plot)}))
    elif timing is None:
        for violation in found["violations"]:
            say(f"refused: {violation['text']}")
    else:
        say(f"{timing['duration_s']:.4f} s" + (_as_given(timing) if _has_times(read.source.data) else ""))
        for line in planned_lines(found["report"]):
            say(line)
        console.print(limits_of(timing))
        for line in stretch_lines(timing):
            say(line)
    return DONE if found["feasible"] else REFUSED


def _has_times(content: Mapping[str, Any]) -> bool:
    """Return whether a file gives times, rather than way-points alone."""
    return all(TIME in point for point in content.get("points") or ())


def _as_given(timing: Mapping[str, Any]) -> str:
    times = timing["given_s"] / timing["duration_s"]
    return f"; as given {timing['given_s']:.4f} s, {times:.3g} times as long"


def _offline(name: str, trajectory: Trajectory) -> dict[str, Any]:
    """Answer of `check`, from the pose in which the path begins."""
    machine = load(name)
    start = Start.at_pose(machine, machine.initial_q)
    params = {"trajectory": trajectory.model_dump(exclude_none=True, by_alias=True)}
    try:
        return judge(params, machine, start)
    except RequestError as error:
        if "begin" not in error.data:
            raise
        there = plan("move", {"target": dict(error.data["begin"])}, machine, start).poses
        assert there is not None, "a planned move has poses"
        return judge(params, machine, Start.at_pose(machine, there[-1, 1:]))


def stretch_lines(timing: Mapping[str, Any]) -> Iterator[str]:
    """Return the stretches of the path with what limits each, without those below 1 % of the time."""
    least = _LEAST_LISTED * timing["duration_s"]
    listed = [each for each in timing["stretches"] if each["to_s"] - each["from_s"] >= least]
    for each in listed:
        yield f"  {each['from_s']:.3f} to {each['to_s']:.3f} s: {_named(each)}"
    shorter = len(timing["stretches"]) - len(listed)
    if shorter:
        yield f"  and {shorter} shorter ones (--json lists all)"


def limits_of(timing: Mapping[str, Any]) -> Any:
    """Return the table of limits: share of the time, and what a larger limit saves."""
    more = {(each["quantity"], each["name"]): each["saves_s"] for each in timing.get("savings", ())}
    percent = 100.0 * (timing.get("factor", 1.0) - 1.0)
    rows = []
    for each in timing["limits"]:
        saved = more.get((each["quantity"], each["name"]))
        saves = "" if saved is None else f"{1e3 * saved:.1f} ms"
        rows.append((_named(each), f"{each['time_s']:.4f}", f"{each['share']:.1%}", saves))
    return table("", ("limited by", "s", "of the time", f"{percent:.0f} % more saves"), rows)


def _named(limit: Mapping[str, Any]) -> str:
    return f"{limit['quantity']} of {limit['name']}"


def draw_timing(timing: Mapping[str, Any], target: Path) -> None:
    """Draw the goal coordinates over time, coloured by what limits the motion."""
    from matplotlib.figure import Figure

    path, names = timing["path"], [_named(each) for each in timing["limits"]]
    figure = Figure(figsize=(8.0, 2.2 * len(path["positions"]) + 1.2), layout="constrained")
    panels = figure.subplots(len(path["positions"]), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (name, values) in zip(panels, path["positions"].items(), strict=True):
        for each in timing["stretches"]:
            hue = f"C{names.index(_named(each)) % _HUES}"
            axes.axvspan(each["from_s"], each["to_s"], color=hue, alpha=0.35, linewidth=0)
        axes.plot(path["time_s"], values, color="black", linewidth=1.2)
        axes.set_ylabel(f"{name}, {path['units'][name]}")
    panels[-1].set_xlabel("time, s")
    for number, each in enumerate(timing["limits"]):
        panels[0].plot([], [], color=f"C{number % _HUES}", linewidth=6.0, alpha=0.35,
                       label=f"{names[number]} {each['share']:.0%}")  # fmt: skip
    figure.legend(loc="outside upper center", ncols=3, fontsize="small")
    figure.savefig(target)
