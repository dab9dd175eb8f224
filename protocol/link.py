"""The device link's hot messages: state (plant → controller) and command (controller → plant).

Each is one MessagePack map in one frame, some 200 bytes, packed and read once a period. Readers are strict:
a wrong type, a wrong length or a number that is not finite raises ProtocolError naming the field, and leaves
the output unchanged. Fields may come in any order; fields that are not known are ignored. The rare messages
are in `protocol.handshake`.

MessagePack leaves a writer the width of a number and the order of a map. Our writers always choose the same
(`Layout`), so a message of a given machine is a row of constant bytes and 8-byte numbers: written and read by
one `struct` call, in half the time of a general encoder. A message of another shape is decoded in general.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import copysign, inf, isfinite, nan
from typing import Any, Final

import msgpack
import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.protocol.decoding import LATEST_S, MOST_NUMBER, NotDecodable, decode, excerpt
from linkwork.protocol.errors import ProtocolError

_ROOM_BYTES: Final = 8192
"""Bytes that a hot message may have beyond its numbers."""
_TOP: Final = 2**53
_STATE_FIELDS: Final = (
    "type", "session", "seq", "time_s", "mode", "status", "fault", "ack", "q", "v", "effort",
)  # fmt: skip
_FORCE_FIELD: Final = "force"
_CLOSED_FIELD: Final = "closed"
_SWITCHED_FIELD: Final = "switched"
_INPUTS_FIELD: Final = "inputs"
_OUTPUTS_FIELD: Final = "outputs"
_MOTOR_FIELDS: Final = ("motor_status", "motor_fault", "motor_mode")
_COMMAND_FIELDS: Final = ("type", "session", "seq", "mode", "effort")
_REFERENCE_FIELDS: Final = ("position", "feedforward")
_OPTIONAL: Final = (
    "temperature", _CLOSED_FIELD, _SWITCHED_FIELD, _INPUTS_FIELD, _OUTPUTS_FIELD, *_MOTOR_FIELDS,
)  # fmt: skip
MOTOR_STATUS, MOTOR_FAULT, MOTOR_MODE = range(3)
"""Rows of an array with the status bits, the fault and the mode of each motor."""
_INTEGER = b"\xd3"
_FLOAT = b"\xcb"


class Layout:
    """A map of one constant text field `type`, then single numbers, then lists of floats.

    `integers` and `lists` give names (and lengths) in the order of the row; `floats` names those single
    numbers that are floats. The row alternates: constant bytes, number, constant bytes, number, …
    """

    def __init__(
        self, kind: str, numbers: Sequence[str], floats: Sequence[str], lists: Sequence[tuple[str, int]]
    ) -> None:
        constants: list[bytes] = []
        types: list[str] = []
        before = bytes([0x80 | (1 + len(numbers) + len(lists))]) + _text("type") + _text(kind)
        for name in numbers:
            constants.append(before + _text(name) + (_FLOAT if name in floats else _INTEGER))
            types.append("d" if name in floats else "q")
            before = b""
        for name, count in lists:
            before += _text(name) + _array(count)
            for _ in range(count):
                constants.append(before + _FLOAT)
                types.append("d")
                before = b""
        shape = "".join(f"{len(constant)}s{kind}" for constant, kind in zip(constants, types, strict=True))
        self.struct = struct.Struct(f">{shape}{len(before)}s" if before else f">{shape}")
        self.size = self.struct.size
        self.constants = (*constants, before) if before else tuple(constants)
        """Contents of the even places of the row."""
        self.first_list = 2 * len(numbers) + 1
        """Place of the first number of the lists."""
        self._length = len(constants) + len(self.constants)

    def row(self) -> list[object]:
        """A row with its constants in place and zeros for the numbers, to fill and `struct.pack(*row)`."""
        row: list[object] = [0] * self._length
        row[::2] = self.constants
        return row


def _text(name: str) -> bytes:
    return bytes([0xA0 | len(name)]) + name.encode()


def _array(count: int) -> bytes:
    return bytes([0x90 | count]) if count < 16 else b"\xdc" + count.to_bytes(2, "big")


@dataclass(slots=True)
class Measurements:
    """Measurements of one tick, as in the plant's states.

    q: position per sensor (rad or m). v: velocity per sensor (rad/s or m/s, 0 where a sensor measures none).
    effort: joint-side effort in force per motor (N m or N). force: the components (N or N m) of each force
    sensor, in its frame. temperature: °C per motor, NaN where a motor measures none; None: no motor does.
    inputs, outputs: value of each signal, outputs as they are in force. motors (3, motors): rows
    MOTOR_STATUS, MOTOR_FAULT and MOTOR_MODE; None where the device does not report them.
    """

    q: Floats
    v: Floats
    effort: Floats
    force: Floats
    temperature: Floats | None = None
    inputs: Floats = field(default_factory=lambda: np.zeros(0))
    outputs: Floats = field(default_factory=lambda: np.zeros(0))
    motors: Integers | None = None


@dataclass(slots=True)
class StateHeader:
    """The integers and the time of one state; the fields mean what they mean in StateMessage."""

    session: int
    seq: int
    time_s: float
    mode: int
    status: int
    fault: int
    ack: int
    closed: int = -1


class StateMessage:
    """One state, with its arrays in place: views of the row `values`, in the order of the fields.

    session: the controller's. seq: device tick k, counted from the session's first state. time_s: device
    time of the sample. q: measured position per sensor (rad or m). v: measured velocity per sensor (rad/s
    or m/s, 0 where the sensor has none). effort: joint-side effort in force per motor (N m or N). mode: the
    Mode in force. status: DeviceStatus bits. fault: DeviceFault. ack: seq of the command in force, -1
    before the first. temperature: °C per motor, NaN where the
    device says none; it comes with some states only, and is valid until it comes again. force: the components
    (N or N m) of each force sensor, in its frame. closed: bit i is set while the i-th switchable constraint
    holds; -1 where there are none. switched: outcome of a command to switch at this tick, else None.
    inputs, outputs: value of each signal; valid until they come again. motors (3, motors): rows MOTOR_STATUS,
    MOTOR_FAULT and MOTOR_MODE, of the newest state that had them; motors_told: this one had some.
    """

    __slots__ = (
        "_bytes", "_layout", "ack", "closed", "effort", "fault", "force", "inputs", "mode", "motors",
        "motors_told", "outputs", "q", "seq", "session", "status", "switched", "temperature", "time_s", "v",
        "values",
    )  # fmt: skip

    def __init__(self, sensors: int, motors: int, forces: int = 0, inputs: int = 0, outputs: int = 0) -> None:
        widths = (sensors, sensors, motors, forces, inputs, outputs)
        self.values: Floats = np.zeros(sum(widths))
        ends = np.cumsum(widths)[:-1]
        self.q, self.v, self.effort, self.force, self.inputs, self.outputs = np.split(self.values, ends)
        self.motors: Integers = np.zeros((len(_MOTOR_FIELDS), motors), np.int64)
        self.motors_told = False
        self._bytes = _bytes_of(self.values)
        self._layout = struct.Struct(f"={self.values.size}d")
        self.temperature: Floats = np.full(motors, np.nan)
        self.session = self.seq = self.mode = self.status = self.fault = 0
        self.ack = self.closed = -1
        self.switched: list[dict[str, Any]] | None = None
        self.time_s = 0.0

    def set_values(self, values: Sequence[float]) -> None:
        """Overwrite `values`; as many numbers as it has."""
        self._layout.pack_into(self._bytes, 0, *values)


class CommandMessage:
    """One command, with its array in place.

    session: the controller's session. seq: the seq of the state it answers (-1: none yet). mode: a Mode.
    effort: joint-side effort per motor (N m or N). closed: bit i asks for the i-th switchable constraint to
    hold, from the tick on at which the command comes into force; -1: all stay as they are. outputs: wanted
    value of each output signal; outputs_told: whether the command has them, otherwise all stay as they are.
    references: of drives that follow positions, two rows (motors): positions (rad or m), and the efforts
    (N m or N) that the law feeds forward; no rows otherwise.
    """

    __slots__ = (
        "_bytes", "_layout", "closed", "effort", "mode", "outputs", "outputs_told", "references", "seq",
        "session",
    )  # fmt: skip

    def __init__(self, motors: int, outputs: int = 0, *, references: bool = False) -> None:
        rows = len(_REFERENCE_FIELDS) if references else 0
        values: Floats = np.zeros(motors + rows * motors + outputs)
        self.effort, referred, self.outputs = np.split(values, [motors, motors + rows * motors])
        self.references = referred.reshape(rows, motors)
        self._bytes = _bytes_of(values)
        self._layout = struct.Struct(f"={values.size}d")
        self.session = self.mode = 0
        self.seq = self.closed = -1
        self.outputs_told = False

    def set_values(self, values: Sequence[float]) -> None:
        """Overwrite `effort`, `references`, `outputs`; as many numbers as they have."""
        self._layout.pack_into(self._bytes, 0, *values)


class StateCodec:
    """Packs and reads states of a machine with this many sensors, motors, and components of force sensors.

    The field `force` is there only where there are force sensors, `closed` only where there are `switches`,
    constraints that can be switched, `inputs` and `outputs` only where there are such signals. `unfit`:
    positions and velocities that are not finite are read as they are, and those beyond MOST_NUMBER as
    infinite, for a reader that judges each sensor; without it they are refused.
    """

    def __init__(
        self,
        sensors: int,
        motors: int,
        forces: int = 0,
        *,
        unfit: bool = False,
        switches: int = 0,
        inputs: int = 0,
        outputs: int = 0,
    ) -> None:
        self.sensors, self.motors, self.forces, self.switches = sensors, motors, forces, switches
        self.inputs, self.outputs = inputs, outputs
        self._finite = not unfit
        self._numbers = (*_STATE_FIELDS[1:8], *((_CLOSED_FIELD,) if switches else ()))
        lists = [("q", sensors), ("v", sensors), ("effort", motors)]
        lists += [
            (name, count)
            for name, count in ((_FORCE_FIELD, forces), (_INPUTS_FIELD, inputs), (_OUTPUTS_FIELD, outputs))
            if count
        ]
        self._signals = inputs + outputs > 0
        layout = Layout("state", self._numbers, ("time_s",), lists)
        self._size, self._constants, self._lists = layout.size, layout.constants, layout.first_list
        self._row = layout.row()
        self._pack, self._unpack = layout.struct.pack, layout.struct.unpack
        self._most = _ROOM_BYTES + layout.size

    def message(self) -> StateMessage:
        """An empty message of this size to read into."""
        return StateMessage(self.sensors, self.motors, self.forces, self.inputs, self.outputs)

    def pack(
        self,
        head: StateHeader,
        measured: Measurements,
        *,
        temperatures: bool = False,
        motors: bool = False,
        switched: list[dict[str, Any]] | None = None,
    ) -> bytes:
        """Pack one state. Temperatures and the reports of motors are included where they are asked for and
        known.
        """
        lists = (measured.q.tolist(), measured.v.tolist(), measured.effort.tolist())
        values = (head.session, head.seq, head.time_s, head.mode, head.status, head.fault, head.ack)
        hot = measured.temperature if temperatures else None
        told = measured.motors if motors else None
        if hot is not None or switched is not None or told is not None:
            fields: dict[str, Any] = dict(zip(_STATE_FIELDS, ("state", *values, *lists), strict=True))
            if hot is not None:
                fields["temperature"] = [each if isfinite(each) else None for each in hot.tolist()]
            if self.forces:
                fields[_FORCE_FIELD] = measured.force.tolist()
            if self.inputs:
                fields[_INPUTS_FIELD] = measured.inputs.tolist()
            if self.outputs:
                fields[_OUTPUTS_FIELD] = measured.outputs.tolist()
            if told is not None:
                fields.update(zip(_MOTOR_FIELDS, told.tolist(), strict=True))
            if self.switches:
                fields[_CLOSED_FIELD] = head.closed
            if switched is not None:
                fields[_SWITCHED_FIELD] = switched
            packed: bytes = msgpack.packb(fields)
            return packed
        row = self._row
        row[1:15:2] = values
        if self.switches:
            row[15] = head.closed
        q, v, effort = lists
        numbers = q + v + effort + measured.force.tolist()
        if self._signals:
            numbers += measured.inputs.tolist() + measured.outputs.tolist()
        row[self._lists :: 2] = numbers
        return self._pack(*row)

    def unpack(self, data: bytes, out: StateMessage) -> None:
        """Read one state into `out`. Raises ProtocolError, and leaves `out` as it was, when it is none."""
        if len(data) == self._size:
            row = self._unpack(data)
            if row[::2] == self._constants:
                session, seq, time_s, mode, status, fault, ack, *values = row[1::2]
                closed, most = (values.pop(0), 1 << self.switches) if self.switches else (-1, 0)
                if (
                    0 <= mode <= 2
                    and 0 <= seq < _TOP
                    and 0 <= session < _TOP
                    and 0 <= status < _TOP
                    and 0 <= fault < _TOP
                    and -1 <= ack < _TOP
                    and closed < most
                    and (most == 0 or closed >= 0)
                    and -LATEST_S <= time_s <= LATEST_S
                    and sum(map(abs, values)) <= MOST_NUMBER
                ):
                    out.set_values(values)
                    out.session, out.seq, out.time_s, out.mode = session, seq, time_s, mode
                    out.status, out.fault, out.ack = status, fault, ack
                    out.closed, out.switched, out.motors_told = closed, None, False
                    return
        self._unpack_any(data, out)

    def _unpack_any(self, data: bytes, out: StateMessage) -> None:
        fields = (*_STATE_FIELDS, _FORCE_FIELD) if self.forces else _STATE_FIELDS
        found = _fields(data, "state", fields, self._most, _OPTIONAL)
        _, session, seq, time_s, mode, status, fault, ack, q, v, effort, *force = found[: -len(_OPTIONAL)]
        temperature, closed, told, inputs, outputs, *motors = found[-len(_OPTIONAL) :]
        counters = {"session": session, "seq": seq, "status": status, "fault": fault}
        for name, value in counters.items():
            _require_integer(name, value, 0, _TOP - 1)
        _require_integer("ack", ack, -1, _TOP - 1)
        _require_integer("mode", mode, 0, 2)
        time_s = _number("time_s", time_s, LATEST_S)
        values = (
            *_numbers("q", q, self.sensors, finite=self._finite),
            *_numbers("v", v, self.sensors, finite=self._finite),
            *_numbers("effort", effort, self.motors),
            *(_numbers(_FORCE_FIELD, force[0], self.forces) if self.forces else ()),
            *_signals(_INPUTS_FIELD, inputs, out.inputs),
            *_signals(_OUTPUTS_FIELD, outputs, out.outputs),
        )
        reports = [
            None if each is None else _integers(name, each, self.motors)
            for name, each in zip(_MOTOR_FIELDS, motors, strict=True)
        ]
        hot = None if temperature is None else _temperatures(temperature, self.motors)
        closed = self._closed(closed)
        told = None if told is None else _reports(told, self.switches)
        out.set_values(values)
        out.session, out.seq, out.time_s, out.mode = session, seq, time_s, mode
        out.status, out.fault, out.ack = status, fault, ack
        out.closed, out.switched = closed, told
        if hot is not None:
            out.temperature[:] = hot
        out.motors_told = False
        for row, report in zip(out.motors, reports, strict=True):
            if report is not None:
                row[:], out.motors_told = report, True

    def _closed(self, value: object) -> int:
        """The field `closed` of a state, as it must be where there are switches."""
        if not self.switches:
            return -1
        if value is None:
            raise ProtocolError(f"the state has no field `{_CLOSED_FIELD}`", _CLOSED_FIELD)
        return _integer(_CLOSED_FIELD, value, 0, (1 << self.switches) - 1)


class CommandCodec:
    """Packs and reads commands of a machine with this many motors, switchable constraints, and outputs.

    references: its drives follow positions, so that each command has the fields `position` and `feedforward`.
    """

    def __init__(self, motors: int, switches: int = 0, outputs: int = 0, *, references: bool = False) -> None:
        self.motors, self.switches, self.outputs = motors, switches, outputs
        self._referred = _REFERENCE_FIELDS if references else ()
        lists = [("effort", motors), *((name, motors) for name in self._referred)]
        layout = Layout(
            "command", _COMMAND_FIELDS[1:4], (), [*lists, (_OUTPUTS_FIELD, outputs)] if outputs else lists
        )
        self._size, self._constants, self._lists = layout.size, layout.constants, layout.first_list
        self._row = layout.row()
        self._pack, self._unpack = layout.struct.pack, layout.struct.unpack
        self._most = _ROOM_BYTES + layout.size

    def message(self) -> CommandMessage:
        """An empty message of this size to read into."""
        return CommandMessage(self.motors, self.outputs, references=bool(self._referred))

    def pack(
        self,
        session: int,
        seq: int,
        mode: int,
        effort: Floats,
        closed: int = -1,
        outputs: Floats | None = None,
        references: Floats | None = None,
    ) -> bytes:
        """Return the bytes of one command.

        session, seq, mode, closed: as in CommandMessage. effort (motors): N m or N. outputs (outputs): the
        values wanted of a machine with output signals; None: all stay as they are. references (2, motors):
        as in CommandMessage, for drives that follow positions.
        """
        numbers, signals = effort.tolist(), list[float]()
        if self._referred and references is not None:
            numbers += references.ravel().tolist()
        if self.outputs and outputs is not None:
            signals = outputs.tolist()
        if closed < 0 and len(signals) == self.outputs:
            row = self._row
            row[1:7:2] = session, seq, mode
            row[self._lists :: 2] = numbers + signals
            return self._pack(*row)
        fields: dict[str, Any] = dict(zip(_COMMAND_FIELDS[:4], ("command", session, seq, mode), strict=True))
        for at, name in enumerate((*_COMMAND_FIELDS[4:], *self._referred)):
            fields[name] = numbers[at * self.motors : (at + 1) * self.motors]
        if signals:
            fields[_OUTPUTS_FIELD] = signals
        if closed >= 0:
            fields[_CLOSED_FIELD] = closed
        packed: bytes = msgpack.packb(fields)
        return packed

    def unpack(self, data: bytes, out: CommandMessage) -> None:
        """Read one command into `out`. Raises ProtocolError, and leaves `out` as it was, when it is none."""
        if len(data) == self._size:
            row = self._unpack(data)
            if row[::2] == self._constants:
                session, seq, mode, *values = row[1::2]
                numbers = sum(map(abs, values)) <= MOST_NUMBER  # false where one is not a number
                if 0 <= mode <= 2 and -1 <= seq < _TOP and 0 <= session < _TOP and numbers:
                    out.set_values(values)
                    out.session, out.seq, out.mode, out.closed = session, seq, mode, -1
                    out.outputs_told = self.outputs > 0
                    return
        self._unpack_any(data, out)

    def _unpack_any(self, data: bytes, out: CommandMessage) -> None:
        fields = (*_COMMAND_FIELDS, *self._referred)
        _, session, seq, mode, *lists, closed, outputs = _fields(
            data, "command", fields, self._most, (_CLOSED_FIELD, _OUTPUTS_FIELD)
        )
        _require_integer("session", session, 0, _TOP - 1)
        _require_integer("seq", seq, -1, _TOP - 1)
        _require_integer("mode", mode, 0, 2)
        wanted = -1
        if closed is not None and self.switches:
            wanted = _integer(_CLOSED_FIELD, closed, 0, (1 << self.switches) - 1)
        told = outputs is not None and self.outputs > 0
        efforts: list[float] = []
        for name, given in zip(fields[4:], lists, strict=True):
            efforts += _numbers(name, given, self.motors)
        signals = _numbers(_OUTPUTS_FIELD, outputs, self.outputs) if told else out.outputs.tolist()
        out.set_values(efforts + signals)
        out.session, out.seq, out.mode, out.closed = session, seq, mode, wanted
        out.outputs_told = told


def read_map(data: bytes) -> dict[str, Any]:
    """Any message of the device link as a map. Raises ProtocolError when it is none."""
    try:
        content = decode(data)
    except NotDecodable as error:
        raise ProtocolError(f"not readable as MessagePack: {error}") from None
    if not isinstance(content, dict):
        raise ProtocolError(f"a message must be a map, found {excerpt(content)}")
    return content


def kind_of(content: Mapping[str, Any]) -> str:
    """The `type` of any message of the device link. Raises ProtocolError when it has none."""
    kind = content.get("type")
    if not isinstance(kind, str):
        raise ProtocolError("the message has no text field `type`", "type")
    return kind


def _bytes_of(values: Floats) -> memoryview:
    return values.data.cast("B") if values.size else memoryview(bytearray())


def _fields(
    data: bytes, kind: str, fields: tuple[str, ...], most: int, optional: tuple[str, ...] = ()
) -> list[Any]:
    """The values of these fields of a message of any shape, None for optional ones that are not there.

    Raises ProtocolError naming the field.
    """
    if len(data) > most:
        raise ProtocolError(f"{len(data)} bytes exceed the {most} allowed for a {kind}")
    content = read_map(data)
    found = content.get("type", kind)
    if found != kind:
        raise ProtocolError(f"expected a {kind}, found {excerpt(found)}", "type", content)
    for name in fields:
        if name not in content:
            raise ProtocolError(f"the {kind} has no field `{name}`", name)
    return [*(content[name] for name in fields), *(content.get(name) for name in optional)]


def _require_integer(name: str, value: object, lowest: int, highest: int) -> None:
    if type(value) is not int:
        raise ProtocolError(f"`{name}` must be an integer, found {excerpt(value)}", name)
    if not lowest <= value <= highest:
        raise ProtocolError(f"`{name}` must be from {lowest} to {highest}, found {value}", name)


def _integer(name: str, value: object, lowest: int, highest: int) -> int:
    _require_integer(name, value, lowest, highest)
    assert isinstance(value, int)
    return value


def _signals(name: str, values: object, last: Floats) -> list[float]:
    """The values of signals: the last ones where the message has none."""
    return last.tolist() if values is None or not last.size else _numbers(name, values, last.size)


def _integers(name: str, values: object, count: int) -> list[int]:
    """A list of one integer a motor."""
    if not isinstance(values, list) or len(values) != count:
        raise ProtocolError(f"`{name}` must be a list of {count} integers, found {excerpt(values)}", name)
    return [_integer(f"{name}[{index}]", value, 0, _TOP - 1) for index, value in enumerate(values)]


def _reports(value: object, most: int) -> list[dict[str, Any]]:
    """The field `switched` of a state: at most one map of texts and numbers for each switch."""
    if not isinstance(value, list) or len(value) > max(most, 1):
        raise ProtocolError(f"`{_SWITCHED_FIELD}` must be a list of maps, one a switch", _SWITCHED_FIELD)
    for index, each in enumerate(value):
        if not isinstance(each, dict) or not isinstance(each.get("name"), str):
            where = f"{_SWITCHED_FIELD}[{index}]"
            raise ProtocolError(f"`{where}` must be a map with a text `name`", where)
    return value


def _number(name: str, value: object, most: float = MOST_NUMBER, *, finite: bool = True) -> float:
    if type(value) is not float and type(value) is not int:
        raise ProtocolError(f"`{name}` must be a number, found {excerpt(value)}", name)
    number = float(value)
    if abs(number) <= most:
        return number
    if finite:
        raise ProtocolError(f"`{name}` must be finite, from {-most:g} to {most:g}, found {value}", name)
    return copysign(inf, number) if number == number else nan


def _numbers(name: str, values: object, count: int, *, finite: bool = True) -> list[float]:
    if not isinstance(values, list):
        raise ProtocolError(f"`{name}` must be a list of {count} numbers, found {excerpt(values)}", name)
    if len(values) != count:
        raise ProtocolError(f"`{name}` must have {count} numbers, this has {len(values)}", name)
    return [_number(f"{name}[{index}]", value, finite=finite) for index, value in enumerate(values)]


def _temperatures(values: object, count: int) -> list[float]:
    if not isinstance(values, list):
        return _numbers("temperature", values, count)
    nothing = [index for index, value in enumerate(values) if value is None]
    found = _numbers("temperature", [0.0 if value is None else value for value in values], count)
    for index in nothing:
        found[index] = nan
    return found
