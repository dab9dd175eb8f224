"""Orders: what the gateway tells the loop, one small datagram each.

An order is 264 bytes, little endian: nine signed 64-bit integers and twenty-four doubles. Anything large (a
goal's coefficients) lies in shared memory; the order only names its slot, length, generation and checksum.
The loop takes at most one order a tick and says what became of it in that tick's record (`order_id`,
`order_outcome`).

The socket is a Unix datagram socket owned by the loop: it has no connection, so a gateway that replaces a
dead one needs nothing but the path. Only ADOPT carries a file descriptor, the new gateway's lifeline.
"""

from __future__ import annotations

import os
import select
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

ARGUMENTS = 24
_LAYOUT = struct.Struct(f"<9q{ARGUMENTS}d")
ORDER_BYTES = _LAYOUT.size
NOW = -1


class OrderKind(IntEnum):
    """What an order asks for."""

    ENABLE = 1
    DISABLE = 2
    GOAL = 3
    """arguments: speed (0 … 1), how it begins (GoalBegin), the goal before it, and for SPLICE that goal's
    path parameter, its rate and the result code that it ends with; for RETIME 0, the speed of the block, 0,
    and 1 where the goal keeps its speed as far as the block allows it.
    """
    STOP = 4
    CANCEL = 5
    """arguments[0]: the result code that the goal ends with, 0: CANCELLED."""
    PAUSE = 6
    RESUME = 7
    SPEED = 8
    """arguments[0]: fraction of the goal's own speed, 0 … 1."""
    JOG = 9
    """arguments[2 i], arguments[2 i + 1]: coordinate index and its velocity, `length` pairs; repeated while
    the key is held.
    """
    RECOVER = 10
    ESTOP = 11
    RESET = 12
    ADVANCE = 13
    """length: ticks of lockstep time to run."""
    LAW = 14
    """length: the law's number (protocol.laws.LawKind)."""
    ADOPT = 15
    """A new gateway has taken over; its lifeline comes with the datagram."""
    SHUTDOWN = 16
    """Stop on the path, disable, say bye to the plant, leave. length 1: brake at once instead of stopping."""
    LEASE_LOST = 17
    """The mover's lease ended: stop on the path, then hold."""
    PRELOAD = 24
    """arguments[2 i], arguments[2 i + 1]: motor's number and its pre-load, `length` pairs."""
    CONFIRM_BRANCH = 30
    """A person has looked: the machine is in the assembly that the estimate shows."""
    DIFFERENCE = 35
    """The shadow differs from the machine (docs/shadow.md): stop on the path, or with length 1 the fault.

    arguments: which difference (machine.twin_settings.differences), its value, its threshold.
    """
    GAIN = 40
    """arguments: bandwidth (rad/s) and damping ratio of the error dynamics."""
    PAYLOAD = 41
    """arguments: the point's place among the mechanism's, mass (kg), centre of mass from the point and
    moments of inertia about it (xx, xy, xz, yy, yz, zz), both in the axes of the point's body.
    """

    SWITCH = 42
    """arguments: place of a constraint among the switchable ones, 1 to close it and 0 to open it."""


MOVING_KINDS = frozenset(
    {
        OrderKind.ENABLE, OrderKind.GOAL, OrderKind.JOG, OrderKind.LAW, OrderKind.RESUME, OrderKind.SPEED,
        OrderKind.SWITCH,
    }
)  # fmt: skip
"""Orders that set the machine in motion, or make it able to move."""
ENDING_KINDS = frozenset(
    {OrderKind.STOP, OrderKind.ESTOP, OrderKind.DISABLE, OrderKind.LEASE_LOST, OrderKind.SHUTDOWN}
)
"""Orders that end every motion, and with it the authority of all orders accepted before."""
_NEVER_REVOKED = frozenset(
    {
        OrderKind.STOP, OrderKind.ESTOP, OrderKind.LEASE_LOST, OrderKind.SHUTDOWN, OrderKind.DIFFERENCE,
        OrderKind.ADOPT,
    }
)  # fmt: skip
"""Orders that nobody holds the lease for; all but ADOPT only ever end a motion."""


def needs_authority(kind: OrderKind, at_tick: int) -> bool:
    """Whether an order is bound to the motion authority under which it was accepted.

    That holds for every order that moves the machine, and for every order of the lease's owner that waits
    for a later tick. What ends a motion, or clears a fault at once, is not bound.
    """
    return kind in MOVING_KINDS or (at_tick != NOW and kind not in _NEVER_REVOKED)


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
    """The machine differed from its shadow and was stopped."""
    INFEASIBLE = 9
    """The rest of a goal became infeasible and it was stopped."""
    SWITCHED = 10
    """Other constraints hold: what was planned for those before has no effect."""


