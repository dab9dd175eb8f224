"""Pre-load of a kinematic loop by redundant motors: its target, and its value along the ramp.

A change takes `RAMP_S` for the whole range of a motor, so that the loop is not shocked.
"""

from __future__ import annotations

import numpy as np

from linkwork.controller.exchange.orders import OrderOutcome, SetPreload
from linkwork.machine import Machine

RAMP_S = 0.5


class Preload:
    """`now` (motors, N m or N): the efforts preferred where the motion leaves a choice."""

    def __init__(self, machine: Machine) -> None:
        settings = machine.preload
        self._most = np.array([one.most for one in settings])
        self._step = self._most * (machine.period_s / RAMP_S)
        self._wanted = np.array([one.effort for one in settings])
        self.now = self._wanted.copy()
        self.changing = False

    def advance(self) -> None:
        """One tick of a change."""
        self.now += np.clip(self._wanted - self.now, -self._step, self._step)
        self.changing = not np.array_equal(self.now, self._wanted)

    def adopt(self, other: Preload) -> None:
        """Copy the state of another pre-load of the same motors."""
        self._wanted[:], self.now[:], self.changing = other._wanted, other.now, other.changing

    def obey(self, order: SetPreload) -> OrderOutcome:
        """Aim for the efforts of an order."""
        wanted = self._wanted.copy()
        for motor, effort in order.pairs:
            if not (0 <= motor < len(wanted) and abs(effort) <= self._most[motor]):
                return OrderOutcome.REFUSED_VALUE
            wanted[motor] = effort
        if np.array_equal(wanted, self._wanted):
            return OrderOutcome.NOTHING_TO_DO
        self._wanted[:], self.changing = wanted, True
        return OrderOutcome.DONE
