"""`linkwork faults show`: the record before a fault, as text and curves for the terminal."""

import re
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.cli.connected import ConnectionOptions
from linkwork.cli.motion_files import written
from linkwork.cli.options.operate import MOST_FAULTS, ShowFaultOptions
from linkwork.cli.recording_commands import read_file
from linkwork.display_units import in_display_units
from linkwork.protocol.endpoints import state_dir
from linkwork.protocol.errors import NobodyThere
from linkwork.recordings.fault_record import FaultRecord, fault_record
from linkwork.recordings.recorded_run import recorded_machine
from linkwork.recordings.recording import thinned
from linkwork.recordings.signal_plot import draw_panels
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import emit, say


def show_fault(options: ShowFaultOptions) -> None:
    """Run `linkwork faults show`."""
    path = _record(options, int(options.fault)) if options.fault.isdigit() else Path(options.fault)
    recording = read_file(path)
    try:
        found = fault_record(
            recording, recorded_machine(recording), options.before, options.after, options.signal
        )
    except ValueError as error:
        raise Misuse(str(error)) from None
    if options.save is not None:
        title = f"{found.machine}   {found.fault['name']}: {in_display_units(found.fault['text'])}"
        written(options.save, partial(draw_panels, found.time_s, found.panels, options.save, title, 0.0))
    if options.as_json:
        emit(_as_map(found, path, options.save, options.points))
        return
    for line in _text(found, path, shutil.get_terminal_size((100, 24)).columns):
        say(line)
    if options.save is not None:
        say(str(options.save))


def _record(link: ConnectionOptions, number: int) -> Path:
    """Return the flight record of a fault of the running controller, or of an earlier one. Raises Misuse."""
    try:
        listed = link.ask("faults", limit=MOST_FAULTS)["faults"]
    except NobodyThere:
        if link.endpoint is not None:
            raise
        return _earlier(link.robot_name, number)
    if not 1 <= number <= len(listed):
        there = (
            f"1 to {len(listed)} are there" if listed else "there was no fault since the controller started"
        )
        raise Misuse(f"there is no fault {number}: {there}; a flight record may also be given as a file")
    if not listed[number - 1]["record"]:
        raise Misuse(
            f"fault {number} has no flight record: it is written a second after the fault, unless another "
            "fault has come by then"
        )
    return Path(listed[number - 1]["record"])


def _earlier(machine: str | None, number: int) -> Path:
    """Return a flight record of a controller that has ended, counted from the newest. Raises Misuse."""
    folder = state_dir() / "logs"
    name = ".+" if machine is None else re.escape(machine)
    pattern = re.compile(name + r"-\d{8}-\d{6}-flight-\d+\.mcap")
    paths = [path for path in folder.glob("*.mcap") if pattern.fullmatch(path.name)]
    paths.sort(key=lambda path: -path.stat().st_mtime)
    if not 1 <= number <= len(paths):
        raise Misuse(
            f"no controller runs, and {folder} holds {len(paths)} flight records; give the file of one"
        )
    return paths[number - 1]


def _text(found: FaultRecord, path: Path, columns: int) -> list[str]:
    fault = found.fault
    lines = [f"{found.machine}: {fault['name']}: {in_display_units(fault['text'])}"]
    lines.append(f"tick {fault['tick']}; {path}")
    if fault.get("clears_when"):
        lines.append(f"clears when {fault['clears_when']}")
    lines += ["", "what happened (time to the fault)"]
    lines += [f"  {each.time_s:+9.3f} s  {in_display_units(each.text)}" for each in found.happenings]
    for panel in (each.displayed() for each in found.panels):
        marks = "   ".join(f"{mark} {name}" for mark, name in zip(MARKS * 9, panel.curves, strict=False))
        limits = "   - limit" if panel.limits else ""
        lines += ["", f"{panel.title}      {marks}{limits}   | fault"]
        lines += text_chart(found.time_s, panel.curves, limits=panel.limits, moment_s=0.0, width=columns)
        lines.append(time_axis(float(found.time_s[0]), float(found.time_s[-1]), columns))
    return lines


