"""Requests and answers: MessagePack-RPC's shapes, the table of methods, and what each method takes.

    request       [0, msgid, method, params]        params is a map
    response      [1, msgid, error | nil, result]   error is {code, name, message, path, data}
    notification  [2, method, params]

The server decodes a frame once (`read_request`). Of bulk parameters it reads only the envelope: `as`,
`at_tick` and `replace`. The rest is skipped, so that a trajectory of many megabytes costs milliseconds; the
process that acts on it decodes it (`read_params`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import msgpack
from pydantic import Field

from linkwork.protocol.codes import NAME_LENGTH, REQUEST_BYTES, TRAJECTORY_POINTS, RequestCode
from linkwork.protocol.decoding import NotDecodable, cut, decode, excerpt
from linkwork.protocol.errors import RequestError
from linkwork.protocol.request_table import REQUESTS
from linkwork.protocol.trajectory import (
    Name,
    NotNegative,
    Number,
    Positive,
    SignalValue,
    TaskParams,
    Trajectory,
    read_trajectory,
)
from linkwork.protocol.validation import NO_ALIASES, ValidatedRequest, validated

_HEADER_BYTES: Final = 160
_LAST_ID: Final = 2**32 - 1
_SMALL_LIST: Final = 1024
Tick = Annotated[int, Field(strict=True, ge=0, lt=2**53)]
Fraction = Annotated[float, Field(strict=True, ge=0.0, le=2.0, allow_inf_nan=False)]
MoveSpeed = Annotated[float, Field(strict=True, ge=1e-6, le=1.0, allow_inf_nan=False)]
Switch = Annotated[bool, Field(strict=True)]
Three = Annotated[list[Number], Field(min_length=3, max_length=3)]
Six = Annotated[list[Number], Field(min_length=6, max_length=6)]
Targets = Annotated[dict[Name, Number], Field(min_length=1, max_length=256)]
GainRows = Annotated[dict[Name, dict[Name, Number]], Field(min_length=1, max_length=4)]
Jogged = Annotated[dict[Name, Number], Field(min_length=1, max_length=12)]


class NoParams(ValidatedRequest):
    """No parameters."""


class OwnedParams(ValidatedRequest):
    """Common parameters of requests that need or touch the lease."""

    owner: Annotated[str, Field(alias="as", max_length=NAME_LENGTH)] = ""
    """The name in which the request is made, `user@host` by default; travels as `as`."""


class TimedParams(OwnedParams):
    """A request that takes effect at a tick."""

    at_tick: Tick | None = None
    """Tick of the loop at which it takes effect; nil: at once (lockstep: where time stands)."""


class ReleaseParams(OwnedParams):
    """Release of the lease."""

    holder: Annotated[str, Field(max_length=NAME_LENGTH)] = ""
    """Identifies one of several clients that share an owner name; the last to release ends the lease."""


class AcquireParams(ReleaseParams):
    """Acquisition or renewal of the lease."""

    force: bool = False
    """Take it from a live owner. For a person at the machine."""


class ConfirmBranchParams(TimedParams):
    """The assembly mode in which the machine is."""

    positions: Targets | None = None
    """Position → its value (rad or m) in that mode, by the names in `q` of `state`; nil: the mode that it
    shows. Positions not named are sought near those that it shows."""


class MoveParams(TimedParams, TaskParams):
    """A jerk-limited move to rest at a target."""

    target: Targets
    """Coordinate → position (rad or m). Coordinates not named stay where they are."""
    speed: MoveSpeed = 1.0
    """Fraction of the velocity limits."""
    until_force: Annotated[dict[Name, Positive], Field(max_length=1)] = Field(default_factory=dict)
    """Contact → force (N): the move ends where the contact is felt, and it is pressed with this force."""
    replace: Switch = False
    """Replace the active goal, without stopping."""


class SendParams(TimedParams):
    """A trajectory to follow."""

    trajectory: Trajectory
    replace: Switch = False
    """Replace the active goal, without stopping."""


class AppendParams(TimedParams):
    """A trajectory to follow after the goal under way."""

    trajectory: Trajectory


class CheckParams(OwnedParams, TaskParams):
    """A trajectory, or a move, to judge only."""

    trajectory: Trajectory | None = None
    target: Annotated[dict[Name, Number], Field(max_length=256)] = Field(default_factory=dict)
    """In place of a trajectory: target of a move, coordinate → position (rad or m)."""
    speed: MoveSpeed = 1.0
    """Of the move, as there."""
    poses: Annotated[int, Field(strict=True, ge=0, le=500)] = 0
    """Most poses along the path in the answer."""


class SpeedParams(TimedParams):
    """The speed of the goal under way."""

    fraction: Fraction
    """Of the goal's own speed; 0: rest on the path. Above 1 the goal is verified again."""
    limit: Switch = False
    """Use the largest feasible speed, if that is less, instead of refusing."""


