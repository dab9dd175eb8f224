"""Queue of orders to the loop, with callbacks for their effects."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.exchange.order_socket import OrderOutbox
from linkwork.controller.exchange.orders import NOW, CancelGoal, Order, OrderOutcome, StartGoal
from linkwork.controller.gateway.history import Requester
from linkwork.protocol.codes import (
    PENDING_GOALS,
    PENDING_ORDERS,
    PENDING_STOPS,
    PENDING_STOPS_EACH,
    RequestCode,
    ResultCode,
)
from linkwork.protocol.errors import RequestError

MOST_WAITING = 64
"""Orders that may wait for the loop's queue; beyond that a request is refused as BUSY."""


@dataclass(frozen=True)
class OrderEffect:
    """Effect of an order, and the record of the tick in which it took effect.

    `code`: the result code of a goal that was cancelled by its number before it began.
    """

    outcome: OrderOutcome
    record: np.void
    code: ResultCode = ResultCode.CANCELLED


Condition = Callable[[np.void], bool]


@dataclass(frozen=True)
class Asked:
    """The request that an order carries out, for lists of pending orders."""

    method: str
    owner: str
    requester: Requester | None = None


NOBODY = Asked("", "")
Then = Callable[[OrderEffect | RequestError], None]


@dataclass(frozen=True)
class Pending:
    """An order that waits in the loop: `at_tick` is None for a goal that follows another one."""

    order: int
    asked: Asked
    at_tick: int | None
    goal: int | None


@dataclass(eq=False)
class _Placed:
    order: Order
    thens: list[Then]
    deadline_ns: int | None
    leased: bool
    asked: Asked
    withdrawn: bool = False

    def then(self, effect: OrderEffect | RequestError) -> None:
        """Call back all who asked for it."""
        for then in self.thens:
            then(effect)

    @property
    def bound(self) -> bool:
        """Whether it is revoked when the authority to move ends."""
        return self.order.bound

    @property
    def waits(self) -> bool:
        """Whether it was accepted for a later tick, or for the end of another goal."""
        later = self.order.at_tick != NOW or self.goal is not None
        return self.deadline_ns is None and (self.bound or self.asked is not NOBODY) and later

    @property
    def goal(self) -> int | None:
        """Number of the goal that it starts."""
        return self.order.goal if isinstance(self.order, StartGoal) else None


@dataclass(eq=False)
class _Wait:
    condition: Condition
    then: Then
    deadline_ns: int | None
    late: RequestError
    leased: bool


Rows = Callable[[Floats], NDArray[np.intp]]
"""Numbers of the records (n, words) that meet a condition."""
MOST_WATCHES, MOST_WATCHES_EACH = 100, 20
"""Conditions on numbers that may be waited for, in all and by each client."""
MOST_OPERATIONS, MOST_OPERATIONS_EACH = 1000, 500
"""Operations, names and numbers of these conditions."""


@dataclass(eq=False)
class _Watch:
    rows: Rows
    size: int
    requester: Requester
    then: Then
    deadline_ns: int
    late: RequestError


