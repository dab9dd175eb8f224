"""Whether each motor does with its torque what the model expects, in the first 5° or 5 mm after the brakes.

A motor whose efforts act by a factor s lacks the effort (s - 1) u, whatever the motion. With u the efforts
in force and r the lacking ones, both filtered so that the delay of the velocity observer does not count, and
sums since the motors have the machine:

    s = 1 + Σ u r / Σ u²,        explained = (Σ u r)² / (Σ u² Σ r²).
"""

import math
from typing import Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine

FIRST_ANGLE: Final = math.radians(5.0)
FIRST_WAY_M: Final = 0.005
SUSPICIOUS: Final = 0.2
"""Difference of s from 1 that is suspicious."""
_EXPLAINED: Final = 0.9
_ENOUGH: Final = 0.005
"""Share of the largest effort that the efforts must have reached."""
_ENOUGH_S: Final = 0.03
"""Time for which they must have been about as large as the largest so far."""
_SLOW_RAD_S: Final = 30.0


class TorqueScale:
    """The scales of one machine's motors. `begin` where the motors take the machine over."""

    def __init__(self, machine: Machine, gain: float) -> None:
        motors, self._period_s = machine.motors, machine.period_s
        self._gain, self._motors = gain, np.array([motor.index for motor in motors], np.int64)
        self._most_way = np.array(
            [FIRST_WAY_M if motor.effort_unit == "N" else FIRST_ANGLE for motor in motors]
        )
        most = np.array([motor.max_effort for motor in motors])
        self._least = (_ENOUGH * most) ** 2
        self._slow = -math.expm1(-_SLOW_RAD_S * self._period_s)
        self._effort, self._way, self._peak = np.zeros((3, len(motors)))
        self._ur, self._sums = np.zeros((2, len(motors))), np.zeros((3, len(motors)))
        self._watches = True

    def begin(self) -> None:
        """Begin where the machine stands."""
        for each in (self._effort, self._way, self._peak, self._ur, self._sums):
            each[:] = 0.0
        self._watches = True

    def add(self, v: Floats, effort: Floats, lacking: Floats) -> tuple[int, float] | None:
        """Take in a period: v (nv), the efforts in force (motors) and the lacking ones (motors).

        Returns a motor and its s where they are suspicious, once.
        """
        if not self._watches:
            return None
        self._way += self._period_s * v[self._motors]
        self._effort += self._gain * (effort - self._effort)
        self._ur += self._slow * ((self._effort, lacking) - self._ur)
        (u, r), sums = self._ur, self._sums
        sums += (u * u, u * r, r * r)
        np.maximum(self._peak, u * u, out=self._peak)
        enough = np.maximum(self._peak, self._least) * (_ENOUGH_S / self._period_s)
        off = np.divide(sums[1], sums[0], out=np.zeros_like(u), where=sums[0] > enough)
        off[sums[1] ** 2 < _EXPLAINED * sums[0] * sums[2]] = 0.0
        worst = int(np.abs(off).argmax())
        found = bool(abs(off[worst]) > SUSPICIOUS)
        self._watches = not found and bool((np.abs(self._way) < self._most_way).all())
        return (worst, 1.0 + float(off[worst])) if found else None
