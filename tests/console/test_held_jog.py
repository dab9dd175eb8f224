"""A jog that cannot run away: whatever is lost, the machine comes to rest."""

import asyncio
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("nicegui", reason="the console's extra is not installed")

from starlette.websockets import WebSocketDisconnect

from linkwork.console.console_service import JOG_MOST, ConsoleService, Seat
from linkwork.console.held_jog import FRESH_S, HELD_S, DeadManSwitch, HeldControl, JogSender
from linkwork.console.machine_feed import Address
from linkwork.console.page_link import MOST_UNSEEN, PageLink, StopAnswer
from linkwork.protocol.endpoints import MachineEndpoints
from linkwork.protocol.errors import EndpointError, NobodyThere
from tests.waiting import wait_for

FORWARD = {"x": 0.1}


def hold(press: int = 1, page: str = "a") -> HeldControl:
    return HeldControl(page, press, FORWARD)


class TestDeadManSwitch:
    def test_it_moves_while_messages_come(self) -> None:
        switch = DeadManSwitch()
        for k in range(20):
            assert switch.held(hold(), 0.03, 0.05 * k) == ""
            assert switch.wanted(0.05 * k + 0.04) == FORWARD

    def test_silence_ends_it_and_late_messages_do_not_move_it_again(self) -> None:
        switch = DeadManSwitch()
        switch.held(hold(), 0.0, 0.0)
        assert switch.wanted(HELD_S) is None
        assert "release" in switch.held(hold(), 0.0, HELD_S + 0.01)
        assert switch.wanted(HELD_S + 0.01) is None
        assert switch.held(hold(2), 0.0, 1.0) == ""
        assert switch.wanted(1.0) == FORWARD

    def test_a_page_that_sees_an_old_picture_moves_nothing(self) -> None:
        switch = DeadManSwitch()
        assert "behind" in switch.held(hold(), FRESH_S + 0.01, 0.0)
        assert "release" in switch.held(hold(), 0.0, 0.01)
        assert switch.wanted(0.01) is None

    def test_release_wins_over_messages_that_are_under_way(self) -> None:
        switch = DeadManSwitch()
        switch.held(hold(3), 0.0, 0.0)
        switch.release("a", 3)
        assert switch.held(hold(3), 0.0, 0.01) != ""
        assert switch.wanted(0.01) is None

    def test_two_controls_at_once_end_both(self) -> None:
        switch = DeadManSwitch()
        switch.held(hold(1), 0.0, 0.0)
        assert "two" in switch.held(hold(2), 0.0, 0.02)
        assert switch.wanted(0.02) is None
        assert switch.held(hold(2), 0.0, 0.04) != ""

    def test_a_stop_ends_the_jog_of_any_page(self) -> None:
        switch = DeadManSwitch()
        switch.held(hold(), 0.0, 0.0)
        switch.break_all()
        assert switch.wanted(0.0) is None
        assert switch.held(hold(), 0.0, 0.01) != ""

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["held", "release", "stop", "gone", "silence"]),
                st.integers(1, 3),
                st.sampled_from(["a", "b"]),
                st.floats(0.0, 0.4),
                st.floats(0.0, 0.3),
            ),
            max_size=30,
        )
    )
    def test_it_never_moves_without_a_fresh_message_of_an_unbroken_press(self, events: list[Any]) -> None:
        switch, now, last = DeadManSwitch(), 0.0, -1.0
        for what, press, page, age, pause in events:
            now += pause
            if what == "held":
                if switch.held(hold(press, page), age, now) == "":
                    assert age <= FRESH_S
                    last = now
            elif what == "release":
                switch.release(page, press)
            elif what == "stop":
                switch.break_all()
                assert switch.wanted(now) is None
            elif what == "gone":
                switch.forget(page)
            assert switch.wanted(now) is None or now - last < HELD_S


