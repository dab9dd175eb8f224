"""Texts from records: messages about faults, results and the device."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.controller.exchange.faults import FAULTS, FaultCode
from linkwork.controller.exchange.records import ReactionWording, RecordLayout, finite
from linkwork.controller.exchange.set_points import StreamState
from linkwork.controller.motion.limits.effort_limits import HeldBack, Limited
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import Machine
from linkwork.machine.twin_differences import differences
from linkwork.protocol.codes import DeviceStatus, Mode, OverrunCause, ResultCode
from linkwork.protocol.drive_errors import device_fault_text
from linkwork.protocol.laws import FREE_LAWS, MOTION_LAWS, LawKind
from linkwork.protocol.results import (
    DeviceState,
    FaultState,
    GoalProgress,
    GoalResult,
    HeatState,
    MotorReport,
    SignalChange,
    StreamLimit,
    StreamStatus,
    SwitchReport,
)

ENDED = (GoalStatus.SUCCEEDED, GoalStatus.ENDED)
UNDER_WAY = (GoalStatus.RUNNING, GoalStatus.SETTLING, GoalStatus.PAUSED, GoalStatus.STOPPING)
RECORD_LAWS = (*MOTION_LAWS, *FREE_LAWS)
"""Laws under which the machine is in motion, or may be."""


def state_name(record: np.void) -> str:
    """The state of the state machine, lower case."""
    return State(int(record["state"])).name.lower()


def in_motion(record: np.void) -> bool:
    """Whether a goal, a jog or hand guiding is under way."""
    return int(record["law"]) in RECORD_LAWS or int(record["goal_status"]) in UNDER_WAY


def limits_named(bits: int) -> list[str]:
    """Return the limits that acted on a command, by name."""
    return [flag.name.lower() for flag in Limited if bits & flag and flag.name]


def limits_told(bits: int) -> str:
    """Return the limits of `Limited` in `bits` as text, '' without a limit."""
    return "; ".join(text for flag, text in _LIMITED.items() if bits & flag)


_HEAT = ("winding_temperature", "body_temperature", "effort_limit")
_ENERGY = "the energy"


class Messages:
    """Messages with a machine's names and units."""

    def __init__(self, machine: Machine) -> None:
        sensors = [(sensor.joint, sensor.is_angle) for sensor in machine.sensors]
        motors = [(motor.joint, bool(motor.is_angle)) for motor in machine.motors]
        self._named: dict[str, list[tuple[str, bool]]] = {
            "joint": [(joint.name, joint.is_angle) for joint in machine.joints],
            "coordinate": [(limits.name, limits.is_angle) for limits in machine.coordinates],
            "motor": motors,
            "sensor": sensors,
            "sensors": [],
            "constraint": [(name, True) for name in machine.mechanism.constraint_names],
            "load": [(limit.name, limit.is_force) for limit in machine.load_limits],
            "difference": [(str(each), each.unit == "N m") for each in differences(machine)],
            "switch": [(name, True) for name in machine.switchable],
            "force": [(row.name, row.unit == "N m") for row in machine.force_rows],
        }
        self._heated = [motor for motor in machine.motors if motor.thermal_time_s is not None]
        self._signals = machine.signals
        self._inputs, self._outputs = machine.inputs, machine.outputs
        coordinates, joints, motors_named, points = (
            [limits.name for limits in machine.coordinates],
            [joint.name for joint in machine.joints],
            [motor.joint for motor in machine.motors],
            list(machine.mechanism.point_names),
        )
        self._held_names = {
            **dict.fromkeys(
                (HeldBack.POSITION, HeldBack.VELOCITY, HeldBack.ACCELERATION, HeldBack.JERK), coordinates
            ),
            **dict.fromkeys((HeldBack.JOINT_POSITION, HeldBack.JOINT_VELOCITY), joints),
            **dict.fromkeys((HeldBack.REGION, HeldBack.POINT_SPEED), points),
            HeldBack.EFFORT: motors_named,
        }
        self._law, self._period_s = machine.controller.law, machine.period_s
        self._switchable = machine.switchable
        published = "reactions" in machine.controller.publish
        self._reactions = ReactionWording(machine.mechanism) if published else None

    def reactions(self, table: dict[str, Any]) -> dict[str, Any]:
        """The reactions of a record (its map) by joint and constraint; empty where none are published."""
        return {} if self._reactions is None else self._reactions.as_map(table["reaction"])

    def fault(self, record: np.void) -> FaultState:
        """The latched fault of a record; its `record` (path) is still open."""
        code = FaultCode(int(record["fault"]))
        kind = FAULTS[code]
        where, unit = None, kind.unit
        index = int(record["fault_index"])
        if kind.index and 0 <= index < len(self._named[kind.index]):
            where, is_angle = self._named[kind.index][index]
            unit = "J" if where == _ENERGY else _unit(unit, is_angle=is_angle)
        elif kind.index == "sensors":
            group = [each for bit, each in enumerate(self._named["sensor"]) if index >> bit & 1]
            where = ", ".join(name for name, _ in group)
            unit = _unit(unit, is_angle=all(is_angle for _, is_angle in group))
        value, limit = finite(record["fault_value"]), finite(record["fault_limit"])
        text = kind.text if where is None else f"{kind.text}: {where}"
        if code is FaultCode.LINK_LOST and value == 0.0:  # before any state was missed
            text = "the connection to the plant ended"
        elif code is FaultCode.DEVICE_FAULT and value is not None:
            text += f": {device_fault_text(int(value))}"
        elif unit and value is not None and limit is not None:
            text += f" ({value:.4g}, allowed {limit:.4g} {unit})"
            if code is FaultCode.LINK_LOST and int(record["fault_tick"]) == int(record["tick"]):
                text += _late_side(record, self._period_s)
        return {
            "code": int(code),
            "name": code.name,
            "text": text,
            "where": where,
            "value": value,
            "limit": limit,
            "unit": unit,
            "tick": int(record["fault_tick"]),
            "time_s": float(record["time_s"]),
            "clears_when": kind.clears_when,
            "record": None,
        }

    def signals(self, record: np.void) -> dict[str, bool | float]:
        """Value of each signal as the device reports it."""
        if not self._signals:
            return {}
        values = self._values(record)
        return {signal.name: signal.plain(values[signal.name]) for signal in self._signals}

    def watched_signals(self, layout: RecordLayout) -> list[int]:
        """Offsets, in words of a record, of the values whose change is an event (`changes`), and of the
        counts of events on the path.
        """
        inputs, outputs = layout.offsets["input"], layout.offsets["output"]
        found = [inputs + at for at, signal in enumerate(self._inputs) if signal.is_digital]
        found += [outputs + at for at in range(len(self._outputs))]
        return found + [layout.offsets["output_events"] + at for at in range(len(self._outputs))]

    def _values(self, record: np.void) -> dict[str, float]:
        found = zip(self._inputs, record["input"].tolist(), strict=True) if self._inputs else ()
        more = zip(self._outputs, record["output"].tolist(), strict=True) if self._outputs else ()
        return {signal.name: value for signal, value in (*found, *more)}

    def changes(self, record: np.void, before: np.void | None) -> list[SignalChange]:
        """The signals with other values than in the record before: all digital ones, and analog outputs that
        do not follow the speed of a goal.
        """
        if before is None:
            return []
        old, new = self._values(before), self._values(record)
        analog = {signal.name: new[signal.name] for signal in self._inputs if not signal.is_digital}
        busy = record["output_followed"] + before["output_followed"] if self._outputs else ()
        followed = {signal.name for signal, how in zip(self._outputs, busy, strict=True) if how}
        changes: list[SignalChange] = [
            {
                "signal": signal.name,
                "value": signal.plain(new[signal.name]),
                "tick": int(record["tick"]),
                "time_s": float(record["time_s"]),
                "text": f"{signal.name} {signal.shown(new[signal.name])}",
            }
            for signal in self._signals
            if old[signal.name] != new[signal.name] and (signal.is_digital or not signal.is_input)
            if signal.name not in followed
        ]
        edges = {signal.name for signal in self._inputs}
        for change in changes:
            if change["signal"] in edges:
                change["signals"] = analog
        return changes

    def switch(self, record: np.void) -> SwitchReport | None:
        """Return the constraint switch in a record as plain data; None where there is none."""
        told = np.flatnonzero(record["switched"])
        if not len(told):
            return None
        at = int(told[0])
        name, on, done = self._switchable[at], bool(record["closed"][at]), bool(record["switched"][at] > 0.0)
        loss, impulse, residual = (
            float(record[f"switch_{figure}"][at]) for figure in ("energy_loss", "impulse", "residual")
        )
        if not done:
            text = f"{name} stays {'on' if on else 'off'}: {_why_not(residual, on=on)}"
        elif on:
            text = f"{name} closed; gap before {residual:.3g}, energy loss {loss:.3g} J"
        else:
            text = f"{name} opened"
        return {
            "constraint": name,
            "on": on,
            "switched": done,
            "energy_loss_J": loss,
            "impulse": impulse,
            "residual": residual,
            "closed": [each for i, each in enumerate(self._switchable) if record["closed"][i]],
            "tick": int(record["tick"]),
            "time_s": float(record["time_s"]),
            "text": text,
        }

    def result(self, record: np.void, *, stream: bool = False) -> GoalResult:
        """Return the result of the goal, or of the stream, that ended in a record."""
        code = int(record["goal_code"])
        name = ResultCode(code).name if code in set(ResultCode) else f"CODE_{code}"
        violated = code in (ResultCode.PATH_TOLERANCE_VIOLATED, ResultCode.GOAL_TOLERANCE_VIOLATED)
        index = int(record["goal_coordinate"])
        forced = code in (ResultCode.FORCE_TOLERANCE_VIOLATED, ResultCode.CONTACT_LOST)
        violated = violated or forced
        named = self._named["force" if forced else "coordinate"]
        where, turns = named[index] if violated and 0 <= index < len(named) else (None, False)
        unit = ("N m" if turns else "N") if forced else ("rad" if turns else "m")
        return {
            "goal": int(record["goal_id"]),
            "code": code,
            "name": name,
            "text": "the stream was finished"
            if stream and code == ResultCode.SUCCESSFUL
            else self._result_text(record, code, where, unit),
            "tick": int(record["tick"]),
            "time_s": float(record["time_s"]),
            "coordinate": where,
            "value": float(record["goal_value"]) if violated else None,
            "limit": float(record["goal_limit"]) if violated else None,
        }

    def replaced(self, record: np.void) -> GoalResult:
        """Return the result of the goal that was replaced in this record."""
        code, successor = ResultCode(int(record["replaced_code"])), int(record["goal_id"])
        if code is ResultCode.SUCCESSFUL:
            text = f"followed until goal {successor} continued from it"
        else:
            text = f"goal {successor} took over from it"
        return {
            "goal": int(record["replaced_goal"]),
            "code": int(code),
            "name": code.name,
            "text": text,
            "tick": int(record["tick"]),
            "time_s": float(record["time_s"]),
            "coordinate": None,
            "value": None,
            "limit": None,
        }

    def _result_text(self, record: np.void, code: int, where: str | None, unit: str) -> str:
        off, allowed = float(record["goal_value"]), float(record["goal_limit"])
        match code:
            case ResultCode.SUCCESSFUL:
                return "the end of the path was reached within the goal tolerances"
            case ResultCode.PATH_TOLERANCE_VIOLATED:
                return (
                    f"{where} was {off:.4g} {unit} off the path, {off - allowed:.2g} {unit} more than the "
                    f"path tolerance of {allowed:.4g} {unit}; the machine stopped on its path"
                )
            case ResultCode.GOAL_TOLERANCE_VIOLATED:
                return (
                    f"{where} was still {off:.4g} {unit} from the goal when the goal time had elapsed; "
                    f"the goal tolerance is {allowed:.4g} {unit}"
                )
            case ResultCode.FORCE_TOLERANCE_VIOLATED:
                return (
                    f"the force on {where} was {off:.4g} {unit} off the commanded force; the tolerance is "
                    f"{allowed:.4g} {unit}; the last commanded force is held"
                )
            case ResultCode.CONTACT_LOST:
                return (
                    f"{where} is not in contact: {off:.4g} {unit} measured, contact begins at "
                    f"{allowed:.4g} {unit}; the machine came to rest on its path"
                )
            case ResultCode.STREAM_STALE:
                return "the set-points stayed away; the machine came to rest and holds"
            case ResultCode.FRAME_LEFT:
                return (
                    f"the moving frame left its window or its range of speeds: {off:.4g} (m or rad, s) beyond"
                    f" {allowed:.4g}; the machine came to rest on the way it was going"
                )
            case ResultCode.CONSTRAINT_OPEN:
                return "a constraint that its events close stayed open; the machine came to rest on its path"
            case ResultCode.CANCELLED:
                return "stopped on its path, as requested"
            case ResultCode.INFEASIBLE:
                return "the rest of the path is not feasible with the present payload; it stopped on its path"
            case ResultCode.MODEL_DIFFERENCE:
                return "the machine differed from its model; it stopped on its path and holds"
            case ResultCode.LEASE_LOST:
                return "the owner's lease was lost; the machine stopped on its path and holds"
            case ResultCode.FAULT if int(record["fault"]):
                return f"a fault braked the machine: {self.fault(record)['text']}"
            case ResultCode.FAULT:
                return "an emergency stop braked the machine"
        return "ended"

    def device(
        self, record: np.void | None, link_text: str, homing: Mapping[str, Any] | None = None
    ) -> DeviceState:
        """The plant as the loop sees it."""
        status = int(record["device_status"]) if record is not None else 0
        connected = bool(record["connected"]) if record is not None else link_text.startswith("connected")
        return {
            "connected": connected,
            "text": link_text,
            "enabled": bool(status & DeviceStatus.ENABLED),
            "fault": int(record["device_fault"]) if record is not None else 0,
            "sto": bool(status & DeviceStatus.STO),
            "brake": bool(status & DeviceStatus.BRAKE),
            "homed": bool(status & DeviceStatus.HOMED),
            "homing": dict(homing) if homing and connected else None,  # type: ignore[typeddict-item]
            "temperature": self._temperatures(record),
            "motors": self._motor_reports(record),
        }

    def _motor_reports(self, record: np.void | None) -> dict[str, MotorReport]:
        """Status, fault and mode of each motor; empty where the device reports none."""
        if record is None:
            return {}
        rows = [
            np.atleast_1d(record[f"motor_{name}"]).astype(int).tolist()
            for name in ("status", "fault", "mode")
        ]
        if not any(map(any, rows)):
            return {}
        reports = zip(self._named["motor"], *rows, strict=True)
        return {
            name: {"status": status, "fault": fault, "mode": mode}
            for (name, _), status, fault, mode in reports
        }

    def _temperatures(self, record: np.void | None) -> dict[str, float]:
        """°C by motor, of those that say it."""
        if record is None:
            return {}
        said = np.atleast_1d(record["temperature"]).tolist()
        return {name: hot for (name, _), hot in zip(self._named["motor"], said, strict=True) if hot == hot}

    def heat(self, record: np.void) -> dict[str, HeatState]:
        """The estimated temperature of each motor with a thermal model."""
        if not self._heated:
            return {}
        said = self._temperatures(record)
        told = zip(*(record[name].tolist() for name in _HEAT), strict=True)
        return {
            motor.joint: {
                "winding_degC": hot,
                "body_degC": body,
                "max_degC": motor.max_temperature,
                "measured_degC": said.get(motor.joint),
                "effort_limit": limit,
                "max_effort": motor.max_effort,
                "unit": motor.effort_unit,
            }
            for motor, (hot, body, limit) in zip(self._heated, told, strict=True)
        }

    def derated(self, record: np.void) -> str:
        """The motors whose largest effort is lowered because they are hot, as text; empty where none is."""
        return ", ".join(
            f"{name} {each['winding_degC']:.1f} of at most {each['max_degC']:g} °C, "
            f"{each['effort_limit']:.4g} of {each['max_effort']:.4g} {each['unit']}"
            for name, each in self.heat(record).items()
            if 0.0 < each["effort_limit"] < each["max_effort"]
        )

    def progress(self, record: np.void) -> GoalProgress | None:
        """Return the progress of the active goal; None without one."""
        status = GoalStatus(int(record["goal_status"]))
        if status not in UNDER_WAY:
            return None
        path_s, duration_s = float(record["path_s"]), float(record["path_length_s"])
        return {
            "goal": int(record["goal_id"]),
            "tick": int(record["tick"]),
            "time_s": float(record["time_s"]),
            "path_s": path_s,
            "duration_s": duration_s,
            "fraction": min(1.0, max(0.0, path_s / duration_s)) if duration_s > 0.0 else 1.0,
            "status": status.name.lower(),
            "task_rank": int(record["task_rank"]),
            "given_up": float(np.abs(record["given_up"]).max(initial=0.0)),
        }

    def stream(self, record: np.void) -> StreamStatus | None:
        """Return the stream of a record as plain data; None without one."""
        state = StreamState(int(record["stream_state"]))
        if state is StreamState.NONE:
            return None
        return {
            "goal": int(record["goal_id"]),
            "status": state.name.lower(),
            "clock_offset_s": float(record["stream_offset_s"]),
            "buffered_s": float(record["stream_buffered_s"]),
            "held_back": self.held_back(record),
        }

    def held_back(self, record: np.void) -> StreamLimit | None:
        """Return the limit that keeps a stream from its set-points as plain data; None for none."""
        limit, index = HeldBack(int(record["stream_held_back"])), int(record["stream_held_index"])
        if limit is HeldBack.NOTHING:
            return None
        named = self._held_names.get(limit, [])
        where = named[index] if 0 <= index < len(named) else None
        text = _HELD_BACK[limit]
        return {
            "limit": limit.name.lower(), "where": where, "text": f"{text} of {where}" if where else text,
        }  # fmt: skip

    def law(self, record: np.void) -> str:
        """The law at work; while braked, none."""
        return LawKind(int(record["law"])).label

    def mode(self, record: np.void) -> str:
        """The last command to the motors."""
        return Mode(int(record["mode"])).name.lower()


