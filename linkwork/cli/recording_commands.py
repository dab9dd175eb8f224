"""Commands on recordings: record, replay, plot, export, animate."""

import math
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from linkwork.arrays import Floats
from linkwork.cli.motion_files import ENDINGS, write_columns, written
from linkwork.cli.options.study import (
    AnimateOptions,
    ExportOptions,
    PartOptions,
    PlotOptions,
    RecordOptions,
    ReplayOptions,
)
from linkwork.recordings.animation import animate as write
from linkwork.recordings.recorded_run import recorded_machine
from linkwork.recordings.recorder import Recorded
from linkwork.recordings.recorder import record as follow
from linkwork.recordings.recording import Recording, read_recording, read_truth, signals
from linkwork.recordings.replay import replay as run
from linkwork.recordings.signal_plot import chosen, draw_panels, panel_columns, recorded_panels
from linkwork.terminal.failures import DONE, GOAL_FAILED, Misuse
from linkwork.terminal.output import complain, console, emit, goal_bar, say
from linkwork.timing.scheduling import pin, share_processors


def plot(options: PlotOptions) -> None:
    """Run `linkwork plot`."""
    recording = _part(options)
    target = options.out or options.file.with_suffix(".png")
    title = f"{recording.metadata.get('machine', '')}   {options.file.name}"
    try:
        panels = recorded_panels(recording.ticks, options.signal, recording.machine_file)
    except ValueError as error:
        raise Misuse(str(error)) from None
    time_s = recording.table["time_s"]
    written(target, lambda: draw_panels(time_s, panels, target, title))
    found = {"out": str(target)}
    if options.as_csv:
        found["csv"] = str(target.with_suffix(".csv"))
        written(Path(found["csv"]), lambda: write_columns(Path(found["csv"]), panel_columns(time_s, panels)))
    emit(found) if options.as_json else say(", ".join(found.values()))


def export(options: ExportOptions) -> None:
    """Run `linkwork export`."""
    targets = [
        options.file.with_suffix(ending)
        for ending, asked in ((".csv", options.csv), (".npz", options.npz))
        if asked
    ]
    targets += [options.out] if options.out is not None else []
    if not targets or (options.out is not None and options.out.suffix not in ENDINGS):
        raise Misuse("choose a format: --csv, --npz, or --out with a name that ends in .csv or .npz")
    recording = _part(options)
    columns = signals(recording.ticks)
    if options.signal:
        try:
            picked = chosen(recording.ticks, options.signal)
        except ValueError as error:
            raise Misuse(str(error)) from None
        columns = {name: columns[name] for name in ("tick", "time_s")}
        columns |= {name: values for _, found in picked for name, values in found.items()}
    for target in targets:
        written(target, lambda target=target: write_columns(target, columns))  # type: ignore[misc]
    names = ", ".join(map(str, targets))
    if options.as_json:
        emit({"out": [str(target) for target in targets], "ticks": len(recording.table)})
    else:
        say(f"{names}: {len(columns)} columns, {len(recording.table)} ticks")


def animate(options: AnimateOptions) -> None:
    """Run `linkwork animate`."""
    recording = _part(options)
    machine = recorded_machine(recording)
    table = recording.table
    centres = None if options.parts is None else _centres(options.parts, table["time_s"])

    def draw() -> None:
        with goal_bar(console, "drawing") as bar:
            write(
                machine, table["time_s"], table["q"], options.out,
                fps=options.fps, speed=options.speed, parts=centres, progress=bar,
            )  # fmt: skip

    written(options.out, draw)
    emit({"out": str(options.out)}) if options.as_json else say(str(options.out))


def _centres(file: Path, time_s: Floats) -> dict[str, Floats]:
    """Return the centres (n × 3, m) of the loose parts at these times (n; s). Raises Misuse."""
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
    """Return the recording in a file, with a warning where it is damaged. Raises Misuse, NoRecording."""
    try:
        found = read_recording(file)
    except OSError as error:
        raise Misuse(f"{file} cannot be read: {error.strerror}") from None
    if found.damage:
        complain(f"warning: {found.damage}")
    return found


def _part(options: PartOptions) -> Recording:
    """Return the recording between two device times. Raises Misuse where nothing is left."""
    recording = read_file(options.file)
    times = recording.table["time_s"]
    begin = -math.inf if options.begin is None else options.begin
    inside = (times >= begin) & (times <= (math.inf if options.end is None else options.end))
    if not inside.any():
        raise Misuse(f"no ticks are left: the recording lasts from {times[0]:g} to {times[-1]:g} s")
    return replace(recording, ticks=replace(recording.ticks, table=recording.table[inside]))


def record(options: RecordOptions) -> int:
    """Run `linkwork record`."""
    found = options.ask("status")
    log = Path(found["log"]) if found["log"] else None
    if log is None:
        raise Misuse("this controller writes no log to record from; start it without --no-log")
    if not log.exists():
        raise Misuse(f"the controller's log {log} is not on this computer; record where the controller runs")
    pin(share_processors()[1])  # off the loop's processor, where there is another
    ticks_from = int(found["timing"]["ticks"]) if options.from_now else 0
    until = None if options.seconds is None else time.monotonic() + options.seconds
    gateway = Path(f"/proc/{int(found['gateway_pid'])}")
    if not options.as_json:
        console.print(f"recording {found['machine']} to {options.file}; Ctrl-C ends it", style="dim")

    def go_on(_: Recorded) -> bool:
        return gateway.exists() and not pressed and (until is None or time.monotonic() < until)

    with _interruptible() as pressed:
        try:
            done = follow(log, options.file, go_on, ticks_from=ticks_from)
        except FileExistsError:
            raise Misuse(f"{options.file} exists already; choose another name") from None
        except OSError as error:
            raise Misuse(f"{error.filename or options.file}: {error.strerror}") from None
    if done.damage:
        complain(f"warning: {done.damage}; the recording ends there")
    if options.as_json:
        emit({"file": str(options.file), **asdict(done)})
    else:
        amount = f"{done.ticks} ticks from {done.first_tick} on, {done.goals} goals, {done.bytes} bytes"
        say(f"{options.file}: {amount}")
    return GOAL_FAILED if done.damage else DONE


@contextmanager
def _interruptible() -> Iterator[list[int]]:
    """While the block runs, Ctrl-C only fills the list that it yields."""
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


def replay(options: ReplayOptions) -> int:
    """Run `linkwork replay`."""
    recording = read_file(options.file)
    machine = recorded_machine(recording, options.against, options.law)
    with goal_bar(console, "replaying") as bar:
        found = run(recording, machine, options.tolerance, lambda done, of: bar(done / of))
    same = found.difference is None and not found.ended
    if options.as_json:
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
        bound = "to the last bit" if options.tolerance is None else f"within {options.tolerance:g}"
        say(f"all {found.ticks} ticks are the same, {bound}")
    return DONE if same else GOAL_FAILED