class RecordingClient:
    """The end of a controller: takes jog requests, and may fall silent."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, float]] = []
        self.silent = False

    def request(self, method: str, params: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        assert method == "jog"
        if self.silent:
            raise NobodyThere("no answer")
        self.asked.append((time.monotonic(), params["velocity"]["x"]))
        return {}

    def close(self) -> None:
        pass


@pytest.fixture
def clock() -> list[float]:
    """The time of the sender, which only a test advances."""
    return [10.0]


@pytest.fixture
def sender(clock: list[float]) -> Iterator[tuple[JogSender, RecordingClient, list[str]]]:
    client, said = RecordingClient(), list[str]()
    made = JogSender(
        lambda: client,  # type: ignore[arg-type,return-value]
        "me",
        lambda _, text: said.append(text),
        lambda: clock[0],
    )
    made.start()
    yield made, client, said
    made.close()


def test_requests_are_repeated_while_held_and_the_last_one_asks_for_rest(sender: Any) -> None:
    jog, client, _ = sender
    assert jog.held(hold(), 0.0) == ""
    wait_for(lambda: len(client.asked) >= 3, "repeated requests")
    assert jog.held(hold(), 0.0) == ""
    jog.release("a")
    wait_for(lambda: client.asked and client.asked[-1][1] == 0.0, "rest")
    speeds = [speed for _, speed in client.asked]
    assert speeds[:-1] == [0.1] * (len(speeds) - 1)
    assert len(speeds) >= 4


def test_a_page_that_falls_silent_is_stopped_by_the_console(sender: Any, clock: list[float]) -> None:
    jog, client, _ = sender
    jog.held(hold(), 0.0)
    wait_for(lambda: client.asked, "a request")
    clock[0] += HELD_S
    wait_for(lambda: client.asked and client.asked[-1][1] == 0.0, "rest")
    assert "release" in jog.held(hold(), 0.0)


def test_a_controller_that_does_not_answer_breaks_the_jog(sender: Any) -> None:
    jog, client, said = sender
    client.silent = True
    jog.held(hold(), 0.0)
    wait_for(lambda: said == ["no answer"], "the message")
    client.silent = False
    assert jog.held(hold(), 0.0) != ""
    assert client.asked == []


def test_a_controller_that_cannot_be_found_does_not_end_the_thread() -> None:
    client, said, there = RecordingClient(), list[str](), list[bool]()

    def connect() -> RecordingClient:
        if not there:
            raise EndpointError("several controllers are running")
        return client

    jog = JogSender(connect, "me", lambda _, text: said.append(text), lambda: 10.0)  # type: ignore[arg-type]
    jog.start()
    jog.held(hold(), 0.0)
    wait_for(lambda: said == ["several controllers are running"], "the message")
    there.append(True)
    assert jog.held(hold(2), 0.0) == ""
    wait_for(lambda: client.asked, "a request")
    jog.close()


def test_the_only_controller_stays_the_one_when_others_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str | None] = []

    def find(name: str | None) -> MachineEndpoints:
        asked.append(name)
        return MachineEndpoints(tmp_path / "scara")

    monkeypatch.setattr("linkwork.console.machine_feed.find_controller", find)
    address = Address()
    for _ in range(2):
        address.client().close()
    assert asked == [None, "scara"]


@given(x=st.floats(-2.0, 2.0), y=st.floats(-2.0, 2.0))
def test_two_coordinates_at_once_are_no_faster_than_one(x: float, y: float) -> None:
    service = ConsoleService(Address(), "me")
    coordinates = [{"name": name, "unit": "m", "limits": {"velocity": None}} for name in ("x", "y")]
    service.feed.known.content = SimpleNamespace(described={"coordinates": coordinates})  # type: ignore[assignment]
    service.seat.take("a")
    asked: list[HeldControl] = []
    service._jog.held = lambda hold, _: asked.append(hold) or ""  # type: ignore[assignment,method-assign,func-returns-value]
    assert service.hold(HeldControl("a", 1, {"x": x, "y": y}), 0.0) == ""
    (sent,) = asked
    assert math.hypot(*sent.velocity.values()) <= JOG_MOST["m"] * (1.0 + 1e-12)
    assert sent.velocity["x"] * y == pytest.approx(sent.velocity["y"] * x, abs=1e-12)


def test_closing_the_console_asks_for_rest() -> None:
    client = RecordingClient()
    jog = JogSender(lambda: client, "me", lambda *_: None, lambda: 10.0)  # type: ignore[arg-type,return-value]
    jog.start()
    jog.held(hold(), 0.0)
    wait_for(lambda: client.asked, "a request")
    jog.close()
    assert client.asked[-1][1] == 0.0


class ScriptedSocket:
    """A browser's end: says what it is given, then hangs up; keeps what it gets."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[str | None] = asyncio.Queue()
        self.got: list[Any] = []

    async def receive_text(self) -> str:
        text = await self.said.get()
        if text is None:
            raise WebSocketDisconnect
        return text

    async def send_text(self, text: str) -> None:
        self.got.append(json.loads(text))

    async def send_bytes(self, data: bytes) -> None:
        self.got.append(data)


