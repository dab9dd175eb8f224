"""Options of the commands on files and this computer."""

from pathlib import Path
from typing import Literal

from linkwork.options import JsonOptions, argument, command_options, flag, option, several

Formulation = Literal[
    "projected", "udwadia_kalaba", "lagrange", "plain", "symmetric", "scaled", "minimal", "taylor"
]
Integrator = Literal["adaptive_rk4", "rk4", "semi_implicit", "gauss", "dop853", "lsoda"]
ModelPart = Literal["joints", "kinematics", "inertia", "coriolis", "gravity", "closures", "poincare"]


@command_options
class ConfigOptions:
    """Options of a command on a machine."""

    config: str = argument("MACHINE", "A machine file, or a machine of linkwork.")


@command_options
class MachineOptions(ConfigOptions, JsonOptions):
    """Options of a command on a machine, with an answer."""


@command_options
class AllowedOptions(JsonOptions):
    """Options of a command on a folder of clients."""

    folder: Path = option(
        "Folder of the allowed clients, the daemons' --allowed.", "ALLOWED", default=Path("allowed")
    )


@command_options
class CheckOptions(MachineOptions):
    """Validate a machine file; errors name line, key, found and allowed values.

    What the controller would refuse is an error too, but not of a machine with neither motors nor sensors.
    """

    show_all: bool = flag("Show everything, however much there is.", "--all")


@command_options
class RobotsOptions(JsonOptions):
    """List the shipped machines and the running ones."""


@command_options
class SchemaOptions:
    """Print the JSON schema of machine files or time lines, for completion in editors."""

    what: Literal["machine", "faults", "campaign"] = argument(
        "WHAT", "Of machine files, timelines or campaigns.", default="machine"
    )


@command_options
class LatencyOptions(JsonOptions):
    """Measure this computer's timing and the round trip of the device link."""

    for_seconds: float | None = argument("SECONDS", "The same as --seconds.", default=None, least=0.1)
    seconds: float = option("Duration of the measurement, s.", "SECONDS", default=10.0, least=0.1)
    period: float = option("Period, s.", "SECONDS", default=0.001, least=1e-4, most=1.0)
    load: bool = flag("Load processor, disk, memory and sockets in every second block.")
    blame: bool = flag("Show the kernel's activity during the latest wake-ups; needs root.")


@command_options
class ImportCommandOptions(JsonOptions):
    """Import a robot with closed loops from URDF, SDF or MJCF: write its machine file, and list findings.

    Exit status 1: the machine is written, but does not agree with FILE.
    """

    file: Path = argument("FILE", "The robot: URDF, SDF, MJCF or .xacro.")
    closures: Path | None = option("Its closures. Default: robot.yaml beside it, if there is one.", "FILE")
    out: Path | None = option("Machine file to write; -: to the terminal. Default: NAME.yaml.", "FILE.yaml")
    no_closures: bool = flag("Import the tree alone, without closures and their sheet.")
    literal: bool = flag("Simplify nothing.")
    repair: bool = flag("Mend inertias that no body has.")
    package: tuple[str, ...] = several(
        "Folder of package://NAME/ and model://NAME/; may be repeated. Files outside the folder of "
        "FILE and these folders are not read.",
        "NAME=DIR",
    )
    base: Literal["fixed", "floating"] | None = option(
        "The robot stands or floats. Default: URDF stands, others as FILE says."
    )
    effort: float | None = option(
        "Largest effort of the motors, N m or N. Default: of FILE.", "N", least=1e-6
    )
    html: Path | None = option("Write the report as a page, too.", "FILE.html")
    timeout: float = option("Processor time of a library that reads FILE.", "SECONDS", default=5.0, least=0.1)
    overwrite: bool = flag("Replace an existing machine file.")


@command_options
class ConvertOptions(ConfigOptions):
    """Write a machine as URDF, MJCF or SDF, with its closures; `linkwork import` reads the result back."""

    to: Literal["urdf", "mjcf", "sdf"] = option("The format.", required=True)
    out: Path | None = option("File to write; -: to the terminal. Default: named as the machine.", "FILE")
    lossy: bool = flag("Leave out what the format cannot express.")
    overwrite: bool = flag("Replace an existing file.")


