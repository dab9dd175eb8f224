"""Orders from the desk through a real datagram socket and back as records."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.exchange.order_socket import OrderInbox, OrderOutbox
from linkwork.controller.exchange.orders import (
    EmergencyStop,
    Enable,
    JogCoordinates,
    Order,
    OrderOutcome,
    SetSpeed,
    Shutdown,
    Stop,
)
from linkwork.controller.exchange.records import RecordLayout
from linkwork.controller.gateway.history import Requester
from linkwork.controller.gateway.order_queue import (
    MOST_OPERATIONS,
    MOST_OPERATIONS_EACH,
    MOST_WAITING,
    MOST_WATCHES_EACH,
    OrderEffect,
    OrderQueue,
)
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.gateway_ends import RequestEnd

SECOND = 1_000_000_000


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[OrderInbox]:
    inbox = OrderInbox(tmp_path / "orders")
    yield inbox
    inbox.close()


@pytest.fixture
def desk(tmp_path: Path, inbox: OrderInbox) -> Iterator[OrderQueue]:
    desk = OrderQueue()
    desk.connect(OrderOutbox(tmp_path / "orders"), 1)
    yield desk
    desk.disconnect(RequestError(RequestCode.NO_LOOP, "the test is over"))


@pytest.fixture
def effect_of(layout: RecordLayout, records: Callable[..., NDArray[np.float64]]) -> Callable[..., np.void]:
    def make(number: int, outcome: OrderOutcome = OrderOutcome.DONE, **fields: Any) -> np.void:
        words = records(1, order_id=number, order_outcome=outcome, **fields)
        record: np.void = words.view(layout.dtype)[0, 0]
        return record

    return make


def drained(inbox: OrderInbox, desk: OrderQueue) -> list[Order]:
    """What arrives, the desk being asked to send on as room comes."""
    found = []
    while True:
        order = inbox.receive()
        if order is None:
            desk.send()
            order = inbox.receive()
        if order is None:
            return found
        found.append(order)


def test_an_order_comes_back_as_its_effect(desk: OrderQueue, inbox: OrderInbox, effect_of: Any) -> None:
    told: list[Any] = []
    number = desk.place(SetSpeed(0.5), told.append, now_ns=0, leased=True)
    (order,) = drained(inbox, desk)
    assert order == SetSpeed(0.5, id=number, authority=1)
    assert desk.in_use
    desk.settle(effect_of(number + 1))
    assert told == []
    desk.settle(effect_of(number, OrderOutcome.NOTHING_TO_DO))
    desk.settle(effect_of(number))
    assert [effect.outcome for effect in told] == [OrderOutcome.NOTHING_TO_DO]
    assert not desk.in_use


def test_more_orders_than_the_socket_holds_arrive_in_order_with_the_urgent_ahead(
    desk: OrderQueue, inbox: OrderInbox
) -> None:
    numbers = [desk.place(JogCoordinates(()), lambda _: None, now_ns=0) for _ in range(MOST_WAITING)]
    with pytest.raises(RequestError) as caught:
        numbers.extend(desk.place(JogCoordinates(()), lambda _: None, now_ns=0) for _ in range(5000))
    assert caught.value.code == RequestCode.BUSY
    stop = desk.place(Stop(), lambda _: None, now_ns=0, urgent=True)
    arrived = [order.id for order in drained(inbox, desk)]
    assert [number for number in arrived if number != stop] == numbers
    assert len(arrived) - arrived.index(stop) > MOST_WAITING // 2


def test_stops_that_wait_for_room_are_one(desk: OrderQueue, inbox: OrderInbox, effect_of: Any) -> None:
    told: list[Any] = []

    def stop_at(tick: int) -> int:
        return desk.place(Stop(at_tick=tick), lambda _: None, now_ns=0, urgent=True)

    with pytest.raises(RequestError, match="orders are queued"):
        list(map(stop_at, range(5000)))  # until neither socket nor desk has room for more
    numbers = {desk.place(EmergencyStop(), told.append, now_ns=0, urgent=True) for _ in range(500)}
    (number,) = numbers
    assert [order.id for order in drained(inbox, desk)].count(number) == 1
    desk.settle(effect_of(number))
    assert [effect.outcome for effect in told] == [OrderOutcome.DONE] * 500


def test_a_shutdown_that_waits_for_room_brakes_when_asked_again(desk: OrderQueue, inbox: OrderInbox) -> None:
    for tick in range(5000):
        with suppress(RequestError):
            desk.place(Stop(at_tick=tick), lambda _: None, now_ns=0, urgent=True)
    first, again = (
        desk.place(Shutdown(at_once), lambda _: None, now_ns=0, urgent=True) for at_once in (False, True)
    )
    assert first == again
    (shutdown,) = (order for order in drained(inbox, desk) if isinstance(order, Shutdown))
    assert (shutdown.id, shutdown.at_once, shutdown.authority) == (first, True, desk.authority)


def test_an_order_without_effect_fails_when_its_time_is_over(desk: OrderQueue, effect_of: Any) -> None:
    told: list[Any] = []
    number = desk.place(Enable(), told.append, now_ns=0, timeout_s=2.0)
    desk.expire(2 * SECOND - 1)
    assert told == []
    desk.expire(2 * SECOND)
    desk.settle(effect_of(number))
    assert [error.code for error in told] == [RequestCode.NO_LOOP]


def test_a_wait_ends_with_the_first_record_that_meets_it(desk: OrderQueue, effect_of: Any) -> None:
    told: list[Any] = []
    late = RequestError(RequestCode.BUSY, "late")
    for _ in range(2):
        desk.wait(lambda record: record["state"] == 2, told.append, now_ns=0, timeout_s=1.0, late=late)
    desk.settle(effect_of(0, state=1))
    assert told == []
    desk.settle(effect_of(0, state=2))
    assert [type(one) for one in told] == [OrderEffect, OrderEffect]
    desk.wait(lambda record: False, told.append, now_ns=0, timeout_s=1.0, late=late)
    desk.expire(SECOND)
    assert told[2] is late
    assert not desk.busy


ME, YOU = (Requester(cast("RequestEnd", None), peer) for peer in (b"me", b"you"))
NOT_MET = RequestError(RequestCode.NOT_MET, "late")


def after_1_s(words: Floats) -> NDArray[np.intp]:
    return np.flatnonzero(words[:, 0] > 1.0)


def watch(desk: OrderQueue, told: list[Any], requester: Requester, size: int = 1) -> None:
    desk.refuse_watch(requester, size)
    desk.watch(after_1_s, size, requester, told.append, now_ns=0, timeout_s=1.0, late=NOT_MET)


def test_a_condition_on_numbers_does_not_keep_lockstep_time_running(desk: OrderQueue) -> None:
    told: list[Any] = []
    watch(desk, told, ME)
    assert not desk.busy
    words = np.array([[0.5], [1.5], [2.5]])
    desk.look(words[:1], words[:1, 0])
    assert not told
    desk.look(words, words[:, 0])
    desk.look(words, words[:, 0])
    assert [effect.record for effect in told] == [1.5]
    watch(desk, told, ME)
    desk.expire(SECOND)
    assert told[1:] == [NOT_MET]


def test_conditions_are_bounded_by_client_and_in_all_and_end_with_the_client(desk: OrderQueue) -> None:
    told: list[Any] = []
    for _ in range(MOST_WATCHES_EACH):
        watch(desk, told, ME)
    with pytest.raises(RequestError, match=f"at most {MOST_WATCHES_EACH} conditions"):
        watch(desk, told, ME)
    watch(desk, told, YOU, MOST_OPERATIONS_EACH)
    with pytest.raises(RequestError, match=f"{MOST_OPERATIONS_EACH} operations, and this one has 1"):
        watch(desk, told, YOU)
    for number in range(MOST_OPERATIONS):
        try:
            watch(desk, told, replace(ME, peer=bytes([number])), 100)
        except RequestError as error:
            assert "of all clients' conditions" in error.message  # noqa: PT017
            break
    gone = RequestError(RequestCode.NOT_PERMITTED, "gone")
    desk.drop(lambda one: one in (ME, YOU), gone)
    assert told == [gone] * (MOST_WATCHES_EACH + 1)
    watch(desk, told, YOU, MOST_OPERATIONS_EACH)


def test_when_the_loop_is_gone_everybody_is_told_once(desk: OrderQueue) -> None:
    told: list[Any] = []
    late = RequestError(RequestCode.BUSY, "late")
    desk.place(Enable(), told.append, now_ns=0)
    desk.wait(lambda record: True, told.append, now_ns=0, timeout_s=None, late=late)
    gone = RequestError(RequestCode.NO_LOOP, "gone")
    desk.disconnect(gone)
    desk.disconnect(gone)
    assert told == [gone, gone]
    with pytest.raises(RequestError, match="not running yet"):
        desk.place(Enable(), told.append, now_ns=0)


def test_a_callback_may_place_the_next_order(desk: OrderQueue, inbox: OrderInbox, effect_of: Any) -> None:
    told: list[Any] = []
    first = desk.place(Enable(), lambda _: told.append(desk.place(Stop(), told.append, now_ns=0)), now_ns=0)
    desk.settle(effect_of(first))
    desk.settle(effect_of(told[0]))
    assert told[1].outcome is OrderOutcome.DONE
    assert [type(order) for order in drained(inbox, desk)] == [Enable, Stop]
