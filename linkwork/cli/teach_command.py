"""The command that captures way-points: teach."""

import sys
import time
from collections.abc import Callable
from typing import Any

from linkwork.cli.jog_keys import jog_with_keys, keys, raw_terminal
from linkwork.cli.options.operate import TeachOptions
from linkwork.cli.robot_connection import robot_of
from linkwork.client.robot import Robot
from linkwork.terminal.failures import DONE, Misuse, write_text
from linkwork.terminal.output import console, emit, say
from linkwork.trajectories.teach import TeachList, capture_every, finished, lesson_text

_CAPTURE = (" ", "\r", "\n")


def teach(options: TeachOptions) -> int:
    """Run `linkwork teach`."""
    if options.seconds is not None and options.every is None:
        raise Misuse("--for needs --every")
    if options.by_jog and options.every is not None:
        raise Misuse("choose one of --jog and --every")
    if options.file.exists() and not options.force:
        raise Misuse(f"{options.file} exists; choose another file, or overwrite it with --force")
    if options.seconds is None and not sys.stdin.isatty():
        raise Misuse("teaching with keys needs a terminal; otherwise: --every SECONDS --for SECONDS")
    with robot_of(options) as robot:
        described = robot.describe()
        lesson = TeachList.from_description(described)
        if options.by_jog:
            _jogging(robot, described, lesson, options.fraction)
        else:
            _floating(robot, lesson, options.every, options.seconds)
        if not lesson.points:
            say("nothing was captured; no file is written")
            return DONE
        made, stretch = finished(robot, lesson, as_shown=options.every is not None)
    write_text(options.file, lesson_text(made, described["machine"]))
    if options.as_json:
        emit({"file": str(options.file), "time_stretch": stretch, **made})
    else:
        slower = f", {stretch:.3g} times slower than taught" if stretch > 1.0 else ""
        points = f"{len(made['points'])} points in {options.file}{slower}"
        say(f"{points}; follow them: linkwork send {options.file}")
    return DONE


def _tell(text: str) -> None:
    console.print(f"{text}\r")


def _captured(robot: Robot, lesson: TeachList) -> None:
    new = lesson.capture(robot.state, time.monotonic())
    _tell(f"point {len(lesson.points)}" if new else "it has not moved since the last point")


def _floating(robot: Robot, lesson: TeachList, every: float | None, seconds: float | None) -> None:
    end = None if seconds is None else time.monotonic() + seconds
    robot.law("float")
    try:
        if end is not None and every is not None:
            capture_every(robot, lesson, every, _until(end), _tell)
            return
        console.print("move the machine by hand; [bold]space[/]: capture   [bold]q[/]: save and end")
        with raw_terminal() as fd:
            if every is not None:
                capture_every(robot, lesson, every, lambda wait: "q" in keys(fd, wait), _tell)
                return
            while True:
                for key in keys(fd, 0.1):
                    if key in ("q", "\x03", "\x04"):
                        return
                    if key in _CAPTURE:
                        _captured(robot, lesson)
    finally:
        robot.law("hold")


def _until(end: float) -> Callable[[float], bool]:
    def over(wait_s: float) -> bool:
        left = end - time.monotonic()
        time.sleep(max(0.0, min(wait_s, left)))
        return left <= wait_s

    return over


def _jogging(robot: Robot, described: Any, lesson: TeachList, fraction: float) -> None:
    console.print("[bold]space[/]: capture")
    jog_with_keys(robot, described, fraction, console, _CAPTURE, lambda: _captured(robot, lesson))
