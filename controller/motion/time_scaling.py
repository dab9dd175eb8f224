"""A goal that the motors cannot follow is slowed down on its path, and picks up again when they can.

While something limits the motion, the factor on the goal's speed decays with the time constant `FALL_S`, to
`LEAST` at least; after `QUIET_S` without, it rises again, in `RISE_S` from nothing to one. The path parameter
follows it within the limits that the goal was admitted for, so the machine stays on its path.
"""

from __future__ import annotations

FALL_S, RISE_S, QUIET_S = 0.1, 1.0, 0.1
LEAST = 0.05
_STEP = 0.01
"""Changes of the factor that the path rate is told of."""


class Easing:
    """The factor for one goal. `told`: the one that the path rate follows."""

    def __init__(self) -> None:
        self.told = self._factor = 1.0
        self._quiet_s = 0.0

    @property
    def active(self) -> bool:
        """Whether the goal is slower than it was asked for."""
        return self.told < 1.0

    @property
    def idle(self) -> bool:
        """Whether nothing has limited the motion for long."""
        return self.told == 1.0 and self._factor == 1.0

    def update(self, dt: float, *, limited: bool) -> bool:
        """One tick of dt seconds. True when `told` has changed."""
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
