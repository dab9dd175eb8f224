"""The desk: orders on their way to the loop, and what is to happen when they take effect."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from controller.orders import NOW, Order, OrderKind, OrderOutbox, OrderOutcome
from protocol.codes import RequestCode
from protocol.errors import RequestError

MOST_WAITING = 64
"""Orders that may wait for the loop's queue; beyond that a request is refused as BUSY."""


@dataclass(frozen=True)
class Effect:
    """What became of an order, and the record of the tick in which it did."""

    outcome: OrderOutcome
    record: np.void


Then = Callable[[Effect | RequestError], None]
Condition = Callable[[np.void], bool]


@dataclass(eq=False)
class _Placed:
    kind: OrderKind
    then: Then
    deadline_ns: int | None
    leased: bool


@dataclass(eq=False)
class _Wait:
    condition: Condition
    then: Then
    deadline_ns: int | None
    late: RequestError
    leased: bool


class Desk:
    """Numbers orders, sends them as the loop's queue has room, and calls back with their effects.

    Each callback is called exactly once: with the effect, or with the reason why there is none.
    """

    def __init__(self) -> None:
        self._outbox: OrderOutbox | None = None
        self._next_id = 1
        self._urgent: deque[Order] = deque()
        self._queue: deque[Order] = deque()
        self._placed: dict[int, _Placed] = {}
        self._under_way: dict[int, Order] = {}
        self._waits: list[_Wait] = []

    def connect(self, outbox: OrderOutbox, next_id: int) -> None:
        """A loop is there; it has seen no order id from `next_id` on."""
        self._outbox, self._next_id = outbox, max(next_id, 1)

    def disconnect(self, reason: RequestError) -> None:
        """The loop is gone: everything on its way fails for this reason."""
        if self._outbox is not None:
            self._outbox.close()
        self._outbox = None
        self._urgent.clear()
        self._queue.clear()
        self._under_way.clear()
        placed, self._placed = self._placed, {}
        waits, self._waits = self._waits, []
        for then in (*(one.then for one in placed.values()), *(wait.then for wait in waits)):
            then(reason)

    def place(
        self,
        kind: OrderKind,
        then: Then,
        *,
        now_ns: int,
        timeout_s: float | None = None,
        urgent: bool = False,
        leased: bool = False,
        at_tick: int = NOW,
        slot: int = 0,
        length: int = 0,
        generation: int = 0,
        checksum: int = 0,
        goal_id: int = 0,
        arguments: tuple[float, ...] = (),
    ) -> int:
        """Places an order; returns its id.

        `timeout_s`: how long to wait for the effect (None: as long as it takes). `urgent` orders go first,
        and two of the same kind that wait are one. `leased`: an order that somebody holds the lease for.
        Raises RequestError when there is no loop or too many orders wait; an urgent order for now always has
        room.
        """
        if self._outbox is None:
            raise no_loop()
        queue = self._urgent if urgent else self._queue
        same = next((one.id for one in queue if urgent and (one.kind, one.at_tick) == (kind, at_tick)), None)
        if same is not None:
            self._join(same, then)
            return same
        if len(queue) >= MOST_WAITING and not (urgent and at_tick == NOW):
            raise RequestError(RequestCode.BUSY, f"{len(queue)} orders wait for the loop; try again")
        number = self._next_id
        self._next_id += 1
        deadline = None if timeout_s is None else now_ns + round(1e9 * timeout_s)
        self._placed[number] = _Placed(kind, then, deadline, leased)
        order = Order(number, kind, at_tick, slot, length, generation, checksum, goal_id, arguments)
        self._under_way[number] = order
        queue.append(order)
        self.send()
        return number

    def _join(self, number: int, then: Then) -> None:
        """One more who waits for an order that has not left yet."""
        first = self._placed[number].then

        def both(effect: Effect | RequestError) -> None:
            first(effect)
            then(effect)

        self._placed[number].then = both

    def wait(
        self,
        condition: Condition,
        then: Then,
        *,
        now_ns: int,
        timeout_s: float | None,
        late: RequestError,
        leased: bool = False,
    ) -> None:
        """Calls back with the first record that meets the condition, or with `late`."""
        deadline = None if timeout_s is None else now_ns + round(1e9 * timeout_s)
        self._waits.append(_Wait(condition, then, deadline, late, leased))

    def send(self) -> None:
        """Sends what the loop's queue has room for."""
        for queue in (self._urgent, self._queue):
            while queue and self._outbox is not None and self._outbox.send(queue[0]):
                queue.popleft()

    def taken(self, number: int) -> Order | None:
        """The order with this number, which has taken effect, once. None for one that was not placed here."""
        return self._under_way.pop(number, None)

    def settle(self, record: np.void) -> None:
        """A record that matters: its order's effect is told, and those who wait look at it."""
        placed = self._placed.pop(int(record["order_id"]), None)
        if placed is not None:
            placed.then(Effect(OrderOutcome(int(record["order_outcome"])), record))
        if self._waits:
            met = [wait for wait in self._waits if wait.condition(record)]
            self._waits = [wait for wait in self._waits if wait not in met]
            for wait in met:
                wait.then(Effect(OrderOutcome.DONE, record))

    def expire(self, now_ns: int) -> None:
        """Tells those whose time is over."""
        late = [number for number, one in self._placed.items() if _over(one.deadline_ns, now_ns)]
        for number in late:
            self._placed.pop(number).then(
                RequestError(
                    RequestCode.NO_LOOP, "the loop has not taken the order in time; it may still do so"
                )
            )
        over = [wait for wait in self._waits if _over(wait.deadline_ns, now_ns)]
        self._waits = [wait for wait in self._waits if wait not in over]
        for wait in over:
            wait.then(wait.late)

    @property
    def pressing(self) -> bool:
        """Whether the effect of an order is expected any moment."""
        return any(one.deadline_ns is not None for one in self._placed.values())

    @property
    def busy(self) -> bool:
        """Whether anybody waits for the loop."""
        return bool(self._placed or self._waits)

    @property
    def in_use(self) -> bool:
        """Whether an order that needs the lease is under way."""
        return any(one.leased for one in self._placed.values()) or any(one.leased for one in self._waits)


def no_loop() -> RequestError:
    """The refusal while there is no loop."""
    text = "the real-time loop is not running yet; it is being started"
    return RequestError(RequestCode.NO_LOOP, text, data={"starting": True})


def _over(deadline_ns: int | None, now_ns: int) -> bool:
    return deadline_ns is not None and now_ns >= deadline_ns
