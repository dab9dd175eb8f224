"""`linkwork stream`: set-points from a file, a pipe or another machine."""

import csv
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TextIO

from linkwork.cli.options.operate import StreamOptions
from linkwork.cli.robot_connection import robot_of
from linkwork.client.goal import GoalFailed
from linkwork.client.robot import Robot
from linkwork.client.stream import follow_leader, positions_of
from linkwork.terminal.failures import DONE, GOAL_FAILED, Misuse
from linkwork.terminal.output import emit, say

TIME, VELOCITY = "time_s", "_velocity"
Row = tuple[float | None, list[float]]
"""Stamp, if given; positions and velocities."""


def stream(options: StreamOptions) -> int:
    """Run `linkwork stream`."""
    try:
        if options.leader is not None:
            return _follow_leader(options, options.leader)
        opened = nullcontext(sys.stdin) if options.source == "-" else _opened(Path(options.source))
        with opened as text, robot_of(options) as robot:
            names, rows = _table(text, options.source)
            _send(options, robot, names, rows)
    except GoalFailed as failed:
        say(str(failed))
        return GOAL_FAILED
    return DONE


def _opened(path: Path) -> TextIO:
    try:
        return path.open(newline="")
    except OSError as error:
        raise Misuse(f"cannot read {path}: {error.strerror}") from None


def _table(text: TextIO, source: str) -> tuple[list[str], Iterator[Row]]:
    """The streamed coordinates, and the rows as they come. Raises Misuse."""
    lines = (line for line in text if line.strip() and not line.startswith("#"))
    reader = csv.reader(lines)
    header = [cell.strip() for cell in next(reader, [])]
    names = [cell for cell in header if cell != TIME and not cell.endswith(VELOCITY)]
    rates = [cell for cell in header if cell.endswith(VELOCITY)]
    if not names or (rates and sorted(rates) != sorted(f"{name}{VELOCITY}" for name in names)):
        raise Misuse(
            f"{source}: the first line has to name the columns: {TIME} (optional), coordinates, and"
            f" NAME{VELOCITY} of all of them or of none; found: {', '.join(header) or 'nothing'}"
        )
    order = [*names, *(f"{name}{VELOCITY}" for name in names if rates)]

    def rows() -> Iterator[Row]:
        for number, cells in enumerate(reader, 2):
            try:
                found = dict(zip(header, map(float, cells), strict=True))
            except ValueError:
                raise Misuse(
                    f"{source}: row {number} has to be {len(header)} numbers ({', '.join(header)}), found:"
                    f" {','.join(cells)}"
                ) from None
            yield found.get(TIME), [found[name] for name in order]

    return names, rows()


def _send(options: StreamOptions, robot: Robot, names: list[str], rows: Iterator[Row]) -> None:
    """Send the rows: live ones when they come, those of a file at the time that they say."""
    live, rate = options.source == "-", options.rate
    robot.enable()
    with robot.stream(*names, rate_hz=rate, delay_s=options.delay, on_stale=options.on_stale) as stream:
        start, first, sent = time.monotonic(), None, 0
        for stamp, values in rows:
            if first is None:
                first = stamp or 0.0
            due = sent / rate if stamp is None else stamp - first
            if not live:
                time.sleep(max(0.0, start + due - time.monotonic()))
            now = time.monotonic() if live else start + due
            stream.put_rows([[now if stamp is None else stamp, *values]])
            sent += 1
        result = stream.finish()
    if options.as_json:
        emit({**result, "set_points": sent})
    else:
        say(f"{result['name']}: {result['text']}; {sent} set-points")


def _follow_leader(options: StreamOptions, leader: str) -> int:
    """Follow another machine's coordinates, each from where both are now, until Ctrl-C."""
    wanted = dict(pair.partition("=")[::2] for pair in options.pairs.split(",") if pair)
    if not wanted or not all(wanted.values()):
        raise Misuse("--from needs the coordinates that follow: --map x=x,y=y")
    with Robot(leader, lease=False) as led, robot_of(options) as robot:
        for name, known in [
            *((name, positions_of(robot)) for name in wanted),
            *((name, positions_of(led)) for name in wanted.values()),
        ]:
            if name not in known:
                raise Misuse(f"--map: there is no coordinate {name!r}; there are {', '.join(known)}")
        robot.enable()
        say(f"following {leader}; Ctrl-C ends it")
        try:
            follow_leader(
                robot, led, wanted, rate_hz=options.rate, delay_s=options.delay, on_stale=options.on_stale
            )
        except KeyboardInterrupt:
            say("stopped following")
    return DONE