@command_options
class ModelOptions(MachineOptions):
    """Show the model: bodies, joints, closures, degrees of freedom, motors, initial state."""

    values: tuple[str, ...] = argument(
        "JOINT=VALUE...",
        "With --assemblies: values of joints, as leg_1_m=0.8 or crank_deg=30. "
        "Default: the motors' initial ones.",
        default=(),
    )
    assemblies: bool = flag("List all assembly modes that a search finds, to paste.")
    starts: int | None = option(
        "With --assemblies: random starts. Default: 100 without another mode.", "N", least=1
    )
    seconds: float | None = option("With --assemblies: longest search, s.", "S", least=0.1)
    identifiable: bool = flag("List the combinations of masses and inertias that the motion can show.")
    draw: Path | None = option("Draw the machine in its pose.", "FILE.png")
    names: bool = flag("With --draw: name bodies, rods and springs.")
    axes: bool = flag("With --draw: the axes of the world and of the joints.")
    show_all: bool = flag("Show everything, however much there is.", "--all")


@command_options
class SymbolicOptions(MachineOptions):
    """Show the machine's equations in symbols: explicit, or with common subexpressions named."""

    show: tuple[ModelPart, ...] = several("Results to derive; repeatable.", "")
    form: Literal["text", "latex"] = option("Output format.", "", "--format", default="text")
    velocities: Literal["machine", "coordinates"] = option(
        "The machine's velocities (Poincaré), or rates of coordinates alone (Lagrange).", default="machine"
    )
    however_long: bool = flag("Also show very long expressions.")
    linearize: str | None = option(
        "A linear model at the equilibrium near a pose instead: initial, crank_deg=60,… or q=0.5,…", "POSE"
    )
    coordinates: str | None = option(
        "Independent coordinates of the linear model. Default: the file's goal coordinates.", "NAME,…"
    )
    out: Path | None = option("The linear model as .npz or .json.", "FILE")


@command_options
class CodegenOptions(MachineOptions):
    """Write M, h, A, Ȧv, kinematics and the control law as a program without dependencies, or an FMU."""

    out: Path | None = option("Folder for the program's files; created if missing.", "DIR")
    fmu: Path | None = option("Write the simulated machine as an FMU for co-simulation there.", "FILE.fmu")
    fmi: Literal["3", "2"] = option("Version of FMI.", default="3")
    language: Literal["c", "python"] = option("C99, or a Python module.", default="c")
    single: bool = flag("Precision of the C code.", "--float/--double")


@command_options
class CouplingOptions(MachineOptions):
    """Options of a simulation with FMUs."""

    fmu: tuple[str, ...] = several("An FMU in place of motors; repeatable.", "NAME=FILE.fmu")
    connect: tuple[str, ...] = several(
        "Connect the FMUs: MOTOR=NAME.output, NAME.input=velocity.JOINT, NAME.parameter=2; repeatable.",
        "TARGET=SOURCE",
    )


@command_options
class SimulateOptions(CouplingOptions):
    """Simulate the plant alone, offline: no sockets, no brakes; motors apply only the --effort values."""

    duration: float = option("Duration, s.", "SECONDS", required=True)
    dt: float | None = option("Step (dop853, lsoda: sample), s. Default: the plant's.", "SECONDS")
    initial: tuple[str, ...] = several("Initial position, shoulder_deg=30; repeatable.", "JOINT=VALUE")
    speed: tuple[str, ...] = several("Initial speed, shoulder_deg_s=30; repeatable.", "JOINT=VALUE")
    start: Literal["assembled", "as-given"] = option(
        "Close all constraints at the start, or leave the state as given.", default="assembled"
    )
    effort: tuple[str, ...] = several(
        "Effort of a motor, N m or N: 10, or a function of time, 10*sin(2*pi*t); repeatable.", "MOTOR=VALUE"
    )
    force: tuple[str, ...] = several(
        "Force on a joint, or at a point along a world axis, POINT.x: a number or an expression, "
        "tip.x=2*sin(t)-rate(tip.x); repeatable.",
        "NAME=VALUE",
    )
    out: Path | None = option("Write every sample there: FILE.csv, or FILE.npz.", "FILE")
    plot: Path | None = option("Draw the motion there, in ° and mm: .png, .svg or .pdf.", "PICTURE")
    every: int = option("Keep the state after every N-th step.", "N", default=1)
    formulation: Formulation = option(
        "Formulation of the dynamics; minimal and taylor have their own steps.", default="projected"
    )
    stabilisation: Literal["none", "baumgarte", "projection"] = option(
        "Stabilization of the constraints.", default="projection"
    )
    integrator: Integrator | None = option(
        "Fixed steps: rk4, gauss, semi_implicit; divided where motion is fast: adaptive_rk4. For "
        "reference: dop853, lsoda. None: the file's."
    )
    track: tuple[str, ...] = several("Position and velocity of a point; repeatable.", "POINT")
    reactions: bool = flag("Forces and moments in joints and constraints, N and N m.")
    constraint_efforts: bool = flag("Generalized force of the constraints on each joint.")
    reactions_at: Literal["begin", "middle", "end"] | None = option(
        "Where in a step reactions are taken. None: begin; taylor: middle."
    )
    rtol: float | None = option("Relative tolerance of a step; none: dop853 1e-15, lsoda 3e-14.", "R")
    atol: float | None = option(
        "Absolute tolerance, rad, m, per second; none: dop853 1e-17, lsoda 1e-15.", "A"
    )
    accuracy: float | None = option(
        "Largest error, rad, m, per second (relative beyond 1): refined until two runs agree.", "E"
    )
    gamma: float | None = option("γ of the formulation scaled, kg m²; none: of the size of M.", "G")
    plant_set: tuple[str, ...] = several("upper_arm.mass_kg=+20%.", "KEY=VALUE")
    switches: tuple[str, ...] = several("A constraint on, off or hold; repeatable.", "NAME=on@S", "--switch")
    as_csv: bool = flag("Write the samples to standard output as CSV, with all digits.", "--csv")


