"""Taking a goal's block out of shared memory: a slice of the checksum a tick, so that no goal is too large
for a period.
"""

import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.exchange.orders import Order, StartGoal
from linkwork.controller.exchange.shared_memory import GOAL_SLOTS

SLICE_BYTES = 64 * 1024


class Inbox(Protocol):
    """Source of orders: `OrderInbox`, or a queue in one process."""

    lifeline: int | None
    """A lifeline that came with an order, as a file descriptor."""

    def receive(self) -> Order | None:
        """Return the next order, or None."""
        ...

    def fileno(self) -> int:
        """Return a descriptor that is readable when an order waits."""
        ...


class OrderSource:
    """Orders as the supervisor may have them: goals only once their block has been checked (`verified`).

    `slot` gives a goal slot's words. Orders keep their sequence: while a block is being verified the ones
    behind it wait, except those that stop the machine.
    """

    def __init__(self, inbox: Inbox, slot: Callable[[int], NDArray[np.float64]], *, at_once: bool) -> None:
        self._inbox = inbox
        self._slot = slot
        self._slice = 1 << 62 if at_once else SLICE_BYTES
        self._loading: StartGoal | None = None
        self._waiting: list[Order] = []
        self._verified = 0
        self._sum = 0

    def next(self) -> Order | None:
        """The order for this tick, or None."""
        arrived = self._inbox.receive()
        if self._loading is not None:
            if arrived is not None and arrived.overtakes:
                return arrived
            if arrived is not None:
                self._waiting.append(arrived)
            return self._verify()
        if self._waiting:
            if arrived is not None:
                self._waiting.append(arrived)
            arrived = self._waiting.pop(0)
        if isinstance(arrived, StartGoal):
            self._loading, self._verified, self._sum = arrived, 0, 0
            return self._verify()
        return arrived

    @property
    def busy(self) -> bool:
        """Whether a block is being verified or orders wait behind one."""
        return self._loading is not None or bool(self._waiting)

    def _verify(self) -> Order | None:
        order = self._loading
        assert order is not None
        known = 0 <= order.slot < GOAL_SLOTS and order.words > 0
        words = (self._slot(order.slot)[: order.words] if known else np.empty(0)).view(np.uint8)
        upto = min(len(words), self._verified + self._slice)
        self._sum = zlib.crc32(words[self._verified : upto].data, self._sum)
        self._verified = upto
        if upto < len(words):
            return None
        if known and len(words) == 8 * order.words and self._sum == order.checksum:
            order = replace(order, verified=True)
        self._loading = None
        return order
