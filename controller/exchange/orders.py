"""Orders of the gateway to the loop: one frozen record for each kind, one small datagram each.

A datagram has 264 bytes, little endian: nine signed 64-bit integers (id, kind, at_tick, slot, length,
generation, checksum, goal, authority) and 24 doubles (arguments). Each kind uses some of these places: a
field that is annotated with a `Word` is that integer, and the others are arguments in their order, those of
any length last. The log keeps orders by the same places, so a place keeps its meaning in later versions.

Anything large (the coefficients of a goal) is in shared memory; the order names its slot, length and
checksum. The loop accepts at most one order per tick, and writes the outcome to the record of that tick
(`order_id`, `order_outcome`). The sockets are in `order_socket.py`.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import IntEnum
from itertools import islice
from typing import Annotated, Any, ClassVar, Final, NamedTuple, get_args, get_origin, get_type_hints

from linkwork.protocol.codes import ResultCode

NOW = -1
ARGUMENTS = 24
"""Doubles at the end of a datagram."""
_INTEGERS, _DOUBLES = struct.Struct("<9q"), struct.Struct(f"<{ARGUMENTS}d")
ORDER_BYTES = _INTEGERS.size + _DOUBLES.size
_HEADER_FIELDS = 3
MOST_PAIRS = ARGUMENTS // 2
"""Pairs of a number and a value that fit into the arguments."""


class Word(IntEnum):
    """Integers of a datagram behind id, kind and at_tick. Of a field with many values, one is their count."""

    SLOT = 0
    LENGTH = 1
    GENERATION = 2
    CHECKSUM = 3
    GOAL = 4


NO_PLACE: Final = "no part of the datagram"
"""Annotation of a field that stays in its process."""


class AuthorityEnd(IntEnum):
    """Why the authority to move ended last: orders that were accepted before then have no effect."""

    NONE = 0
    """It has not ended since the loop started."""
    STOP = 1
    DISABLE = 2
    ESTOP = 3
    FAULT = 4
    LEASE_LOST = 5
    """The owner's lease was released, expired or was taken over, or the gateway ended."""
    SHUTDOWN = 6
    TOLERANCE = 7
    """A goal violated a tolerance and was stopped."""
    DIFFERENCE = 8
    """The machine differed from its twin and was stopped."""
    INFEASIBLE = 9
    """The rest of a goal became infeasible and it was stopped."""
    SWITCHED = 10
    """Other constraints hold: motions planned for those before have no effect."""