def _as_map(found: FaultRecord, path: Path, save: Path | None, points: int) -> dict[str, Any]:
    return {
        "machine": found.machine,
        "record": str(path),
        "fault": found.fault,
        "events": [
            {"time_s": each.time_s, "tick": each.tick, "group": each.group, "text": each.text}
            for each in found.happenings
        ],
        "signals": {
            panel.title: {
                "curves": list(panel.curves),
                "limits": list(panel.limits),
                **(thinned(found.time_s, panel.curves, points) if points else {}),
            }
            for panel in found.panels
        },
        "out": str(save) if save is not None else None,
    }


MARKS: Final = "*o+x#%"
"""One for each curve, in order; a later curve is drawn over an earlier one."""
_LABEL: Final = 11
_LIMIT: Final = "-"
_MOMENT: Final = "|"


def text_chart(
    time_s: Floats,
    curves: Mapping[str, Floats],
    *,
    limits: Sequence[float] = (),
    moment_s: float | None = None,
    width: int = 100,
    height: int = 9,
) -> list[str]:
    """Lines of at most `width` characters.

    time_s: (n,), rising. curves: (n,) each; NaN values are left out. limits: values drawn as
    horizontal lines where they are near the curves. moment_s: instant of a vertical line. A column shows the
    least and the most of its time, so that no peak is lost.
    """
    values = np.concatenate([each[np.isfinite(each)] for each in curves.values()] or [np.zeros(0)])
    if not len(values):
        return [" " * _LABEL + " no numbers"]
    low, high = _range(values, limits)
    columns = max(width - _LABEL - 2, 10)
    grid = [[" "] * columns for _ in range(height)]
    begin, end = float(time_s[0]), float(time_s[-1])
    places = np.clip(((time_s - begin) / ((end - begin) or 1.0) * columns).astype(int), 0, columns - 1)

    def row(value: float) -> int:
        return round((high - value) / (high - low) * (height - 1))

    if moment_s is not None and begin <= moment_s <= end:
        at = min(int((moment_s - begin) / ((end - begin) or 1.0) * columns), columns - 1)
        for line in grid:
            line[at] = _MOMENT
    for limit in limits:
        if low <= limit <= high:
            grid[row(limit)] = [_LIMIT] * columns
    for mark, each in zip(MARKS * len(curves), curves.values(), strict=False):
        finite = np.isfinite(each)
        for column in np.unique(places[finite]).tolist():
            there = each[finite & (places == column)]
            for number in range(row(float(there.max())), row(float(there.min())) + 1):
                grid[number][column] = mark
    middle = height // 2
    labels = {0: high, middle: high - (high - low) * middle / (height - 1), height - 1: low}
    return [
        f"{_number(labels.get(number)):>{_LABEL}} {''.join(line)}".rstrip()
        for number, line in enumerate(grid)
    ]


def time_axis(begin_s: float, end_s: float, width: int = 100) -> str:
    """Return the line below a chart of `width` columns, with its first and last time (s)."""
    first, last = f"{begin_s:+.3f} s", f"{end_s:+.3f} s"
    return " " * (_LABEL + 1) + first + last.rjust(max(width - _LABEL - 2 - len(first), len(last) + 1))


def _range(values: Floats, limits: Sequence[float]) -> tuple[float, float]:
    """The least and most that is drawn: the curves, with limits no farther away than they extend."""
    low, high = float(values.min()), float(values.max())
    reach = (high - low) or abs(high) or 1.0
    near = [limit for limit in limits if low - reach <= limit <= high + reach]
    low, high = min([low, *near]), max([high, *near])
    return (low, high) if high > low else (low - 0.5 * reach, high + 0.5 * reach)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
