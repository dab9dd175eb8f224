"""The connection of one page: pictures to it; of a page that moves a machine, held keys and STOP from it."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import deque
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from starlette.websockets import WebSocket, WebSocketDisconnect

from linkwork.console.held_jog import HeldControl

if TYPE_CHECKING:
    from linkwork.console.console_service import ConsoleService

MOST_UNSEEN: Final = 4
"""Pictures under way to a page; further ones wait until it has drawn these, and only the newest is sent."""
_ALIVE_S: Final = 0.25
"""Longest silence towards a page, which takes one of a second for a lost connection."""
_REMEMBERED: Final = 64
_MOST_TEXTS: Final = 100
_MOST_BYTES: Final = 4096
"""Of one message of a page."""


@dataclass(frozen=True)
class StopAnswer:
    """Answer to STOP: whether the controller confirmed it, and its text or the reason."""

    confirmed: bool
    text: str


class PictureLink:
    """One WebSocket. Pictures overwrite each other until the page has room; texts queue."""

    def __init__(self, socket: WebSocket, page: str) -> None:
        self.page = page
        self._socket = socket
        self._wake = asyncio.Event()
        self._texts: deque[str] = deque(maxlen=_MOST_TEXTS)
        self._picture: tuple[int, bytes] | None = None
        self._sent: dict[int, float] = {}
        self._seen = 0

    def show(self, number: int, picture: bytes) -> None:
        """Offer a picture; it is dropped when a newer one comes before the page has room."""
        self._picture = number, picture
        self._wake.set()

    def tell(self, content: dict[str, Any]) -> None:
        """Queue a message."""
        self._texts.append(json.dumps(content, default=str))
        self._wake.set()

    async def run(self) -> None:
        """Serve the connection to its end."""
        sending = asyncio.create_task(self._send())
        try:
            await self._receive()
        except WebSocketDisconnect:
            pass
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    def age_s(self, number: int) -> float:
        """Return how long ago this picture was sent; infinite of one that is not remembered."""
        sent = self._sent.get(number)
        return math.inf if sent is None else time.monotonic() - sent

    async def _send(self) -> None:
        while True:
            try:
                await asyncio.wait_for(self._wake.wait(), _ALIVE_S)
            except TimeoutError:
                await self._socket.send_text('{"type": "alive"}')
            self._wake.clear()
            while self._texts:
                await self._socket.send_text(self._texts.popleft())
            if self._picture is not None and self._unseen < MOST_UNSEEN:
                (number, picture), self._picture = self._picture, None
                self._sent[number] = time.monotonic()
                while len(self._sent) > _REMEMBERED:
                    del self._sent[next(iter(self._sent))]
                await self._socket.send_bytes(picture)

    @property
    def _unseen(self) -> int:
        return sum(number > self._seen for number in self._sent)

    async def _receive(self) -> None:
        while True:
            text = await self._socket.receive_text()
            if len(text) > _MOST_BYTES:
                raise WebSocketDisconnect(1009)
            try:
                self._obey(json.loads(text))
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
                raise WebSocketDisconnect(1003) from None

    def _obey(self, message: dict[str, Any]) -> None:
        if message["type"] == "seen":
            self._seen = int(message["picture"])
            self._wake.set()
        else:
            self.obey(message)

    def obey(self, message: dict[str, Any]) -> None:
        """Act on a message of the page. Raises KeyError, TypeError, ValueError for one that is malformed."""


class PageLink(PictureLink):
    """The connection of a page that shows and moves a machine."""

    def __init__(self, socket: WebSocket, page: str, commands: ConsoleService) -> None:
        super().__init__(socket, page)
        self._commands = commands
        self._tasks: set[asyncio.Task[None]] = set()

    def obey(self, message: dict[str, Any]) -> None:
        """Jog while "held" messages come; stop."""
        match message["type"]:
            case "held":
                velocity = {str(name): float(rate) for name, rate in message["velocity"].items()}
                hold = HeldControl(self.page, int(message["press"]), velocity)
                refused = self._commands.hold(hold, self.age_s(int(message["picture"])))
                if refused:
                    self.tell({"type": "jog", "press": hold.press, "text": refused})
            case "release":
                self._commands.release(self.page, int(message["press"]))
            case "stop":
                task = asyncio.create_task(self._stop())
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _stop(self) -> None:
        self.tell({"type": "stopped", **asdict(await self._commands.stop())})