class GoalBegin(IntEnum):
    """How a goal begins."""

    FRESH = 0
    """At once, where the machine holds."""
    SPLICE = 1
    """In place of the goal before it, where that one's path parameter has the value given."""
    AFTER = 2
    """When the goal before it has succeeded."""
    RETIME = 3
    """The goal under way goes on by this block: the same path at another speed of its own."""


class OrderOutcome(IntEnum):
    """What became of an order, told in the record of the tick in which it took effect."""

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
    """The cause of the fault still stands."""
    REFUSED_LATE = -6
    """`at_tick` lies in the past."""
    REFUSED_FULL = -7
    """Too many orders wait for a later tick."""
    REFUSED_VALUE = -8
    """An argument is outside what the order allows."""
    REFUSED_BRANCH = -30
    """The machine may be in several assemblies, and nobody has confirmed which."""
    REFUSED_CONTACT = -9
    """A force goal needs contact first, and a guarded move must not begin in contact."""
    REFUSED_NOT_HOMED = -10
    """The device is not homed: it only jogs."""
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
    NOTHING_TO_DO = 2
    """Accepted, but there was nothing to change (a stop at rest, a cancel without a goal)."""


@dataclass(slots=True)
class Order:
    """One order. `at_tick` is the tick at which it takes effect, or NOW.

    authority: the loop's `authority` (controller.records) under which the order was accepted, 0 for one that
    is not bound to any. An order that ends the authority carries the number of the next one.
    """

    id: int
    kind: OrderKind
    at_tick: int = NOW
    slot: int = 0
    length: int = 0
    generation: int = 0
    checksum: int = 0
    goal_id: int = 0
    arguments: tuple[float, ...] = field(default=())
    authority: int = 0

    def pack(self) -> bytes:
        """The 264 bytes on the socket."""
        padded = tuple(self.arguments) + (0.0,) * (ARGUMENTS - len(self.arguments))
        return _LAYOUT.pack(
            self.id, self.kind, self.at_tick, self.slot, self.length,
            self.generation, self.checksum, self.goal_id, self.authority, *padded,
        )  # fmt: skip

    @classmethod
    def unpack(cls, data: bytes) -> Order:
        """The order in these bytes. Raises ValueError when they are none."""
        if len(data) != ORDER_BYTES:
            raise ValueError(f"an order has {ORDER_BYTES} bytes, these are {len(data)}")
        number, kind, at_tick, slot, length, generation, checksum, goal_id, authority, *arguments = (
            _LAYOUT.unpack(data)
        )
        return cls(
            number, OrderKind(kind), at_tick, slot, length, generation, checksum, goal_id, tuple(arguments),
            authority,
        )  # fmt: skip


class OrderInbox:
    """The loop's end: a bound, non-blocking datagram socket that takes at most one order a call."""

    def __init__(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            path.unlink()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(str(path))
        path.chmod(0o600)
        self._path = path
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self.lifeline: int | None = None

    def fileno(self) -> int:
        """For polling while lockstep time stands."""
        return self._socket.fileno()

    def take(self) -> Order | None:
        """The next order, or None. A datagram that is no order is dropped. A lifeline that came along is kept
        in `lifeline`.
        """
        if not self._poll.poll(0):  # a third of the price of an exception
            return None
        data, ancillary, _, _ = self._socket.recvmsg(ORDER_BYTES + 1, socket.CMSG_SPACE(4))
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self._keep(struct.unpack("i", content[:4])[0])
        try:
            return Order.unpack(data)
        except ValueError:
            return None

    def _keep(self, descriptor: int) -> None:
        if self.lifeline is not None:
            os.close(self.lifeline)
        self.lifeline = descriptor

    def close(self) -> None:
        """Closes the socket and removes its path."""
        self._socket.close()
        with suppress(FileNotFoundError):
            self._path.unlink()


class OrderOutbox:
    """The gateway's end."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)

    def send(self, order: Order, *, lifeline: int | None = None) -> bool:
        """Hands the order over. False when the loop is not there or its queue is full: nothing was sent
        then.
        """
        try:
            if lifeline is None:
                self._socket.sendto(order.pack(), self._path)
            else:
                rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", lifeline))
                self._socket.sendmsg([order.pack()], [rights], 0, self._path)
        except (BlockingIOError, ConnectionRefusedError, FileNotFoundError):
            return False
        return True

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()
