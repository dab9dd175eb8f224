"""Messages between gateway and planner: a job with where its goal begins, and its answer.

    job     {id, method, params: bytes (MessagePack), start, slot}
    ready   {ready: true}, once, when the kernels are there; jobs may be sent before
    answer  {id, goal | verdict | error}

Frames on the pipes: four bytes of length, little endian, then MessagePack. These classes are all that either
side sees; `pack_*` and `read_*` are the only code that knows the maps.
"""

import struct
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Final

import msgpack
from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from linkwork.controller.exchange.orders import After, Fresh, GoalBegin, Retime, Splice
from linkwork.controller.exchange.shared_memory import GOAL_SLOTS
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.decoding import NotDecodable, decode
from linkwork.protocol.errors import RequestError

_LENGTH = struct.Struct("<I")
LONGEST = 64 * 1024 * 1024
"""Bytes; a longer frame is no frame of ours."""


class BadFrame(ValueError):
    """The bytes are no frames: the two ends no longer agree where one begins."""


def pack_frame(content: object) -> bytes:
    """The bytes of one frame."""
    body = msgpack.packb(content)
    return _LENGTH.pack(len(body)) + bytes(body)


class FrameReader:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Add bytes read from the pipe."""
        self._buffer += data

    def next(self) -> bytes | None:
        """The body of the next whole frame, or None. Raises BadFrame when the length cannot be right."""
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        if length > LONGEST:
            raise BadFrame(f"a frame of {length} bytes was announced, at most {LONGEST} are allowed")
        end = _LENGTH.size + length
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[_LENGTH.size : end])
        del self._buffer[:end]
        return body


def read_body(body: bytes) -> Any:
    """The content of a frame's body. Raises BadFrame when it is not MessagePack within the limits."""
    try:
        return decode(body, most_list=len(body), most_map=len(body))
    except NotDecodable as error:
        raise BadFrame(f"a frame is not readable as MessagePack: {error}") from None


Slot = Annotated[int, Field(ge=-1, lt=GOAL_SLOTS)]


@dataclass(frozen=True, slots=True)
class GoalBefore:
    """The goal before a new one: its block, and where the new goal is to take over.

    words: length of the block. own: the speed that the block is for, as a fraction of the goal's own. q:
    joints (nq, rad or m) at the path parameter at_s. s, rate: path parameter and path rate of the junction.
    begun: whether it is under way.
    """

    goal: int
    slot: Slot
    words: int
    own: float
    q: tuple[float, ...]
    at_s: float
    s: float
    rate: float
    begun: bool = True


@dataclass(frozen=True, slots=True)
class MachineState:
    """The machine when a goal is planned, as the gateway knows it.

    q, v: joints (nq, nv). coordinates, theta: names and values of the reference that the loop holds, empty
    without one. closed: set of the switchable constraints that hold (`linkwork.machine.constraint_sets`), -1
    without any. payloads: by point, mass (kg), centre of mass (m) and moments of inertia (kg m²). before: the
    goal from whose path the new one begins. time_s: machine time. inputs, outputs: values of the signals.
    temperatures: of winding and body in turn of each motor with a thermal model, °C.
    """

    q: tuple[float, ...]
    v: tuple[float, ...]
    coordinates: tuple[str, ...] = ()
    theta: tuple[float, ...] = ()
    closed: int = -1
    payloads: dict[str, tuple[float, ...]] = field(default_factory=dict)
    before: GoalBefore | None = None
    time_s: float = 0.0
    inputs: tuple[float, ...] = ()
    temperatures: tuple[float, ...] = ()
    outputs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanJob:
    """A request to be planned, with its parameters still encoded. slot: for the block, -1: none is needed."""

    id: int
    method: str
    params: bytes
    start: MachineState
    slot: Slot


_WAYS: Final[dict[str, TypeAdapter[Any]]] = {
    each.__name__: TypeAdapter(each) for each in (Fresh, After, Splice, Retime)
}


def _begin(content: object) -> object:
    """The way to begin that a map with its name as `way` holds."""
    match content:
        case {"way": str(way), **rest} if way in _WAYS:
            return _WAYS[way].validate_python(rest)
    raise ValueError(f"a goal begins in one of the ways {', '.join(_WAYS)}")


@dataclass(frozen=True, slots=True)
class PlannedGoal:
    """An accepted goal, whose block is in its slot.

    words: length of the block. coordinates: names, held ones too. full_speed_s: times between which the path
    is followed at full speed. report: for the client. q: joints where the goal begins. limited: why a retimed
    goal does not get the speed that was asked for. actions: see `path_actions.PlannedActions.as_map`. poses:
    64-bit floats of `path_poses.poses_along`, row by row.
    """

    slot: Slot
    words: int
    checksum: int
    duration_s: float
    coordinates: tuple[str, ...]
    full_speed_s: tuple[float, float]
    report: dict[str, Any]
    begin: Annotated[GoalBegin, BeforeValidator(_begin)]
    q: tuple[float, ...] | None
    limited: dict[str, Any] | None
    actions: dict[str, Any] | None = None
    poses: bytes = b""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of `check`, for the client."""

    content: dict[str, Any]


PlanResult = PlannedGoal | Verdict | RequestError


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """Result of a job; `id` is None if that could not be read."""

    id: int | None
    result: PlanResult


READY: Final = pack_frame({"ready": True})
_JOB, _GOAL = TypeAdapter(PlanJob), TypeAdapter(PlannedGoal)


def pack_job(job: PlanJob) -> bytes:
    """The frame of a job."""
    return pack_frame(asdict(job))


def read_job(body: bytes) -> PlanJob | PlanAnswer:
    """The job in a frame, or the answer to a frame that holds none."""
    number = None
    try:
        content = read_body(body)
        if isinstance(content, dict) and type(content.get("id")) is int:
            number = content["id"]
        return _JOB.validate_python(content)
    except ValidationError as error:
        text = f"the job is not usable: {_first(error)}"
    except BadFrame as error:
        text = str(error)
    return PlanAnswer(number, RequestError(RequestCode.MALFORMED, text))


def pack_answer(answer: PlanAnswer) -> bytes:
    """The frame of an answer."""
    match answer.result:
        case RequestError() as error:
            return pack_frame({"id": answer.id, "error": error.as_map()})
        case Verdict(content):
            return pack_frame({"id": answer.id, "verdict": content})
        case PlannedGoal() as goal:
            begin = {"way": type(goal.begin).__name__, **asdict(goal.begin)}
            return pack_frame({"id": answer.id, "goal": asdict(goal) | {"begin": begin}})


def read_answer(body: bytes) -> PlanAnswer | None:
    """The answer in a frame, None if the frame says that the planner is ready. Raises BadFrame."""
    match read_body(body):
        case {"ready": True}:
            return None
        case {"id": int() | None as number, "error": error}:
            return PlanAnswer(number, RequestError.from_map(error))
        case {"id": int() as number, "verdict": dict(content)}:
            return PlanAnswer(number, Verdict(content))
        case {"id": int() as number, "goal": goal}:
            try:
                return PlanAnswer(number, _GOAL.validate_python(goal))
            except ValidationError as error:
                raise BadFrame(f"the planner's answer is not usable: {_first(error)}") from None
    raise BadFrame("the planner's answer holds no goal, verdict or error")


def _first(error: ValidationError) -> str:
    wrong = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, wrong['loc']))}: {wrong['msg']}"
