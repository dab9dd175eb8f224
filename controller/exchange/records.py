"""The tick record: one table of channels from which ring, log, telemetry and CSV all derive.

Every field is 8 bytes wide (int64 or float64), so a record's bytes are at once a C struct, a numpy record and
the body of a little-endian CDR message. Channels that depend on the wall clock are last: a lockstep log omits
this tail, so that it is reproducible.

Published reactions are columns of the record, and what `state` answers. Each entry of
`reactions.reactions.ReactionTable` has the force (N) and the moment (N m) on its body in the world's axes,
the moment about the entry's place: of a joint the origin of its child's frame, of a closure that of frame b.
A constraint on a coordinate has its effort (N m or N) too.
"""

import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.reactions.reactions import ReactionTable

Per = Literal[
    "",
    "joint",
    "position",
    "coordinate",
    "motor",
    "heat",
    "sensor",
    "row",
    "force",
    "component",
    "reaction",
    "switch",
    "input",
    "output",
    "phase",
]
PHASES = ("record", "wait", "receive", "order", "estimate", "supervise", "law", "limit", "send")
"""Phases of the loop's period (linkwork.controller.loop.overruns.Phase)."""
OTHERS: tuple[Per, ...] = ("heat", "reaction", "switch", "input", "output")
"""Groups of channels that only some machines have; `RecordLayout` takes their names in `others`."""
FORCE, MOMENT = ("fx", "fy", "fz"), ("mx", "my", "mz")
EFFORT = "effort"


def reaction_columns(mechanism: Mechanism) -> list[str]:
    """One name a number, `elbow.fx` to `elbow.mz`, in the order of the record."""
    table = ReactionTable(mechanism)
    named = zip(table.names, table.effort_units, strict=True)
    return [
        f"{name}.{part}" for name, unit in named for part in (*FORCE, *MOMENT, *([EFFORT] if unit else []))
    ]


class ReactionWording:
    """The reactions of one machine as people read them."""

    def __init__(self, mechanism: Mechanism) -> None:
        table = ReactionTable(mechanism)
        self._entries = list(
            zip(table.names, table.on_bodies, table.from_bodies, table.effort_units, strict=True)
        )

    def as_map(self, told: dict[str, float]) -> dict[str, Any]:
        """By joint and constraint, from the record's channel `reaction`; values that are not finite become
        nil."""
        return {
            name: {
                "on_body": on,
                "from_body": by,
                "force_N": [finite(told[f"{name}.{part}"]) for part in FORCE],
                "moment_N_m": [finite(told[f"{name}.{part}"]) for part in MOMENT],
                **({f"effort_{unit}": finite(told[f"{name}.{EFFORT}"])} if unit else {}),
            }
            for name, on, by, unit in self._entries
        }


def finite(value: float) -> float | None:
    """The number, or None where it is none."""
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True)
class Channel:
    """One line of the table: a number, or one per joint, coordinate, motor, sensor or row of a constraint."""

    name: str
    kind: Literal["int", "float"]
    per: Per
    unit: str
    meaning: str
    wall_clock: bool = False


def _int(name: str, meaning: str, unit: str = "") -> Channel:
    return Channel(name, "int", "", unit, meaning)


def _float(name: str, unit: str, meaning: str, per: Per = "") -> Channel:
    return Channel(name, "float", per, unit, meaning)


def _wall(name: str, kind: Literal["int", "float"], unit: str, meaning: str, per: Per = "") -> Channel:
    return Channel(name, kind, per, unit, meaning, wall_clock=True)


SI = "rad or m"

