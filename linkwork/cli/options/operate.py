"""Options of the commands that observe, move and disturb a running machine."""

from pathlib import Path
from typing import Final, Literal

from linkwork.cli.connected import ConnectionOptions, KeyOptions
from linkwork.options import JsonOptions, argument, command_options, flag, option, several

MOST_FAULTS: Final = 1000


@command_options
class WholeOptions(ConnectionOptions):
    """Options of a command that leaves out much of what a large machine has."""

    show_all: bool = flag("Show everything, however much there is.", "--all")


@command_options
class StatusOptions(ConnectionOptions):
    """Show the daemons: plant, loop, timing, lease, log."""


@command_options
class StateOptions(WholeOptions):
    """Show the present positions, velocities, efforts, goal and fault."""


@command_options
class DescribeOptions(WholeOptions):
    """Show the machine: joints, coordinates, motors, limits, laws."""


@command_options
class WatchOptions(WholeOptions):
    """Show a live table from telemetry until Ctrl-C. With --json, the last sample."""

    seconds: float | None = option("End after this duration.", "SECONDS", "--for", least=0.0)


@command_options
class FaultsOptions(ConnectionOptions):
    """List the latest faults, newest first; `show` draws the record before one of them."""

    limit: int = option("Maximum number of faults.", default=20, least=1, most=MOST_FAULTS)


@command_options
class ShowFaultOptions(ConnectionOptions):
    """Show the record before a fault: events, positions, velocities, efforts and limits.

    The numbers are those of `linkwork faults`. When no controller runs, they count the flight records in the
    default folder, the newest first.
    """

    fault: str = argument("N|FILE", "Number in the list (1: the newest), or a flight record.", default="1")
    signal: tuple[str, ...] = several("Instead: effort, or effort.shoulder; repeatable.", "NAME")
    before: float = option("Time before the fault, s.", "SECONDS", default=1.0, least=0.0)
    after: float = option("Time after the fault, s.", "SECONDS", default=0.3, least=0.0)
    save: Path | None = option("Also draw it to a file: .png, .svg or .pdf.", "PICTURE")
    points: int = option("With --json: the curves, with about N points each.", "N", default=0, least=0)


@command_options
class MoveOptions(ConnectionOptions):
    """Make a jerk-limited point-to-point move, and show it until it ends. Ctrl-C cancels it."""

    target: tuple[str, ...] = argument(
        "NAME=VALUE...|POSE", "shoulder_deg=30; also _rad and _m. Or a pose of the file: home."
    )
    speed: float = option("Fraction of the velocity limits.", default=1.0, least=0.001, most=1.0)
    until_force: str | None = option(
        "Guarded move: stop at contact, then press with this force (N).", "[CONTACT=]N"
    )
    conflict: Literal["refuse", "least_squares"] = option(
        "Coordinates that contradict each other: refuse them, or miss each as little as possible.",
        default="refuse",
    )
    rest: Literal["hold", "least", "damp"] = option(
        "What other motions do: held, not driven (least constraint), or damped.", default="hold"
    )
    metric: Literal["mass", "motors"] = option("Metric of least constraint.", default="mass")
    row: tuple[str, ...] = several(
        "A combination of coordinates that the target may name; repeatable.", "NAME: COORDINATE=FACTOR,…"
    )
    timing: Literal["given", "fastest"] = option(
        "fastest: as fast as every limit of the machine admits.", default="given"
    )
    prefer: tuple[str, ...] = several(
        "With --rest damp: position that free motions bring a joint to, repeatable; or far_from_singular.",
        "JOINT=VALUE",
    )
    keep: tuple[str, ...] = several(
        "Bounds between which a coordinate stays, z_m=0.02: for one; repeatable.", "NAME=LOW:HIGH"
    )
    no_wait: bool = flag("Do not wait for the goal to end.")
    replace: bool = flag("Replace the active goal, without stopping.")
    at_tick: int | None = option("Device tick at which it takes effect. Default: at once.", least=0)


