"""The service behind all pages of a console: the machine's feed, the jog, the seat, and requests."""

import asyncio
import math
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI
from starlette.websockets import WebSocket

from linkwork.console.held_jog import HeldControl, JogSender
from linkwork.console.identification_study import IdentificationStudy
from linkwork.console.machine_feed import Address, MachineFeed, PathDrawing
from linkwork.console.page_link import PageLink, StopAnswer
from linkwork.console.recording_players import RecordingPlayers
from linkwork.console.scene_content import mesh_file
from linkwork.protocol.errors import EndpointError, NobodyThere, ProtocolError, RequestError
from linkwork.trajectories.teach import TaughtPoints

JOG_MOST: Final = {"m": 0.25, "rad": 1.0}
"""Largest jog speeds (m/s, rad/s): the reduced speed of ISO 10218-1, and a turn in six seconds."""
_STOP_ANSWER_S: Final = 2.0
_ANSWER_S: Final = 10.0
_PLAN_S: Final = 120.0
_URGENT: Final = ("estop", "disable", "cancel", "pause")
"""Requests that never wait behind the planning of others."""
_ANYONE: Final = ("estop", "check")
"""Requests that pages which only observe may send, too."""
_PLANNED: Final = ("move", "send", "append", "check", "speed", "switch")


