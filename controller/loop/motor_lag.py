"""Drives whose effort lags behind its command: what acts, and the command that makes up for the lag.

A drive of bandwidth ω leaves the share z = exp(−ω T) of the way to its command after a period T. A model
of each runs beside the real one, from the same commands, so that the prediction of the state knows what acts.
The command leads,

    command = e + (wanted − e) min(1 / (1 − z), `MOST_LEAD`)

with e the effort at the beginning of its hold: at the hold's end the wanted effort is there. Slower drives,
whose noise that would amplify too much, are led as far as `MOST_LEAD` goes.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Motor

MOST_LEAD = 4.0


class MotorLag:
    """The drives of a machine's motors, in their order. `mean` (motors): what acts over this period."""

    def __init__(self, motors: Sequence[Motor], period_s: float) -> None:
        angle = np.array([motor.bandwidth for motor in motors]) * period_s
        self._left = np.exp(-angle)
        self._mean = np.where(np.isinf(angle), 0.0, (1.0 - self._left) / angle)
        self.lead = np.minimum(1.0 / (1.0 - self._left), MOST_LEAD)
        """Factor on the way from `level`, the effort when the command begins to act, to the effort wanted."""
        self.level, self.mean, self._way = np.zeros((3, len(motors)))

    @staticmethod
    def lag(motors: Sequence[Motor]) -> bool:
        """Whether a motor has a finite bandwidth."""
        return any(np.isfinite(motor.bandwidth) for motor in motors)

    def adopt(self, other: Self) -> None:
        """Copy the state of other drives of the same motors."""
        self.level[:], self.mean[:] = other.level, other.mean

    def deliver(self, command: Floats) -> None:
        """Apply a command (motors; N m or N): update `mean` over its period and `level` at its end."""
        np.subtract(self.level, command, out=self._way)
        np.multiply(self._way, self._mean, out=self.mean)
        self.mean += command
        np.multiply(self._way, self._left, out=self.level)
        self.level += command
