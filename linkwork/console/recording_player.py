"""The player of one page: its position in a recording, and its speed."""

from __future__ import annotations

import asyncio
import math
from typing import Any, Final

import numpy as np
from starlette.websockets import WebSocket

from linkwork.console.machine_feed import FRAME_S
from linkwork.console.page_link import PictureLink
from linkwork.console.recorded_motion import RecordedMotion
from linkwork.console.recording_pair import MotionPair

SPEEDS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Playback speeds that the page offers; 1: real time."""
_VERSION: Final = 1.0


class Player:
    """Position in a recording, and in the one beside it. The page and its connection share it."""

    def __init__(self, motion: RecordedMotion, second: RecordedMotion | None = None) -> None:
        self.motion = motion
        self.pair = None if second is None else MotionPair(motion, second)
        self.time_s = 0.0
        self.speed = 1.0
        self.playing = False
        self._number = 0

    @property
    def row(self) -> int:
        """Number of the tick that is shown, from 0 on."""
        return self.motion.row_at(self.time_s)

    @property
    def second_row(self) -> int | None:
        """Number of the tick of the second recording; None without one."""
        return None if self.pair is None else self.pair.second_row(self.time_s)

    def seek(self, time_s: float) -> None:
        """Go to a time, within the recording. Raises ValueError where it is none."""
        if not math.isfinite(time_s):
            raise ValueError(time_s)
        self.time_s = min(max(time_s, 0.0), self.motion.duration_s)

    def step(self, ticks: int) -> None:
        """Pause, and move by a number of ticks, forward or back."""
        self.playing = False
        row = min(max(self.row + ticks, 0), self.motion.rows - 1)
        self.time_s = float(self.motion.time_s[row])

    def play(self, speed: float) -> None:
        """Play from here at this speed; at the end, from the beginning. Raises ValueError."""
        if not SPEEDS[0] <= speed <= SPEEDS[-1]:
            raise ValueError(speed)
        self.speed, self.playing = speed, True
        if self.time_s >= self.motion.duration_s:
            self.time_s = 0.0

    def advance(self, wall_s: float) -> None:
        """Let time pass; the player pauses at the end."""
        if self.playing:
            self.seek(self.time_s + self.speed * wall_s)
            self.playing = self.time_s < self.motion.duration_s

    def picture(self) -> tuple[int, bytes]:
        """Return the number and the bytes of the picture of this time, as MachineFeed makes them.

        The frames of the bodies of the second recording follow the values.
        """
        self._number += 1
        row, second = self.row, self.second_row
        bodies = self.motion.poses_at(row)
        parts: list[Any] = [
            [_VERSION, self._number, self.motion.time_s[row], len(bodies)],
            bodies.ravel(),
            self.motion.values_at(row),
        ]
        if self.pair is not None and second is not None:
            parts.append(self.pair.second.poses_at(second).ravel())
        return self._number, np.concatenate(parts).tobytes()


class PlayerLink(PictureLink):
    """The connection of a page that plays a recording."""

    def __init__(self, socket: WebSocket, page: str, player: Player) -> None:
        super().__init__(socket, page)
        self._player = player
        self._moved = asyncio.Event()

    def obey(self, message: dict[str, Any]) -> None:
        """Seek, step, play and pause. Raises ValueError and KeyError for a message that is malformed."""
        player = self._player
        match message["type"]:
            case "seek":
                player.seek(float(message["time_s"]))
            case "step":
                player.step(int(message["ticks"]))
            case "play":
                player.play(float(message["speed"]))
            case "pause":
                player.playing = False
        self.redraw()

    def redraw(self) -> None:
        """Send the picture of the present time."""
        self._moved.set()

    async def run(self) -> None:
        """Serve the connection to its end."""
        showing = asyncio.create_task(self._show())
        try:
            await super().run()
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)

    async def _show(self) -> None:
        loop, player = asyncio.get_running_loop(), self._player
        self.redraw()
        while True:
            await self._moved.wait()
            self._moved.clear()
            self.tell({"type": "player", "playing": player.playing, "speed": player.speed})
            self.show(*player.picture())
            last = loop.time()
            while player.playing:
                await asyncio.sleep(FRAME_S)
                now = loop.time()
                player.advance(now - last)
                last = now
                self.show(*player.picture())
                if not player.playing:
                    self.redraw()