@command_options
class SendOptions(ConnectionOptions):
    """Follow a trajectory, and show it until it ends. Ctrl-C cancels it."""

    file: Path = argument("FILE", "YAML, or CSV of way-points.")
    check: bool = flag("Only check whether it would be accepted.")
    replace: bool = flag("Replace the active goal, without stopping.")
    approach: bool = flag("Move to its beginning first.")
    append: bool = flag("Follow it after the active goal, without a stop if possible.")
    no_wait: bool = flag("Do not wait for the goal to end.")
    at_tick: int | None = option("Device tick at which it takes effect. Default: at once.", least=0)


@command_options
class TimeOptions(ConnectionOptions):
    """Compute the fastest time law of a trajectory's path, and what limits it. Nothing moves.

    With --machine from the file alone, from the pose in which the path begins; else by the controller that
    runs, from the machine's present pose. Exit status: 0 found, 2 wrong usage or file, 3 refused.
    """

    file: Path = argument("FILE", "Trajectory: YAML, or CSV of way-points.")
    machine: str | None = option("A machine file, or a machine of linkwork; no controller.", "MACHINE")
    margin: float | None = option(
        "Share of every limit that is used. Default: the file's, or 1.", least=0.01, most=1.0
    )
    cycle: bool = flag("The path is repeated without a pause: keep the motors cool. Default: the file's.")
    plot: Path | None = option("Draw the path, coloured by what limits it: .png, .svg or .pdf.", "PICTURE")


@command_options
class JogOptions(ConnectionOptions):
    """Move while a key is held (dead-man); with NAME=VELOCITY and --for, at that velocity for that time."""

    velocity: tuple[str, ...] = argument(
        "NAME=VELOCITY...", "shoulder_deg_s=5; also _rad_s and _m_s.", default=()
    )
    seconds: float | None = option("Duration, then stop.", "SECONDS", "--for", least=0.05, most=60.0)
    fraction: float = option(
        "With keys: fraction of the velocity limits.", "", "--speed", default=0.1, least=0.001, most=1.0
    )


@command_options
class StreamOptions(ConnectionOptions):
    """Follow set-points as they come, limited online. Ctrl-C stops the machine on the way it is going."""

    source: str = argument("FILE", "CSV: time_s, NAME…, NAME_velocity…; `-`: standard input.", default="-")
    leader: str | None = option("Follow a running machine instead.", "MACHINE", "--from")
    pairs: str = option("Coordinates that follow, with --from.", "NAME=ITS_NAME,…", "--map", default="")
    rate: float = option(
        "Rate of the set-points (Hz); of a file without time_s and of --from too.", default=100.0
    )
    delay: float | None = option("Delay of the playback (s). Default: three intervals and periods.")
    on_stale: str = option("Without set-points: hold (and wait), or end.", default="hold")


@command_options
class TeachOptions(ConnectionOptions):
    """Capture way-points, by hand or jogged: space or enter captures, q saves and ends."""

    file: Path = argument("FILE", "Trajectory file to write.")
    by_jog: bool = flag("Jog with keys. Default: the machine floats and is moved by hand.", "--jog")
    every: float | None = option("Capture automatically at this interval.", "SECONDS", least=0.02)
    seconds: float | None = option("With --every: total duration.", "SECONDS", "--for", least=0.02)
    fraction: float = option(
        "With --jog: fraction of velocity limits.", "", "--speed", default=0.1, least=0.001, most=1.0
    )
    force: bool = flag("Overwrite an existing file.")


@command_options
class SpeedOptions(ConnectionOptions):
    """Scale the speed of the current goal; above 1, the path is first verified at that speed."""

    fraction: float = argument("FRACTION", "Of its speed.", least=0.0, most=2.0)
    limit: bool = flag("Use the largest feasible speed, if it is less.")
    at_tick: int | None = option("Device tick at which it takes effect. Default: at once.", least=0)


@command_options
class ConfirmBranchOptions(ConnectionOptions):
    """Confirm the assembly mode that `state` shows, or begin in another one."""

    positions: tuple[str, ...] = argument(
        "NAME=VALUE...",
        "Positions in the mode of the machine, coupler_deg=40, if `state` shows another one.",
        default=(),
    )
    at_tick: int | None = option("Device tick at which it takes effect. Default: at once.", least=0)


