"""The device link's hot messages: state (plant → controller) and command (controller → plant).

Each is one MessagePack map in one frame, some 200 bytes, packed and read once a period. Readers are strict:
a wrong type, a wrong length or a number that is not finite raises ProtocolError naming the field, and
nothing is written. Fields may come in any order; fields that are not known are ignored. The rare messages
are in `protocol.handshake`.
"""

from __future__ import annotations

import struct
from math import isfinite
from operator import itemgetter
from typing import Any, Final

import msgpack
import numpy as np
from numpy.typing import NDArray

from protocol.errors import ProtocolError

_LONGEST_LIST: Final = 4096
_ROOM_BYTES: Final = 8192
"""Bytes that a hot message may have beyond its numbers."""
_TOP: Final = 2**53
_STATE_FIELDS: Final = (
    "type", "session", "seq", "time_s", "q", "v", "effort", "mode", "status", "fault", "ack",
)  # fmt: skip
_COMMAND_FIELDS: Final = ("type", "session", "seq", "mode", "effort")
_read_state = itemgetter(*_STATE_FIELDS)
_read_command = itemgetter(*_COMMAND_FIELDS)
Floats = NDArray[np.float64]


class StateMessage:
    """One state, with its arrays in place: `values` is the row [q…, v…, effort…], and these are views of it.

    session: the controller's. seq: device tick k, counted from the session's first state. time_s: device
    time of the sample. q: measured position per sensor (rad or m). v: measured velocity per sensor (rad/s
    or m/s, 0 where the sensor has none). effort: joint-side effort in force per motor (N m or N). mode: the
    Mode in force. status: DeviceStatus bits. fault: DeviceFault. ack: seq of the command in force, -1
    before the first.
    """

    __slots__ = (
        "_bytes", "_layout", "ack", "effort", "fault", "mode", "q", "seq", "session", "status", "time_s", "v",
        "values",
    )  # fmt: skip

    def __init__(self, sensors: int, motors: int) -> None:
        self.values: Floats = np.zeros(2 * sensors + motors)
        self.q = self.values[:sensors]
        self.v = self.values[sensors : 2 * sensors]
        self.effort = self.values[2 * sensors :]
        self._bytes = _bytes_of(self.values)
        self._layout = struct.Struct(f"={self.values.size}d")
        self.session = self.seq = self.mode = self.status = self.fault = 0
        self.ack = -1
        self.time_s = 0.0

    def set_values(self, values: tuple[float, ...]) -> None:
        """Overwrites `values`; as many numbers as it has."""
        self._layout.pack_into(self._bytes, 0, *values)


class CommandMessage:
    """One command, with its array in place.

    session: the controller's session. seq: the seq of the state it answers (-1: none yet). mode: a Mode.
    effort: joint-side effort per motor (N m or N).
    """

    __slots__ = ("_bytes", "_layout", "effort", "mode", "seq", "session")

    def __init__(self, motors: int) -> None:
        self.effort: Floats = np.zeros(motors)
        self._bytes = _bytes_of(self.effort)
        self._layout = struct.Struct(f"={motors}d")
        self.session = self.mode = 0
        self.seq = -1

    def set_effort(self, values: tuple[float, ...]) -> None:
        """Overwrites `effort`; as many numbers as it has."""
        self._layout.pack_into(self._bytes, 0, *values)


class StateCodec:
    """Packs and reads states of a machine with this many sensors and motors."""

    def __init__(self, sensors: int, motors: int) -> None:
        self.sensors, self.motors = sensors, motors
        self._pack = msgpack.Packer().pack
        self._types = (float,) * (2 * sensors + motors)
        self._most = _ROOM_BYTES + 9 * (2 * sensors + motors)

    def message(self) -> StateMessage:
        """An empty message of this size to read into."""
        return StateMessage(self.sensors, self.motors)

    def pack(
        self,
        session: int,
        seq: int,
        time_s: float,
        q: Floats,
        v: Floats,
        effort: Floats,
        mode: int,
        status: int,
        fault: int,
        ack: int,
    ) -> bytes:
        """The bytes of one state; meaning and order of the fields as in StateMessage."""
        packed: bytes = self._pack(
            {
                "type": "state",
                "session": session,
                "seq": seq,
                "time_s": time_s,
                "q": q.tolist(),
                "v": v.tolist(),
                "effort": effort.tolist(),
                "mode": mode,
                "status": status,
                "fault": fault,
                "ack": ack,
            }
        )
        return packed

    def unpack(self, data: bytes, out: StateMessage) -> None:
        """Reads one state into `out`. Raises ProtocolError, and leaves `out` as it was, when it is none."""
        if len(data) > self._most:
            raise ProtocolError(f"{len(data)} bytes are too many for a state, at most {self._most}")
        try:
            kind, session, seq, time_s, q, v, effort, mode, status, fault, ack = _read_state(
                msgpack.unpackb(data, use_list=False)
            )
        except Exception as error:
            raise _unreadable(data, "state", _STATE_FIELDS, error) from None
        if kind != "state":
            raise ProtocolError(f"this is {_brief(kind)}, not a state", "type")
        if not (type(session) is type(seq) is type(mode) is type(status) is type(fault) is type(ack) is int):
            _require_integers(session=session, seq=seq, mode=mode, status=status, fault=fault, ack=ack)
        if type(time_s) is not float:
            time_s = _number("time_s", time_s)
        if not (
            0 <= mode <= 2
            and 0 <= seq < _TOP
            and 0 <= session < _TOP
            and 0 <= status < _TOP
            and 0 <= fault < _TOP
            and -1 <= ack < _TOP
            and isfinite(time_s)
        ):
            _require_ranges(
                session=session, seq=seq, mode=mode, status=status, fault=fault, ack=ack, time_s=time_s
            )
        try:
            fits = len(q) == len(v) == self.sensors and len(effort) == self.motors
            values = q + v + effort
            fits = fits and tuple(map(type, values)) == self._types and isfinite(sum(values))
        except TypeError:
            fits = False
        if not fits:
            values = (
                *_numbers("q", q, self.sensors),
                *_numbers("v", v, self.sensors),
                *_numbers("effort", effort, self.motors),
            )
        out.set_values(values)
        out.session, out.seq, out.time_s, out.mode = session, seq, time_s, mode
        out.status, out.fault, out.ack = status, fault, ack