class NotedCommands:
    def __init__(self) -> None:
        self.holds: list[tuple[int, float]] = []
        self.released: list[int] = []

    def hold(self, hold: HeldControl, picture_age_s: float) -> str:
        self.holds.append((hold.press, picture_age_s))
        return ""

    def release(self, page: str, press: int) -> None:
        self.released.append(press)

    async def stop(self) -> StopAnswer:
        return StopAnswer(True, "stop: stopping")


def talk(*messages: str, pictures: int = 0) -> tuple[ScriptedSocket, NotedCommands]:
    async def run() -> tuple[ScriptedSocket, NotedCommands]:
        socket, commands = ScriptedSocket(), NotedCommands()
        link = PageLink(socket, "a", commands)  # type: ignore[arg-type]
        served = asyncio.create_task(link.run())
        for number in range(1, pictures + 1):
            link.show(number, b"%d" % number)
            for _ in range(5):
                await asyncio.sleep(0)
        for message in messages:
            socket.said.put_nowait(message)
            for _ in range(5):
                await asyncio.sleep(0)
        socket.said.put_nowait(None)
        await served
        return socket, commands

    return asyncio.run(run())


def test_a_page_that_draws_nothing_gets_few_pictures() -> None:
    socket, _ = talk(pictures=50)
    assert len(socket.got) == MOST_UNSEEN


def test_a_page_that_has_drawn_gets_the_newest_picture() -> None:
    socket, _ = talk('{"type": "seen", "picture": 4}', pictures=50)
    assert socket.got == [b"1", b"2", b"3", b"4", b"50"]


def test_the_age_of_a_picture_counts_from_its_sending() -> None:
    _, commands = talk(
        '{"type": "held", "press": 1, "picture": 2, "velocity": {"x": 1.0}}',
        '{"type": "held", "press": 1, "picture": 99, "velocity": {"x": 1.0}}',
        '{"type": "release", "press": 1}',
        pictures=3,
    )
    assert [press for press, _ in commands.holds] == [1, 1]
    assert commands.holds[0][1] < 1.0
    assert commands.holds[1][1] == float("inf")
    assert commands.released == [1]


def test_stop_is_answered() -> None:
    socket, _ = talk('{"type": "stop"}')
    assert {"type": "stopped", "confirmed": True, "text": "stop: stopping"} in socket.got


NONSENSE = (
    "",
    "[]",
    "1",
    '{"type": "held"}',
    '{"type": "held", "press": 1e999}',
    '{"type": "seen", "picture": "x"}',
    "x" * 5000,
)


@pytest.mark.parametrize("text", NONSENSE)
def test_a_connection_that_says_nonsense_is_closed(text: str) -> None:
    _, commands = talk(text, '{"type": "release", "press": 1}')
    assert commands.released == []


def test_only_one_page_operates_and_none_where_the_console_observes() -> None:
    seat = Seat()
    assert seat.take("a")
    assert seat.take("b")
    assert not seat.held_by("a")
    seat.leave("a")
    assert seat.held_by("b")
    assert not Seat(observe_only=True).take("a")
