"""Contents of answers and events: one typed map for each, with the keys of the wire format.

All maps may grow; a reader ignores unknown keys. Positions are rad or m, velocities rad/s or m/s,
efforts N m or N, by the name of the joint, coordinate or motor. Ticks are the loop's, counted since it
started.
"""

from typing import Any, Literal, NotRequired, TypedDict


class RequestEffect(TypedDict):
    """Answer of every method without a specific one: enable, disable, pause, stop, jog, advance, …"""

    tick: int
    """Tick at which it took effect, or will: a request for a later tick is answered when it is accepted."""
    state: str
    """The controller's state after it: unconfigured, inactive, active, stopping, fault, estop."""
    text: str
    """Remark on the outcome, where there is one: "there was nothing to cancel"."""


class LeaseState(TypedDict):
    """Owner of the lease. Answer of acquire and release, event `lease`, part of state and status."""

    owner: str | None
    """None: free; the next client that asks acquires it."""
    left_s: float
    """Wall time until it ends unless renewed; 0 without an owner."""
    lease_s: float
    """How long one renewal lasts."""
    reason: str
    """In the event: acquired, released, expired, taken_over, revoked; empty elsewhere."""


class GoalAccepted(TypedDict):
    """Answer of move and send; event `goal.accepted`."""

    goal: int
    """Number of the goal, counted from 1 since the gateway started."""
    method: str
    owner: str
    tick: int
    """At which it begins."""
    duration_s: float
    """Its planned length, lead-in and lead-out included."""
    coordinates: list[str]
    report: dict[str, Any]
    """What admission found: smallest margin to each kind of limit and where."""


class GoalProgress(TypedDict):
    """Event `goal.progress`, ten times a second; `goal` of state."""

    goal: int
    tick: int
    time_s: float
    path_s: float
    """Path parameter, seconds at the goal's own speed."""
    duration_s: float
    fraction: float
    """0 … 1"""
    status: str
    """running, settling, paused, stopping."""
    task_rank: int
    """Independent rows of goal coordinates that the law follows."""
    given_up: float
    """Largest acceleration (rad/s² or m/s²) by which a row is not followed."""


class EventReport(TypedDict):
    """An event of a goal: whether and when it was reached."""

    event: int
    """Number in the trajectory's `events`."""
    set: dict[str, bool | float]
    tick: int | None
    """Tick whose command set the outputs; nil: it was not reached."""
    time_s: float | None
    """Device time from which they were in force."""


class CapturedEdge(TypedDict):
    """An edge of an input while a goal was active."""

    capture: str
    input: str
    value: bool
    tick: int
    time_s: float
    path_time_s: float
    """Place on the path: time at the goal's own speed."""
    path_m: float | None
    """Length of the point's path since the goal's beginning; nil of a machine without a point."""
    coordinates: dict[str, float]
    """Joints and task coordinates, as estimated at that tick."""
    signals: dict[str, float]
    """The analog inputs at that tick."""


class UntilReport(TypedDict):
    """The condition of a goal: how often it began to hold, and when last."""

    met: int
    tick: int | None
    time_s: float | None


class LargestError(TypedDict):
    """Largest difference between reference and estimate of a coordinate while a goal was under way."""

    coordinate: str
    value: float
    unit: str


class PathReport(TypedDict, total=False):
    """A goal on its path. Older results in `state` lack its lists: `largest_errors`, `events`, …"""

    took_s: float
    """Device time from its first tick to its end."""
    largest_errors: list[LargestError]
    """Of the coordinates that it moved or held."""
    given_up: list[LargestError]
    """Largest accelerations (rad/s², m/s²) that rows gave up because they contradict others or were lost at a
    singular pose; absent where all were followed.
    """
    events: list[EventReport]
    """In the order of the trajectory."""
    captures: list[CapturedEdge]
    """The first 200, in their order."""
    captures_more: int
    """How many more there were."""
    until: UntilReport


