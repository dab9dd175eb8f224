"""A stream of set-points, seen from the client; a leader's telemetry as such a stream."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self, cast

from linkwork.client.goal import Goal
from linkwork.protocol.codes import Pace
from linkwork.protocol.errors import NobodyThere
from linkwork.protocol.results import GoalResult, StreamAccepted, StreamStatus

if TYPE_CHECKING:
    from linkwork.client.robot import Robot


MOST_UNANSWERED = 1000
"""Set-points without an answer from which the controller counts as gone."""
END_S = 30.0
"""How long a stream may take to come to rest at its end."""


class Stream:
    """A stream under way. Use it as a context manager: leaving it ends the stream after its last set-point.

        with robot.stream("x", "y", rate_hz=100) as stream:
            while ...:
                stream.put(x=..., y=...)

    A block that ends by an exception stops the machine at once.
    """

    def __init__(self, robot: Robot, goal: Goal) -> None:
        self._robot, self.goal = robot, goal
        self.accepted = cast(StreamAccepted, goal.accepted)
        self._lockstep = self.accepted["pace"] == Pace.LOCKSTEP
        self._sent = 0

    @property
    def coordinates(self) -> list[str]:
        """Names of the streamed coordinates, in the order of positions."""
        return self.accepted["coordinates"]

    @property
    def delay_s(self) -> float:
        """Time from a set-point's stamp, on this computer's clock, to the machine's reference."""
        return self.accepted["delay_s"]

    @property
    def status(self) -> StreamStatus | None:
        """State of the stream: clock offset, buffered time, what holds it back. None when it has ended."""
        return self._robot.state["stream"]

    def put(
        self,
        *positions: float,
        time_s: float | None = None,
        velocities: Sequence[float] | Mapping[str, float] = (),
        **named: float,
    ) -> None:
        """Send a set-point: positions (rad or m) in the stream's order, or by name.

        time_s: when it holds, by any clock that does not go back; default: now, and in lockstep one interval
        after the one before. velocities: of all coordinates (per second), if known. The call does not wait
        for an answer; a refusal of an earlier set-point is raised here.

        Raises RequestError for a refused set-point, GoalFailed when the stream has ended, NobodyThere when
        the controller does not answer any more, ValueError for missing or superfluous coordinates.
        """
        row = [self._stamp(time_s), *self._ordered("positions", positions, named)]
        if velocities:
            given = velocities if isinstance(velocities, Mapping) else {}
            listed = () if isinstance(velocities, Mapping) else tuple(velocities)
            row += self._ordered("velocities", listed, given)
        self.put_rows([row])

    def put_rows(self, rows: Sequence[Sequence[float]]) -> None:
        """Send several set-points at once: lists of time_s, positions and, if known, velocities."""
        self._sent += len(rows)
        points = [[float(value) for value in row] for row in rows]
        self._robot.post("set_points", goal=self.goal.number, points=points)

    def finish(self, timeout_s: float = END_S) -> GoalResult:
        """End the stream after its last set-point, and wait until the machine is at rest.

        Raises GoalFailed when it ends otherwise, RequestError where a set-point was refused meanwhile.
        """
        if self.goal.result is None:
            self._robot.finish()
        result = self.goal.wait(timeout_s)
        self._robot.check_posted()
        return result

    def _stamp(self, time_s: float | None) -> float:
        if time_s is not None:
            return time_s
        return self._sent / self.accepted["rate_hz"] if self._lockstep else time.monotonic()

    def _ordered(self, what: str, listed: Sequence[float], named: Mapping[str, float]) -> list[float]:
        names = self.coordinates
        if (
            (listed and named)
            or (listed and len(listed) != len(names))
            or (not listed and set(named) != set(names))
        ):
            found = ", ".join(named) if named else f"{len(listed)} numbers"
            raise ValueError(f"{what}: needed are {', '.join(names)}, found {found}")
        return list(listed) if listed else [named[name] for name in names]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.finish()
            return
        try:
            self._robot.stop()
        except NobodyThere:
            return


def positions_of(robot: Robot) -> dict[str, float]:
    """Return all joints and coordinates of a machine by name (rad or m)."""
    state = robot.state
    return state["q"] | state["coordinates"]


def follow_leader(
    follower: Robot,
    leader: Robot,
    pairs: Mapping[str, str],
    *,
    rate_hz: float = 100.0,
    delay_s: float | None = None,
    on_stale: str = "hold",
    going: Callable[[], bool] = lambda: True,
) -> Goal:
    """Let coordinates of an enabled machine follow those of another one, each from where both are now.

    pairs: the follower's coordinate by the leader's. rate_hz, delay_s, on_stale: see `Robot.stream`. The
    leader's own clock stamps the set-points. It ends when `going`, called after each of them, returns False;
    an exception, also of a leader that does not answer any more, stops the follower. Returns the goal, which
    has ended.

    Raises KeyError for an unknown coordinate, and what `Robot.stream` and `Stream.put` raise.
    """
    own = positions_of(follower)
    with follower.stream(*pairs, rate_hz=rate_hz, delay_s=delay_s, on_stale=on_stale) as stream:
        due, sent_s = time.monotonic(), -math.inf
        start: dict[str, float] = {}
        while True:
            state = leader.state
            there = state["q"] | state["coordinates"]
            start = start or there
            if state["time_s"] > sent_s:  # a leader without a new state adds no set-point
                sent_s = state["time_s"]
                wanted = [own[name] + there[led] - start[led] for name, led in pairs.items()]
                stream.put(*wanted, time_s=sent_s)
            if not going():
                break
            due += 1.0 / rate_hz
            time.sleep(max(0.0, due - time.monotonic()))
        stream.finish()
    return stream.goal