@command_options
class MakeKeysOptions(JsonOptions):
    """Make a pair of CURVE keys for a daemon or a client."""

    name: str = argument("NAME", "NAME.secret and NAME.public are created.")
    folder: Path = option("Folder for the keys.", default=Path())


@command_options
class AllowKeyOptions(AllowedOptions):
    """Accept a client with a role, or change its role; takes effect at once, also while daemons run."""

    file: Path = argument("NAME.public", "Public key file of the client.")
    role: Literal["observe", "operate", "service"] = option(
        "observe: read, stop, estop; operate: also move; service: also change settings.", required=True
    )


@command_options
class RevokeKeyOptions(AllowedOptions):
    """Remove a client: its requests are refused, and its telemetry ends with its connection."""

    name: str = argument("NAME", "Client, as `linkwork keys list` shows it.")


@command_options
class ListKeysOptions(AllowedOptions):
    """List the accepted clients with role and public key."""


@command_options
class CheckDriverOptions(JsonOptions):
    """Test a driver with its device, braked: nothing moves without --move.

    Exit status: 0 nothing failed, 1 something did, 2 wrong usage or file.
    """

    name: str = argument("MODULE:CLASS", "The driver: package.module:Class, udp, or cia402.")
    config: str | None = option("Machine file, for its section `driver` and its size.")
    driver_set: tuple[str, ...] = several("An option of the driver: port=5800.", "KEY=VALUE")
    move: bool = flag("Also move each motor slightly. Needs --config and free space.")


@command_options
class CheckControllerOptions(MachineOptions):
    """Take the plant's place and test the controller that connects.

    Exit status: 0 nothing failed, 1 something did, 2 wrong usage or file.
    """

    command: tuple[str, ...] = argument(
        "COMMAND...", "After --: the controller; {endpoint}, {interface} are replaced.", default=()
    )
    endpoint: str | None = option(
        "Endpoint to listen on in the plant's place. Default: in the runtime folder."
    )


@command_options
class BuildKernelsOptions(JsonOptions):
    """Compile the kernels of a package of your own, such as a control law or a driver.

    Without it, and without a C compiler, they run as Python, slowly. A changed kernel is compiled again
    before its first use.
    """

    package: str = argument("PACKAGE", "An installed package or module, or one in this folder.")


@command_options
class NewPartOptions(JsonOptions):
    """Options of a command that begins a new part of linkwork, whose test fails until it is filled in."""

    name: str = argument("NAME", "Its name: lower-case letters and digits, words joined by _.")
    dry_run: bool = flag("Show the difference and write nothing.")


@command_options
class NewLawOptions(NewPartOptions):
    """Begin a control law of linkwork: its class, its entry in the table of laws, and its test.

    For a law in a package of your own see `docs/own_kernels.md`.
    """


@command_options
class NewRequestOptions(NewPartOptions):
    """Begin a request that the gateway answers: its row, its parameters, its handler, and its test.

    The method of `Robot` and the command derive from the row.
    """


@command_options
class NewJointOptions(NewPartOptions):
    """Begin a joint type: its section of the machine file, its degrees of freedom, and its test."""
