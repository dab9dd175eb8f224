"""Commands about recordings: record, replay, plot, export, animate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.arrays import Floats
from linkwork.cli.connected import AsJson, ControllerConnection, connected
from linkwork.protocol.laws import MotionLawName
from linkwork.terminal.failures import DONE, GOAL_FAILED, Misuse
from linkwork.terminal.output import complain, console, emit, say

if TYPE_CHECKING:
    from linkwork.machine import Machine
    from linkwork.recordings.recorder import Recorded
    from linkwork.recordings.recording import Recording

File = Annotated[
    Path, typer.Argument(metavar="FILE.mcap", help="A recording, or the first segment of a log.")
]
Signals = Annotated[
    list[str] | None,
    typer.Option("--signal", metavar="NAME", help="effort, or effort.shoulder; repeatable."),
]
Begin = Annotated[float | None, typer.Option("--from", metavar="SECONDS", help="Device time to begin at, s.")]
End = Annotated[float | None, typer.Option("--to", metavar="SECONDS", help="Device time to end at, s.")]


@connected
def record(
    link: ControllerConnection,
    file: Annotated[Path, typer.Argument(metavar="FILE.mcap", help="Output file.")],
    seconds: Annotated[
        float | None, typer.Option(min=0.0, metavar="SECONDS", help="Duration. Default: until Ctrl-C.")
    ] = None,
    from_now: Annotated[
        bool,
        typer.Option(
            "--from-now", help="Start now instead of at the run's start; such a recording cannot be replayed."
        ),
    ] = False,
) -> int:
    """Record a running controller: every tick, orders, goals, events, configuration, in one file."""
    import time

    from linkwork.recordings.recorder import record as follow
    from linkwork.timing.scheduling import pin, share_processors

    found = link.ask("status")
    log = Path(found["log"]) if found["log"] else None
    if log is None:
        raise Misuse("this controller writes no log to record from; start it without --no-log")
    if not log.exists():
        raise Misuse(f"the controller's log {log} is not on this computer; record where the controller runs")
    pin(share_processors()[1])  # off the loop's processor, where there is another
    ticks_from = int(found["timing"]["ticks"]) if from_now else 0
    until = None if seconds is None else time.monotonic() + seconds
    alive = _alive(int(found["gateway_pid"]))
    if not link.as_json:
        console.print(f"recording {found['machine']} to {file}; Ctrl-C ends it", style="dim")

    def go_on(_: Recorded) -> bool:
        return alive() and not pressed and (until is None or time.monotonic() < until)

    with _interruptible() as pressed:
        try:
            done = follow(log, file, go_on, ticks_from=ticks_from)
        except FileExistsError:
            raise Misuse(f"{file} exists already; choose another name") from None
        except OSError as error:
            raise Misuse(f"{error.filename or file}: {error.strerror}") from None
    if done.damage:
        complain(f"warning: {done.damage}; the recording ends there")
    if link.as_json:
        emit({"file": str(file), **asdict(done)})
    else:
        say(f"{file}: {done.ticks} ticks from {done.first_tick} on, {done.goals} goals, {done.bytes} bytes")
    return GOAL_FAILED if done.damage else DONE


def replay(
    file: File,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="MACHINE", help="Machine file or name. Default: the recorded one."),
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(min=0.0, help="Tolerance for differences. Default: bit for bit.")
    ] = None,
    law: Annotated[
        MotionLawName | None, typer.Option(help="Law of motion. Default: the recorded one.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Replay recorded states and orders through the current controller; print the first difference."""
    from linkwork.recordings.replay import replay as run
    from linkwork.terminal.output import goal_bar

    recording = read_file(file)
    machine = recorded_machine(recording, against, law)
    from linkwork.recordings.recording import NoRecording

    try:
        with goal_bar(console, "replaying") as bar:
            found = run(recording, machine, tolerance, lambda done, of: bar(done / of))
    except NoRecording as error:
        raise Misuse(str(error)) from None
    same = found.difference is None and not found.ended
    if as_json:
        difference = None if found.difference is None else asdict(found.difference)
        emit(
            {
                "identical": same,
                "ticks": found.ticks,
                "of": len(recording.table),
                "difference": difference,
                "ended": found.ended,
            }
        )
    elif found.difference is not None:
        say(f"{found.ticks} of {len(recording.table)} ticks are the same; then {found.difference}")
    elif found.ended:
        say(f"{found.ticks} of {len(recording.table)} ticks are the same; then {found.ended}")
    else:
        bound = "to the last bit" if tolerance is None else f"within {tolerance:g}"
        say(f"all {found.ticks} ticks are the same, {bound}")
    return DONE if same else GOAL_FAILED