class GoalResult(PathReport):
    """Event `goal.result`; `results` of state holds the latest sixteen, so a lost event can be recovered."""

    goal: int
    code: int
    """ResultCode."""
    name: str
    text: str
    """Why, for people: coordinate, tolerance, excess, time."""
    tick: int
    time_s: float
    coordinate: str | None
    """Which coordinate violated a tolerance."""
    value: float | None
    limit: float | None


class FaultState(TypedDict):
    """Event `fault`; `fault` of state; an entry of faults."""

    code: int
    name: str
    text: str
    where: str | None
    """Joint, coordinate, motor or sensor."""
    value: float | None
    limit: float | None
    unit: str
    tick: int
    time_s: float
    clears_when: str
    """What `recover` waits for."""
    record: str | None
    """Path of the flight record."""


class HomingState(TypedDict):
    """Homing of a device."""

    by: str
    """device, here, procedure."""
    zero: dict[str, float]
    """By sensor: where the joint is (rad or m) as the device's sensor reads 0."""


class SimulationState(TypedDict):
    """Formulation and integrator of a simulated plant."""

    formulation: str
    """projected, minimal."""
    integrator: str


class MotorReport(TypedDict):
    """The drive of one motor as the device reports it."""

    status: int
    """Bits of protocol.codes.DeviceStatus."""
    fault: int
    """protocol.codes.DeviceFault, or the vendor's; 0 none."""
    mode: int
    """protocol.codes.Mode."""


class DeviceState(TypedDict, total=False):
    """The plant as the controller sees it. The last five stand in status only."""

    connected: bool
    text: str
    enabled: bool
    fault: int
    """DeviceFault."""
    sto: bool
    brake: bool
    homed: bool
    homing: HomingState | None
    """How it found its zeros; nil of a simulated machine, and where the plant does not say."""
    temperature: dict[str, float]
    """°C by motor, of those that say it."""
    motors: dict[str, MotorReport]
    """By motor, where the device reports them: status, fault and mode of its drive."""
    features: list[str]
    """Optional parts of the device link that the plant carries (protocol.codes.Feature)."""
    lacks: list[str]
    """Parts that it does not carry."""
    simulation: SimulationState | None
    """How it computes its motion; nil of hardware, and where the plant does not say."""
    lost_in_a_row: int
    success_rate: float
    """Share of the last periods in which a fresh state came, 0 … 1."""


class ReactionState(TypedDict, total=False):
    """Force and moment of a joint or constraint on `on_body`, opposite on `from_body`; world axes."""

    on_body: str
    from_body: str
    force_N: list[float | None]
    """x, y, z; nil while the machine is braked."""
    moment_N_m: list[float | None]
    """x, y, z, about the origin of the joint's child frame, of a closure that of its frame b."""
    effort_N: float | None
    """Of a constraint on a length: its effort on the coordinate."""
    effort_N_m: float | None
    """Of a constraint on an angle."""


class PendingOrder(TypedDict):
    """Pending requests: those that wait for their tick, or for the goal before them. Part of state."""

    order: int
    method: str
    owner: str
    at_tick: int | None
    """None: it waits for the end of the goal before it."""
    goal: int | None
    """Number of the goal that it begins; `cancel` takes it."""


class StreamLimit(TypedDict):
    """Limit that keeps a stream from its set-points."""

    limit: str
    """position, velocity, acceleration, jerk, joint_position, joint_velocity, region, point_speed, singular,
    leverage, effort."""
    where: str | None
    """Coordinate, joint, motor or point."""
    text: str


class StreamStatus(TypedDict):
    """`stream` of state."""

    goal: int
    status: str
    """waiting, running, stale, ending, stopping."""
    clock_offset_s: float
    """Device time minus the sender's time, as estimated."""
    buffered_s: float
    """Time for which there are set-points ahead of the playback; negative while they are missing."""
    held_back: StreamLimit | None


class StreamAccepted(GoalAccepted):
    """Answer of stream."""

    rate_hz: float
    delay_s: float
    """Time from a set-point's stamp, on the sender's clock, to the reference."""
    on_stale: str
    held: list[str]
    """Coordinates that hold meanwhile."""
    pace: str