class CancelParams(TimedParams):
    """The goal to end by a stop on its path."""

    goal: Annotated[Tick | None, Field(description="Number of the goal. Default: the active goal.")] = None
    """The goal's number; nil: the active one."""
    order: Annotated[Tick | None, Field(description="Pending order to cancel instead.")] = None
    """Number of a pending request of any client, as in `pending` of `state`, to cancel instead."""


class JogParams(TimedParams):
    """Velocities while a key is held; repeat at least every 0.2 s, else the machine slows to rest."""

    velocity: Jogged
    """Coordinate → velocity (rad/s or m/s)."""


class StreamParams(OwnedParams):
    """A motion that follows set-points as they come."""

    coordinates: Annotated[list[Name], Field(min_length=1, max_length=12)]
    """Joints or task coordinates with set-points; those not named hold."""
    rate_hz: Annotated[float, Field(strict=True, gt=0.0, allow_inf_nan=False)] = 100.0
    """Rate at which set-points will come, 20 to 1,000 Hz."""
    delay_s: Annotated[float, Field(strict=True, ge=0.0, le=0.5, allow_inf_nan=False)] | None = None
    """Delay of the playback; nil: three intervals and three periods of the controller."""
    on_stale: Literal["hold", "end"] = "hold"
    """Without set-points the machine comes to rest; hold: it waits for more; end: the stream ends."""


class SetPointsParams(OwnedParams):
    """Set-points of the active stream."""

    goal: Tick
    """Number of the stream's goal."""
    points: Annotated[
        list[Annotated[list[Number], Field(max_length=25)]], Field(min_length=1, max_length=256)
    ]
    """Each a list: the sender's time (s), positions in the stream's order, and if known velocities."""


class PreloadParams(TimedParams):
    """Internal force of redundant motors; motors that are not named keep theirs."""

    effort: Jogged
    """Motor → effort (N m or N), within the bounds of the machine file."""


class SwitchParams(TimedParams):
    """State of a constraint that the machine file marks `switchable`."""

    constraint: Name
    on: Switch
    """on: close it; off: open it."""


class SetParams(TimedParams):
    """Set output signals; those that are not named stay as they are."""

    signals: Annotated[dict[Name, SignalValue], Field(min_length=1, max_length=12)]
    """Output signal → value: true or false, or a number in the signal's unit."""


class WaitParams(OwnedParams):
    """Wait until a condition holds."""

    condition: Annotated[str, Field(min_length=1, max_length=1000)]
    """Comparisons, joined by `and` and `or`: "part_present and lift < 0.1"."""
    within_s: Annotated[float, Field(strict=True, gt=0.0, le=3600.0, allow_inf_nan=False)] = 10.0
    """Longest wait (s)."""


class GainParams(TimedParams):
    """Gains of the error dynamics, within the bounds of the machine file; those not given stay."""

    bandwidth_rad_s: Positive | None = None
    damping_ratio: Positive | None = None
    coordinates: Annotated[list[Name], Field(min_length=1, max_length=22)] | None = None
    """Coordinates that get these two, without coupling to others; all by default."""
    position_per_s2: GainRows | None = None
    """Or G_P (1/s²) of at most four coordinates, symmetric, by two of them."""
    rate_per_s: GainRows | None = None
    """With it, G_D (1/s)."""