class CommandCodec:
    """Packs and reads commands of a machine with this many motors."""

    def __init__(self, motors: int) -> None:
        self.motors = motors
        self._pack = msgpack.Packer().pack
        self._types = (float,) * motors
        self._most = _ROOM_BYTES + 9 * motors

    def message(self) -> CommandMessage:
        """An empty message of this size to read into."""
        return CommandMessage(self.motors)

    def pack(self, session: int, seq: int, mode: int, effort: Floats) -> bytes:
        """The bytes of one command; meaning of the fields as in CommandMessage."""
        packed: bytes = self._pack(
            {"type": "command", "session": session, "seq": seq, "mode": mode, "effort": effort.tolist()}
        )
        return packed

    def unpack(self, data: bytes, out: CommandMessage) -> None:
        """Reads one command into `out`. Raises ProtocolError, and leaves `out` as it was, when it is none."""
        if len(data) > self._most:
            raise ProtocolError(f"{len(data)} bytes are too many for a command, at most {self._most}")
        try:
            kind, session, seq, mode, effort = _read_command(msgpack.unpackb(data, use_list=False))
        except Exception as error:
            raise _unreadable(data, "command", _COMMAND_FIELDS, error) from None
        if kind != "command":
            raise ProtocolError(f"this is {_brief(kind)}, not a command", "type")
        if not (type(session) is type(seq) is type(mode) is int):
            _require_integers(session=session, seq=seq, mode=mode)
        if not (0 <= mode <= 2 and -1 <= seq < _TOP and 0 <= session < _TOP):
            _require_ranges(session=session, seq_answered=seq, mode=mode)
        try:
            fits = (
                len(effort) == self.motors
                and tuple(map(type, effort)) == self._types
                and isfinite(sum(effort))
            )
        except TypeError:
            fits = False
        if not fits:
            effort = _numbers("effort", effort, self.motors)
        out.set_effort(effort)
        out.session, out.seq, out.mode = session, seq, mode


def read_map(data: bytes) -> dict[str, Any]:
    """Any message of the device link as a map. Raises ProtocolError when it is none."""
    try:
        content = msgpack.unpackb(data, max_array_len=_LONGEST_LIST, max_map_len=_LONGEST_LIST, max_ext_len=0)
    except Exception as error:
        raise ProtocolError(f"not readable as MessagePack: {error or type(error).__name__}") from None
    if not isinstance(content, dict):
        raise ProtocolError(f"a message is a map, this is {_brief(content)}")
    return content


def kind_of(data: bytes) -> str:
    """The `type` of a message of the device link, whatever it is. Raises ProtocolError when it has none."""
    kind = read_map(data).get("type")
    if not isinstance(kind, str):
        raise ProtocolError("the message has no text field `type`", "type")
    return kind


def _bytes_of(values: Floats) -> memoryview:
    return values.data.cast("B") if values.size else memoryview(bytearray())


def _unreadable(data: bytes, kind: str, fields: tuple[str, ...], error: Exception) -> ProtocolError:
    content = read_map(data)
    found = content.get("type", kind)
    if found != kind:
        return ProtocolError(f"this is {_brief(found)}, not a {kind}", "type")
    missing = [name for name in fields if name not in content]
    if missing:
        return ProtocolError(f"the {kind} has no field `{missing[0]}`", missing[0])
    return ProtocolError(f"the {kind} is not readable: {error}")


def _require_integers(**fields: object) -> None:
    for name, value in fields.items():
        if type(value) is not int:
            raise ProtocolError(f"`{name}` must be an integer, this is {_brief(value)}", name)


def _require_ranges(**fields: float) -> None:
    for name, value in fields.items():
        shown = "seq" if name == "seq_answered" else name
        lowest = -1 if name in ("ack", "seq_answered") else 0
        if not isfinite(value):
            raise ProtocolError(f"`{shown}` must be finite, this is {value}", shown)
        if name == "mode" and not 0 <= value <= 2:
            raise ProtocolError(f"`mode` must be 0 (brake), 1 (zero) or 2 (effort), this is {value}", "mode")
        if name != "time_s" and not lowest <= value < _TOP:
            raise ProtocolError(f"`{shown}` must be from {lowest} to 2^53 - 1, this is {value}", shown)


def _number(name: str, value: object) -> float:
    if type(value) is not float and type(value) is not int:
        raise ProtocolError(f"`{name}` must be a number, this is {_brief(value)}", name)
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not isfinite(number):
        raise ProtocolError(f"`{name}` must be finite, this is {value}", name)
    return number


def _numbers(name: str, values: object, count: int) -> tuple[float, ...]:
    if not isinstance(values, tuple):
        raise ProtocolError(f"`{name}` must be a list of {count} numbers, this is {_brief(values)}", name)
    if len(values) != count:
        raise ProtocolError(f"`{name}` must have {count} numbers, this has {len(values)}", name)
    return tuple(_number(f"{name}[{index}]", value) for index, value in enumerate(values))


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