CHANNELS: tuple[Channel, ...] = (
    _int("tick", "controller ticks since the loop started"),
    _int("device_tick", "number of the state this tick answers, counted from the handshake; -1 none"),
    _int("state", "state machine: linkwork.controller.supervision.state_machine.State"),
    _int("phase", "brake sequence: linkwork.controller.supervision.brakes.Phase"),
    _int("mode", "mode of the command sent: 0 brake, 1 zero, 2 effort"),
    _int("law", "law that computed the effort: linkwork.protocol.laws.LawKind"),
    _int("goal_id", "active goal or last one; 0 before the first"),
    _int("goal_status", "linkwork.controller.motion.references.reference.GoalStatus"),
    _int("goal_code", "result code of the goal that ended last"),
    _int("goal_coordinate", "coordinate that violated a tolerance, as an index; -1 none"),
    _int("goal_slots", "bit mask of the shared goal slots in use"),
    _int("replaced_goal", "goal that the latest one took over from or followed; 0 none"),
    _int("replaced_code", "its result code"),
    _int("until_met", "how often the condition of the goal has begun to hold"),
    _int("order_id", "order that took effect in this tick; 0 none"),
    _int("order_outcome", "linkwork.controller.exchange.orders.OrderOutcome"),
    _int("order_arrived", "order that arrived in this tick, to take effect in it or later; 0 none"),
    _int("set_point", "number of the set-point of a stream that arrived in this tick; 0 none"),
    _int("stream_state", "linkwork.controller.motion.streams.streaming.StreamState"),
    _int("stream_held_back", "limit that holds it back: HeldBack (effort_limits.py)"),
    _int("stream_held_index", "coordinate, joint or point of that limit, as an index; -1 none"),
    _int("authority", "motion authority: incremented when all motion is ended (orders.py)"),
    _int("authority_end", "AuthorityEnd (orders.py): what ended the authority before it"),
    _int("fault", "latched fault: linkwork.controller.exchange.faults.FaultCode; 0 none"),
    _int("fault_index", "joint, coordinate, motor or sensor of the fault; -1 none"),
    _int("fault_tick", "tick in which the fault was raised; -1 none"),
    _int("limited", "bit mask of Limited: what the last command was limited by"),
    _int("device_status", "status bits of the device: linkwork.protocol.codes.DeviceStatus"),
    _int("device_fault", "fault code of the device; 0 none"),
    _int("lost_in_a_row", "periods without a fresh state, in a row"),
    _int("lost_total", "periods without a fresh state since the handshake"),
    _int("connected", "1 while connected to a plant"),
    _int("fresh", "1 where the measured values are of this tick, 0 where of an earlier one"),
    _float("time_s", "s", "device time of the state"),
    _float("path_s", "s", "path parameter of the active goal"),
    _float("path_rate", "1", "rate of the path parameter: 1 at the goal's own speed, 0 at rest"),
    _float("path_length_s", "s", "path parameter at the goal's end"),
    _float("goal_value", SI, "deviation that violated a tolerance"),
    _float("goal_limit", SI, "the tolerance that was violated"),
    _float("fault_value", "", "measured value behind the fault"),
    _float("fault_limit", "", "limit behind the fault"),
    _float("stream_offset_s", "s", "device time minus the time of the sender of a stream, as estimated"),
    _float("stream_buffered_s", "s", "time for which there are set-points ahead of the playback"),
    _float("loss_ratio", "1", "fraction of states lost in the last second"),
    _float("bandwidth", "rad/s", "bandwidth of the error dynamics, without `gains` of single coordinates"),
    _float("damping_ratio", "1", "damping ratio of the error dynamics, likewise"),
    _float("q_measured", SI, "measured positions", "sensor"),
    _float("v_measured", "rad/s or m/s", "measured velocities, or zero", "sensor"),
    _float("q", SI, "estimated joint positions (quaternions as they are)", "position"),
    _float("v", "rad/s or m/s", "estimated joint velocities", "joint"),
    _float("coordinate", SI, "goal coordinates at the estimate", "coordinate"),
    _float("reference", SI, "reference of the goal coordinates in use, not a number elsewhere", "coordinate"),
    _float("reference_velocity", "rad/s or m/s", "its rate", "coordinate"),
    _float("law_effort", "N m or N", "commanded effort before the limits", "motor"),
    _float("effort", "N m or N", "effort sent", "motor"),
    _float("device_effort", "N m or N", "effort the device reports", "motor"),
    _float("temperature", "°C", "temperature the device reports; NaN where it reports none", "motor"),
    _float("winding_temperature", "°C", "estimated temperature of the motor's winding", "heat"),
    _float("body_temperature", "°C", "estimated temperature of the motor's body", "heat"),
    _float("effort_limit", "N m or N", "largest effort at this temperature", "heat"),
    _int("newton_iterations", "Newton steps by which the joints without sensors followed the measured ones"),
    _int("rank", "independent rows of the constraints at the estimate"),
    _int("branch", "assembly branch: 1 that of the initial pose, -1 another, 0 without closures"),
    _float("closure_residual", "1", "largest residual of the constraints, in typical lengths, or rad"),
    _float("sigma_closures", "1", "smallest singular value of the scaled rows, relative to their usual size"),
    _float("sigma_motors", "1", "smallest singular value of the motor map, relative to its norm"),
    _float("constraint_force", "N or N m", "multiplier of each row: on body b by body a; NaN braked", "row"),
    _float("task_rank", "1", "independent rows of goal coordinates that the law follows"),
    _float("sigma_task", "1", "smallest singular value of these rows, about; at most 1"),
    _float("given_up", "rad/s² or m/s²", "least constraint: acceleration of each row that is not followed,"
        " where rows contradict each other or are lost", "coordinate"),
    _float("disturbance", "N m or N", "disturbance estimate of the disturbance observer", "motor"),
    _float("force", "N or N m", "each force that goals may name, measured or estimated; NaN: not"
        " available", "force"),
    _float("force_reference", "N or N m", "its commanded value while it is controlled; NaN"
        " otherwise", "force"),
    _float("force_push", "N or N m", "its feed-forward and correction; NaN otherwise", "force"),
    _float("force_measured", "N or N m", "components of each force sensor, in its frame", "component"),
    _float("reaction", "N or N m", "of joints and constraints, along world axes; NaN braked", "reaction"),
    _float("closed", "1", "1 while a switchable constraint holds in the device, 0 while not", "switch"),
    _float("switched", "1", "1 where the device has just switched it, -1 where it refused to", "switch"),
    _float("switch_energy_loss", "J", "kinetic energy lost when the constraint closed", "switch"),
    _float("switch_impulse", "N s or N m s", "norm of the impulse of its rows", "switch"),
    _float("switch_residual", "1", "its gap when it was to close, in typical lengths or rad", "switch"),
    _float("motor_status", "1", "status bits of its drive: linkwork.protocol.codes.DeviceStatus", "motor"),
    _float("motor_fault", "1", "fault code of its drive; 0 none", "motor"),
    _float("motor_mode", "1", "mode of its drive: 0 brake, 1 zero, 2 effort", "motor"),
    _float("input", "", "input signal as the device reports it; a digital one is 0 or 1", "input"),
    _float("output", "", "output signal in force in the device", "output"),
    _float("output_command", "", "output signal as commanded", "output"),
    _float("output_events", "1", "events of the latest goal that have set the output", "output"),
    _float("output_followed", "1", "1 while the output follows the speed of the goal", "output"),
    _wall("received_ns", "int", "ns", "monotonic clock when the state was received"),
    _wall("sent_ns", "int", "ns", "monotonic clock when the command was sent"),
    _wall("missed", "int", "", "whole periods skipped before this tick"),
    _wall("real_time_ns", "int", "ns", "wall clock (Unix time) when the state was received"),
    _wall("overrun", "int", "", "why this tick overran: linkwork.protocol.codes.OverrunCause; 0 it did not"),
    _wall("page_faults", "int", "", "of the loop's thread since the tick before"),
    _wall("preemptions", "int", "", "involuntary context switches of the thread since the tick before"),
    _wall("phase_ns", "float", "ns", "time per phase since the command before; they add up", "phase"),
)  # fmt: skip

