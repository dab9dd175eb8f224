"""The command that captures way-points: teach."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.connected import ControllerConnection, connected
from linkwork.terminal.failures import DONE, Misuse
from linkwork.terminal.output import console, emit, say

if TYPE_CHECKING:
    from linkwork.client.robot import Robot
    from linkwork.trajectories.teach import Lesson

_CAPTURE = (" ", "\r", "\n")


@connected
def teach(
    link: ControllerConnection,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Trajectory file to write.")],
    by_jog: Annotated[
        bool, typer.Option("--jog", help="Jog with keys. Default: the machine floats and is moved by hand.")
    ] = False,
    every: Annotated[
        float | None,
        typer.Option("--every", min=0.02, metavar="SECONDS", help="Capture automatically at this interval."),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--for", min=0.02, metavar="SECONDS", help="With --every: total duration."),
    ] = None,
    fraction: Annotated[
        float, typer.Option("--speed", min=0.001, max=1.0, help="With --jog: fraction of velocity limits.")
    ] = 0.1,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> int:
    """Capture way-points, by hand or jogged: space or enter captures, q saves and ends."""
    from linkwork.trajectories.teach import Lesson, finished, write_lesson

    if seconds is not None and every is None:
        raise Misuse("--for needs --every")
    if by_jog and every is not None:
        raise Misuse("choose one of --jog and --every")
    if file.exists() and not force:
        raise Misuse(f"{file} exists; choose another file, or overwrite it with --force")
    if seconds is None and not sys.stdin.isatty():
        raise Misuse("teaching with keys needs a terminal; otherwise: --every SECONDS --for SECONDS")
    with link.robot() as robot:
        described = robot.describe()
        lesson = Lesson.from_description(described)
        if by_jog:
            _jogging(robot, described, lesson, fraction)
        else:
            _floating(robot, lesson, every, seconds)
        if not lesson.points:
            say("nothing was captured; no file is written")
            return DONE
        made, stretch = finished(robot, lesson, as_shown=every is not None)
    write_lesson(file, made, described["machine"])
    if link.as_json:
        emit({"file": str(file), "time_stretch": stretch, **made})
    else:
        slower = f", {stretch:.3g} times slower than taught" if stretch > 1.0 else ""
        say(f"{len(made['points'])} points in {file}{slower}; follow them: linkwork send {file}")
    return DONE


def _tell(text: str) -> None:
    console.print(f"{text}\r")


def _captured(robot: Robot, lesson: Lesson) -> None:
    new = lesson.capture(robot.state, time.monotonic())
    _tell(f"point {len(lesson.points)}" if new else "it has not moved since the last point")


def _floating(robot: Robot, lesson: Lesson, every: float | None, seconds: float | None) -> None:
    from linkwork.cli.jog_keys import keys, raw_terminal
    from linkwork.trajectories.teach import capture_every

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


def _jogging(robot: Robot, described: Any, lesson: Lesson, fraction: float) -> None:
    from linkwork.cli.jog_keys import jog_with_keys

    console.print("[bold]space[/]: capture")
    jog_with_keys(robot, described, fraction, console, _CAPTURE, lambda: _captured(robot, lesson))
