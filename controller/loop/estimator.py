"""The estimate: joint positions and velocities from what the sensors gave.

Where a sensor measures velocity it is taken as it is. Elsewhere velocity is the filtered difference of
positions, a first-order low-pass of `CUT_OFF_HZ`; it lags by 1 / (2π CUT_OFF_HZ) + half a period, 2.1 ms at 1
kHz.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from machine import Sensor
from multibody.compiling import FLAGS, INTEGERS, VECTOR, boolean, float64, int64, kernel

Floats = NDArray[np.float64]
CUT_OFF_HZ = 100.0


@kernel(int64(VECTOR, VECTOR, INTEGERS, FLAGS, VECTOR, float64, boolean, VECTOR, VECTOR))
def estimate_joints(
    q_measured: Floats,
    v_measured: Floats,
    joint: NDArray[np.int64],
    has_velocity: NDArray[np.bool_],
    before: Floats,
    dt: float,
    first: bool,
    q: Floats,
    v: Floats,
) -> int:
    """Writes q and v from one reading a sensor; returns the first sensor whose reading is not finite, or −1.

    `before` keeps the last positions for the difference; `first` starts it afresh. Nothing is written on
    failure.
    """
    for i in range(len(joint)):
        if not (np.isfinite(q_measured[i]) and np.isfinite(v_measured[i])):
            return i
    blend = 1.0 - np.exp(-2.0 * np.pi * CUT_OFF_HZ * dt)
    for i in range(len(joint)):
        j = joint[i]
        if has_velocity[i]:
            v[j] = v_measured[i]
        elif first:
            v[j] = 0.0
        elif dt > 0.0:
            v[j] += blend * ((q_measured[i] - before[i]) / dt - v[j])
        before[i] = q_measured[i]
        q[j] = q_measured[i]
    return -1


class Estimator:
    """Keeps what the difference of positions needs from one tick to the next."""

    def __init__(self, sensors: Sequence[Sensor]) -> None:
        self._joint = np.array([sensor.index for sensor in sensors], np.int64)
        self._has_velocity = np.array([sensor.velocity for sensor in sensors], np.bool_)
        self._before = np.zeros(len(sensors))
        self._first = True

    def reset(self) -> None:
        """Forgets the past: the next reading starts afresh."""
        self._first = True

    def update(self, q_measured: Floats, v_measured: Floats, dt: float, q: Floats, v: Floats) -> int:
        """Writes the estimate; returns the sensor that gave no finite number, or −1."""
        bad: int = estimate_joints(
            q_measured, v_measured, self._joint, self._has_velocity, self._before, dt, self._first, q, v
        )
        if bad < 0:
            self._first = False
        return bad
