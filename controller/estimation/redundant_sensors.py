"""Sensors beyond those that a closed machine needs: their weights, and fault isolation from their
disagreement.

With B the weighted velocities of the measured joints along the admitted motions (sensors × degrees of
freedom), all readings consistent with the closures lie in the range of B; Π = 1 - B B⁺ projects them out. An
error f of sensor i alone makes the residual ρ = Π W (y - q) equal to Π e_i w_i f. So f_i = ρ_i / (Π_ii w_i)
is the error that sensor i would need, and ρ_i² / Π_ii the part of |ρ|² that it explains. With one redundant
sensor all candidates explain it equally; with two, only one does.
"""

import math

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.controller.estimation.sensor_estimate import measured_balls, missing_positions
from linkwork.machine import Machine
from linkwork.machine.building.initial_assembly import admitted_velocities
from linkwork.machine.checks.controllability import without_velocity_rows
from linkwork.multibody import Workspace
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.kernels.layout import RANK

IDEAL = 1e-7
"""Default accuracy of a sensor, in typical lengths or rad."""


def scales(machine: Machine) -> Floats:
    """Return the rad or m equivalent to one radian, for each sensor's joint (sensors)."""
    columns = machine.mechanism.model.column_scale
    return np.asarray(columns[[sensor.index for sensor in machine.sensors]])


def weights(machine: Machine) -> Floats:
    """Return one over each sensor's standard deviation (sensors), such that the largest, scaled, is 1."""
    columns = scales(machine)
    deviation = [
        math.sqrt(sensor.noise**2 + sensor.resolution**2 / 12.0 + (IDEAL * scale) ** 2)
        for sensor, scale in zip(machine.sensors, columns, strict=True)
    ]
    return np.asarray(1.0 / np.array(deviation) / np.max(columns / deviation))


@kernel
def differences_of(
    joint: Integers, balls: Integers, readings: Floats, q: Floats, differences: Floats
) -> None:
    """As `missing_positions` for callers in Python: readings (sensors), q (nq), differences (sensors)."""
    missing_positions(joint, balls, readings, q, differences)


EXPLAINS = 0.9
"""Share of the disagreement that a suspect's error must explain."""
_BLIND = 1e-6
"""Π_ii below which an error of sensor i cannot be detected."""


def parity(basis: Floats, weight: Floats) -> Floats:
    """Π (sensors × sensors); basis (dof × sensors): the measured joints' velocities."""
    left, sizes, _ = np.linalg.svd((basis * weight).T, full_matrices=False)
    left = left[:, sizes > 1e-9 * max(float(sizes.max(initial=0.0)), 1e-300)]
    return np.asarray(np.eye(len(weight)) - left @ left.T)


EVERY, LASTING = 10, 10
"""Ticks between two looks whether the estimate meets the sensors, and looks in a row in which it does not."""


class RedundantSensors:
    """Check each tick whether the sensors contradict each other, or the closures around the estimate.

    `group` is a bit mask of the sensors of which one must be wrong, 0 as long as they agree; `suspect` is the
    faulty one, or −1 where it is ambiguous; `error` (rad or m) is its estimated error, `limit` the allowed
    one. Without a redundant sensor the closures can meet every reading, but not always near the estimate: at
    a pose in which assembly modes meet it stays behind. `group` are then the sensors that it does not meet.
    """

    def __init__(self, machine: Machine) -> None:
        sensors = machine.sensors
        self._joint = np.array([sensor.index for sensor in sensors], np.int64)
        self._balls, self._off = measured_balls(machine), np.zeros(len(sensors))
        self._weight = weights(machine)
        most = machine.controller.estimator.sensor_disagreement_max
        self._limit = np.array([most + 4.0 * (sensor.noise + sensor.resolution) for sensor in sensors])
        self.extra = len(sensors) - machine.dof
        self._look = 0.05 * self._limit
        self.group, self.suspect, self.error, self.limit = 0, -1, 0.0, 0.0
        self._tick, self._missed = 0, 0

    def check(self, readings: Floats, targets: Floats, now: Workspace) -> None:
        """Check the readings (sensors; rad or m), and what the estimate `now` should take, against it."""
        if self.extra <= 0:
            self._tick += 1
            if self._tick % EVERY == 0:
                self._check_met(self.differences(targets, now))
            return
        self.group = 0
        off = self.differences(readings, now)
        if np.any(np.abs(off) > self._look):
            self._judge(off, now)

    def differences(self, readings: Floats, now: Workspace) -> Floats:
        """Return readings less estimate (sensors; rad or m), along the degree of freedom of each sensor."""
        differences_of(self._joint, self._balls, readings, now.q, self._off)
        return self._off

    def _check_met(self, off: Floats) -> None:
        """Judge the differences (sensors; rad or m) between targets and estimate, which last a while."""
        far = np.abs(off) > self._limit
        self._missed = self._missed + 1 if far.any() else 0
        self.group = 0
        if self._missed >= LASTING:
            worst = int(np.argmax(np.abs(off) / self._limit))
            self.group, self.suspect = sum(1 << int(i) for i in np.flatnonzero(far)), -1
            self.error, self.limit = float(off[worst]), float(self._limit[worst])

    def _judge(self, off: Floats, now: Workspace) -> None:
        free = len(now.v) - int(now.ranking[RANK])
        basis, weight = now.basis[:free, self._joint], self._weight
        seen = parity(basis, weight)
        rest, own = seen @ (weight * off), np.diag(seen)
        could = own > _BLIND
        size = np.where(could, rest / np.where(could, own * weight, 1.0), 0.0)
        explained = np.where(could, rest * rest / np.where(could, own, 1.0), 0.0)
        best = int(np.argmax(explained))
        if not abs(size[best]) > self._limit[best]:
            return
        wrong = np.flatnonzero(explained >= EXPLAINS * float(rest @ rest))
        self.suspect = best if len(wrong) == 1 else -1
        self.group = sum(1 << int(i) for i in (wrong if len(wrong) else np.flatnonzero(could)))
        self.error, self.limit = float(size[best]), float(self._limit[best])


def told(machine: Machine) -> str:
    """Describe as text which sensor errors can be detected and isolated."""
    machine = without_velocity_rows(machine)
    names = [sensor.joint for sensor in machine.sensors]
    if len(names) <= machine.dof:
        return "no redundant sensor: a sensor error cannot be detected"

    basis = admitted_velocities(machine.mechanism, machine.initial_q)
    seen = parity(basis[[sensor.index for sensor in machine.sensors]].T, weights(machine))
    noticed = [name for name, own in zip(names, np.diag(seen), strict=True) if own > _BLIND]
    count = round(float(np.trace(seen)))
    if count < 1:
        return "no redundant sensor: a sensor error cannot be detected"
    if count == 1:
        return f"one redundant sensor: an error of one among {', '.join(noticed)} is detected but not located"
    return f"{count} redundant sensors: a single error is located, among {', '.join(noticed)}"