SETTINGS = ("bandwidth", "damping_ratio")
"""Channels with settings of the controller, not results."""

WALL_CLOCK = struct.Struct(f"=7q{len(PHASES)}d")
"""The wall-clock channels, from `received_ns` on, which the loop process fills in after the step."""

_IDENTIFIER = re.compile(r"[^a-z0-9_]+")


def field_name(name: str) -> str:
    """A joint's name as a field name of a ROS 2 message: lower case, no doubled or trailing underscore."""
    plain = re.sub(r"_+", "_", _IDENTIFIER.sub("_", name.lower())).strip("_") or "x"
    return plain if plain[0].isalpha() else f"x{plain}"


def field_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names as field names, each once."""
    plain: list[str] = []
    for name in map(field_name, names):
        candidate, number = name, 2
        while candidate in plain:
            candidate, number = f"{name}_{number}", number + 1
        plain.append(candidate)
    return tuple(plain)


class RecordLayout:
    """The table laid out for one machine.

    `names` gives the joints', coordinates', motors' and sensors' names, in the machine's order, those of the
    positions, which are the joints' unless there are quaternions, those of the constraints' rows, of the
    forces that goals may name, and of the force sensors' components. `others`: by `Per`, of the motors
    with a thermal model, of the reactions where they are published, of the constraints that can be switched,
    of input and output signals.
    """

    def __init__(
        self,
        joints: Sequence[str],
        coordinates: Sequence[str],
        motors: Sequence[str],
        sensors: Sequence[str],
        positions: Sequence[str] | None = None,
        rows: Sequence[str] = (),
        forces: Sequence[str] = (),
        components: Sequence[str] = (),
        others: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        self.names: dict[str, tuple[str, ...]] = {
            "joint": tuple(joints),
            "position": tuple(joints if positions is None else positions),
            "coordinate": tuple(coordinates),
            "motor": tuple(motors),
            "sensor": tuple(sensors),
            "row": tuple(rows),
            "force": tuple(forces),
            "component": tuple(components),
            **{per: tuple(others.get(per, ())) for per in OTHERS},
            "phase": PHASES,
        }
        self._fields = {per: field_names(names) for per, names in self.names.items()}
        self.offsets: dict[str, int] = {}
        """Offset of each channel, counted in 8-byte words."""
        at = 0
        for channel in CHANNELS:
            self.offsets[channel.name] = at
            if not channel.wall_clock:
                self.deterministic_bytes = 8 * (at + self.width(channel))
            at += self.width(channel)
        self.words = at
        self.bytes = 8 * at
        kinds = ("q" if channel.kind == "int" else "d" * self.width(channel) for channel in CHANNELS)
        self._numbers = struct.Struct("=" + "".join(kinds))
        self._places = [
            (channel.name, self.offsets[channel.name], self.names[channel.per] if channel.per else None)
            for channel in CHANNELS
        ]

    def width(self, channel: Channel) -> int:
        """Numbers in this channel."""
        return len(self.names[channel.per]) if channel.per else 1

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The record as a flat numpy structured type: one field a channel, arrays where there is one number
        per joint.
        """
        fields: list[tuple[str, Any]] = []
        for channel in CHANNELS:
            plain = np.int64 if channel.kind == "int" else np.float64
            fields.append(
                (channel.name, (plain, (self.width(channel),))) if channel.per else (channel.name, plain)
            )
        return np.dtype(fields)

    def ros2msg(self, *, wall_clock: bool) -> str:
        """The schema as ROS 2 message text, package `linkwork_msgs`, with or without the wall-clock tail.

        Channels without members are left out: a message without members has no bytes to read.
        """
        lines = [
            f"{self._type(channel)} {channel.name}  # {channel.meaning}"
            + (f" [{channel.unit}]" if channel.unit else "")
            for channel in CHANNELS
            if self.width(channel) and (wall_clock or not channel.wall_clock)
        ]
        for per, names in self._fields.items():
            if names:
                lines += ["=" * 80, f"MSG: linkwork_msgs/{per.capitalize()}s"]
                lines += [f"float64 {name}" for name in names]
        return "\n".join(lines) + "\n"

    @staticmethod
    def _type(channel: Channel) -> str:
        if channel.per:
            return f"linkwork_msgs/{channel.per.capitalize()}s"
        return "int64" if channel.kind == "int" else "float64"

    def as_map(self, record: np.void) -> dict[str, Any]:
        """One record as a nested map of plain numbers, for telemetry and for people."""
        numbers = self._numbers.unpack(record.tobytes())
        nested: dict[str, Any] = {}
        for name, at, names in self._places:
            if names is None:
                nested[name] = numbers[at]
            else:
                nested[name] = dict(zip(names, numbers[at : at + len(names)], strict=True))
        return nested

    def columns(self) -> list[str]:
        """One flat name a number, `effort.shoulder`, in the record's order."""
        flat: list[str] = []
        for channel in CHANNELS:
            if channel.per:
                flat += [f"{channel.name}.{name}" for name in self.names[channel.per]]
            else:
                flat.append(channel.name)
        return flat


