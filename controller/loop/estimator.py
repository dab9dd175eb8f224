"""The estimate, as far as the sensors go: what each measured joint should take as its position and velocity.

Where a sensor measures velocity both are taken as they are. Elsewhere there are two ways. The *observer*
(Luenberger's) has the model's prediction q⁻, v⁻, made under the effort that acted, and corrects it by the
measured position y:

    q = q⁻ + (1 - z²) (y - q⁻),    v = v⁻ + (1 - z)² / T (y - q⁻),    z = exp(-ω T),

so that an error of the estimate decays with the double pole z; where the model is exact the estimate does not
lag. The *filtered difference* of positions is a first-order low-pass; it lags by 1 / (2π cut-off) + half a
period, 2.1 ms at 100 Hz and 1 kHz. It also serves the observer wherever no prediction is to be had: while the
brakes are not fully open, their force being unknown.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from machine import Machine
from multibody.compiling import part

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BEFORE, SLOPE, TO_Q, TO_V, WEIGHT = range(5)
"""Rows of an estimator's table, one number a sensor: last reading, filtered difference, the two targets, and
one over the sensor's deviation.
"""


@part
def read_sensors(
    q_measured: Floats, v_measured: Floats, joint: Integers, has_velocity: Integers, table: Floats,
    dt: float, cut_off_hz: float, bandwidth: float, first: bool, predicted: bool, fresh: bool,
    q: Floats, v: Floats,
) -> int:  # fmt: skip
    """Writes the targets of the table; returns the first sensor whose reading is not finite, or −1.

    q and v (nv) hold the prediction if `predicted`, else what is left of the last estimate; without a `fresh`
    reading, or after one that is not finite, the targets are these. `first` starts the filtered difference
    afresh. dt: seconds since the last reading (of the device); `bandwidth` is the observer's in rad/s, 0 for
    the difference alone.
    """
    bad = -1
    for i in range(len(joint) if fresh else 0):
        if bad < 0 and not (np.isfinite(q_measured[i]) and np.isfinite(v_measured[i])):
            bad = i
    if bad >= 0 or not fresh:
        for i in range(len(joint)):
            table[TO_Q, i], table[TO_V, i] = q[joint[i]], v[joint[i]]
        return bad
    blend = 1.0 - np.exp(-2.0 * np.pi * cut_off_hz * dt)
    z = np.exp(-bandwidth * dt)
    for i in range(len(joint)):
        if first:
            table[SLOPE, i] = 0.0
        elif dt > 0.0:
            table[SLOPE, i] += blend * ((q_measured[i] - table[BEFORE, i]) / dt - table[SLOPE, i])
        table[BEFORE, i] = table[TO_Q, i] = q_measured[i]
        if has_velocity[i] != 0:
            table[TO_V, i] = v_measured[i]
        elif predicted and bandwidth > 0.0:
            j = joint[i]
            error = q_measured[i] - q[j]
            table[TO_Q, i] = q[j] + (1.0 - z * z) * error
            table[TO_V, i] = v[j]
            if dt > 0.0:
                table[TO_V, i] += (1.0 - z) ** 2 / dt * error
        else:
            table[TO_V, i] = table[SLOPE, i]
    return -1


class Estimator:
    """The sensors of one machine, as the kernels want them: `wiring` is (joint, has_velocity, table)."""

    def __init__(self, machine: Machine) -> None:
        sensors, settings = machine.sensors, machine.controller.estimator
        has_velocity = np.array([sensor.velocity for sensor in sensors], np.int64)
        joint, self.table = (
            np.array([sensor.index for sensor in sensors], np.int64),
            np.zeros((5, len(sensors))),
        )
        self.wiring = (joint, has_velocity, self.table)
        self.cut_off_hz = settings.difference_cut_off_hz
        self.bandwidth = settings.observer_bandwidth_rad_s if settings.velocity == "observer" else 0.0
        self.first = True
        """Whether nothing is known of the past: the next reading starts afresh."""
        unmeasured = len(sensors) < machine.mechanism.nv
        self.predicts = unmeasured or bool(self.bandwidth and not np.all(has_velocity))
        """Whether every tick needs the model's prediction, not only those without a fresh state."""