class OrderOutcome(IntEnum):
    """Outcome of an order, in the record of the tick in which it took effect."""

    NONE = 0
    DONE = 1
    REFUSED_STATE = -1
    """The state machine has no such move from here; the record's `state` says from where."""
    REFUSED_BUSY = -2
    """Another goal is under way."""
    REFUSED_START = -3
    """The goal does not begin where the machine is (position or velocity)."""
    REFUSED_BLOCK = -4
    """The goal's block in shared memory is damaged (checksum, layout or a coordinate that does not exist)."""
    NOT_CLEARED = -5
    """The cause of the fault persists."""
    REFUSED_LATE = -6
    """`at_tick` lies in the past."""
    REFUSED_FULL = -7
    """Too many orders are pending."""
    REFUSED_VALUE = -8
    """An argument is outside what the order allows."""
    REFUSED_BRANCH = -30
    """The machine may be in several assemblies, and none has been confirmed."""
    REFUSED_CONTACT = -9
    """A force goal needs contact first, and a guarded move must not begin in contact."""
    REFUSED_NOT_HOMED = -10
    """The device is not homed: jogging only."""
    REFUSED_SPLICE = -11
    """The goal under way is not, or not any longer, where and as fast as the new goal expects it to be."""
    REFUSED_FAR = -12
    """`at_tick` lies beyond the horizon (protocol.codes.ORDER_HORIZON_S)."""
    REVOKED = -13
    """The authority to move ended after the order was accepted; `authority_end` says why."""
    CANCELLED = -14
    """A goal that still waited was cancelled by its number."""
    REFUSED_SET = -15
    """The controller cannot run the machine under the constraints that would then hold."""
    REFUSED_SINGULAR = -16
    """The coordinates of a stream are dependent or singular at the machine's pose."""
    REFUSED_FRAME = -17
    """The moving frame of the goal is not where it was expected at the begin of the goal."""
    NOTHING_TO_DO = 2
    """Accepted, but there was nothing to change (a stop at rest, a cancel without a goal)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Header of every order.

    at_tick: the tick at which it takes effect, or NOW. authority: the loop's motion authority
    (records.py) under which the order was accepted, 0 if it is not bound to one. An order that ends
    the authority carries the number of the next one. The gateway's queue gives the numbers.
    """

    id: int = 0
    at_tick: int = NOW
    authority: int = 0

    kind: ClassVar[int]
    """Number of the kind in datagrams."""
    name: ClassVar[str]
    """Name of the kind in the log. A request of the same name is this order."""
    moves: ClassVar[bool] = False
    """Sets the machine in motion, or makes it able to move."""
    ends_authority: ClassVar[bool] = False
    """Ends every motion, and with it the authority of all orders accepted before."""
    needs_no_lease: ClassVar[bool] = False
    """An order without a lease owner, never revoked. All but Adopt only end a motion."""
    precedes_goals: ClassVar[bool] = False
    """Takes effect before a goal that waits for the same tick."""
    overtakes: ClassVar[bool] = False
    """Does not wait behind a goal whose block is being verified."""

    @property
    def bound(self) -> bool:
        """Whether the order has no effect once the authority under which it was accepted has ended.

        True for every order that moves the machine, and for every order of the lease's owner that waits for a
        later tick. An order that ends a motion, or clears a fault immediately, is not bound.
        """
        return self.moves or (self.at_tick != NOW and not self.needs_no_lease)

    def places(self) -> tuple[list[int], list[float]]:
        """Return the integers of the datagram by `Word`, and the arguments that the order uses."""
        words, arguments = [0] * len(Word), []
        for name, _, places, is_argument in _FIELDS[type(self)]:
            value = getattr(self, name)
            for word in places:
                words[word] = len(value) if is_argument else int(value)
            if is_argument:
                arguments += _numbers_of(value)
        return words, arguments

    def pack(self) -> bytes:
        """The datagram."""
        words, arguments = self.places()
        padding = [0.0] * (ARGUMENTS - len(arguments))
        head = _INTEGERS.pack(self.id, self.kind, self.at_tick, *words, self.authority)
        return head + _DOUBLES.pack(*arguments, *padding)


@dataclass(frozen=True, slots=True)
class Fresh:
    """Begin at once, where the machine holds."""


@dataclass(frozen=True, slots=True)
class After:
    """Begin when the goal `before` has succeeded."""

    before: int


@dataclass(frozen=True, slots=True)
class Splice:
    """Take over from the goal `before` where its path parameter is s and its path rate is `rate`.

    result: the result code that the goal before it then ends with.
    """

    before: int
    s: float
    rate: float
    result: ResultCode


@dataclass(frozen=True, slots=True)
class Retime:
    """Follow the goal `before`, which is under way, by another block: the same path at another speed.

    speed: the speed of the block, as a fraction of the goal's own. keep_speed: whether the goal keeps its
    present speed as far as the block allows it; otherwise it takes the speed of the block.
    """

    before: int
    speed: float
    keep_speed: bool = False


GoalBegin = Fresh | After | Splice | Retime
"""How a goal begins."""


def _numbers_of_begin(begin: GoalBegin) -> list[float]:
    """Return the way to begin and its values; whether a speed is kept is last, and left out if not."""
    match begin:
        case Splice(before, s, rate, result):
            return [1.0, before, s, rate, result]
        case After(before):
            return [2.0, before, 0.0, 0.0, 0.0]
        case Retime(before, speed, keep_speed):
            return [3.0, before, 0.0, speed, 0.0, *[1.0] * keep_speed]
    return [0.0] * 5


def _begin_of(
    way: float, before: float, s: float, rate: float, result: float, keep_speed: float
) -> GoalBegin:
    """Return how a goal begins by these numbers; an unknown way is read as Fresh."""
    match int(way):
        case 1:
            return Splice(int(before), s, rate, ResultCode(int(result)))
        case 2:
            return After(int(before))
        case 3:
            return Retime(int(before), rate, keep_speed != 0.0)
    return Fresh()


