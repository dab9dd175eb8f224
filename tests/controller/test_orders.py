"""Orders over their datagram socket."""

import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.controller.exchange.order_socket import OrderInbox, OrderOutbox
from linkwork.controller.exchange.orders import ORDER_BYTES, ORDERS, Adopt, Order, Stop, read_order
from tests.controller.examples_of_orders import EXAMPLES, Places, datagram, examples_of_orders
from tests.controller.loop.in_process import InProcess

WORD = st.integers(-(2**63), 2**63 - 1)


@pytest.fixture
def path() -> Iterator[Path]:
    with TemporaryDirectory(prefix="lw") as folder:
        yield Path(folder) / "orders.sock"


@given(st.sampled_from(EXAMPLES), WORD, WORD, WORD)
def test_an_order_has_the_bytes_that_every_version_packs_and_reads(
    example: tuple[Order, Places], number: int, at_tick: int, authority: int
) -> None:
    order, places = example
    order = replace(order, id=number, at_tick=at_tick, authority=authority)
    packed = order.pack()
    assert packed == datagram(number, at_tick, authority, places)
    assert len(packed) == ORDER_BYTES == 264
    assert read_order(packed) == order


def test_every_kind_has_a_number_a_name_an_example_and_a_handler() -> None:
    assert len({order.kind for order in ORDERS}) == len({order.name for order in ORDERS}) == len(ORDERS)
    assert {type(order) for order in examples_of_orders()} == set(ORDERS)
    assert set(InProcess().supervisor._orders._handlers) == set(ORDERS)


@given(st.sampled_from(ORDERS), st.binary(min_size=ORDER_BYTES - 16, max_size=ORDER_BYTES - 16))
def test_whatever_follows_a_kind_is_read_or_refused(order: type[Order], rest: bytes) -> None:
    data = struct.pack("<2q", 1, order.kind) + rest
    try:
        found = read_order(data)
    except ValueError:
        return
    assert type(found) is order


@given(st.binary(max_size=300))
def test_bytes_that_are_no_order_are_told_apart(data: bytes) -> None:
    try:
        order = read_order(data)
    except ValueError:
        return
    assert type(order) in ORDERS
    assert len(data) == ORDER_BYTES


def test_orders_arrive_one_a_call_and_in_order(path: Path) -> None:
    inbox, outbox = OrderInbox(path), OrderOutbox(path)
    assert inbox.receive() is None
    for number in range(5):
        assert outbox.send(Stop(id=number))
    taken = [inbox.receive() for _ in range(6)]
    assert [order.id for order in taken if order] == [0, 1, 2, 3, 4]
    assert taken[5] is None
    inbox.close()
    outbox.close()
    assert not path.exists()


def test_what_is_no_order_is_dropped(path: Path) -> None:
    inbox = OrderInbox(path)
    stranger = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    stranger.sendto(b"hello", str(path))
    assert inbox.receive() is None
    stranger.close()
    inbox.close()


def test_sending_to_nobody_says_so(path: Path) -> None:
    outbox = OrderOutbox(path)
    assert not outbox.send(Stop(id=1))
    inbox = OrderInbox(path)
    assert outbox.send(Stop(id=1))
    inbox.close()
    for _ in range(3):  # the kernel's error is another one from the second time on
        assert not outbox.send(Stop(id=1))
    outbox.close()


def test_a_full_queue_says_so_and_loses_nothing(path: Path) -> None:
    inbox, outbox = OrderInbox(path), OrderOutbox(path)
    sent = 0
    while outbox.send(Stop(id=sent)) and sent < 10_000:
        sent += 1
    assert 0 < sent < 10_000
    assert [inbox.receive().id for _ in range(sent)] == list(range(sent))  # type: ignore[union-attr]
    inbox.close()
    outbox.close()


def test_a_lifeline_comes_with_its_order(path: Path) -> None:
    inbox, outbox = OrderInbox(path), OrderOutbox(path)
    theirs, ours = os.pipe()
    assert outbox.send(Adopt(id=1), lifeline=theirs)
    os.close(theirs)
    order = inbox.receive()
    assert order == Adopt(id=1)
    assert inbox.lifeline is not None
    os.close(ours)
    assert os.read(inbox.lifeline, 1) == b""
    os.close(inbox.lifeline)
    inbox.close()
    outbox.close()
