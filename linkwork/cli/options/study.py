"""Options of the commands that record and replay, test a rig, and run many simulations."""

from pathlib import Path
from typing import Literal

from linkwork.cli.connected import ConnectionOptions
from linkwork.options import JsonOptions, argument, command_options, flag, option, several
from linkwork.protocol.codes import Pace
from linkwork.protocol.laws import MotionLawName


@command_options
class RecordingOptions(JsonOptions):
    """Options of a command that reads a recording."""

    file: Path = argument("FILE.mcap", "A recording, or the first segment of a log.")


@command_options
class PartOptions(RecordingOptions):
    """Options of a command that reads a part of a recording."""

    begin: float | None = option("Device time to begin at, s.", "SECONDS", "--from")
    end: float | None = option("Device time to end at, s.", "SECONDS", "--to")


@command_options
class RecordOptions(ConnectionOptions):
    """Record a running controller: every tick, orders, goals, events, configuration, in one file."""

    file: Path = argument("FILE.mcap", "Output file.")
    seconds: float | None = option("Duration. Default: until Ctrl-C.", "SECONDS", least=0.0)
    from_now: bool = flag("Start now instead of at the run's start; such a recording cannot be replayed.")


@command_options
class ReplayOptions(RecordingOptions):
    """Replay recorded states and orders through the current controller; print the first difference."""

    against: str | None = option("Machine file or name. Default: the recorded one.", "MACHINE")
    tolerance: float | None = option("Tolerance for differences. Default: bit for bit.", least=0.0)
    law: MotionLawName | None = option("Law of motion. Default: the recorded one.")


@command_options
class PlotOptions(PartOptions):
    """Draw signals of a recording over time, in ° and mm."""

    signal: tuple[str, ...] = several("effort, or effort.shoulder; repeatable.", "NAME")
    out: Path | None = option("Default: FILE.png; .svg and .pdf work too.", "PICTURE")
    as_csv: bool = flag("Also write what is drawn beside the picture, PICTURE.csv.", "--csv")


@command_options
class ExportOptions(PartOptions):
    """Write a recording's ticks as CSV or npz, a column for each number."""

    csv: bool = flag("As text, FILE.csv.")
    npz: bool = flag("As named arrays, FILE.npz.")
    out: Path | None = option("Output file: .csv or .npz.", "FILE")
    signal: tuple[str, ...] = several("effort, or effort.shoulder; repeatable.", "NAME")


@command_options
class AnimateOptions(PartOptions):
    """Show a recorded machine in motion."""

    out: Path = option("Output file.", "X.gif|X.mp4", required=True)
    fps: float = option("Frames per second.", default=25.0, least=1.0, most=100.0)
    speed: float = option("Playback speed; 2: twice real time.", default=1.0, least=0.001, most=1000.0)
    parts: Path | None = option("What `linkwork plant --truth FILE` wrote: show the parts too.", "FILE")


@command_options
class RigTestOptions(JsonOptions):
    """Run rig tests on machines, one after another; write report.html, junit.xml and report.json.

    Exit status: 0 all passed, 1 some did not, 2 wrong usage or file, 3 refused, 4 no daemon.
    """

    path: tuple[str, ...] = argument(
        "PATH...", "Test files, folders, FILE::TEST. Default: the suite.", default=()
    )
    config: tuple[str, ...] = several(
        "Machine file, or the name of one of linkwork's; repeatable.", "MACHINE", "--rig"
    )
    all_machines: bool = flag("Every machine of linkwork that has motors.")
    suite: str | None = option("Suite of linkwork. Default, without PATH: standard.", "NAME")
    pace: Pace = option(
        "Pace: lockstep (no clock), or the clock of the plant or the controller.", default=Pace.LOCKSTEP
    )
    seed: int = option("Seed of noise and injected faults.", default=0, least=0)
    law: MotionLawName | None = option("Law of motion. Default: the machine file's.")
    plant: str | None = option("Endpoint of a running plant. Default: start one.", "ENDPOINT")
    controller: str | None = option("Endpoint of a running controller. Default: start one.", "ENDPOINT")
    keyword: str | None = option("Only tests whose names match, as pytest's -k.", "EXPR", "-k")
    out: Path | None = option("Folder of the report. Default: a new one in linkwork-out.", "DIR")