@dataclass(frozen=True, slots=True)
class Enable(Order):
    """Release the brakes and hold."""

    kind, name, moves = 1, "enable", True


@dataclass(frozen=True, slots=True)
class Disable(Order):
    """Stop on the path, then brake."""

    kind, name = 2, "disable"
    ends_authority = precedes_goals = overtakes = True


@dataclass(frozen=True, slots=True)
class StartGoal(Order):
    """Follow the goal whose block of `words` numbers is in a slot of the shared memory.

    checksum: CRC-32 of the block. speed: fraction of the goal's own speed, 0 … 1.
    """

    slot: Annotated[int, Word.SLOT]
    words: Annotated[int, Word.LENGTH]
    checksum: Annotated[int, Word.CHECKSUM]
    goal: Annotated[int, Word.GENERATION, Word.GOAL]
    begin: GoalBegin = Fresh()
    speed: float = 1.0
    verified: Annotated[bool, NO_PLACE] = False
    """Whether the loop found that the block agrees with its checksum."""

    kind, name, moves = 3, "goal", True


@dataclass(frozen=True, slots=True)
class Stop(Order):
    """Stop on the path, then hold."""

    kind, name = 4, "stop"
    ends_authority = needs_no_lease = precedes_goals = overtakes = True


@dataclass(frozen=True, slots=True)
class CancelGoal(Order):
    """End a goal: a stop on its path, or if it still waits, never begin it. Or drop another order that waits.

    goal: its number, 0: the one under way. cause: the result code that it ends with if the machine is the
    reason, None: CANCELLED. waiting: number of the order to drop, 0: none.
    """

    goal: Annotated[int, Word.GOAL] = 0
    cause: ResultCode | None = None
    waiting: Annotated[int, Word.SLOT] = 0

    kind, name, precedes_goals = 5, "cancel", True


@dataclass(frozen=True, slots=True)
class Pause(Order):
    """Slow the goal under way to rest on its path, and keep it."""

    kind, name = 6, "pause"


@dataclass(frozen=True, slots=True)
class Resume(Order):
    """Continue the goal that was paused."""

    kind, name, moves = 7, "resume", True


@dataclass(frozen=True, slots=True)
class SetSpeed(Order):
    """Scale the speed of the goal under way to this fraction of its own, at most that of its block."""

    fraction: float

    kind, name, moves = 8, "speed", True


@dataclass(frozen=True, slots=True)
class _PairsOrder(Order):
    """An order of at most MOST_PAIRS pairs of a number and a value."""

    pairs: Annotated[tuple[tuple[int, float], ...], Word.LENGTH]


@dataclass(frozen=True, slots=True)
class JogCoordinates(_PairsOrder):
    """Move at these velocities (coordinate's index, rad/s or m/s); repeated while the key is held."""

    kind, name, moves = 9, "jog", True


@dataclass(frozen=True, slots=True)
class Recover(Order):
    """Clear the fault if its cause is gone."""

    kind, name = 10, "recover"


@dataclass(frozen=True, slots=True)
class EmergencyStop(Order):
    """Brake at once and latch."""

    kind, name = 11, "estop"
    ends_authority = needs_no_lease = precedes_goals = overtakes = True


@dataclass(frozen=True, slots=True)
class Reset(Order):
    """Leave the emergency stop."""

    kind, name = 12, "reset"


@dataclass(frozen=True, slots=True)
class AdvanceTime(Order):
    """Run lockstep time for a number of ticks."""

    ticks: Annotated[int, Word.LENGTH]

    kind, name = 13, "advance"


@dataclass(frozen=True, slots=True)
class ChooseLaw(Order):
    """Select another law at rest, by its number (`protocol.laws.LawKind`)."""

    law: Annotated[int, Word.LENGTH]

    kind, name, moves = 14, "law", True


@dataclass(frozen=True, slots=True)
class Adopt(Order):
    """A new gateway has taken over; its lifeline comes with the datagram."""

    kind, name, needs_no_lease = 15, "adopt", True


