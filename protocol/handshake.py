"""The device link's rare messages: hello, welcome, refuse, bye.

The controller says hello, the plant answers with a welcome or a refuse; either may say bye. Like the hot
messages (`protocol.link`) each is one MessagePack map in one frame whose field `type` is its name.
"""

import secrets
from typing import Annotated, Any, Literal, TypeVar

import msgpack
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from linkwork.protocol.codes import NAME_LENGTH, PROTOCOL_VERSION, Pace, RefuseCode
from linkwork.protocol.decoding import MOST_TEXT, cut, excerpt
from linkwork.protocol.errors import ProtocolError
from linkwork.protocol.link import read_map

Name = Annotated[str, Field(max_length=NAME_LENGTH)]


def _cut(value: Any) -> Any:
    return cut(value, MOST_TEXT) if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_cut)]
"""Text for people, cut to MOST_TEXT characters."""
Hash = Annotated[str, Field(max_length=128)]
Integer = Annotated[int, Field(strict=True, ge=0, lt=2**53)]
Period = Annotated[float, Field(gt=0.0, le=10.0)]
Features = Annotated[list[Name], Field(max_length=64)]
"""Names of `protocol.codes.Feature`; unknown ones are ignored."""


class Message(BaseModel):
    """A message as a map: fields that are not known are ignored, numbers are finite."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    def pack(self) -> bytes:
        """Return the message as the bytes of one frame."""
        packed: bytes = msgpack.packb(self.model_dump(mode="json"))
        return packed


class Hello(Message):
    """Controller → plant: who I am and how I want to run. Repeated until it is answered."""

    type: Literal["hello"] = "hello"
    protocol: Integer = PROTOCOL_VERSION
    session: Integer
    """Random number that names this controller's session in every later message."""
    owner: Name
    """Who runs the controller, for a human reader: user@host, process id."""
    interface: Hash
    """Hash of joints, motors, sensors and rates: must be equal to the plant's."""
    model: Hash = ""
    """Hash of inertia and geometry: shown and logged, never refused."""
    pace: Pace = Pace.DEVICE
    period_s: Period
    layout: dict[str, Any] = Field(default_factory=dict)
    """Contents of the interface hash, so that a refusal can name the first difference."""
    features: Features = Field(default_factory=list)
    """Optional parts of this protocol that the controller uses; left out where there are none."""

    def pack(self) -> bytes:
        """Return the greeting as the bytes of one frame."""
        packed: bytes = msgpack.packb(self.model_dump(mode="json", exclude=_empty(self, "features")))
        return packed


class Homing(BaseModel):
    """Homing of a device."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    by: Name
    """device: its own affair; here: it stood in the initial pose; procedure: its driver looked for them."""
    zero: dict[Name, float] = Field(default_factory=dict, max_length=4096)
    """Sensor (the name of its joint) → where the joint is, rad or m, as the device's sensor reads 0."""


class Simulation(BaseModel):
    """Formulation and integrator of a simulated plant."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    formulation: Name
    """Equations of motion: projected, minimal."""
    integrator: Name
    """Method of integration: rk4, adaptive_rk4, gauss, semi_implicit."""


class Welcome(Message):
    """Plant → controller: the session is yours; states follow as the pace says."""

    type: Literal["welcome"] = "welcome"
    protocol: Integer = PROTOCOL_VERSION
    session: Integer
    """The session of the hello it answers."""
    name: Name
    """The machine's name."""
    interface: Hash
    model: Hash = ""
    pace: Pace
    period_s: Period
    tick: Integer
    """Device tick at which the session begins."""
    command_timeout_periods: Integer
    """Periods without a fresh command after which the plant's own watchdog acts."""
    layout: dict[str, Any] = Field(default_factory=dict)
    """Joints, motors and sensors, their order and units."""
    watchdog: dict[str, Any] | None = None
    """Last action of the plant's watchdog; nil when it never acted.

    {tick, time_s, last_fresh_tick, action, cause, owner, standstill_tick, travel: {joint: way}}
    """
    homing: Homing | None = None
    """How the device found its zeros; left out of a simulated machine's, which knows them."""
    simulation: Simulation | None = None
    """How a simulated plant computes its motion; left out by hardware."""
    features: Features = Field(default_factory=list)
    """Optional parts of this protocol that the plant carries."""

    def pack(self) -> bytes:
        """Return the welcome as the bytes of one frame."""
        absent = _empty(self, "homing", "simulation", "features")
        packed: bytes = msgpack.packb(self.model_dump(mode="json", exclude=absent))
        return packed


class Refuse(Message):
    """Plant → controller: no, and why."""

    type: Literal["refuse"] = "refuse"
    protocol: Integer = PROTOCOL_VERSION
    session: Integer = 0
    code: RefuseCode
    text: Text
    owner: Name = ""
    """The owner of the live session when the code is TAKEN."""


class Bye(Message):
    """Either → the other: the session ends now. The plant brakes."""

    type: Literal["bye"] = "bye"
    session: Integer
    text: Text = ""


Handshake = Hello | Welcome | Refuse | Bye
M = TypeVar("M", bound=Message)
_KINDS: dict[str, type[Handshake]] = {"hello": Hello, "welcome": Welcome, "refuse": Refuse, "bye": Bye}


def _empty(message: Message, *names: str) -> set[str]:
    """Those of the fields that have nothing to say."""
    return {name for name in names if not getattr(message, name)}


def new_session() -> int:
    """A random session number from 1 to 2^53 - 1 (exact in every language's double)."""
    return secrets.randbelow(2**53 - 1) + 1


def read_handshake(data: bytes) -> Handshake:
    """The hello, welcome, refuse or bye in these bytes.

    A hello of another protocol version may not be readable: ask `peer_version` first, and refuse it by
    version. Raises ProtocolError naming the field.
    """
    content = read_map(data)
    kind = content.get("type")
    model = _KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise ProtocolError(f"`type` must be one of {', '.join(_KINDS)}, found {excerpt(kind)}", "type")
    return read_as(model, content)


def read_as(model: type[M], content: dict[str, Any]) -> M:
    """The message in a map. Raises ProtocolError naming the field."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(cut(str(part), 80) for part in first["loc"])
        kind = model.model_fields["type"].default
        raise ProtocolError(f"{kind}: `{field}`: {first['msg'].lower()}", field) from None


def peer_version(data: bytes) -> tuple[int, int]:
    """(protocol, session) of a handshake message that may be of another version; 0 where it does not say."""
    content = read_map(data)
    found = [content.get(name) for name in ("protocol", "session")]
    protocol, session = (value if type(value) is int and 0 <= value < 2**53 else 0 for value in found)
    return protocol, session
