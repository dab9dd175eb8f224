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
from multibody.compiling import FLAGS, INTEGERS, VECTOR, boolean, float64, int64, kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_READ = (VECTOR, VECTOR, INTEGERS, FLAGS, VECTOR, VECTOR, *(float64,) * 3, boolean, boolean, *(VECTOR,) * 4)


@kernel(int64(*_READ))
def read_sensors(
    q_measured: Floats,
    v_measured: Floats,
    joint: Integers,
    has_velocity: NDArray[np.bool_],
    before: Floats,
    slope: Floats,
    dt: float,
    cut_off_hz: float,
    bandwidth: float,
    first: bool,
    predicted: bool,
    q: Floats,
    v: Floats,
    to_q: Floats,
    to_v: Floats,
) -> int:
    """Writes to_q and to_v, one a sensor; returns the first sensor whose reading is not finite, or −1.

    q and v (nv) hold the prediction if `predicted`, else what is left of the last estimate. `before` keeps
    the last readings, `slope` their filtered difference; `first` starts both afresh. `bandwidth` is the
    observer's in rad/s, 0 for the difference alone. Nothing is written on failure.
    """
    for i in range(len(joint)):
        if not (np.isfinite(q_measured[i]) and np.isfinite(v_measured[i])):
            return i
    blend = 1.0 - np.exp(-2.0 * np.pi * cut_off_hz * dt)
    z = np.exp(-bandwidth * dt)
    for i in range(len(joint)):
        if first:
            slope[i] = 0.0
        elif dt > 0.0:
            slope[i] += blend * ((q_measured[i] - before[i]) / dt - slope[i])
        before[i] = to_q[i] = q_measured[i]
        if has_velocity[i]:
            to_v[i] = v_measured[i]
        elif predicted and bandwidth > 0.0:
            j = joint[i]
            error = q_measured[i] - q[j]
            to_q[i] = q[j] + (1.0 - z * z) * error
            to_v[i] = v[j]
            if dt > 0.0:
                to_v[i] += (1.0 - z) ** 2 / dt * error
        else:
            to_v[i] = slope[i]
    return -1


class Estimator:
    """Reads the sensors. `q` and `v` (one a sensor): what the measured joints should take."""

    def __init__(self, machine: Machine) -> None:
        sensors, settings = machine.sensors, machine.controller.estimator
        self._joint = np.array([sensor.index for sensor in sensors], np.int64)
        self._has_velocity = np.array([sensor.velocity for sensor in sensors], np.bool_)
        self._before, self._slope = np.zeros(len(sensors)), np.zeros(len(sensors))
        self._cut_off_hz = settings.difference_cut_off_hz
        observes = settings.velocity == "observer"
        self._bandwidth = settings.observer_bandwidth_rad_s if observes else 0.0
        self._first = True
        self.q, self.v = np.zeros(len(sensors)), np.zeros(len(sensors))
        unmeasured = len(sensors) < machine.mechanism.nv
        self.predicts = unmeasured or bool(self._bandwidth and not np.all(self._has_velocity))
        """Whether every tick needs the model's prediction, not only those without a fresh state."""

    def reset(self) -> None:
        """Forgets the past: the next reading starts afresh."""
        self._first = True

    def update(
        self, q_measured: Floats, v_measured: Floats, dt: float, q: Floats, v: Floats, *, predicted: bool
    ) -> int:
        """Reads; q and v (nv) are those of the model. Returns the sensor that gave no finite number, or −1.

        dt: seconds since the last reading (of the device). After a failure the targets are what they were.
        """
        bad: int = read_sensors(
            q_measured, v_measured, self._joint, self._has_velocity, self._before, self._slope, dt,
            self._cut_off_hz, self._bandwidth, self._first, predicted, q, v, self.q, self.v,
        )  # fmt: skip
        if bad < 0:
            self._first = False
        return bad

    def keep(self, q: Floats, v: Floats) -> None:
        """Without a reading: the measured joints should stay where the model has them."""
        self.q[:], self.v[:] = q[self._joint], v[self._joint]