@command_options
class ExploreOptions(JsonOptions):
    """Run random sessions against the simulated service of a machine, and audit every tick and message.

    Gateway, planner, loop and plant are the daemons' own code, in one process and on a simulated clock. A
    session depends on its seed, the machine file and the version of linkwork alone.
    """

    config: str = argument("MACHINE", "A machine file, or a machine of linkwork.")
    seeds: int = option("Number of sessions.", default=100, least=1)
    first: int = option("Seed of the first session.", default=1, least=0)
    minutes: float | None = option("Longest time, in minutes.")
    faults: Literal["all", "none"] = option(
        "Faults of the plant, and killed and suspended processes.", default="all"
    )
    until_failure: bool = flag("End with the first session that fails.")
    workers: int = option("Number of processes that run sessions.", default=1, least=1)
    resume: Path | None = option("Continue where this file says, and keep it up to date.", "FILE")
    seed: int | None = option("Run the session of this seed only.", least=0)
    session: Path | None = option("Run the session in this file only.", "FILE")
    shrink: bool = flag("Remove what a failed session does not need to fail.")
    out: Path | None = option("Write the session to this file.", "FILE")


@command_options
class RigIndexOptions:
    """Write index.html in a folder: a page that lists all reports of rig tests below it, newest first."""

    folder: Path = argument("DIR", "Folder of the reports.", default=Path("linkwork-out"))


@command_options
class RigCompareOptions(JsonOptions):
    """Print the differences between two reports: verdicts, numbers and faults, not place and date.

    Exit status: 0 no difference, 1 differences, 2 wrong usage or file.
    """

    one: Path = argument("A.json", "A report.json.")
    other: Path = argument("B.json", "Another one.")
    tolerance: float = option("Relative tolerance for numbers; 0: none.", default=0.0, least=0.0)


@command_options
class CampaignCommandOptions(JsonOptions):
    """Carry out the runs of a campaign on all processors; write results.parquet and
    report.html.

    A campaign that was interrupted continues where it ended. Exit status: 0 done, 1 the run of --run did not
    succeed, 2 wrong usage or file.
    """

    file: str = argument("FILE", "Campaign file (YAML).")
    workers: int | None = option("Worker processes. Default: one for each processor.", least=1)
    on: str | None = option("Dask scheduler (tcp://HOST:8786), or local: start a cluster.", "ADDRESS")
    out: Path | None = option("Folder of the results. Default: in linkwork-out.", "DIR")
    daemons: bool = flag("Carry out each run with whole daemons: seconds for each.")
    dry_run: bool = flag("Only say how many runs there are, and how long they take.")
    run: int | None = option("Carry out this run alone, and show its figures.", "N", least=0)
    log: Path | None = option("With --run: folder for the log of this run.", "DIR")


@command_options
class TuneOptions(JsonOptions):
    """Search settings of the controller; write them as a part of a machine file, with a report.

    Settings with which any run fails, violates a limit or misses a requirement, or a stability margin is too
    small, are rejected. An interrupted search continues. Exit status: 0 found, 1 every candidate is rejected,
    2 wrong usage or file.
    """

    file: str = argument("FILE", "Campaign file with a section tune (YAML).")
    workers: int | None = option("Worker processes. Default: one for each processor.", least=1)
    out: Path | None = option("Folder of the results. Default: in linkwork-out.", "DIR")


_POINTS = "Most points of each curve of efforts in --json. Default: no curves."


