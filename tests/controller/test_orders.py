"""Orders over their datagram socket."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.controller.orders import ARGUMENTS, ORDER_BYTES, Order, OrderInbox, OrderKind, OrderOutbox

WORD = st.integers(-(2**63), 2**63 - 1)


@pytest.fixture
def path() -> Iterator[Path]:
    with TemporaryDirectory(prefix="lw") as folder:
        yield Path(folder) / "orders.sock"


@given(
    st.builds(
        Order, WORD, st.sampled_from(OrderKind), WORD, WORD, WORD, WORD, WORD, WORD,
        st.lists(st.floats(allow_nan=False), max_size=ARGUMENTS).map(tuple),
    )
)  # fmt: skip
def test_an_order_reads_as_it_was_written(order: Order) -> None:
    packed = order.pack()
    assert len(packed) == ORDER_BYTES == 264
    read = Order.unpack(packed)
    assert read.arguments[: len(order.arguments)] == order.arguments
    assert not any(read.arguments[len(order.arguments) :])
    read.arguments = order.arguments
    assert read == order


@given(st.binary(max_size=300))
def test_bytes_that_are_no_order_are_told_apart(data: bytes) -> None:
    try:
        order = Order.unpack(data)
    except ValueError:
        return
    assert order.kind in set(OrderKind)
    assert len(data) == ORDER_BYTES


def test_orders_arrive_one_a_call_and_in_order(path: Path) -> None:
    inbox, outbox = OrderInbox(path), OrderOutbox(path)
    assert inbox.take() is None
    for number in range(5):
        assert outbox.send(Order(number, OrderKind.STOP))
    taken = [inbox.take() for _ in range(6)]
    assert [order.id for order in taken if order] == [0, 1, 2, 3, 4]
    assert taken[5] is None
    inbox.close()
    outbox.close()
    assert not path.exists()


def test_what_is_no_order_is_dropped(path: Path) -> None:
    inbox = OrderInbox(path)
    stranger = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    stranger.sendto(b"hello", str(path))
    assert inbox.take() is None
    stranger.close()
    inbox.close()


def test_sending_to_nobody_says_so(path: Path) -> None:
    outbox = OrderOutbox(path)
    assert not outbox.send(Order(1, OrderKind.STOP))
    inbox = OrderInbox(path)
    assert outbox.send(Order(1, OrderKind.STOP))
    inbox.close()
    assert not outbox.send(Order(1, OrderKind.STOP))
    outbox.close()


def test_a_full_queue_says_so_and_loses_nothing(path: Path) -> None:
    inbox, outbox = OrderInbox(path), OrderOutbox(path)
    sent = 0
    while outbox.send(Order(sent, OrderKind.STOP)) and sent < 10_000:
        sent += 1
    assert 0 < sent < 10_000
    assert [inbox.take().id for _ in range(sent)] == list(range(sent))  # type: ignore[union-attr]
    inbox.close()
    outbox.close()


def test_a_lifeline_comes_with_its_order(path: Path) -> None:
    inbox, outbox = OrderInbox(path), OrderOutbox(path)
    theirs, ours = os.pipe()
    assert outbox.send(Order(1, OrderKind.ADOPT), lifeline=theirs)
    os.close(theirs)
    order = inbox.take()
    assert order is not None
    assert order.kind is OrderKind.ADOPT
    assert inbox.lifeline is not None
    os.close(ours)
    assert os.read(inbox.lifeline, 1) == b""
    os.close(inbox.lifeline)
    inbox.close()
    outbox.close()
