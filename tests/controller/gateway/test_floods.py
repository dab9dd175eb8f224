"""What one client asks for does not hold up the others: order of answers, limits, end of a connection."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgpack
import pytest

from linkwork.protocol.codes import RequestCode
from linkwork.protocol.request_messages import Response, pack_request, read_answer
from linkwork.protocol.sockets import RequestDealer
from linkwork.timing.memory import resident_bytes
from tests.controller.gateway.conftest import GatewayRig
from tests.waiting import PATIENCE_S, wait_for

Make = Callable[[str], GatewayRig]
LONG = " and ".join(["sin(time_s)**2 > 2"] * 40)
"""A condition near the longest one, which never holds."""
MIB = 1024 * 1024
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
"""The beginning of a connection in ZMTP 3.0, the protocol of ZeroMQ."""
FRAME = b"\x03" + (1000).to_bytes(8, "big") + bytes(1000)
"""Of a message that has more frames."""
ANNOUNCED = b"\x02" + (60 * MIB).to_bytes(8, "big") + bytes(1000)
"""The beginning of a long frame."""


def answers(dealer: RequestDealer, count: int) -> list[Response]:
    found: list[Response] = []
    while len(found) < count:
        message = dealer.receive(round(1000 * PATIENCE_S))
        assert message is not None, f"only {len(found)} of {count} answers"
        answer = read_answer(message)
        found += [answer] if isinstance(answer, Response) else []
    return found


@pytest.mark.parametrize("method", ["stop", "estop"])
def test_a_stop_overtakes_what_was_asked_before_it(rigs: Make, method: str) -> None:
    rig = rigs("device")
    rig.enabled()
    requests: list[tuple[str, dict[str, Any]]] = [("wait", {"condition": LONG, "within_s": 60.0})] * 200
    with RequestDealer(rig.seat.requests) as dealer:
        assert dealer.writable(10_000)
        for number, (name, params) in enumerate([*requests, (method, {})]):
            wait_for(lambda: dealer.send(pack_request(number, name, params)), "room")  # noqa: B023
        found = answers(dealer, len(requests) // 2)
    assert len(requests) in [answer.msgid for answer in found]


def test_conditions_end_with_the_connection(rigs: Make) -> None:
    rig = rigs("device")
    rig.enabled()

    def filled() -> RequestDealer:
        """A connection whose long conditions are waited for, as many as are accepted."""
        dealer = RequestDealer(rig.seat.requests)
        assert dealer.writable(10_000)
        for number in range(30):
            assert dealer.send(pack_request(number, "wait", {"condition": LONG, "within_s": 3600.0}))
        error = answers(dealer, 1)[0].error
        assert error is not None
        assert (error.code, error.path) == (RequestCode.BUSY, ("condition",))
        return dealer

    crowd = [filled() for _ in range(3)]
    error = rig.refused("wait", condition=LONG)
    assert (error.code, "all clients'" in error.message) == (RequestCode.BUSY, True)
    for dealer in crowd:
        dealer.close()
    wait_for(lambda: has_room(rig), "the end of the conditions of closed connections")


def test_requests_that_are_not_served_yet_end_with_the_connection(rigs: Make) -> None:
    rig = rigs("device")
    for _ in range(3):
        with RequestDealer(rig.seat.requests) as dealer:
            assert dealer.writable(10_000)
            for number in range(200):
                message = pack_request(number, "wait", {"condition": LONG, "within_s": 3600.0})
                wait_for(lambda: dealer.send(message), "room")  # noqa: B023
            answers(dealer, 20)
    wait_for(lambda: has_room(rig), "the end of the conditions of closed connections")


def has_room(rig: GatewayRig) -> bool:
    """Whether another condition is watched, rather than refused because others are."""
    return rig.refused("wait", condition=LONG, within_s=0.01).code == RequestCode.NOT_MET


def test_more_requests_than_may_wait_are_refused_by_number(rigs: Make) -> None:
    rig = rigs("lockstep")
    rig.connected()
    with RequestDealer(rig.seat.requests) as dealer:
        assert dealer.writable(10_000)
        found: list[Response] = []
        for number in range(1500):
            frame = pack_request(number, "describe", {})
            while not dealer.send(frame):
                assert dealer.writable(10_000)
            if number >= 500:  # ZeroMQ drops answers of which more than a thousand are not read
                found += answers(dealer, 1)
        found += answers(dealer, 1500 - len(found))
    assert sorted(answer.msgid for answer in found if answer.msgid is not None) == list(range(1500))
    refused = [answer.error for answer in found if answer.error is not None]
    assert {error.code for error in refused} <= {RequestCode.BUSY}
    assert msgpack.packb("stop") == b"\xa4stop"  # how a stop is found


def stranger(endpoint: str, kind: bytes) -> socket.socket:
    """A connection that speaks ZeroMQ's protocol itself."""
    one = socket.socket(socket.AF_UNIX)
    one.connect(endpoint.removeprefix("ipc://"))
    one.settimeout(PATIENCE_S)
    ready = b"\x05READY\x0bSocket-Type" + len(kind).to_bytes(4, "big") + kind
    one.sendall(GREETING)
    one.recv(len(GREETING), socket.MSG_WAITALL)
    one.sendall(b"\x04" + bytes([len(ready)]) + ready)
    one.recv(1)
    return one


