"""Commands that move the machine: move, send, jog; paths and results as text."""

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from rich.table import Table

from linkwork.cli.assignments import read_assignments, read_bounds, read_guard, read_rows, read_target
from linkwork.cli.connected import ConnectionOptions
from linkwork.cli.jog_keys import jog_with_keys
from linkwork.cli.options.operate import JogOptions, MoveOptions, SendOptions
from linkwork.cli.robot_connection import robot_of
from linkwork.client.goal import Goal, GoalFailed
from linkwork.client.robot import Robot
from linkwork.display_units import in_display_units, shown
from linkwork.protocol.errors import RequestError
from linkwork.protocol.results import Checked, GoalResult, PathReport, StateResult
from linkwork.terminal.failures import DONE, GOAL_FAILED, REFUSED, Misuse
from linkwork.terminal.output import complain, console, emit, goal_bar, number, say, table
from linkwork.trajectories.trajectory_file import TrajectoryFile, read_trajectory_file

JOG_EVERY_S = 0.1
_AFTER_CANCEL_S = 30.0
_STANDS_WITHIN_S = 10.0


_FAR_FROM_SINGULAR = "far_from_singular"
_NEAR = 0.5
"""Share of a limit from which on it is worth a line."""


def move(options: MoveOptions) -> int:
    """Run `linkwork move`."""
    with robot_of(options, lease=not options.no_wait) as robot:
        described = robot.describe()
        guard = read_guard(options.until_force, described)
        rows = read_rows(options.row, described)
        targets = read_target(options.target, described, rows)
        away = options.prefer == (_FAR_FROM_SINGULAR,)
        posture = read_assignments(() if away else options.prefer, described)
        goal = robot.move(
            targets,
            speed=options.speed,
            wait=False,
            until_force=guard,
            conflict=options.conflict,
            rest=options.rest,
            metric=options.metric,
            rows=rows or None,
            timing=options.timing,
            prefer=_FAR_FROM_SINGULAR if away else {"posture": posture} if posture else None,
            keep=read_bounds(options.keep, described, rows) or None,
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
            raise placed(error, read) from None
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
        state = _at_rest(robot)
    if options.as_json:
        emit(state)
    else:
        say(state["state"])


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
    while (state := robot.state)["state"] == "stopping" and time.monotonic() < end:
        time.sleep(JOG_EVERY_S)
    return state


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
    checked = robot.check(read.trajectory)
    if link.as_json:
        emit(checked)
    else:
        for line in lines(checked):
            say(line)
        peaks = limits_table(checked)
        if peaks is not None:
            console.print(peaks)
    return DONE if checked["feasible"] else REFUSED


def placed(error: Any, read: TrajectoryFile) -> Any:
    """Return the refusal, preceded by the file's line where it is about one."""
    place = read.place(error)
    if place:
        error.message = f"{place}: {error.message}"
    return error


def lines(checked: Checked) -> Iterator[str]:
    """Return the verdict in a few lines."""
    what = f"{checked['duration_s']:.3f} s in {', '.join(checked['coordinates'])}"
    if checked["feasible"]:
        yield f"would be accepted: {what}"
    else:
        yield f"would be refused: {what}"
    for violation in checked["violations"]:
        where = f"on the way to point {violation['point']}: " if violation["point"] is not None else ""
        yield f"  {where}{violation['text']}{_span(violation)}"
    if not checked["feasible"]:
        stretch = checked["min_time_stretch"]
        yield (f"stretch its time by {stretch:.4g} at least" if stretch else "no longer duration would help")
    elif checked["largest_speed"]:
        yield f"within all limits up to {checked['largest_speed']:.3g} times its own speed"
    yield from planned_lines(checked["report"])
    yield from _distances(checked["report"])


def _span(violation: Mapping[str, Any]) -> str:
    """Return the time span, where more than one sample is beyond the limit."""
    if violation.get("samples", 0) < 2:
        return ""
    return f"; {violation['samples']} samples from {violation['from_s']:.3f} s to {violation['to_s']:.3f} s"


def _distances(report: Mapping[str, Any]) -> Iterator[str]:
    """Return the distances from singularities of coordinates, closures and motors."""
    for name, entry in (report.get("singularities") or {}).items():
        if entry is not None:
            needed = f", at least {number(entry['limit'])} is needed" if "limit" in entry else ""
            least, when = number(entry["smallest"]), entry["time_s"]
            yield f"smallest singular value of the {name}: {least} at {when:.3f} s{needed}"


def limits_table(checked: Checked) -> Table | None:
    """Return a table of limits that are nearly reached or exceeded, and of every effort.

    None where the path could not be computed.
    """
    limits: Mapping[str, Mapping[str, Mapping[str, Any]]] = checked["report"].get("limits", {})
    rows = [
        (
            quantity,
            name,
            number(entry["value"]),
            number(entry["limit"]),
            entry["unit"],
            f"{entry['used']:.0%}",
            f"{entry['time_s']:.3f}",
        )
        for quantity, names in limits.items()
        for name, entry in names.items()
        if entry["used"] >= _NEAR or quantity.startswith("effort")
    ]
    columns = ("quantity", "of", "peak", "limit", "unit", "used", "at s")
    return table("", columns, rows) if rows else None


MOST_LINES = 20
"""Events and edges that are printed; `--json` has all."""


def planned_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Return warnings, corridor and events of a trajectory that was checked or accepted, from its report."""
    yield from (f"  warning: {text}" for text in report.get("warnings") or ())
    corridor = report.get("timing", {}).get("corridor")
    if corridor is not None:
        yield f"  the corridor saves {1e3 * corridor['saves_s']:.3g} ms of {corridor['straight_s']:.4g} s"
        for each in corridor["points"]:
            place = ", ".join(f"{value:.6g}" for value in each["positions"])
            yield f"    way-point {each['point']} at {place}"
    events = report.get("events") or []
    for told in events[:MOST_LINES]:
        early = f", set at {told['fires_s']:.4g} s" if told["fires_s"] != told["time_s"] else ""
        along = f" ({told['path_m']:.4g} m)" if told.get("path_m") is not None else ""
        yield f"  event {told['event']} at {told['time_s']:.4g} s{along}{early}: {_values(told['set'])}"
    yield from _rest(len(events) - MOST_LINES, "events")


def result_lines(result: PathReport) -> Iterator[str]:
    """Return errors, rows that were not followed, events, captured edges and condition of a result."""
    worst: dict[str, Any] = {}
    for error in result.get("largest_errors") or ():
        if error["value"] >= worst.get(error["unit"], error)["value"]:
            worst[error["unit"]] = error
    if worst:
        errors = (f"{shown(each['value'], unit)} ({each['coordinate']})" for unit, each in worst.items())
        yield f"  largest error {', '.join(errors)}"
    for row in result.get("given_up") or ():
        yield f"  {row['coordinate']} was not followed by up to {row['value']:.3g} {row['unit']}"
    events = result.get("events") or []
    for told in events[:MOST_LINES]:
        when = "not reached" if told["tick"] is None else f"tick {told['tick']}, {told['time_s']:.3f} s"
        yield f"  event {told['event']}: {when}: {_values(told['set'])}"
    yield from _rest(len(events) - MOST_LINES, "events")
    edges = result.get("captures") or []
    for edge in edges[:MOST_LINES]:
        along = "" if edge["path_m"] is None else f", {edge['path_m']:.4g} m along the path"
        value = _values({edge["input"]: edge["value"]})
        yield f"  {edge['capture']}: tick {edge['tick']}, {edge['time_s']:.3f} s{along}: {value}"
    yield from _rest(len(edges) - MOST_LINES + result.get("captures_more", 0), "edges")
    until = result.get("until")
    if until is not None:
        often = f"began to hold {until['met']} times, last in" if until["met"] > 1 else "was met in"
        when = "was not met" if until["tick"] is None else f"{often} tick {until['tick']}"
        yield f"  the condition {when}"


def _rest(count: int, what: str) -> Iterator[str]:
    if count > 0:
        yield f"  and {count} more {what}"


def _values(values: Mapping[str, bool | float]) -> str:
    """Signals and their values as people write them."""
    words = {True: "on", False: "off"}
    return ", ".join(
        f"{name} {words[value] if isinstance(value, bool) else f'{value:g}'}"
        for name, value in values.items()
    )