def plain(value: Any) -> Any:
    """Return plain data with None in place of numbers that are not finite."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return finite(value) if isinstance(value, float) else value


def _why_not(residual: float, *, on: bool) -> str:
    """Why a plant refused to switch a constraint, as far as its figures say it."""
    if on or residual == 0.0:
        return "the plant did not switch it"
    if residual > SWITCH_TOLERANCE:
        return f"its gap is {residual:.3g} (typical lengths or rad), at most {SWITCH_TOLERANCE:g}"
    return "the plant could not close it together with the other constraints"


_LATE_PERIODS, _LATE_SHARE = 1.5, 0.25
"""Periods that a tick takes at least where it explains a lost link, and their share of the allowed ones."""
SWITCH_TOLERANCE = 1e-3
"""How far open a constraint may be when it is closed (protocol/README.md)."""


def _late_side(record: np.void, period_s: float) -> str:
    """Return as text which process was late in the tick that lost the link, from the loop's clock.

    A loop that was late by little does not explain why the states of many periods are missing.
    """
    late_s = 1e-9 * float(np.sum(record["phase_ns"]))
    enough_s = period_s * max(_LATE_PERIODS, _LATE_SHARE * float(record["fault_limit"]))
    waiting = (OverrunCause.NONE, OverrunCause.UNKNOWN, OverrunCause.LATE_STATE)
    if late_s >= enough_s and (int(record["missed"]) or int(record["overrun"]) not in waiting):
        side = f"the controller's loop was not scheduled in time (its period took {1e3 * late_s:.1f} ms)"
    else:
        side = (
            "the loop ran in time, so the plant's process was not scheduled or has ended, or the link is cut"
        )
    return f": {side}. A computer that cannot keep real time can run --pace lockstep"


def _unit(unit: str, *, is_angle: bool) -> str:
    first, _, second = unit.partition(" or ")
    return first if is_angle or not second else second


_HELD_BACK = {
    HeldBack.POSITION: "position limit",
    HeldBack.VELOCITY: "velocity limit",
    HeldBack.ACCELERATION: "acceleration limit",
    HeldBack.JERK: "jerk limit",
    HeldBack.JOINT_POSITION: "position limit",
    HeldBack.JOINT_VELOCITY: "velocity limit",
    HeldBack.REGION: "workspace",
    HeldBack.POINT_SPEED: "largest speed",
    HeldBack.SINGULAR: "singular pose of the streamed coordinates",
    HeldBack.LEVERAGE: "pose in which the motors cannot control one motion",
    HeldBack.INERTIA: "pose in which joints move against each other with hardly any inertia",
    HeldBack.EFFORT: "largest effort",
}
_LIMITED = {
    Limited.EFFORT: "effort limit of a motor: the acceleration is scaled down, its direction kept",
    Limited.EFFORT_RATE: "effort-rate limit",
    Limited.JOG_VELOCITY: "the jog exceeds the velocity limits",
    Limited.JOG_POSITION: "the jog has reached a position limit",
    Limited.LEVERAGE: "near a pose in which the motors cannot control one motion: damped",
    Limited.PATH_RATE: "the goal is slowed down until the motors can follow it",
    Limited.JOG_POSE: "the jog has come near a pose in which the motors cannot control or hold the machine",
    Limited.KEEP: "a coordinate of `keep` is at its bound",
    Limited.STREAM: "a stream is held back from its set-points",
    Limited.CONSTRAINT_FORCE: "the load on a constraint is beyond its limit",
    Limited.HEAT: "a motor is hot: its largest effort is lowered",
}
