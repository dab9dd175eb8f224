"""Commands that move the machine: move, send, jog."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from linkwork.cli.assignments import read_assignments, read_guard, read_target
from linkwork.cli.checked_text import limits_table, lines, planned_lines, result_lines
from linkwork.cli.connected import ConnectionOptions
from linkwork.cli.jog_keys import jog_with_keys
from linkwork.cli.options.operate import JogOptions, MoveOptions, SendOptions
from linkwork.cli.robot_connection import robot_of
from linkwork.client.goal import Goal, GoalFailed
from linkwork.client.robot import Robot
from linkwork.display_units import in_display_units
from linkwork.protocol.errors import RequestError
from linkwork.protocol.results import GoalResult, StateResult
from linkwork.terminal.failures import DONE, GOAL_FAILED, REFUSED, Misuse
from linkwork.terminal.output import complain, console, emit, goal_bar, say
from linkwork.trajectories.trajectory_file import TrajectoryFile, read_trajectory_file

JOG_EVERY_S = 0.1
_AFTER_CANCEL_S = 30.0
_STANDS_WITHIN_S = 10.0


def move(options: MoveOptions) -> int:
    """Run `linkwork move`."""
    with robot_of(options, lease=not options.no_wait) as robot:
        described = robot.describe()
        guard = read_guard(options.until_force, described)
        targets = read_target(options.target, described)
        goal = robot.move(
            targets,
            speed=options.speed,
            wait=False,
            until_force=guard,
            conflict=options.conflict,
            rest=options.rest,
            metric=options.metric,
            replace=options.replace,
            at_tick=options.at_tick,
        )
        return _accepted(options, goal) if options.no_wait else _follow(options, goal, "move")


def send(options: SendOptions) -> int:
    """Run `linkwork send`."""
    if options.append + options.replace + options.approach > 1:
        raise Misuse("choose one of --append, --replace and --approach")
    read = read_trajectory_file(options.file)
    with robot_of(options, lease=not (options.check or options.no_wait)) as robot:
        try:
            if options.check:
                return _checked(options, robot, read)
            if options.append:
                goal = robot.append(read.trajectory, at_tick=options.at_tick)
            else:
                goal = robot.send(
                    read.trajectory,
                    at_tick=options.at_tick,
                    replace=options.replace,
                    approach=options.approach,
                )
        except RequestError as error:
            raise _placed(error, read) from None
        return _accepted(options, goal) if options.no_wait else _follow(options, goal, options.file.name)


def jog(options: JogOptions) -> None:
    """Run `linkwork jog`."""
    if bool(options.velocity) != (options.seconds is not None):
        raise Misuse("give velocities and --for SECONDS together, or neither of them to jog with keys")
    with robot_of(options) as robot:
        described = robot.describe()
        if options.velocity and options.seconds is not None:
            _jog_for(robot, read_assignments(options.velocity, described, speeds=True), options.seconds)
        else:
            jog_with_keys(robot, described, options.fraction, console)
        found = _at_rest(robot)
    if options.as_json:
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


def _follow(link: ConnectionOptions, goal: Goal, what: str) -> int:
    """Show a goal until it ends; return its result."""
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


def _cancel(link: ConnectionOptions, goal: Goal) -> int:
    with suppress(RequestError):  # it may have ended in the same moment
        goal.cancel()
    try:
        _answer(link, goal, goal.wait(_AFTER_CANCEL_S))
    except GoalFailed as failed:
        _answer(link, goal, failed.result)
    except TimeoutError as late:
        complain(str(late))
    return GOAL_FAILED


def _answer(link: ConnectionOptions, goal: Goal, result: GoalResult) -> None:
    if link.as_json:
        emit({**result, "duration_s": goal.duration_s, "report": goal.accepted["report"]})
    else:
        text = f": {in_display_units(result['text'])}" if result["text"] else ""
        took = f"took {result['took_s']:.3f} s, " if "took_s" in result else ""
        say(f"{result['name']}{text}; {took}planned duration {goal.duration_s:.3f} s")
        for line in result_lines(result):
            say(line)


def _accepted(link: ConnectionOptions, goal: Goal) -> int:
    if link.as_json:
        emit(goal.accepted)
    else:
        say(f"goal {goal.number} accepted, {goal.duration_s:.3f} s")
        for line in planned_lines(goal.accepted["report"]):
            say(line)
    return DONE


def _checked(link: ConnectionOptions, robot: Robot, read: TrajectoryFile) -> int:
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