class HeatState(TypedDict):
    """Estimated temperature of a motor, and how far it lowers the largest effort."""

    winding_degC: float
    body_degC: float
    max_degC: float
    """Of the winding, from the machine file."""
    measured_degC: float | None
    """As the device reports it; nil where it measures none."""
    effort_limit: float
    """Largest effort at this temperature, N m or N."""
    max_effort: float
    unit: str
    """N m, N."""


class StateResult(TypedDict):
    """Answer of state."""

    state: str
    tick: int
    device_tick: int
    """Number of the plant's state that this tick answered, counted from the handshake; -1 without one."""
    time_s: float
    """Device time of the sample."""
    q: dict[str, float]
    v: dict[str, float]
    coordinates: dict[str, float]
    """Task coordinates by name."""
    forces: dict[str, dict[str, float | None]]
    """By contact or constraint: `felt` and `wanted` (N or N m); nil where it is unknown or free."""
    closed: dict[str, bool]
    """By switchable constraint: whether it holds."""
    signals: dict[str, bool | float]
    """By signal: its value as the device reports it, true or false of a digital one."""
    effort: dict[str, float]
    """Effort sent, by motor (the name of its joint)."""
    reactions: dict[str, ReactionState]
    """By joint and constraint, where the machine file's `controller.publish` asks for them; else empty."""
    mode: str
    """brake, zero, effort."""
    law: str
    pace: str
    device: DeviceState
    goal: GoalProgress | None
    stream: StreamStatus | None
    results: list[GoalResult]
    """Oldest first."""
    fault: FaultState | None
    limited: list[str]
    """Limits on the last command. Not a fault."""
    heat: dict[str, HeatState]
    """By motor with a thermal model: its temperature."""
    lease: LeaseState
    pending: list[PendingOrder]
    """Requests accepted for later, in the order of their ticks; a stop cancels them all."""
    time_stands: bool
    """Whether lockstep time is stopped: a request made now takes effect at tick + 1."""


class SwitchReport(TypedDict):
    """Event `switched`, and part of the answer of switch: what became of a constraint that was to change.

    Of one that closed: the kinetic energy that its impulse took, and the norm of that impulse.
    """

    constraint: str
    on: bool
    """Whether it holds now."""
    switched: bool
    """Whether it changed; else the plant refused, and the text says why."""
    energy_loss_J: float
    impulse: float
    """N s, or N m s of rows that are angles."""
    residual: float
    """How far open it was (typical lengths or rad)."""
    closed: list[str]
    """The switchable constraints that hold now."""
    tick: int
    time_s: float
    text: str


class SignalChange(TypedDict):
    """Event `signal.changed`: a digital signal, or an output, has another value in the device."""

    signal: str
    value: bool | float
    tick: int
    time_s: float
    text: str
    signals: NotRequired[dict[str, float]]
    """Of a digital input: the analog inputs at that tick."""


class InputEdge(TypedDict):
    """A change of a digital input, as `edges` lists it."""

    number: int
    """Counted from 1 over all digital inputs, since the controller started."""
    signal: str
    value: bool
    tick: int
    time_s: float
    signals: dict[str, float]
    """The analog inputs at that tick."""


class EdgesResult(TypedDict):
    """Answer of edges, oldest first."""

    edges: list[InputEdge]


class ConditionMet(RequestEffect):
    """Answer of wait: the first tick at which the condition was seen to hold."""

    time_s: float
    signals: dict[str, bool | float]
    """All signals at that tick."""


class Speed(RequestEffect):
    """Answer of speed; the further fields where the goal was walked through for it.

    `fraction`: the speed that it now has. `limited`: what keeps it from more, as the data of a refusal, nil
    where it has the speed that was asked for.
    """

    goal: NotRequired[int]
    fraction: NotRequired[float]
    limited: NotRequired[dict[str, Any] | None]


class Violation(TypedDict):
    """Violation of a trajectory: one quantity of one coordinate, at its worst sample.

    `quantity`: position, velocity, acceleration, jerk, motor speed, effort, effort with room to stop, effort
    rate, bearing force, bearing torque, tool speed, workspace, reach, leverage,
    inertia, singularity or branch. `point`: the way-point at the end of the piece, nil for a curve. Some
    quantities omit some fields.
    """

    quantity: str
    coordinate: str
    sample: int
    time_s: float
    point: int | None
    text: str
    min_time_stretch: float | None
    value: NotRequired[float]
    limit: NotRequired[float]
    unit: NotRequired[str]
    from_s: NotRequired[float]
    to_s: NotRequired[float]
    samples: NotRequired[int]