def plot(
    file: File,
    signal: Signals = None,
    begin: Begin = None,
    end: End = None,
    out: Annotated[
        Path | None, typer.Option(metavar="PICTURE", help="Default: FILE.png; .svg and .pdf work too.")
    ] = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Also write what is drawn beside the picture, PICTURE.csv.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Draw signals of a recording over time, in ° and mm."""
    from linkwork.cli.motion_files import write_columns
    from linkwork.recordings.signal_plot import draw_panels, panel_columns, recorded_panels

    recording = _part(read_file(file), begin, end)
    target = out or file.with_suffix(".png")
    title = f"{recording.metadata.get('machine', '')}   {file.name}"
    try:
        panels = recorded_panels(recording.ticks, signal or [], recording.machine_file)
    except ValueError as error:
        raise Misuse(str(error)) from None
    time_s = recording.table["time_s"]
    written(target, lambda: draw_panels(time_s, panels, target, title))
    found = {"out": str(target)}
    if as_csv:
        found["csv"] = str(target.with_suffix(".csv"))
        written(Path(found["csv"]), lambda: write_columns(Path(found["csv"]), panel_columns(time_s, panels)))
    emit(found) if as_json else say(", ".join(found.values()))


def export(
    file: File,
    csv: Annotated[bool, typer.Option("--csv", help="As text, FILE.csv.")] = False,
    npz: Annotated[bool, typer.Option("--npz", help="As named arrays, FILE.npz.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Output file: .csv or .npz.")] = None,
    signal: Signals = None,
    begin: Begin = None,
    end: End = None,
    as_json: AsJson = False,
) -> None:
    """Write a recording's ticks as CSV or npz, a column for each number."""
    from linkwork.cli.motion_files import ENDINGS, write_columns
    from linkwork.recordings.recording import signals
    from linkwork.recordings.signal_plot import chosen

    targets = [file.with_suffix(end) for end, asked in ((".csv", csv), (".npz", npz)) if asked]
    targets += [out] if out is not None else []
    if not targets or (out is not None and out.suffix not in ENDINGS):
        raise Misuse("choose a format: --csv, --npz, or --out with a name that ends in .csv or .npz")
    recording = _part(read_file(file), begin, end)
    columns = signals(recording.ticks)
    if signal:
        try:
            picked = chosen(recording.ticks, signal)
        except ValueError as error:
            raise Misuse(str(error)) from None
        columns = {name: columns[name] for name in ("tick", "time_s")}
        columns |= {name: values for _, found in picked for name, values in found.items()}
    for target in targets:
        written(target, lambda target=target: write_columns(target, columns))  # type: ignore[misc]
    names = ", ".join(map(str, targets))
    if as_json:
        emit({"out": [str(target) for target in targets], "ticks": len(recording.table)})
    else:
        say(f"{names}: {len(columns)} columns, {len(recording.table)} ticks")


def animate(
    file: File,
    out: Annotated[Path, typer.Option(metavar="X.gif|X.mp4", help="Output file.")],
    fps: Annotated[float, typer.Option(min=1.0, max=100.0, help="Frames per second.")] = 25.0,
    speed: Annotated[
        float, typer.Option(min=0.001, max=1000.0, help="Playback speed; 2: twice real time.")
    ] = 1.0,
    begin: Begin = None,
    end: End = None,
    parts: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What `linkwork plant --truth FILE` wrote: show the parts too."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a recorded machine in motion."""
    from linkwork.recordings.animation import animate as write
    from linkwork.terminal.output import goal_bar

    recording = _part(read_file(file), begin, end)
    machine = recorded_machine(recording)
    table = recording.table
    centres = None if parts is None else _centres(parts, table["time_s"])

    def draw() -> None:
        with goal_bar(console, "drawing") as bar:
            options: dict[str, Any] = {"fps": fps, "speed": speed, "parts": centres, "progress": bar}
            write(machine, table["time_s"], table["q"], out, **options)

    written(out, draw)
    emit({"out": str(out)}) if as_json else say(str(out))


def _centres(file: Path, time_s: Floats) -> dict[str, Floats]:
    """Return the centres (n × 3, m) of the loose parts at these times (n; s). Raises Misuse."""
    from linkwork.recordings.recording import read_truth

    try:
        truth = read_truth(file)
        rows = truth.rows_at(time_s)
    except (OSError, ValueError, KeyError) as error:
        text = (
            f"{file} is not the plant's record of this run: {error}; give what `linkwork plant --truth` wrote"
        )
        raise Misuse(text) from None
    return {name: places[rows] for name, places in truth.parts.items()}


def read_file(file: Path) -> Recording:
    """Return the recording in a file, with a warning where it is damaged. Raises Misuse."""
    from linkwork.recordings.recording import NoRecording, read_recording

    try:
        found = read_recording(file)
    except NoRecording as error:
        raise Misuse(str(error)) from None
    except OSError as error:
        raise Misuse(f"{file} cannot be read: {error.strerror}") from None
    if found.damage:
        complain(f"warning: {found.damage}")
    return found


def _part(recording: Recording, begin: float | None, end: float | None) -> Recording:
    """Return the recording between two device times. Raises Misuse where nothing is left."""
    from dataclasses import replace

    times = recording.table["time_s"]
    inside = (times >= (begin if begin is not None else -float("inf"))) & (
        times <= (end if end is not None else float("inf"))
    )
    if not inside.any():
        raise Misuse(f"no ticks are left: the recording lasts from {times[0]:g} to {times[-1]:g} s")
    return replace(recording, ticks=replace(recording.ticks, table=recording.table[inside]))


def recorded_machine(recording: Recording, against: str | None = None, law: str | None = None) -> Machine:
    """Return the machine of a configuration, or the recorded one, with the law that it ran by.

    Raises Misuse, MachineError.
    """
    from linkwork.recordings import recorded_run
    from linkwork.recordings.recording import NoRecording

    try:
        return recorded_run.recorded_machine(recording, against, law)
    except NoRecording as error:
        raise Misuse(str(error)) from None


def written(target: Path, write: Callable[[], Any]) -> None:
    """Write a file. Raises Misuse where that fails."""
    try:
        write()
    except OSError as error:
        raise Misuse(f"{target} cannot be written: {error.strerror or error}") from None
    except ValueError as error:
        raise Misuse(str(error)) from None


def _alive(pid: int) -> Callable[[], bool]:
    return lambda: Path(f"/proc/{pid}").exists()


def _interruptible() -> Any:
    """Return a context in which Ctrl-C only fills the list that it yields."""
    import signal as signals
    from contextlib import contextmanager

    @contextmanager
    def caught() -> Any:
        pressed: list[int] = []
        before = signals.signal(signals.SIGINT, lambda number, _: pressed.append(number))
        try:
            yield pressed
        finally:
            signals.signal(signals.SIGINT, before)

    return caught()
