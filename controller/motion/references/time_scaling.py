"""Time scaling: slow a goal down on its path while the motors cannot follow, then speed it up again.

While something limits the motion, the factor on the goal's speed decays with the time constant `FALL_S`, to
`LEAST` at least; after `QUIET_S` without a limit it rises again, in `RISE_S` from zero to one. The path
parameter follows it within the limits that the goal was admitted for, so the machine stays on its path.
"""

from __future__ import annotations

FALL_S, RISE_S, QUIET_S = 0.1, 1.0, 0.1
LEAST = 0.05
_STEP = 0.01
"""Smallest change of the factor that is passed to the path rate."""


class TimeScaling:
    """The factor for one goal. `told`: the value last passed to the path rate."""

    def __init__(self) -> None:
        self.told = self._factor = 1.0
        self._quiet_s = 0.0

    @property
    def active(self) -> bool:
        """Whether the goal is slower than it was asked for."""
        return self.told < 1.0

    @property
    def idle(self) -> bool:
        """Whether the motion has not been limited for a while."""
        return self.told == 1.0 and self._factor == 1.0

    def update(self, dt: float, *, limited: bool) -> bool:
        """Advance by one tick of dt seconds. True when `told` has changed."""
        if limited:
            self._quiet_s = 0.0
            self._factor = max(LEAST, self._factor * (1.0 - dt / FALL_S))
        elif self._factor < 1.0:
            self._quiet_s += dt
            if self._quiet_s >= QUIET_S:
                self._factor = min(1.0, self._factor + dt / RISE_S)
        else:
            return False
        if abs(self._factor - self.told) < _STEP and self._factor not in (LEAST, 1.0):
            return False
        changed = self._factor != self.told
        self.told = self._factor
        return changed