@dataclass(frozen=True, slots=True)
class Shutdown(Order):
    """Stop on the path, disable, say bye to the plant, leave. at_once: brake instead of stopping."""

    at_once: Annotated[bool, Word.LENGTH] = False

    kind, name = 16, "shutdown"
    ends_authority = needs_no_lease = precedes_goals = overtakes = True


@dataclass(frozen=True, slots=True)
class LeaseLost(Order):
    """Stop on the path, then hold: the lease of the owner that moved the machine has ended."""

    kind, name = 17, "lease_lost"
    ends_authority = needs_no_lease = precedes_goals = overtakes = True


@dataclass(frozen=True, slots=True)
class SetPreload(_PairsOrder):
    """Set the internal force of redundant motors (motor's index, N m or N)."""

    kind, name = 24, "preload"


@dataclass(frozen=True, slots=True)
class ConfirmBranch(Order):
    """Confirm that the machine is in the assembly mode that the estimate shows.

    Refused after `SuggestPose` if the estimate has not stayed at the suggested pose.
    """

    kind, name = 30, "confirm_branch"


@dataclass(frozen=True, slots=True)
class SuggestPose(_PairsOrder):
    """Set positions (index in q, rad or m) of the pose from which the estimate is to begin again.

    As many orders as are needed give all of q; the last one lets the estimate begin there.
    """

    kind, name = 31, "suggest_pose"


@dataclass(frozen=True, slots=True)
class ReportDifference(Order):
    """Stop on the path, or with `fault` raise the fault: the machine differs from its digital twin.

    which: the difference (`machine.twin_differences.differences`), its value and its threshold.
    """

    which: int
    value: float
    limit: float
    fault: Annotated[bool, Word.LENGTH] = False

    kind, name = 35, "difference"
    needs_no_lease = precedes_goals = overtakes = True


@dataclass(frozen=True, slots=True)
class SetGains(Order):
    """Set bandwidth and damping ratio of the error dynamics of coordinates, by index; of all without any.

    0 keeps a gain. Such coordinates are coupled to no others.
    """

    bandwidth_rad_s: float
    damping_ratio: float
    coordinates: Annotated[tuple[int, ...], Word.LENGTH] = ()

    kind, name = 40, "gain"


MOST_COUPLED = 4
"""Coordinates of `SetGainMatrices`: k indices and k (k + 1) entries fit into the arguments."""


@dataclass(frozen=True, slots=True)
class SetGainMatrices(Order):
    """Set G_P and G_D of some coordinates, which are then coupled to no others.

    numbers: their k indices, the rows of the upper triangle of G_P (1/s²), those of G_D (1/s).
    """

    numbers: Annotated[tuple[float, ...], Word.LENGTH]

    kind, name = 45, "gain_matrices"


@dataclass(frozen=True, slots=True)
class SetPayload(Order):
    """Set the payload at a point, by the point's index in the mechanism.

    com_m: centre of mass from the point. inertia_kg_m2: moments about it (xx, xy, xz, yy, yz, zz). Both are
    in the axes of the point's body.
    """

    point: int
    mass_kg: float
    com_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    inertia_kg_m2: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    kind, name = 41, "payload"


LiveOrder = SetGains | SetGainMatrices | SetPayload
"""What changes gains or loads."""


@dataclass(frozen=True, slots=True)
class SwitchConstraint(Order):
    """Close or open a constraint, by its index among the switchable ones."""

    constraint: int
    on: bool

    kind, name, moves = 42, "switch", True


@dataclass(frozen=True, slots=True)
class SetOutputs(_PairsOrder):
    """Set output signals (signal's index among the outputs, value)."""

    kind, name = 43, "set"


@dataclass(frozen=True, slots=True)
class SetTemperatures(_PairsOrder):
    """Set the estimated temperatures of motors, °C: at 2 i the winding, at 2 i + 1 the body.

    i counts the motors with a thermal model. The gateway continues the estimate of an earlier loop so.
    """

    kind, name, needs_no_lease, overtakes = 44, "temperatures", True, True


