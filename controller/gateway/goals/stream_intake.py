"""State of the active stream in the gateway: its coordinates, and the set-points sent so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.controller.exchange.set_points import MOST_HZ
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError

BURST = 256
"""Set-points that may come at once beyond the largest rate."""


@dataclass
class StreamIntake:
    """The stream that the gateway takes set-points for.

    goal: its number, 0 for none. indices: its coordinates. stamp_s: the last stamp. next_number: of the next
    set-point, counted while the loop runs. taken: the last number that a record shows. allowance: set-points
    that may come now, at `allowance_ns`.
    """

    goal: int = 0
    indices: tuple[int, ...] = ()
    stamp_s: float | None = None
    next_number: int = 1
    taken: int = 0
    most_hz: float = MOST_HZ
    allowance: float = BURST
    allowance_ns: int = 0
    names: tuple[str, ...] = ()

    def begin(self, goal: int, indices: Sequence[int], names: Sequence[str], most_hz: float) -> None:
        """Take set-points of a new stream."""
        self.goal, self.indices, self.names, self.most_hz = goal, tuple(indices), tuple(names), most_hz
        self.stamp_s, self.allowance = None, BURST

    def check_rate(self, count: int, now_ns: int) -> None:
        """Refuse set-points that come faster than the loop can take them."""
        gained = 1e-9 * (now_ns - self.allowance_ns) * 1.05 * self.most_hz
        self.allowance = min(BURST, self.allowance + gained)
        self.allowance_ns = now_ns
        if count > self.allowance:
            text = f"points: set-points come faster than {self.most_hz:g} Hz; send fewer"
            raise RequestError(RequestCode.BUSY, text, ["points"], {"most_hz": self.most_hz})
        self.allowance -= count
