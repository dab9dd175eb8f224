"""A jog that cannot run away: the machine moves only while fresh messages say that a key is still held.

Three dead men follow each other. A message counts only if the picture that it names was sent a moment ago,
so that messages which were held up on their way move nothing. Without such a message for `HELD_S` the console
asks for velocity zero. Without a repeated request for 0.2 s the real-time loop itself brings the machine to
rest, even if console and gateway have ended.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from linkwork.client.request_client import RequestClient
from linkwork.protocol.errors import EndpointError, NobodyThere, ProtocolError, RequestError

EVERY_S: Final = 0.05
"""Between two messages of the page, and between two requests."""
HELD_S: Final = 0.15
"""For how long a message moves the machine."""
FRESH_S: Final = 0.2
"""Largest age of the picture that a message names."""
ANSWER_S: Final = 0.2
"""A request that was not answered by then ends the jog."""
Connect = Callable[[], RequestClient]


@dataclass(frozen=True)
class HeldControl:
    """One message of a page: the number of the press, and the wanted velocities (rad/s or m/s)."""

    page: str
    press: int
    velocity: Mapping[str, float]


class DeadManSwitch:
    """Decide whether the machine may move; a pure state machine without clock and threads.

    Each press of a key has a number, which grows. A press that was broken, by loss, refusal or another page,
    never moves the machine again: the key must be released and pressed.
    """

    def __init__(self) -> None:
        self._hold: HeldControl | None = None
        self._until_s = 0.0
        self._broken: dict[str, int] = {}

    def held(self, hold: HeldControl, picture_age_s: float, now_s: float) -> str:
        """Register a message; return why it moves nothing, '' where it does."""
        self._expire(now_s)
        if hold.press <= self._broken.get(hold.page, 0):
            return "the jog was interrupted: release and press again"
        if not 0.0 <= picture_age_s <= FRESH_S:
            self._break(hold.page, hold.press)
            return f"the page is {1e3 * picture_age_s:.0f} ms behind the machine: the jog ends"
        present = self._hold
        if present is not None and (present.page, present.press) != (hold.page, hold.press):
            self._break(hold.page, hold.press)
            self._break(present.page, present.press)
            return "two keys at once: the jog ends"
        self._hold, self._until_s = hold, now_s + HELD_S
        return ""

    def release(self, page: str, press: int | None = None) -> None:
        """End the jog of a page: this press and all before it."""
        present = self._hold
        mine = present.press if present is not None and present.page == page else 0
        self._break(page, max(press or 0, mine))

    def forget(self, page: str) -> None:
        """End the jog of a page that is gone."""
        self.release(page)
        self._broken.pop(page, None)

    def break_all(self) -> None:
        """End the jog of any page."""
        if self._hold is not None:
            self._break(self._hold.page, self._hold.press)

    def wanted(self, now_s: float) -> Mapping[str, float] | None:
        """Return the velocities to ask for now, None where nothing is held."""
        self._expire(now_s)
        return None if self._hold is None else self._hold.velocity

    def _expire(self, now_s: float) -> None:
        if self._hold is not None and now_s >= self._until_s:
            self._break(self._hold.page, self._hold.press)

    def _break(self, page: str, press: int) -> None:
        self._broken[page] = max(press, self._broken.get(page, 0))
        if self._hold is not None and self._hold.page == page and self._hold.press <= press:
            self._hold = None


class JogSender:
    """Thread that repeats the jog request while a key is held, on a connection of its own.

    say: called with a text for the page when a jog ends by itself, '' when one begins. now: the clock, s.
    """

    def __init__(
        self,
        connect: Connect,
        owner: str,
        say: Callable[[str, str], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect, self._owner, self._say, self._now = connect, owner, say, now
        self._switch, self._lock = DeadManSwitch(), threading.Lock()
        self._wake, self._leaving = threading.Event(), threading.Event()
        self._page = ""
        self._thread = threading.Thread(target=self._run, name="jog", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """End the jog and the thread."""
        self._leaving.set()
        self._wake.set()
        self._thread.join(2.0)

    def held(self, hold: HeldControl, picture_age_s: float) -> str:
        """Register a message of a page; return why it moves nothing, '' where it does."""
        with self._lock:
            refused = self._switch.held(hold, picture_age_s, self._now())
            self._page = hold.page
        self._wake.set()
        return refused

    def release(self, page: str, press: int | None = None) -> None:
        """End the jog of a page."""
        with self._lock:
            self._switch.release(page, press)
        self._wake.set()

    def forget(self, page: str) -> None:
        """End the jog of a page that is gone."""
        with self._lock:
            self._switch.forget(page)
        self._wake.set()

    def break_all(self) -> None:
        """End the jog of any page."""
        with self._lock:
            self._switch.break_all()
        self._wake.set()

    def _wanted(self) -> Mapping[str, float] | None:
        with self._lock:
            return self._switch.wanted(self._now())

    def _run(self) -> None:
        moved: Mapping[str, float] | None = None
        client: RequestClient | None = None
        while not self._leaving.is_set():
            wanted = self._wanted()
            try:
                if wanted is not None or moved is not None:
                    client = client or self._connect()
                    still = wanted if wanted is not None else dict.fromkeys(moved or {}, 0.0)
                    client.request("jog", {"as": self._owner, "velocity": dict(still)}, ANSWER_S)
                moved = wanted
            except (RequestError, NobodyThere, EndpointError, ProtocolError) as error:
                self.break_all()
                self._say(self._page, str(error))
                moved = None
                if not isinstance(error, RequestError) and client is not None:
                    client.close()
                    client = None
            self._wake.wait(EVERY_S if moved is not None else None)
            self._wake.clear()
        if client is not None:
            if moved is not None:
                self._rest(client, moved)
            client.close()

    def _rest(self, client: RequestClient, moved: Mapping[str, float]) -> None:
        try:
            client.request("jog", {"as": self._owner, "velocity": dict.fromkeys(moved, 0.0)}, ANSWER_S)
        except (RequestError, NobodyThere, ProtocolError):
            return  # the loop's own dead man ends the motion
