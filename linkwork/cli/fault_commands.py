"""`linkwork faults show`: the record before a fault."""

from __future__ import annotations

import re
import shutil
from functools import partial
from pathlib import Path
from typing import Any

from linkwork.cli.connected import ConnectionOptions
from linkwork.cli.motion_files import written
from linkwork.cli.options.operate import MOST_FAULTS, ShowFaultOptions
from linkwork.cli.recording_commands import read_file, recorded_machine
from linkwork.display_units import in_display_units
from linkwork.drawing.text_chart import MARKS, text_chart, time_axis
from linkwork.protocol.endpoints import state_dir
from linkwork.protocol.errors import NobodyThere
from linkwork.recordings.fault_record import FaultRecord, fault_record
from linkwork.recordings.signal_plot import draw_panels
from linkwork.recordings.thinning import thinned
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