class PathPoses(TypedDict):
    """Poses along a path, evenly spaced in time, for drawing."""

    time_s: list[float]
    """Times on the path, from its beginning to its end, or to the last sample that could be reached."""
    q: list[list[float]]
    """Of each time the positions of all joints, in the order of `q` of state."""
    refused: int | None
    """Number of the pose at the worst violation, or of the last one before it that can be reached."""


class PathResult(TypedDict):
    """Answer of path. Without an active goal `goal` is nil and the lists are empty."""

    goal: int | None
    duration_s: float
    poses: PathPoses
    timing: NotRequired[dict[str, Any]]
    """Of a goal with `timing: fastest`: what limits it where, at its own times, as in the report of send."""


class Checked(TypedDict):
    """Answer of check. Worst violation first; `min_time_stretch` resolves all of them, nil: lower speed does
    not.

    `largest_speed`: the speed, 0 … 2 of its own, up to which the trajectory keeps every limit. `report`: as
    in the answer of send; empty where the path could not be walked to its end.
    """

    feasible: bool
    duration_s: float
    coordinates: list[str]
    full_speed_s: list[float]
    violations: list[Violation]
    min_time_stretch: float | None
    largest_speed: float
    report: dict[str, Any]
    poses: NotRequired[PathPoses]
    """Where the request has `poses` above 0."""


class Quantiles(TypedDict):
    """A distribution, µs."""

    p50: float
    p99: float
    max: float


class PhaseQuantiles(TypedDict):
    """A distribution of one phase of the loop's period, µs."""

    p50: float
    p99: float
    p999: float
    max: float


class TimingWindow(TypedDict):
    """Time of the phases of the loop's periods."""

    ticks: int
    phases_us: dict[str, PhaseQuantiles]
    """By phase, in their order: record, wait, receive, order, estimate, supervise, law, limit, send. The
    phases of one tick add up to the time between two commands.
    """
    overruns: dict[str, int]
    """Overruns by cause (OverrunCause), most frequent first; causes that did not occur are left out."""


class LoopTiming(TypedDict):
    """Timing of the loop, since it started."""

    ticks: int
    missed: int
    lost: int
    """States of the plant that never came."""
    period_us: Quantiles
    latency_us: Quantiles
    """From state in hand to command sent."""
    window: TimingWindow
    """Over the last 10,000 ticks."""
    since_start: TimingWindow


class TwinStatus(TypedDict):
    """The simulator that runs beside the machine (docs/digital_twin.md)."""

    pid: int | None
    ready: bool
    """Whether it compares; at first it loads its kernels."""
    restarts: int
    dropped: int
    """Ticks that were not compared, as it had no room for them."""


class RankDecisionResult(TypedDict):
    """Rank decision of the constraints, with the numbers of the initial pose."""

    tolerance: float
    """The machine file's `rank_tolerance`, which the loop uses too."""
    limit: float
    """Singular values of the scaled rows beyond this one count."""
    smallest: float | None
    """The smallest that counts; nil without constraints."""
    largest_dropped: float
    narrow: bool
    """Whether a singular value lies close to the limit."""


class StatusResult(TypedDict):
    """Answer of status."""

    version: str
    """Of linkwork."""
    protocol: int
    machine: str
    state: str
    pace: str
    gateway_pid: int
    loop_pid: int | None
    planner_pid: int | None
    planner_ready: bool
    """Whether the planner is ready; on a new computer it compiles first, and motions wait."""
    loops_started: int
    planner_restarts: int
    device: DeviceState
    timing: LoopTiming
    real_time: str
    """Requested and obtained real-time set-up."""
    lease: LeaseState
    log: str | None
    """Path of the newest log segment."""
    log_problem: str
    """The reason why logging has stopped, or empty."""
    log_lost: int
    """Ticks that are missing from the log."""
    telemetry: str
    """Endpoint of telemetry and events."""
    faults: int
    """How many since the gateway started."""
    fault: FaultState | None
    """The latched one."""
    law: str
    config: str
    """Hash of the machine file's content."""
    rank_decision: RankDecisionResult
    twin: TwinStatus | None
    """None: there is none."""