class PayloadParams(TimedParams):
    """Payload at a point, within the bounds of the machine file; none with a mass of 0."""

    point: Name
    """Name of the point in the machine file."""
    mass_kg: NotNegative
    """0: no payload."""
    com_m: Three = Field(default_factory=lambda: [0.0] * 3)
    """Its centre of mass from the point, in the axes of the point's body (m)."""
    inertia_kg_m2: Six = Field(default_factory=lambda: [0.0] * 6)
    """Moments of inertia about its centre of mass, in these axes: xx, yy, zz, xy, xz, yz (kg m²)."""


class AdvanceParams(OwnedParams):
    """Ticks of lockstep time to run."""

    ticks: Annotated[int, Field(strict=True, gt=0, le=10**9)]


class LawParams(TimedParams):
    """Law at rest."""

    name: Annotated[str, Field(min_length=1, max_length=NAME_LENGTH)]
    """One of `protocol.laws.REST_LAW_NAMES`."""


class FaultsParams(ValidatedRequest):
    """Selection of the faults to list."""

    limit: Annotated[int, Field(strict=True, gt=0, le=1000)] = 20


class EdgesParams(ValidatedRequest):
    """Selection of the changes of a digital input."""

    signal: Annotated[str, Field(min_length=1, max_length=NAME_LENGTH)]
    """Name of the digital input."""
    after: Annotated[int, Field(strict=True, ge=0)] = 0
    """Only those with a larger number."""


def params_of(method: str) -> type[ValidatedRequest]:
    """Return the model of a method's parameters."""
    found: type[ValidatedRequest] = globals()[REQUESTS[method].model]
    return found


@dataclass(frozen=True, slots=True)
class RequestFrame:
    """A request: its envelope, with `owner` '' where no name is given, and its parameters.

    params: as they came. content: decoded, or the refusal of what cannot be decoded; None of a bulk request.
    """

    msgid: int
    method: str
    params: memoryview
    content: object = None
    owner: str = ""
    at_tick: int | None = None
    replace: bool = False

    def checked_params(self, aliases: Mapping[str, str] = NO_ALIASES) -> Any:
        """The validated parameters, an instance of `params_of(method)`; `aliases`: see `validated`.

        Raises RequestError with the path of the first wrong field.
        """
        if REQUESTS[self.method].bulk:
            return read_params(self.method, self.params, aliases)
        if isinstance(self.content, RequestError):
            raise self.content
        return check_params(self.method, self.content, aliases)


class UnreadableRequest(RequestError):
    """A frame that is no request, is too large, or asks for an unknown method.

    `msgid` is the request's number where that could be read, so that it can be answered, else None.
    """

    def __init__(self, code: int, message: str, msgid: int | None, path: Sequence[str | int] = ()) -> None:
        super().__init__(code, message, path)
        self.msgid = msgid


def read_request(data: bytes) -> RequestFrame:
    """Read a request; of a bulk one the envelope alone, and the rest of its parameters stays encoded.

    Raises UnreadableRequest, which can be answered: `pack_error(error.msgid, error)`.
    """
    msgid: int | None = None
    unpacker = msgpack.Unpacker(max_buffer_size=_HEADER_BYTES, max_str_len=2 * NAME_LENGTH, max_array_len=4)
    unpacker.feed(data[:_HEADER_BYTES])
    try:
        length, kind = unpacker.read_array_header(), unpacker.unpack()
        if length != 4 or type(kind) is not int or kind != 0:
            raise ValueError("the frame is not [0, msgid, method, params]")
        number = unpacker.unpack()
        if type(number) is not int or not 0 <= number <= _LAST_ID:
            raise ValueError("msgid must be an integer from 0 to 2^32 - 1")
        msgid = number
        method = unpacker.unpack()
        if not isinstance(method, str):
            raise ValueError("method must be text")
        start = unpacker.tell()
    except Exception as error:
        text = f"not a request: {error or 'the frame is truncated'}"
        raise UnreadableRequest(RequestCode.MALFORMED, text, msgid) from None
    if len(data) > REQUEST_BYTES:
        text = f"the request has {len(data)} bytes, at most {REQUEST_BYTES} are allowed"
        raise UnreadableRequest(RequestCode.TOO_LARGE, text, msgid)
    if method not in REQUESTS:
        text = f"unknown method {method[:NAME_LENGTH]!r}; available: {', '.join(sorted(REQUESTS))}"
        raise UnreadableRequest(RequestCode.UNKNOWN_METHOD, text, msgid)
    params, content = memoryview(data)[start:], None
    try:
        if not REQUESTS[method].bulk:
            content = _decoded_or_refused(method, params)
        envelope = content if isinstance(content, dict) else _read_envelope(params)
        owner, at_tick = _owner(envelope.get("as")), _tick(envelope.get("at_tick"))
        return RequestFrame(msgid, method, params, content, owner, at_tick, envelope.get("replace") is True)
    except RequestError as error:
        raise UnreadableRequest(error.code, error.message, msgid, error.path) from None


