"""Goals are verified a slice a tick; what stops the machine does not wait for them."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from linkwork.controller.exchange.order_socket import OrderInbox, OrderOutbox
from linkwork.controller.exchange.orders import (
    Disable,
    EmergencyStop,
    Order,
    Pause,
    Resume,
    Shutdown,
    StartGoal,
    Stop,
)
from linkwork.controller.motion.references.goal_loading import SLICE_BYTES, OrderSource

WORDS = np.random.default_rng(1).normal(size=3 * SLICE_BYTES // 8 + 5)


@pytest.fixture
def ends() -> Iterator[tuple[OrderInbox, OrderOutbox]]:
    with TemporaryDirectory(prefix="lw") as folder:
        path = Path(folder) / "orders.sock"
        inbox, outbox = OrderInbox(path), OrderOutbox(path)
        yield inbox, outbox
        inbox.close()
        outbox.close()


def goal(number: int, **changes: int) -> StartGoal:
    fields = {"slot": 0, "words": len(WORDS), "checksum": zlib.crc32(WORDS.tobytes())} | changes
    return StartGoal(**fields, goal=1, id=number)


def taken(source: OrderSource, ticks: int) -> list[int | None]:
    return [order.id if order else None for order in (source.next() for _ in range(ticks))]


def verified(order: Order | None) -> bool:
    return isinstance(order, StartGoal) and order.verified


def test_a_large_goal_takes_a_slice_a_tick(ends: tuple[OrderInbox, OrderOutbox]) -> None:
    inbox, outbox = ends
    source = OrderSource(inbox, lambda _: WORDS, at_once=False)
    outbox.send(goal(1))
    assert taken(source, 3) == [None, None, None]
    assert verified(source.next())
    assert source.next() is None
    assert not source.busy


def test_in_lockstep_it_takes_none(ends: tuple[OrderInbox, OrderOutbox]) -> None:
    inbox, outbox = ends
    source = OrderSource(inbox, lambda _: WORDS, at_once=True)
    outbox.send(goal(1))
    assert verified(source.next())
    assert source.next() is None


def test_orders_behind_a_goal_keep_their_sequence(ends: tuple[OrderInbox, OrderOutbox]) -> None:
    inbox, outbox = ends
    source = OrderSource(inbox, lambda _: WORDS, at_once=False)
    for order in (goal(1), Pause(id=2), Resume(id=3), goal(4)):
        outbox.send(order)
    assert [number for number in taken(source, 12) if number] == [1, 2, 3, 4]
    assert not source.busy


@pytest.mark.parametrize("kind", [Stop, EmergencyStop, Disable, Shutdown])
def test_what_stops_the_machine_overtakes(ends: tuple[OrderInbox, OrderOutbox], kind: type[Order]) -> None:
    inbox, outbox = ends
    source = OrderSource(inbox, lambda _: WORDS, at_once=False)
    outbox.send(goal(1))
    outbox.send(kind(id=2))
    assert [number for number in taken(source, 6) if number] == [2, 1]


@pytest.mark.parametrize("changes", [{"checksum": 7}, {"slot": 9}, {"slot": -1}, {"words": 0}, {"words": -5}])
def test_a_block_that_disagrees_is_not_verified(
    ends: tuple[OrderInbox, OrderOutbox], changes: dict[str, int]
) -> None:
    inbox, outbox = ends
    source = OrderSource(inbox, lambda _: WORDS, at_once=True)
    outbox.send(goal(1, **changes))
    refused = source.next()
    assert refused is not None
    assert (refused.id, verified(refused)) == (1, False)