class Described(TypedDict):
    """One joint, coordinate or motor in describe. A limit that is nil does not exist."""

    name: str
    unit: str
    kind: Literal["joint", "task", "motor", "sensor"]
    limits: dict[str, float | list[float] | None]


class DescribedForce(TypedDict):
    """A force that goals may name: of a contact (pushing is positive), or the multiplier of a constraint."""

    name: str
    kind: Literal["contact", "constraint"]
    unit: Literal["N", "N m"]


class DescribedForceSensor(TypedDict):
    """A sensor of the force of a contact, along axes of world or body, or of a constraint's load."""

    name: str
    unit: str
    frame: Literal["world", "body", "constraint"]
    components: list[str]


class DescribedSignal(TypedDict):
    """An input or output signal. A reaction that is nil keeps the value; inputs have none."""

    name: str
    direction: Literal["input", "output"]
    type: Literal["digital", "analog"]
    unit: str
    range: list[float]
    initial: bool | float
    on_fault: bool | float | None
    on_link_loss: bool | float | None
    on_disable: bool | float | None


class DescribedSet(TypedDict):
    """A set of the switchable constraints, and the machine's capabilities while exactly these hold."""

    closed: list[str]
    """The switchable constraints that hold."""
    degrees_of_freedom: int | None
    """None where the controller cannot run the machine."""
    goal_coordinates: list[str]
    """In which it holds, and jogs joints."""
    refused: str | None
    """Why the controller cannot run it."""


class DescribedFile(TypedDict):
    """The machine file that the controller runs."""

    path: str
    """Where the controller read it; meshes lie relative to it."""
    text: str
    meshes: dict[str, str]
    """Hex SHA-256 of the files of meshes, by their names in the machine file; missing ones are left out."""


class DescribedSettings(TypedDict):
    """Bounds of the machine file for clients of the role `service`."""

    gains: dict[str, list[float]]
    """Smallest and largest `bandwidth_rad_s` and `damping_ratio` of `set_gain`; equal: they are fixed."""
    payloads: dict[str, dict[str, float]]
    """By point that may carry a payload: largest `mass_kg`, distance `com_m` and moment `inertia_kg_m2`."""
    assemblies: str
    """`one`, or `several`: confirm_branch is needed before enable."""


class DescribedControl(TypedDict):
    """Laws, and the settings that clients may change. Part of describe."""

    laws: list[str]
    law: str
    settings: DescribedSettings


class DescribeResult(DescribedControl):
    """Answer of describe."""

    machine: str
    about: str
    joints: list[Described]
    coordinates: list[Described]
    """Everything a goal may name: joints first."""
    goal_coordinates: list[str]
    motors: list[Described]
    sensors: list[Described]
    sensing: str
    """Text on the sensor errors that can be detected and isolated."""
    forces: list[DescribedForce]
    force_sensors: list[DescribedForceSensor]
    switchable: list[str]
    """Constraints that `switch` may close and open."""
    constraint_sets: list[DescribedSet]
    """Every set of them; empty without any."""
    signals: list[DescribedSignal]
    """Inputs and outputs, in the order of the machine file."""
    aliases: dict[str, str]
    """Names of the machine by the foreign names that requests may use in their place."""
    poses: dict[str, dict[str, float]]
    """Named poses: coordinate → position; `home` is the initial pose unless the file has another one."""
    pace: str
    period_s: float
    lease_s: float
    interface: str
    model: str
    config: str
    """Hashes, hex."""
    file: DescribedFile
    role: str
    """Role of the client's key; `service` where the socket has no keys."""
    roles: dict[str, str]
    """Least role that each method needs."""


class FaultsResult(TypedDict):
    """Answer of faults, newest first."""

    faults: list[FaultState]
