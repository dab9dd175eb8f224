"""The goals and the stream that the loop has or is to have: what another one that takes over must know."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.controller.exchange.set_points import MOST_HZ
from linkwork.controller.gateway.records.messages import UNDER_WAY
from linkwork.controller.planning.messages.planner_messages import GoalBefore
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError

MOST_KNOWN = 8


@dataclass(frozen=True, slots=True)
class Handed:
    """A goal handed to the loop: where its block lies, where it begins (joints), at which tick if not now,
    and at which tick it `begins` as far as is known.

    `own`: the speed, as a fraction of the goal's own, that the block is for. `begun`: whether the loop has
    taken it. `loads`: how often the machine's load had changed when it was planned. `poses`: as of
    `PlannedGoal`. `timing`: what limits a goal with `timing: fastest` along its path.
    """

    goal: int
    slot: int
    words: int
    duration_s: float
    q: tuple[float, ...]
    at_tick: int | None = None
    begins: int = 0
    own: float = 1.0
    begun: bool = False
    loads: int = 0
    poses: bytes = b""
    timing: Mapping[str, Any] | None = None


class GoalQueue:
    """The goals handed over last, in the order in which they are to be followed."""

    def __init__(self) -> None:
        self._goals: dict[int, Handed] = {}
        self.stream = StreamIntake()
        """The stream under way."""

    def hand(self, handed: Handed) -> None:
        """A goal is on its way to the loop."""
        self._goals[handed.goal] = handed
        while len(self._goals) > MOST_KNOWN:
            del self._goals[next(iter(self._goals))]

    def begin(self, goal: int) -> None:
        """Note that the loop has begun a goal: those before it are over."""
        self._goals = {number: known for number, known in self._goals.items() if number >= goal}
        if goal in self._goals:
            self._goals[goal] = replace(self._goals[goal], begun=True)

    def drop(self, goal: int) -> None:
        """Forget a goal that the loop has refused."""
        self._goals.pop(goal, None)

    def retime(self, goal: int, slot: int, words: int, duration_s: float, own: float) -> None:
        """Note that the loop follows a goal by another block.

        slot, words: of the block in shared memory. duration_s: of its path. own: the speed that it has at
        fraction 1.
        """
        known = self._goals.get(goal)
        if known is not None:
            self._goals[goal] = replace(known, slot=slot, words=words, duration_s=duration_s, own=own)

    def known(self, goal: int) -> Handed | None:
        """The goal of this number."""
        return self._goals.get(goal)

    def running(self, record: np.void | None) -> Handed | None:
        """Return the goal under way in a record; None where there is none, or where it is not known here."""
        if record is None or int(record["goal_status"]) not in UNDER_WAY:
            return None
        return self._goals.get(int(record["goal_id"]))

    def last(self, record: np.void | None) -> Handed | None:
        """The goal that will be under way when all the others are over."""
        waiting = [known for known in self._goals.values() if not known.begun]
        return waiting[-1] if waiting else self.running(record)

    def waiting(self, before_tick: int) -> Handed | None:
        """The goal that is to begin last before this tick."""
        due = [one for one in self._goals.values() if not one.begun and (one.at_tick or 0) <= before_tick]
        return due[-1] if due else None


def junction(
    handed: Handed, record: np.void | None, ahead_s: float, at_tick: int | None, period_s: float
) -> GoalBefore:
    """Return the goal before a new one, for the planner.

    handed: its entry; record: of the newest tick. at_tick: when the new goal takes over; None: ahead_s from
    now.
    """
    goal, slot, words, own = handed.goal, handed.slot, handed.words, handed.own
    if record is None or not handed.begun or int(record["goal_id"]) != handed.goal:
        ticks = 0 if at_tick is None or handed.at_tick is None else at_tick - handed.at_tick
        return GoalBefore(goal, slot, words, own, handed.q, 0.0, max(0.0, ticks * period_s), 1.0, begun=False)
    s, rate = float(record["path_s"]), float(record["path_rate"])
    if at_tick is not None:
        ahead_s = (at_tick - int(record["tick"])) * period_s
    return GoalBefore(goal, slot, words, own, tuple(record["q"].tolist()), s, s + rate * ahead_s, rate)


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
