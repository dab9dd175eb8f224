"""References that are planned tick by tick, within all limits: streams and jogs.

The limited state (stream_limiter.py) is two periods ahead, because the law needs the reference in the middle
of the hold of its command.
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_task_part import HOLD, ONE_LEVEL
from linkwork.controller.motion.streams.stream_limiter import StreamLimiter
from linkwork.controller.motion.streams.stream_playback import between

AHEAD_TICKS = 2
"""Periods by which the reference is computed ahead."""
MOST_MISSED = 50
"""Periods that are caught up in one tick at most, after ticks were missed."""


class PlannedReference(ABC):
    """A reference that follows a target through `limiter`, one step a period; see `ReferenceMotion`.

    A subclass writes the target to `limiter.now` and `limiter.then` in `aim`.
    """

    follows = False
    task, rest = ONE_LEVEL, HOLD

    def __init__(self, limiter: StreamLimiter) -> None:
        self.limiter = limiter
        self.index = limiter.index
        self.period_s = limiter.period_s
        k = len(limiter.state)
        self._near = np.zeros((AHEAD_TICKS, k, 3))
        """The states of this tick and of the next one; the last one planned is in `limiter.state`."""
        self._out = np.zeros((k, 3))
        self.time_s = self.planned_s = 0.0
        """Device times of this tick, and of the state that is planned."""

    def rest_at(self, index: NDArray[np.int64], theta: Floats, time_s: float) -> bool:
        """Begin at rest at theta (k; rad or m) of the coordinates `index` (k).

        Returns False where they are not independent at the machine's pose, or singular there.
        """
        if not self.limiter.begin(index, theta):
            return False
        self.index = index
        self._near[:] = self.limiter.state
        self.time_s = self.planned_s = time_s
        return True

    @abstractmethod
    def aim(self) -> bool:
        """Write the target now and a period later; return whether it is that of set-points."""

    def advance(self, time_s: float) -> None:
        """Move to the device time of this tick."""
        steps = round((time_s - self.time_s) / self.period_s)
        self.time_s = time_s
        for left in reversed(range(min(max(steps, 0), MOST_MISSED))):
            self.planned_s = time_s + (AHEAD_TICKS - left) * self.period_s
            self._near[:-1] = self._near[1:]
            self._near[-1] = self.limiter.state
            self.limiter.step(follows=self.aim())

    def evaluate(self, ahead_s: float, theta: Floats, velocity: Floats, acceleration: Floats) -> None:
        """Write the planned motion (k each; rad or m, per s, per s²) `ahead_s` later, at most two periods."""
        if ahead_s <= 0.0:
            out = self._near[0]
        else:
            later = ahead_s >= self.period_s
            start = self._near[1] if later else self._near[0]
            end = self.limiter.state if later else self._near[1]
            out = self._out
            between(start, end, self.period_s, ahead_s - (self.period_s if later else 0.0), out)
        theta[:], velocity[:], acceleration[:] = out[:, 0], out[:, 1], out[:, 2]

    def ease(self, *, limited: bool) -> None:
        """Use less of the acceleration limits while the motors are at their largest effort."""
        self.limiter.easing.update(self.period_s, limited=limited)

    @property
    def eased(self) -> bool:
        """Whether the motors have not been at their largest effort for a while."""
        return self.limiter.easing.idle

    @property
    def still(self) -> bool:
        """Whether all planned rates are smaller than the change that the jerk limit allows in one period."""
        jerk, period = self.limiter.limits[:, 2], self.period_s
        for state in (*self._near, self.limiter.state):
            if np.any(np.abs(state[:, 1]) > 0.25 * jerk * period**2) or np.any(
                np.abs(state[:, 2]) > 0.5 * jerk * period
            ):
                return False
        return True
