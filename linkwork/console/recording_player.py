"""The player of one page: its position in a recording, and its speed."""

import asyncio
import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from starlette.websockets import WebSocket

from linkwork.arrays import Floats
from linkwork.console.machine_feed import FRAME_S
from linkwork.console.page_link import PictureLink
from linkwork.console.recorded_motion import RecordedMotion

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


ALIGNMENTS: Final = ("first goal", "begin", "device time")
"""Instants at which two recordings can be laid on each other."""


@dataclass(frozen=True)
class Difference:
    """First minus second of one coordinate over the common time. unit: rad or m.

    largest: the value of the largest magnitude, with its sign; at_s: its time in the first.
    """

    name: str
    unit: str
    largest: float
    at_s: float
    rms: float


class MotionPair:
    """Two recordings on one time line: that of the first. offset_s: added to times of the second."""

    def __init__(self, first: RecordedMotion, second: RecordedMotion) -> None:
        self.first, self.second = first, second
        self.offset_s = 0.0
        self.align("first goal")

    def align(self, how: str) -> None:
        """Lay the second one on the first at one of ALIGNMENTS; without goals, at the begin."""
        goals = self.first.first_goal_s, self.second.first_goal_s
        if how == "device time":
            first, second = (float(each.run.records["time_s"][0]) for each in (self.first, self.second))
            self.offset_s = second - first
        elif how == "first goal" and goals[0] is not None and goals[1] is not None:
            self.offset_s = goals[0] - goals[1]
        else:
            self.offset_s = 0.0

    def second_row(self, time_s: float) -> int | None:
        """Return the nearest tick of the second at a time of the first; None where it has none."""
        found = self._rows(np.array([time_s]))
        return None if found[0] < 0 else int(found[0])

    def differences(self) -> list[Difference]:
        """Return how far the machines are apart, by coordinate that both have."""
        others = self._rows(self.first.time_s)
        rows = np.flatnonzero(others >= 0)
        others = others[rows]
        found: list[Difference] = []
        if not len(rows):
            return found
        names = {each["name"] for each in self.second.coordinates}
        for each in self.first.coordinates:
            if each["name"] not in names:
                continue
            channel = f"coordinate.{each['name']}"
            apart = self.first.run.columns[channel][rows] - self.second.run.columns[channel][others]
            if not np.isfinite(apart).any():
                continue
            at = int(np.nanargmax(np.abs(apart)))
            at_s = float(self.first.time_s[rows[at]])
            rms = math.sqrt(float(np.nanmean(np.square(apart))))
            found.append(Difference(each["name"], each["unit"], float(apart[at]), at_s, rms))
        return found

    def _rows(self, time_s: Floats) -> NDArray[np.int64]:
        """Return the ticks (n) of the second nearest to these times (n) of the first; −1: it has none."""
        times, wanted = self.second.time_s, time_s - self.offset_s
        after = np.minimum(np.searchsorted(times, wanted), len(times) - 1)
        before = np.maximum(after - 1, 0)
        nearest = np.where(wanted - times[before] < times[after] - wanted, before, after)
        margin_s = self.second.run.machine.period_s
        inside = (wanted >= times[0] - margin_s) & (wanted <= times[-1] + margin_s)
        return np.where(inside, nearest, -1)
