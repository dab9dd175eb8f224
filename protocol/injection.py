"""Fault injection: `inject`, its answers, and `lost`, the message for a tick whose own was lost.

Any client with the role `service` may send `inject` to a plant that was started for it; it is answered by
`injected` or by a refusal.
Faults travel as the maps of a time line (`docs/faults.md`); the plant checks them. `lost` exists in lockstep
only, where a tick has to be reported even though its message was dropped.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from linkwork.protocol.codes import NAME_LENGTH, PROTOCOL_VERSION
from linkwork.protocol.decoding import excerpt
from linkwork.protocol.errors import ProtocolError
from linkwork.protocol.handshake import Integer, Message, Text, read_as
from linkwork.protocol.link import read_map

MOST_INJECTED, MOST_INJECT_BYTES = 100, 64 * 1024
"""Most faults of one message, and its size."""
MOST_FAULTS = 1000
"""Most faults of a time line that a plant is started with."""
ShortText = Annotated[str, Field(max_length=2 * NAME_LENGTH)]


class InjectRefusal(IntEnum):
    """Why a plant answers an inject with a refuse."""

    MALFORMED = 1
    """The message is not readable; the text names the field."""
    NOT_OFFERED = 2
    """The plant was started without --inject and without --faults."""
    INVALID = 3
    """A fault is invalid, or names parts that the machine does not have; `problems` lists place and
    reason."""
    UNSUPPORTED = 4
    """The machine behind this plant cannot do a fault; `problems` says which, and why."""
    NOT_PERMITTED = 5
    """The client's key does not have the role `service`."""
    BUSY = 6
    """Too many faults wait or act already, or too many messages wait to be read; the text says which."""


class Inject(Message):
    """Any client → plant: inject these faults. An empty list only requests a report."""

    type: Literal["inject"] = "inject"
    id: Integer
    """Chosen by the sender; the answer carries it."""
    seed: Integer = 0
    """Of the random numbers that these faults draw."""
    faults: Annotated[list[dict[str, Any]], Field(max_length=MOST_INJECTED)] = Field(default_factory=list)
    """Entries of a time line."""


class FaultReport(Message):
    """One fault as the plant knows it."""

    name: ShortText
    kind: ShortText
    """Its class and kind: "sensor.bias"."""
    of: ShortText = ""
    """The motor, sensor, constraint, direction or process concerned; "" where there is none."""
    state: Literal["waiting", "acting", "ended", "cleared"] = "waiting"
    """`cleared`: ended before its time, or forgotten before it began."""
    applied: bool = False
    """Whether it has begun."""
    from_tick: int | None = None
    """First tick that it concerns, as `seq` of the session of that time; while it waits the tick at which it
    will begin, None where that is not known."""
    to_tick: int | None = None
    """First tick that it no longer concerns; None: not known, or until it is cleared."""
    from_s: float | None = None
    to_s: float | None = None
    """The same as device time, as `time_s` of the states."""
    text: Text = ""
    """What else there is to say, for people."""


class Injected(Message):
    """Plant → sender: taken. `faults` are all that were ever given to this plant (the newest two hundred)."""

    type: Literal["injected"] = "injected"
    id: Integer
    tick: int
    """The next tick, as `seq` of the present session: faults without a start time begin with it. −1: no
    controller is connected."""
    time_s: float
    """Device time of that tick."""
    names: list[ShortText] = Field(default_factory=list)
    """Names of the faults of the message answered, in its order."""
    faults: list[FaultReport] = Field(default_factory=list)
    kinds: dict[str, Text] = Field(default_factory=dict)
    """Every kind of fault: "" where this machine can do it, else why it cannot."""


class FaultProblem(Message):
    """Defect of one fault: `key` is its path ("faults[2].of")."""

    key: Text = ""
    message: Text
    found: Text = ""
    allowed: Text = ""
    remedy: Text = ""


class InjectRefused(Message):
    """Plant → sender: all faults are refused, with the reason."""

    type: Literal["refuse"] = "refuse"
    protocol: Integer = PROTOCOL_VERSION
    id: Integer = 0
    """Of the inject; 0 when it could not be read."""
    code: InjectRefusal
    text: Text
    problems: list[FaultProblem] = Field(default_factory=list)


class LostMessage(Message):
    """Lockstep, either direction: the message of this tick was lost.

    Plant → controller: the state of tick `seq` is lost; make the tick without it. Controller → plant: there
    is no command for it; continue. It counts as a command only in that time continues.
    """

    type: Literal["lost"] = "lost"
    session: Integer
    seq: Integer


def read_inject(content: dict[str, Any]) -> Inject:
    """The inject in this map. Raises ProtocolError naming the field."""
    return read_as(Inject, content)


def inject_too_long(data: bytes) -> str:
    """Why these bytes are not read, if they are an inject that is too long; else empty."""
    if len(data) <= MOST_INJECT_BYTES or b"inject" not in data[:64]:
        return ""
    return f"an inject has at most {MOST_INJECT_BYTES} bytes, this one has {len(data)}; send several"


def inject_id(content: Mapping[str, Any]) -> int:
    """The id of an inject that may not be readable otherwise; 0 where it has none."""
    found = content.get("id")
    return found if type(found) is int and 0 <= found < 2**53 else 0


def read_lost(content: dict[str, Any]) -> LostMessage | None:
    """Return the message `lost` in this map; None when it is something else, or incomplete."""
    try:
        return read_as(LostMessage, content) if content.get("type") == "lost" else None
    except ProtocolError:
        return None


def read_answer(data: bytes) -> Injected | InjectRefused:
    """The answer to an inject. Raises ProtocolError naming the field."""
    content = read_map(data)
    kind = content.get("type")
    if kind == "injected":
        return read_as(Injected, content)
    if kind == "refuse":
        return read_as(InjectRefused, content)
    raise ProtocolError(f"`type` must be injected or refuse, found {excerpt(kind)}", "type")
