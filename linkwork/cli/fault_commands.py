"""`linkwork faults`: the latest faults, and the record before one of them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.connected import ControllerConnection, connected
from linkwork.display_units import in_display_units
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import emit, say

if TYPE_CHECKING:
    from linkwork.recordings.fault_record import FaultRecord

faults = typer.Typer(help="List the latest faults; show the record before one of them.")
_MOST = 1000


@faults.callback(invoke_without_command=True)
@connected
def latest(
    link: ControllerConnection,
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=_MOST, help="Maximum number of faults.")] = 20,
) -> None:
    """List the latest faults, newest first; `show` draws the record before one of them."""
    if context.invoked_subcommand is not None:
        return
    found = link.ask("faults", limit=limit)
    if link.as_json:
        emit(found)
        return
    if not found["faults"]:
        say("no fault since the controller started")
    for number, fault in enumerate(found["faults"], 1):
        say(f"{number:>3}  {fault['time_s']:.3f} s  {fault['name']}: {in_display_units(fault['text'])}")
        say(f"     clears when {fault['clears_when']}" if fault["clears_when"] else "     cannot be cleared")
        record = f"{fault['record']}; `linkwork faults show {number}`" if fault["record"] else "none"
        say(f"     flight record: {record}")


@faults.command()
@connected
def show(
    link: ControllerConnection,
    fault: Annotated[
        str, typer.Argument(metavar="N|FILE", help="Number in the list (1: the newest), or a flight record.")
    ] = "1",
    signal: Annotated[
        list[str] | None,
        typer.Option("--signal", metavar="NAME", help="Instead: effort, or effort.shoulder; repeatable."),
    ] = None,
    before: Annotated[
        float, typer.Option(min=0.0, metavar="SECONDS", help="Time before the fault, s.")
    ] = 1.0,
    after: Annotated[float, typer.Option(min=0.0, metavar="SECONDS", help="Time after the fault, s.")] = 0.3,
    save: Annotated[
        Path | None, typer.Option(metavar="PICTURE", help="Also draw it to a file: .png, .svg or .pdf.")
    ] = None,
    points: Annotated[
        int, typer.Option(min=0, metavar="N", help="With --json: the curves, with about N points each.")
    ] = 0,
) -> None:
    """Show the record before a fault: events, positions, velocities, efforts and limits.

    The numbers are those of `linkwork faults`. When no controller runs, they count the flight records in the
    default folder, the newest first.
    """
    from linkwork.cli.recording_commands import read_file, recorded_machine, written
    from linkwork.recordings.fault_record import fault_record
    from linkwork.recordings.signal_plot import draw_panels

    path = _record(link, int(fault)) if fault.isdigit() else Path(fault)
    recording = read_file(path)
    try:
        found = fault_record(recording, recorded_machine(recording), before, after, signal or ())
    except ValueError as error:
        raise Misuse(str(error)) from None
    if save is not None:
        title = f"{found.machine}   {found.fault['name']}: {found.fault['text']}"
        written(save, lambda: draw_panels(found.time_s, found.panels, save, title, 0.0))
    if link.as_json:
        emit(_as_map(found, path, save, points))
        return
    for line in _text(found, path, shutil.get_terminal_size((100, 24)).columns):
        say(line)
    if save is not None:
        say(str(save))


def _record(link: ControllerConnection, number: int) -> Path:
    """Return the flight record of a fault of the running controller, or of an earlier one. Raises Misuse."""
    from linkwork.protocol.errors import NobodyThere

    try:
        listed = link.ask("faults", limit=_MOST)["faults"]
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
    from linkwork.protocol.endpoints import state_dir

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
    from linkwork.drawing.text_chart import MARKS, text_chart, time_axis

    fault = found.fault
    lines = [f"{found.machine}: {fault['name']}: {fault['text']}", f"tick {fault['tick']}; {path}"]
    if fault.get("clears_when"):
        lines.append(f"clears when {fault['clears_when']}")
    lines += ["", "what happened (time to the fault)"]
    lines += [f"  {each.time_s:+9.3f} s  {each.text}" for each in found.happenings]
    for panel in found.panels:
        marks = "   ".join(f"{mark} {name}" for mark, name in zip(MARKS * 9, panel.curves, strict=False))
        limits = "   - limit" if panel.limits else ""
        lines += ["", f"{panel.title}      {marks}{limits}   | fault"]
        lines += text_chart(found.time_s, panel.curves, limits=panel.limits, moment_s=0.0, width=columns)
        lines.append(time_axis(float(found.time_s[0]), float(found.time_s[-1]), columns))
    return lines


def _as_map(found: FaultRecord, path: Path, save: Path | None, points: int) -> dict[str, Any]:
    from linkwork.recordings.thinning import thinned

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
