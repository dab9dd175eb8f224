"""The plant's own watchdog: the reaction to missing commands.

It counts the plant's periods since the last fresh command. When they reach the allowance it trips: the
configured action takes over and stays (latched) until a new handshake. It knows no clock, no socket and no
machine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

Action = Literal["brake", "damp", "zero"]


@dataclass(frozen=True)
class Trip:
    """Cause and action of the watchdog.

    Ticks are the plant's: the action acts from `tick` on, the last fresh command took effect at
    `last_fresh_tick`. `travel` is the distance that each joint moved since then (rad or m, by name), up to
    the standstill.
    """

    tick: int
    time_s: float
    last_fresh_tick: int
    action: Action
    cause: str
    owner: str
    standstill_tick: int | None = None
    travel: Mapping[str, float] = field(default_factory=dict)

    def as_map(self) -> dict[str, Any]:
        """Plain data for the next welcome; `standstill_tick` is None while the machine still moves."""
        return asdict(self)


class Watchdog:
    """Counts periods without a fresh command and remembers the last trip.

    `allowed_periods`: periods after the last fresh command at which the action begins to act.
    """

    def __init__(self, allowed_periods: int, action: Action, period_s: float, joints: Sequence[str]) -> None:
        if allowed_periods < 1:
            raise ValueError(f"the watchdog needs at least one period, not {allowed_periods}")
        self.action: Action = action
        self._allowed_periods = allowed_periods
        self._period_s = period_s
        self._joints = tuple(joints)
        self._allowance = allowed_periods
        self.last_fresh_tick = 0
        self.tripped = False
        self.last_trip: Trip | None = None
        """The latest trip, kept beyond the handshake that ended it."""

    def handshake(self, tick: int, grace_periods: int) -> None:
        """A controller entered at this tick: the latch opens and the count begins again.

        Until its first command the brakes (or the action that tripped) stay in force, so that a longer
        allowance, `grace_periods`, does no harm.
        """
        self.last_fresh_tick = tick
        self.tripped = False
        self._allowance = max(grace_periods, self._allowed_periods)

    def fresh(self, tick: int) -> None:
        """A fresh command takes effect at this tick."""
        self.last_fresh_tick = tick
        self._allowance = self._allowed_periods

    def due(self, tick: int) -> bool:
        """Whether the action must begin to act at this tick."""
        return not self.tripped and tick - self.last_fresh_tick >= self._allowance

    def trip(self, tick: int, cause: str, owner: str) -> Trip:
        """Latch the trip. The caller starts the action at this tick."""
        self.tripped = True
        self.last_trip = Trip(tick, tick * self._period_s, self.last_fresh_tick, self.action, cause, owner)
        return self.last_trip

    def standstill(self, tick: int, travel: Sequence[float]) -> Trip:
        """The machine came to rest at this tick after this much way (joints' order): completes the report."""
        if self.last_trip is None:
            raise ValueError("the watchdog has not tripped: no standstill to report")
        ways = dict(zip(self._joints, map(float, travel), strict=True))
        self.last_trip = replace(self.last_trip, standstill_tick=tick, travel=ways)
        return self.last_trip