def closed(one: socket.socket) -> bool:
    """Whether the other end has closed the connection."""
    try:
        while select.select([one], [], [], 0)[0]:
            if not one.recv(65536):
                return True
    except ConnectionResetError:
        return True
    return False


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("requests", b"DEALER"),
        pytest.param("telemetry", b"SUB", marks=pytest.mark.slow),
        ("plant", b"DEALER"),
    ],
)
def test_a_message_of_endless_frames_is_not_held(rigs: Make, where: str, kind: bytes) -> None:
    rig = rigs("lockstep")
    rig.connected()
    pid = (rig.plant if where == "plant" else rig.gateway).pid
    before = resident_bytes(pid)
    with stranger(getattr(rig.seat, where), kind) as one:
        with suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(300):
                one.sendall(FRAME * 1000)
        wait_for(lambda: closed(one), "the end of the connection")
    wait_for(lambda: resident_bytes(pid) < before + 200 * MIB, "the end of what it made the process hold")
    assert rig.ask("status")["device"]["connected"]


def flooded(one: socket.socket, message: bytes, times: int) -> None:
    """Send a message of one frame so often, without reading; the other end may close the connection."""
    with suppress(BrokenPipeError, ConnectionResetError):
        one.sendall((b"\x02" + len(message).to_bytes(8, "big") + message) * times)


def test_answers_that_nobody_reads_are_bounded(rig: Callable[..., GatewayRig]) -> None:
    """Half a gibibyte of answers to `describe`, which has the file's text."""
    mine = rig("lockstep", "#" * MIB)
    mine.connected()
    before = resident_bytes(mine.gateway.pid)
    crowd = [stranger(mine.seat.requests, b"DEALER") for _ in range(8)]
    polls = [select.poll() for _ in crowd]
    for one, poll in zip(crowd, polls, strict=True):
        poll.register(one, select.POLLHUP)
        flooded(one, pack_request(1, "describe", {}), 64)

    def ended() -> bool:
        assert mine.ask("status")["device"]["connected"]
        assert resident_bytes(mine.gateway.pid) < before + 350 * MIB
        return all(any(event & select.POLLHUP for _, event in poll.poll(0)) for poll in polls)

    wait_for(ended, "the end of the connections")
    for one in crowd:
        one.close()


@pytest.mark.parametrize(
    ("where", "kind", "message"),
    [
        ("telemetry", b"SUB", b"\1"),
        pytest.param(
            "plant", b"DEALER", msgpack.packb({"type": "hello", "protocol": 0}), marks=pytest.mark.slow
        ),
    ],
)
def test_messages_that_nobody_reads_are_bounded(rigs: Make, where: str, kind: bytes, message: bytes) -> None:
    """Subscribers that read nothing while time advances, and controllers that read no refusal."""
    rig = rigs("lockstep")
    rig.enabled()
    pid = (rig.plant if where == "plant" else rig.gateway).pid
    before = resident_bytes(pid)
    crowd = [stranger(getattr(rig.seat, where), kind) for _ in range(20)]
    for _ in range(2):
        for one in crowd:
            flooded(one, message, 1 if where == "telemetry" else 2000)
        rig.ask("advance", ticks=1000)
        assert resident_bytes(pid) < before + 100 * MIB
    assert rig.ask("status")["device"]["connected"]
    for one in crowd:
        one.close()


def test_announced_frames_are_not_held(rigs: Make) -> None:
    rig = rigs("lockstep")
    rig.connected()
    crowd = [stranger(rig.seat.requests, b"DEALER") for _ in range(20)]
    for one in crowd:
        one.sendall(ANNOUNCED)
    wait_for(lambda: sum(closed(one) for one in crowd) >= 17, "the end of the connections")
    for one in crowd:
        one.close()
    assert rig.ask("status")["device"]["connected"]


def test_a_dozen_of_the_largest_requests_at_once_are_answered(rigs: Make) -> None:
    rig = rigs("lockstep")
    rig.connected()
    with RequestDealer(rig.seat.requests) as dealer:
        assert dealer.writable(10_000)
        for number in range(12):
            assert dealer.send(pack_request(number, "describe", {"unknown": bytes(8 * MIB - 1000)}))
        assert {answer.msgid for answer in answers(dealer, 12)} == set(range(12))
