"""One machine follows another: the leader's telemetry becomes the follower's set-points."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

from linkwork.client.goal import Goal
from linkwork.client.robot import Robot


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