@command_options
class ExciteOptions(JsonOptions):
    """Design a motion that makes parameters known: the file for `linkwork send`, and the ± to expect.

    Ctrl-C ends the search with the best motion so far. Exit status: 0 found, 2 wrong usage or file, 3 no
    motion is admitted.
    """

    config: str = argument("MACHINE", "A machine file, or a machine of linkwork.")
    out: Path | None = option("Trajectory file to write. Default: none.", "FILE.yaml")
    overwrite: bool = flag("Replace an existing file.")
    seconds: float = option("Duration of the motion.", "SECONDS", default=30.0, least=2.0, most=600.0)
    purpose: Literal["friction", "inertia", "payload", "all"] = option(
        "What is to be known.", "", "--for", default="all"
    )
    after: tuple[Path, ...] = several(
        "A recording whose information is there already; repeatable.", "RECORDING"
    )
    search: float = option("Time for the search.", "SECONDS", default=60.0, least=0.0)
    seed: int = option("Seed of the search.", default=0, least=0)


@command_options
class IdentifyOptions(JsonOptions):
    """Identify masses, mass centres, inertias and friction from recorded motions; write a machine file.

    Exit status: 0 found, 1 the model lacks something, 2 wrong usage or file, 3 the data cannot answer.
    """

    config: str = argument("MACHINE", "A machine file, or a machine of linkwork.")
    files: tuple[Path, ...] = argument(
        "RECORDING...", "Recordings, or CSV files with time_s, q/NAME_rad, effort/NAME_N_m."
    )
    payload: str | None = option(
        "Weigh the part at this point: two recordings, before and after gripping it.", "POINT"
    )
    mass: float | None = option(
        "The part's known mass: with --payload, find the scales of the motors' efforts.", "KG", least=0.0
    )
    friction: tuple[Literal["stribeck", "load"], ...] = several(
        "Friction of motors beside Coulomb and viscous friction; repeatable.", ""
    )
    validate: Path | None = option("A recording that is predicted, and not used.", "RECORDING")
    out: Path | None = option("Machine file to write. Default: none.", "FILE.yaml")
    overwrite: bool = flag("Replace an existing file.")
    twin: bool = flag("Set the digital twin's effort_share in --out, from the efforts that it leaves.")
    html: Path | None = option("Write a report as a page, too.", "FILE.html")
    points: int = option(_POINTS, "N", default=0, least=0, most=100_000)
    cutoff: float | None = option(
        "Cut-off of the low-pass filter, Hz. Default: by the motion.", "HZ", least=0.1
    )


@command_options
class ValidateOptions(JsonOptions):
    """Compare the efforts of a recording with those that a machine file predicts."""

    config: str = argument("MACHINE", "A machine file, or a machine of linkwork.")
    file: Path = argument("RECORDING", "A recording, or a CSV file.")
    points: int = option(_POINTS, "N", default=0, least=0, most=100_000)
    cutoff: float | None = option(
        "Cut-off of the low-pass filter, Hz. Default: by the motion.", "HZ", least=0.1
    )


@command_options
class CalibrateOptions(JsonOptions):
    """Calibrate points, lengths, zeros and axes from measured positions, distances or redundant encoders.

    Exit status: 0 found, 1 the model lacks something, 2 wrong usage or file, 3 the data cannot answer.
    """

    config: str = argument("MACHINE", "A machine file, or a machine of linkwork.")
    file: Path | None = argument(
        "MEASUREMENTS.csv", "Rows: kind, pose, q/NAME_rad, point, x_m, value_m, sigma_m.", default=None
    )
    parameters: tuple[str, ...] = several(
        "KEY, NAME=KEY+KEY, zeros, frame, play or default; repeatable. Default: those that matter.", "KEY"
    )
    prior: tuple[str, ...] = several(
        "Prior deviation: 0.5mm, 0.5deg, NAME=0.1mm, or none; repeatable.", "SIGMA"
    )
    plan: int | None = option(
        "Propose so many measurements, which complete those of a file, if there is one.",
        "N",
        least=1,
        most=200,
    )
    kind: Literal["position", "distance"] = option("Planned measurements of the tool.", default="position")
    sigma: str = option("Their standard deviation.", "SIGMA", default="0.05mm")
    out: Path | None = option("Machine file to write, or planned rows as CSV. Default: none.", "FILE")
    overwrite: bool = flag("Replace an existing file.")