def _read_envelope(params: memoryview) -> dict[str, object]:
    """`as`, `at_tick` and `replace` of encoded parameters, where they are there. Raises RequestError."""
    found: dict[str, object] = {}
    if not len(params) or bytes(params[:1]) == b"\xc0":
        return found
    unpacker = msgpack.Unpacker(max_buffer_size=REQUEST_BYTES, max_str_len=REQUEST_BYTES)
    try:
        unpacker.feed(params)
        for _ in range(unpacker.read_map_header()):
            key = unpacker.unpack()
            if key in ("as", "at_tick", "replace"):
                found[key] = unpacker.unpack()
            else:
                unpacker.skip()
    except Exception as error:
        text = f"params cannot be read as a map: {cut(str(error), 200) or type(error).__name__}"
        raise RequestError(RequestCode.MALFORMED, text) from None
    return found


def _owner(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > NAME_LENGTH or not value.isprintable():
        text = f"as: must be a printable name of at most {NAME_LENGTH} characters, such as user@host"
        raise RequestError(RequestCode.INVALID_PARAMS, text, ["as"])
    return value


def _tick(value: object) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not 0 <= value < 2**53:
        text = f"at_tick: must be a tick number, an integer from 0, found {excerpt(value)}"
        raise RequestError(RequestCode.INVALID_PARAMS, text, ["at_tick"])
    return value


def read_params(method: str, raw: bytes | memoryview, aliases: Mapping[str, str] = NO_ALIASES) -> Any:
    """The validated parameters of a method: an instance of `params_of(method)`.

    `aliases`: see `validated`. Raises RequestError with the path of the first wrong field.
    """
    content = _decoded_or_refused(method, raw)
    if isinstance(content, RequestError):
        raise content
    return check_params(method, content, aliases)


def _decoded_or_refused(method: str, raw: bytes | memoryview) -> object:
    """The parameters as plain data, or the refusal of what is not MessagePack within the method's bounds."""
    most = TRAJECTORY_POINTS if REQUESTS[method].bulk else _SMALL_LIST
    try:
        return decode(raw, most_list=most, most_map=_SMALL_LIST)
    except NotDecodable as error:
        text = f"params are not readable as MessagePack within the bounds: {error}"
        return RequestError(RequestCode.MALFORMED, text)


def check_params(method: str, content: object, aliases: Mapping[str, str] = NO_ALIASES) -> Any:
    """Return the parameters of a request from plain data, checked as `read_params` checks bytes."""
    request = REQUESTS[method]
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise RequestError(
            RequestCode.INVALID_PARAMS, f"params must be a map, found {type(content).__name__}"
        )
    if request.bulk:
        if "trajectory" in content and "target" in content and method == "check":
            text = "give either a trajectory or the target of a move"
            raise RequestError(RequestCode.INVALID_PARAMS, text, ["target"])
        if "trajectory" in content:
            content = {**content, "trajectory": read_trajectory(content["trajectory"], aliases=aliases)}
        elif method != "check" or not content.get("target"):
            raise RequestError(RequestCode.INVALID_PARAMS, "trajectory: field required", ["trajectory"])
    return validated(params_of(method), content, aliases=aliases)
