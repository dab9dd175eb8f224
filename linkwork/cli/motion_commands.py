"""Commands that move the machine: move, send, jog."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.assignments import read_assignments, read_guard, read_target
from linkwork.cli.connected import ControllerConnection, connected
from linkwork.cli.state_commands import AtTick
from linkwork.display_units import in_display_units
from linkwork.terminal.failures import DONE, GOAL_FAILED, REFUSED, Misuse
from linkwork.terminal.output import complain, console, emit, say

if TYPE_CHECKING:
    from linkwork.client.goal import Goal
    from linkwork.client.robot import Robot
    from linkwork.protocol.results import GoalResult, StateResult
    from linkwork.trajectories.trajectory_file import TrajectoryFile

JOG_EVERY_S = 0.1
_AFTER_CANCEL_S = 30.0
_STANDS_WITHIN_S = 10.0
Assignments = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME=VALUE...|POSE", help="shoulder_deg=30; also _rad and _m. Or a pose of the file: home."
    ),
]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Do not wait for the goal to end.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace the active goal, without stopping.")]


@connected
def move(
    link: ControllerConnection,
    target: Assignments,
    speed: Annotated[float, typer.Option(min=0.001, max=1.0, help="Fraction of the velocity limits.")] = 1.0,
    until_force: Annotated[
        str | None,
        typer.Option(
            "--until-force",
            metavar="[CONTACT=]N",
            help="Guarded move: stop at contact, then press with this force (N).",
        ),
    ] = None,
    no_wait: NoWait = False,
    replace: Replace = False,
    at_tick: AtTick = None,
) -> int:
    """Make a jerk-limited point-to-point move, and show it until it ends. Ctrl-C cancels it."""
    with link.robot(lease=not no_wait) as robot:
        described = robot.describe()
        guard = read_guard(until_force, described)
        targets = read_target(target, described)
        goal = robot.move(
            targets, speed=speed, wait=False, until_force=guard, replace=replace, at_tick=at_tick
        )
        return _accepted(link, goal) if no_wait else _follow(link, goal, "move")


@connected
def send(
    link: ControllerConnection,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="YAML, or CSV of way-points.")],
    check: Annotated[bool, typer.Option("--check", help="Only check whether it would be accepted.")] = False,
    replace: Replace = False,
    approach: Annotated[bool, typer.Option("--approach", help="Move to its beginning first.")] = False,
    append: Annotated[
        bool,
        typer.Option("--append", help="Follow it after the active goal, without a stop if possible."),
    ] = False,
    no_wait: NoWait = False,
    at_tick: AtTick = None,
) -> int:
    """Follow a trajectory, and show it until it ends. Ctrl-C cancels it."""
    if append + replace + approach > 1:
        raise Misuse("choose one of --append, --replace and --approach")
    from linkwork.protocol.errors import RequestError
    from linkwork.trajectories.trajectory_file import read_trajectory_file

    read = read_trajectory_file(file)
    with link.robot(lease=not (check or no_wait)) as robot:
        try:
            if check:
                return _checked(link, robot, read)
            if append:
                goal = robot.append(read.trajectory, at_tick=at_tick)
            else:
                goal = robot.send(read.trajectory, at_tick=at_tick, replace=replace, approach=approach)
        except RequestError as error:
            raise _placed(error, read) from None
        return _accepted(link, goal) if no_wait else _follow(link, goal, file.name)


@connected
def jog(
    link: ControllerConnection,
    velocity: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VELOCITY...", help="shoulder_deg_s=5; also _rad_s and _m_s."),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--for", min=0.05, max=60.0, metavar="SECONDS", help="Duration, then stop."),
    ] = None,
    fraction: Annotated[
        float, typer.Option("--speed", min=0.001, max=1.0, help="With keys: fraction of the velocity limits.")
    ] = 0.1,
) -> None:
    """Move while a key is held (dead-man); with NAME=VELOCITY and --for, at that velocity for that time."""
    if bool(velocity) != (seconds is not None):
        raise Misuse("give velocities and --for SECONDS together, or neither of them to jog with keys")
    with link.robot() as robot:
        described = robot.describe()
        if velocity and seconds is not None:
            _jog_for(robot, read_assignments(velocity, described, speeds=True), seconds)
        else:
            from linkwork.cli.jog_keys import jog_with_keys

            jog_with_keys(robot, described, fraction, console)
        found = _at_rest(robot)
    if link.as_json:
        emit(found)
    else:
        say(found["state"])


def _jog_for(robot: Robot, velocities: dict[str, float], seconds: float) -> None:
    """Repeat the velocities until the time is over; then stop the machine."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        robot.jog(velocities)
        time.sleep(min(JOG_EVERY_S, max(left, 0.0)))
    robot.stop()


def _at_rest(robot: Robot) -> StateResult:
    """Return the state once the stop is over, or after a while."""
    end = time.monotonic() + _STANDS_WITHIN_S
    while (found := robot.state)["state"] == "stopping" and time.monotonic() < end:
        time.sleep(JOG_EVERY_S)
    return found


def _follow(link: ControllerConnection, goal: Goal, what: str) -> int:
    """Show a goal until it ends; return its result."""
    from linkwork.client.goal import GoalFailed
    from linkwork.terminal.output import goal_bar

    for text in goal.accepted["report"].get("warnings") or ():
        complain(f"warning: {text}")
    try:
        with goal_bar(console, what) as show:
            _answer(link, goal, goal.wait(on_progress=show))
    except KeyboardInterrupt:
        return _cancel(link, goal)
    except GoalFailed as failed:
        _answer(link, goal, failed.result)
        return GOAL_FAILED
    return DONE


def _cancel(link: ControllerConnection, goal: Goal) -> int:
    from linkwork.client.goal import GoalFailed
    from linkwork.protocol.errors import RequestError

    with suppress(RequestError):  # it may have ended in the same moment
        goal.cancel()
    try:
        _answer(link, goal, goal.wait(_AFTER_CANCEL_S))
    except GoalFailed as failed:
        _answer(link, goal, failed.result)
    except TimeoutError as late:
        complain(str(late))
    return GOAL_FAILED


def _answer(link: ControllerConnection, goal: Goal, result: GoalResult) -> None:
    if link.as_json:
        emit({**result, "duration_s": goal.duration_s, "report": goal.accepted["report"]})
    else:
        from linkwork.cli.checked_text import result_lines

        text = f": {in_display_units(result['text'])}" if result["text"] else ""
        took = f"took {result['took_s']:.3f} s, " if "took_s" in result else ""
        say(f"{result['name']}{text}; {took}planned duration {goal.duration_s:.3f} s")
        for line in result_lines(result):
            say(line)


def _accepted(link: ControllerConnection, goal: Goal) -> int:
    if link.as_json:
        emit(goal.accepted)
    else:
        from linkwork.cli.checked_text import planned_lines

        say(f"goal {goal.number} accepted, {goal.duration_s:.3f} s")
        for line in planned_lines(goal.accepted["report"]):
            say(line)
    return DONE


def _checked(link: ControllerConnection, robot: Robot, read: TrajectoryFile) -> int:
    from linkwork.cli.checked_text import limits_table, lines

    found = robot.check(read.trajectory)
    if link.as_json:
        emit(found)
    else:
        for line in lines(found):
            say(line)
        peaks = limits_table(found)
        if peaks is not None:
            console.print(peaks)
    return DONE if found["feasible"] else REFUSED


def _placed(error: Any, read: TrajectoryFile) -> Any:
    """Return the refusal, preceded by the file's line where it is about one."""
    place = read.place(error)
    if place:
        error.message = f"{place}: {error.message}"
    return error