class OrderQueue:
    """Number orders, send them when the loop's queue has room, and call back with their effects.

    Each callback is called exactly once: with the effect, or with the reason why there is none.
    """

    def __init__(self) -> None:
        self._outbox: OrderOutbox | None = None
        self._next_id = 1
        self.authority = 1
        """Number of the motion authority under which orders are accepted now (controller.records).

        An order that ends the authority increases it at once, before the loop has received it, so that a
        request after a stop is not mistaken for an earlier one.
        """
        self._urgent: deque[Order] = deque()
        self._queue: deque[Order] = deque()
        self._placed: dict[int, _Placed] = {}
        self._under_way: dict[int, Order] = {}
        self._arrived: dict[int, Order] = {}
        self._ended: list[tuple[Order, OrderOutcome]] = []
        self._waits: list[_Wait] = []
        self._watches: list[_Watch] = []

    def connect(self, outbox: OrderOutbox, next_id: int, authority: int = 1) -> None:
        """Accept a loop that has seen no order id from `next_id` on and has this authority.

        Numbers are not used again for another loop: the log has the orders of all.
        """
        self._outbox, self._next_id, self.authority = outbox, max(next_id, self._next_id), authority

    def disconnect(self, reason: RequestError) -> None:
        """Fail all pending orders for this reason: the loop has ended."""
        if self._outbox is not None:
            self._outbox.close()
        self._outbox = None
        self._urgent.clear()
        self._queue.clear()
        self._under_way.clear()
        self._arrived.clear()
        placed, self._placed = self._placed, {}
        waits: list[_Wait | _Watch] = [*self._waits, *self._watches]
        self._waits, self._watches = [], []
        for then in (*(one.then for one in placed.values()), *(wait.then for wait in waits)):
            then(reason)

    def place(
        self,
        order: Order,
        then: Then,
        *,
        now_ns: int,
        timeout_s: float | None = None,
        urgent: bool = False,
        leased: bool = False,
        authority: int | None = None,
        asked: Asked = NOBODY,
    ) -> int:
        """Give an order its number and authority, and queue it; return the number.

        `timeout_s`: how long to wait for the effect (None: without limit). `urgent` orders go first, and of
        two of the same kind that wait only the later is sent. `leased`: the order needs the lease.
        `authority`: the one under which its request was accepted, None: the present one.

        Raises RequestError when there is no loop or too many orders wait; an urgent order without `at_tick`
        always has room.
        """
        if self._outbox is None:
            raise no_loop()
        queue, at_once = self._urgent if urgent else self._queue, order.at_tick == NOW
        ends = order.ends_authority and at_once
        for place, one in enumerate(queue):
            if urgent and (one.kind, one.at_tick) == (order.kind, order.at_tick):
                same = replace(order, id=one.id, authority=self._next_authority() if ends else 0)
                queue[place] = self._placed[one.id].order = self._under_way[one.id] = same
                self._placed[one.id].thens.append(then)
                return one.id
        if len(queue) >= MOST_WAITING and not (urgent and at_once):
            raise RequestError(RequestCode.BUSY, f"{len(queue)} orders are queued for the loop; try again")
        number = self._next_id
        self._next_id += 1
        deadline = None if timeout_s is None else now_ns + round(1e9 * timeout_s)
        if ends:
            stamp = self._next_authority()
        elif order.bound:
            stamp = self.authority if authority is None else authority
        else:
            stamp = 0
        order = replace(order, id=number, authority=stamp)
        self._placed[number] = _Placed(order, [then], deadline, leased, asked)
        self._under_way[number] = order
        queue.append(order)
        self.send()
        return number

    def _next_authority(self) -> int:
        self.authority += 1
        return self.authority

    def refuse_if_full(self, owner: str, *, goal: bool) -> None:
        """Refuse another order for a later tick (BUSY) when too many of this owner wait already."""
        mine = [one for one in self._placed.values() if one.waits and one.asked.owner == owner]
        goals = [one.goal for one in mine if one.goal is not None and one.order.at_tick != NOW]
        if goal and len(goals) >= PENDING_GOALS:
            text = (
                f"{len(goals)} goals of {owner} are pending ({', '.join(map(str, goals))}), the"
                " maximum; cancel one by its number, or stop, which cancels them all"
            )
            raise RequestError(RequestCode.BUSY, text, ["at_tick"], {"goals": goals})
        if len(mine) >= PENDING_ORDERS:
            text = (
                f"{len(mine)} orders of {owner} are pending, the maximum is {PENDING_ORDERS};"
                " stop cancels them all"
            )
            raise RequestError(RequestCode.BUSY, text, ["at_tick"])

    def refuse_stop_if_full(self, requester: Requester) -> None:
        """Refuse another stop for a later tick (BUSY) when too many wait already."""
        later = [one.asked for one in self._placed.values() if one.waits and not one.bound]
        mine = [one for one in later if one.requester and one.requester.client == requester.client]
        if len(mine) >= PENDING_STOPS_EACH or len(later) >= PENDING_STOPS:
            text = (
                f"{len(later)} stops for a later tick are pending, {len(mine)} of them of this client;"
                f" at most {PENDING_STOPS} and {PENDING_STOPS_EACH} are possible"
            )
            remedy = "the lease's owner can `cancel` one by its `order`"
            raise RequestError(RequestCode.BUSY, f"{text}; {remedy}", ["at_tick"])

    def withdraw_stops(self, gone: Callable[[Requester], bool], now_ns: int) -> None:
        """Cancel the stops for a later tick whose requester is gone."""
        for number, one in list(self._placed.items()):
            whose = one.asked.requester
            if one.waits and not one.bound and not one.withdrawn and whose is not None and gone(whose):
                one.withdrawn = True
                self.place(CancelGoal(waiting=number), lambda _: None, now_ns=now_ns, urgent=True)

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
        """Call `then` with the first notable record that meets the condition, or with the error `late`.

        now_ns: present time of the monotonic clock; timeout_s: None waits without limit. leased: end the wait
        with the lease.
        """
        deadline = None if timeout_s is None else now_ns + round(1e9 * timeout_s)
        self._waits.append(_Wait(condition, then, deadline, late, leased))

    def refuse_watch(self, requester: Requester, size: int) -> None:
        """Refuse to watch another condition of this size (BUSY) when too many are watched already."""
        for most, operations, whose, watched in (
            (MOST_WATCHES_EACH, MOST_OPERATIONS_EACH, "this client's", self._of(requester)),
            (MOST_WATCHES, MOST_OPERATIONS, "all clients'", self._watches),
        ):
            sum_of = sum(one.size for one in watched)
            if len(watched) >= most or sum_of + size > operations:
                text = (
                    f"{len(watched)} of {whose} conditions are waited for, with {sum_of} operations, and this"
                    f" one has {size}; at most {most} conditions with {operations} operations are possible"
                )
                raise RequestError(RequestCode.BUSY, f"{text}; wait for another one to end", ["condition"])

    def _of(self, requester: Requester) -> list[_Watch]:
        return [one for one in self._watches if one.requester.client == requester.client]

    def watch(
        self,
        rows: Rows,
        size: int,
        requester: Requester,
        then: Then,
        *,
        now_ns: int,
        timeout_s: float,
        late: RequestError,
    ) -> None:
        """Call `then` with the first record that meets a condition on numbers, or with the error `late`.

        rows: yields which of some records meet it; size: numbers of a record that it reads. The condition is
        watched until it is met, for timeout_s from now_ns (monotonic clock) on, or until the connection of
        its requester ends (`drop`).
        """
        deadline = now_ns + round(1e9 * timeout_s)
        self._watches.append(_Watch(rows, size, requester, then, deadline, late))

    def look(self, words: Floats, table: NDArray[Any]) -> None:
        """Check records (n, words), which are the rows of `table`, against every condition on numbers."""
        for one in list(self._watches):
            rows = one.rows(words)
            if len(rows):
                self._watches.remove(one)
                one.then(OrderEffect(OrderOutcome.DONE, table[rows[0]]))

    def drop(self, gone: Callable[[Requester], bool], reason: RequestError) -> None:
        """Forget the conditions whose requester is gone."""
        dropped = [one for one in self._watches if gone(one.requester)]
        self._watches = [one for one in self._watches if one not in dropped]
        for one in dropped:
            one.then(reason)

    def send(self) -> None:
        """Send as many orders as the loop's queue has room for."""
        for queue in (self._urgent, self._queue):
            while queue and self._outbox is not None and self._outbox.send(queue[0]):
                queue.popleft()

    def arrived(self, number: int) -> Order | None:
        """Return the order with this number, which the loop has received in this tick; None if unknown."""
        order = self._under_way.pop(number, None)
        if order is not None:
            self._arrived[number] = order
        return order

    def take_ended(self) -> list[tuple[Order, OrderOutcome]]:
        """Return the orders received by the loop that have ended since the last call, with outcomes."""
        ended, self._ended = self._ended, []
        return ended

    def _end(self, number: int, outcome: OrderOutcome) -> None:
        order = self._arrived.pop(number, None)
        if order is not None:
            self._ended.append((order, outcome))

    def settle(self, record: np.void) -> None:
        """Report the effect of the record's order, and check the record against every pending wait."""
        self._end(int(record["order_id"]), OrderOutcome(int(record["order_outcome"])))
        placed = self._placed.pop(int(record["order_id"]), None)
        if placed is not None:
            outcome = OrderOutcome(int(record["order_outcome"]))
            placed.then(OrderEffect(outcome, record))
            if isinstance(placed.order, CancelGoal) and outcome is OrderOutcome.DONE:
                self._withdraw(placed.order, record)
        authority = int(record["authority"])
        self.authority = max(self.authority, authority)
        self._revoke(authority, record)
        if self._waits:
            met = [wait for wait in self._waits if wait.condition(record)]
            self._waits = [wait for wait in self._waits if wait not in met]
            for wait in met:
                wait.then(OrderEffect(OrderOutcome.DONE, record))

    def _revoke(self, authority: int, record: np.void) -> None:
        """Remove orders that were accepted under an earlier authority, and report them as revoked."""
        over = [number for number, one in self._placed.items() if 0 < one.order.authority < authority]
        over = [number for number in over if self._placed[number].bound]
        self._take_back(over, OrderEffect(OrderOutcome.REVOKED, record))

    def _withdraw(self, cancel: CancelGoal, record: np.void) -> None:
        """Remove a waiting order, or goal, that was cancelled by its number."""
        goals = [
            number
            for number, one in self._placed.items()
            if one.waits and (number == cancel.waiting or (cancel.goal and one.goal == cancel.goal))
        ]
        code = ResultCode.CANCELLED if cancel.cause is None else cancel.cause
        self._take_back(goals, OrderEffect(OrderOutcome.CANCELLED, record, code))

    def _take_back(self, numbers: list[int], effect: OrderEffect) -> None:
        for number in numbers:
            self._end(number, effect.outcome)
        for placed in [self._placed.pop(number) for number in numbers]:
            placed.then(effect)

    @property
    def pending(self) -> list[Pending]:
        """Orders that wait for a later tick or another goal's end, in the order of their ticks."""
        found = [
            Pending(
                number,
                one.asked,
                None if one.order.at_tick == NOW else one.order.at_tick,
                one.goal,
            )
            for number, one in self._placed.items()
            if one.waits
        ]
        return sorted(found, key=lambda one: (one.at_tick is None, one.at_tick or 0, one.order))

    @property
    def revocable(self) -> int:
        """Number of the pending orders that are cancelled when motion is ended."""
        return sum(one.waits and one.bound for one in self._placed.values())

    @property
    def bound(self) -> bool:
        """Whether an order that is revoked with the authority to move is sent or waits."""
        return any(one.bound for one in self._placed.values())

    def expire(self, now_ns: int) -> None:
        """Call back those whose waiting time has passed."""
        late = [number for number, one in self._placed.items() if _over(one.deadline_ns, now_ns)]
        for number in late:
            self._placed.pop(number).then(
                RequestError(
                    RequestCode.NO_LOOP,
                    "the loop has not executed the order in time; it may still execute it",
                )
            )
        waits: list[_Wait | _Watch] = [*self._waits, *self._watches]
        over = [wait for wait in waits if _over(wait.deadline_ns, now_ns)]
        self._waits = [wait for wait in self._waits if wait not in over]
        self._watches = [wait for wait in self._watches if wait not in over]
        for wait in over:
            wait.then(wait.late)

    @property
    def pressing(self) -> bool:
        """Whether an order with a deadline is pending."""
        return any(one.deadline_ns is not None for one in self._placed.values())

    @property
    def busy(self) -> bool:
        """Whether any request waits for the loop."""
        return bool(self._placed or self._waits)

    @property
    def in_use(self) -> bool:
        """Whether an order that needs the lease is about to take effect."""
        at_once = any(one.leased and not one.waits for one in self._placed.values())
        return at_once or any(one.leased for one in self._waits)


def no_loop() -> RequestError:
    """Return the refusal for a gateway without a loop."""
    text = "the real-time loop is not running yet; it is starting"
    return RequestError(RequestCode.NO_LOOP, text, data={"starting": True})


def _over(deadline_ns: int | None, now_ns: int) -> bool:
    return deadline_ns is not None and now_ns >= deadline_ns