class ConsoleService:
    """One machine, any number of pages."""

    def __init__(
        self, address: Address, owner: str, *, observe_only: bool = False, player_words: Sequence[str] = (),
        connection_words: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """player_words: options of the consoles that play recordings; connection_words: of other clients."""
        self.owner = owner
        self.connection_words = list(connection_words)
        self.players = RecordingPlayers(player_words)
        self.seat = Seat(observe_only=observe_only)
        self.drawing = PathDrawing()
        renewed = "" if observe_only else owner
        self.feed = MachineFeed(address, self._show, self._describe, self.drawing, renewed)
        self._taught: tuple[str, TaughtPoints] | None = None
        self._study: tuple[str, IdentificationStudy] | None = None
        self._address = address
        self._jog = JogSender(address.client, owner, self._jog_ended)
        self._links: set[PageLink] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_threads = ThreadPoolExecutor(8, "stop")
        self._request_threads = ThreadPoolExecutor(8, "request")

    def start(self) -> None:
        """Start the threads; call it in the event loop that serves the pages."""
        self._loop = asyncio.get_running_loop()
        self.feed.start()
        self._jog.start()

    def close(self) -> None:
        """End the jog, the players of recordings and all threads."""
        self.players.close()
        if self._study is not None:
            self._study[1].close()
        self._jog.close()
        self.feed.close()
        self._stop_threads.shutdown(wait=False, cancel_futures=True)
        self._request_threads.shutdown(wait=False, cancel_futures=True)

    # Pages.

    async def serve_link(self, socket: WebSocket) -> None:
        """Serve the connection of a page; its end ends the page's jog and frees the seat."""
        await socket.accept()
        link = PageLink(socket, socket.query_params.get("page", ""), self)
        self._links.add(link)
        for message in self.feed.messages():
            link.tell(message)
        try:
            await link.run()
        finally:
            self._links.discard(link)
            if not any(other.page == link.page for other in self._links):
                self._jog.forget(link.page)
                self.seat.leave(link.page)

    def _show(self, number: int, picture: bytes) -> None:
        if self._loop is not None and self._links:
            self._loop.call_soon_threadsafe(self._spread, number, picture)

    def _spread(self, number: int, picture: bytes) -> None:
        for link in self._links:
            link.show(number, picture)

    def _describe(self, content: dict[str, Any]) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.tell, content, None)

    def _jog_ended(self, page: str, text: str) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.tell, {"type": "jog", "press": 0, "text": text}, page)

    def tell(self, content: dict[str, Any], page: str | None) -> None:
        """Send a message to a page, or to all; call it in the event loop."""
        for link in self._links:
            if page in (None, link.page):
                link.tell(content)

    # Commands of pages.

    def hold(self, hold: HeldControl, picture_age_s: float) -> str:
        """Jog at shares (-1 … 1) of the largest jog speeds; return why nothing moves, else ''."""
        if not self.seat.held_by(hold.page):
            return "this page only observes"
        most = self.jog_speeds()
        for name, share in hold.velocity.items():
            if name not in most or not math.isfinite(share):
                return f"there is no coordinate {name!r} to jog"
        if not hold.velocity:
            return "nothing is held"
        size = max(1.0, math.hypot(*hold.velocity.values()))  # two coordinates at once are no faster than one
        velocity = {name: share / size * most[name] for name, share in hold.velocity.items()}
        return self._jog.held(HeldControl(hold.page, hold.press, velocity), picture_age_s)

    def release(self, page: str, press: int) -> None:
        """End the jog of a page."""
        self._jog.release(page, press)

    def mesh(self, name: str) -> Path | None:
        """Return the file of a mesh of the machine, `NUMBER.suffix`; None where there is none."""
        content = self.feed.known.content
        if content is None:
            return None
        file = content.described["file"]
        return mesh_file(name, content.drawn.visuals, file["path"], file.get("meshes", {}))

    def add_routes(self, app: FastAPI) -> None:
        """Take STOP by a request, too, for a page whose connection stalls."""

        async def stop() -> dict[str, Any]:
            return asdict(await self.stop())

        app.post("/console/stop")(stop)

    @property
    def taught(self) -> TaughtPoints | None:
        """The points taught on this machine; those of a machine with other coordinates are forgotten."""
        content = self.feed.known.content
        if content is None:
            return None
        key = f"{content.described['machine']} {content.described['goal_coordinates']}"
        if self._taught is None or self._taught[0] != key:
            self._taught = key, TaughtPoints.from_description(content.described)
        return self._taught[1]

    @property
    def study(self) -> IdentificationStudy | None:
        """The identification of this machine; another machine file begins another one."""
        content = self.feed.known.content
        if content is None:
            return None
        described = content.described
        if self._study is None or self._study[0] != described["config"]:
            if self._study is not None:
                self._study[1].close()
            study = IdentificationStudy(self, described["machine"], described["file"])
            self._study = described["config"], study
        return self._study[1]

    def leave_seat(self, page: str) -> None:
        """Let a page observe only; its jog ends."""
        self._jog.release(page)
        self.seat.leave(page)

    def jog_speeds(self) -> dict[str, float]:
        """Return the largest jog speed (rad/s or m/s) by coordinate."""
        content = self.feed.known.content
        coordinates = [] if content is None else content.described["coordinates"]
        return {
            each["name"]: min(each["limits"]["velocity"] or math.inf, JOG_MOST[each["unit"]])
            for each in coordinates
        }

    async def stop(self) -> StopAnswer:
        """Stop the machine and end every jog; return what the controller answered."""
        self._jog.break_all()
        return await asyncio.get_running_loop().run_in_executor(self._stop_threads, self._stop)

    def _stop(self) -> StopAnswer:
        try:
            with self._address.client() as client:
                answer = client.request("stop", {"as": self.owner}, _STOP_ANSWER_S)
        except (NobodyThere, EndpointError, ProtocolError, RequestError) as error:
            return StopAnswer(False, f"STOP was not confirmed: {error}")
        return StopAnswer(True, f"stop: {answer['text'] or answer['state']}")

    async def ask(self, page: str, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Send a request of a page that operates. Raises RequestError, NobodyThere, EndpointError."""
        if method not in _ANYONE and not self.seat.held_by(page):
            raise NotOperating("this page only observes: choose Operate first")
        threads = self._stop_threads if method in _URGENT else self._request_threads
        return await asyncio.get_running_loop().run_in_executor(
            threads, self._ask, method, dict(params or {})
        )

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        with self._address.client() as client:
            limit_s = _PLAN_S if method in _PLANNED else _ANSWER_S
            return client.request(method, {"as": self.owner, **params}, limit_s)


class NotOperating(Exception):
    """A page that only observes asked for something that changes the machine."""


class Seat:
    """The right to operate within one console. The controller's lease decides between clients."""

    def __init__(self, *, observe_only: bool = False) -> None:
        self.observe_only = observe_only
        self._holder: str | None = None
        self._lock = threading.Lock()

    def take(self, page: str) -> bool:
        """Give the seat to a page, from any other page; False where the console only observes."""
        if self.observe_only:
            return False
        with self._lock:
            self._holder = page
        return True

    def leave(self, page: str) -> None:
        """Free the seat where this page has it."""
        with self._lock:
            if self._holder == page:
                self._holder = None

    def held_by(self, page: str) -> bool:
        """Whether this page operates."""
        return self._holder == page and not self.observe_only

    @property
    def taken(self) -> bool:
        """Whether any page operates."""
        return self._holder is not None