@command_options
class SwitchOptions(ConnectionOptions):
    """Close or open a constraint of a machine at rest: a grasp, a guide, a latch."""

    constraint: str = argument("NAME", "A constraint with `switchable: true` in the file.")
    to: Literal["on", "off"] = argument("on|off", "on: close it; off: open it.")
    at_tick: int | None = option("Device tick at which it takes effect. Default: at once.", least=0)


@command_options
class SetOutputsOptions(ConnectionOptions):
    """Set output signals, all at one tick; also while the machine is disabled."""

    signals: tuple[str, ...] = argument("NAME=VALUE...", "gripper=on, valve=off, glue_flow=0.4")
    at_tick: int | None = option("Device tick at which it takes effect. Default: at once.", least=0)


@command_options
class WaitOptions(ConnectionOptions):
    """Wait until a condition on signals, coordinates or forces holds."""

    conditions: tuple[str, ...] = argument("CONDITION...", 'part_present=on, "lift < 0.1"; all must hold.')
    timeout_s: float = option(
        "Longest wait in seconds.", "", "--timeout", default=10.0, least=0.001, most=3600.0
    )


@command_options
class EdgesOptions(ConnectionOptions):
    """List the latest changes of a digital input, with the analog inputs at that tick."""

    signal: str = argument("NAME", "A digital input.")
    after: int = option("Only those with a larger number.", default=0, least=0)


@command_options
class AdvanceOptions(ConnectionOptions):
    """Run lockstep time by this many ticks."""

    ticks: int = argument("TICKS", least=1, most=10**9)


@command_options
class GainOptions(ConnectionOptions):
    """Change the gains of the error dynamics, within the bounds of the machine file.

    Bandwidth and damping of all coordinates or of some, or the matrices G_P and G_D of up to four.
    """

    bandwidth: float | None = option("In rad/s.")
    damping: float | None = option("Damping ratio.")
    of: tuple[str, ...] = several("A coordinate that gets these two; repeatable. Default: all.", "NAME")
    gp: tuple[str, ...] = several(
        "Entry of G_P in 1/s², by one or two coordinates: x=900, x:y=120; repeatable.", "NAME=VALUE"
    )
    gd: tuple[str, ...] = several("Entry of G_D in 1/s, likewise.", "NAME=VALUE")
    at_tick: int | None = option("Device tick at which it takes effect. Default: at once.", least=0)


@command_options
class PayloadOptions(ConnectionOptions):
    """Set the payload of the machine, within the bounds of the machine file."""

    point: str = argument("POINT", "Payload point of the file.")
    mass_kg: float = argument("KG", "Mass; 0: no payload.", least=0.0)
    com_m: tuple[float, float, float] = option(
        "Centre of mass relative to the point, in m.", "X Y Z", "--com", default=(0.0, 0.0, 0.0)
    )
    inertia: tuple[float, float, float] = option(
        "Moments about its centre of mass, in kg m².", "XX YY ZZ", default=(0.0, 0.0, 0.0)
    )
    at_tick: int | None = option("Device tick at which it takes effect. Default: at once.", least=0)


@command_options
class InjectOptions(JsonOptions, KeyOptions):
    """Inject faults into a running plant, started with --inject, and print the tick at which each begins.

    Exit status: 0 accepted, 2 wrong usage, file or fault, 3 refused, 4 no daemon.
    """

    file: str | None = argument("FILE", "A fault timeline; none: list injected faults.", default=None)
    fault: tuple[str, ...] = several(
        "One fault, as an entry of a timeline: '{sensor: bias, of: elbow, by_deg: 1}'; repeatable.", "FAULT"
    )
    clear: str | None = option("End this fault; `all`: every fault.", "NAME")
    seed: int | None = option("Seed of the faults' random numbers; none: the file's, or 0.", least=0)
    robot: str | None = option("Machine name, if several are running.", "NAME")
    plant: str | None = option("The plant's endpoint, instead of a name.", "URL")