@dataclass(frozen=True, slots=True)
class StartStream(Order):
    """Follow set-points that come in while the machine moves (set_points.py).

    coordinates: indices of a full independent set; the first `streamed` have set-points, the others hold.
    first: number of its first set-point. interval_s: announced interval between set-points. delay_s: delay of
    the playback. ends: end it when set-points are missing, and do not wait for more.
    """

    goal: Annotated[int, Word.GOAL]
    coordinates: Annotated[tuple[int, ...], Word.LENGTH]
    streamed: Annotated[int, Word.SLOT]
    first: Annotated[int, Word.GENERATION]
    interval_s: float
    delay_s: float
    ends: bool = False

    kind, name, moves = 60, "stream", True


@dataclass(frozen=True, slots=True)
class Finish(Order):
    """End the stream under way after its last set-point."""

    kind, name = 61, "finish"


ORDERS: tuple[type[Order], ...] = (
    Enable, Disable, StartGoal, Stop, CancelGoal, Pause, Resume, SetSpeed, JogCoordinates, Recover,
    EmergencyStop, Reset, AdvanceTime, ChooseLaw, Adopt, Shutdown, LeaseLost, SetPreload, ConfirmBranch,
    SuggestPose, ReportDifference, SetGains, SetGainMatrices, SetPayload, SwitchConstraint, SetOutputs,
    SetTemperatures, StartStream, Finish,
)  # fmt: skip
"""Every kind of order."""
_BY_KIND = {order.kind: order for order in ORDERS}
BY_NAME = {order.name: order for order in ORDERS}


class _Field(NamedTuple):
    """A field in a datagram: the integers that are it, or count its values, which are arguments then."""

    name: str
    kind: Any
    words: tuple[Word, ...]
    is_argument: bool


def _fields_of(order: type[Order]) -> list[_Field]:
    """Return the fields of an order, those with any number of arguments last."""
    hints = get_type_hints(order, include_extras=True)
    fixed, variable = [], []
    for each in fields(order)[_HEADER_FIELDS:]:
        hint = hints[each.name]
        kind, *words = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        if kind == GoalBegin or Ellipsis in get_args(kind):
            variable.append(_Field(each.name, kind, tuple(words), True))
        elif NO_PLACE not in words:
            fixed.append(_Field(each.name, kind, tuple(words), not words))
    return fixed + variable


def _numbers_of(value: Any) -> list[float]:
    """Return the arguments that keep a value."""
    if isinstance(value, tuple):
        return [number for each in value for number in _numbers_of(each)]
    if isinstance(value, GoalBegin):
        return [float(number) for number in _numbers_of_begin(value)]
    return [] if value is None else [float(value)]


def _value_of(kind: Any, count: int, numbers: Iterator[float]) -> Any:
    """Read a value of a type from arguments; count: of a tuple with any number of items.

    Of an enumeration, 0 is None.
    """
    items = get_args(kind)
    if kind == GoalBegin:
        return _begin_of(*islice(numbers, 6))
    if get_origin(kind) is tuple:
        items = items[:1] * min(count, ARGUMENTS) if Ellipsis in items else items
        return tuple([_value_of(item, 0, numbers) for item in items])
    number = next(numbers)
    if kind in (int, float, bool):
        return kind(number)
    return items[0](int(number)) if number else None


_FIELDS = {order: _fields_of(order) for order in ORDERS}


def read_order(data: bytes) -> Order:
    """The order in a datagram. Raises ValueError when it is none."""
    if len(data) != ORDER_BYTES:
        raise ValueError(f"an order has {ORDER_BYTES} bytes, found {len(data)}")
    number, kind, at_tick, *words, authority = _INTEGERS.unpack_from(data)
    found = _BY_KIND.get(kind)
    if found is None:
        raise ValueError(f"there is no order of kind {kind}")
    numbers, values = iter(_DOUBLES.unpack_from(data, _INTEGERS.size)), {}
    try:
        for name, kind, places, is_argument in _FIELDS[found]:
            word = words[places[-1]] if places else 0
            values[name] = _value_of(kind, word, numbers) if is_argument else kind(word)
    except (OverflowError, StopIteration) as error:
        raise ValueError(f"{found.name}: {error or 'its values do not fit'}") from None
    return found(**values, id=number, at_tick=at_tick, authority=authority)