class Record:
    """One record's memory: the loop's scratch, copied into the ring at the end of each tick.

    `integers` and `floats` are views of the same words; `view(name)` is a channel's own part.
    """

    def __init__(self, layout: RecordLayout) -> None:
        self.layout = layout
        self.floats: NDArray[np.float64] = np.zeros(layout.words)
        self.integers: NDArray[np.int64] = self.floats.view(np.int64)

    def view(self, name: str) -> NDArray[np.float64]:
        """Return the floats of one channel (n), as a view."""
        at = self.layout.offsets[name]
        width = next(self.layout.width(channel) for channel in CHANNELS if channel.name == name)
        return self.floats[at : at + width]

    def record(self) -> np.void:
        """The memory as one numpy record (a view)."""
        structured: np.void = self.floats.view(self.layout.dtype)[0]
        return structured


def layout_for(machine: Any) -> RecordLayout:
    """The layout of a `machine.Machine`."""
    published = reaction_columns(machine.mechanism) if "reactions" in machine.controller.publish else ()
    return RecordLayout(
        machine.mechanism.joint_names,
        machine.mechanism.coordinate_names,
        [motor.joint for motor in machine.motors],
        [sensor.joint for sensor in machine.sensors],
        machine.mechanism.position_names,
        machine.mechanism.row_names,
        [row.name for row in machine.force_rows],
        [f"{sensor.name}.{part}" for sensor in machine.force_sensors for part in sensor.components],
        {
            "heat": [motor.joint for motor in machine.motors if motor.thermal_time_s is not None],
            "reaction": published,
            "switch": machine.switchable,
            "input": [signal.name for signal in machine.inputs],
            "output": [signal.name for signal in machine.outputs],
        },
    )
