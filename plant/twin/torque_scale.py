"""Whether each motor does with its torque what the model expects, in the first 5° or 5 mm after the brakes.

Two causes are tried for each motor i. If its efforts act by a factor s, the effort (s - 1) u_i is lacking
there, in any motion. If its encoder counts s times too much, its acceleration a_i is measured s times too
large; with H the inertia that the motors see, the efforts (1 - 1/s) H e_i a_i are lacking, of all motors.
With x the lacking efforts of a cause per unit, r those that are found, both in shares of the largest efforts
and filtered so that the delay of the velocity observer does not count, and sums since the motors have the
machine:

    c = Σ x'r / Σ x'x,        explained = (Σ x'r)² / (Σ x'x Σ r'r).

Where a motor moves alone, both causes look alike.
"""

import math
from typing import Final

import numpy as np

from linkwork.arrays import Floats, Matrix
from linkwork.machine import Machine
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.workspace import Workspace

FIRST_ANGLE: Final = math.radians(5.0)
FIRST_WAY_M: Final = 0.005
SUSPICIOUS: Final = 0.2
"""Difference of s from 1 that is suspicious."""
_EXPLAINED: Final = 0.9
_MOST_COUNTS: Final = 0.95
"""Largest c of counts: beyond it s, above 20, has no meaning."""
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
        self._most = np.array([motor.max_effort for motor in motors])
        self._slow = -math.expm1(-_SLOW_RAD_S * self._period_s)
        count = len(motors)
        self._way = np.zeros(count)
        self._causes, self._causes_slow = np.zeros((2, 2 * count, count))
        """Lacking efforts (motors) of each cause per unit: of efforts, then of counts."""
        self._lacking, self._total = np.zeros(count), np.zeros(1)
        self._peak, self._xx, self._xr = np.zeros((3, 2 * count))
        self._watches = True

    def begin(self) -> None:
        """Begin where the machine stands."""
        state = (self._way, self._causes, self._causes_slow, self._lacking, self._total)
        for each in (*state, self._peak, self._xx, self._xr):
            each[:] = 0.0
        self._watches = True

    def add(
        self, work: Workspace, before: Floats, effort: Floats, lacking: Floats
    ) -> tuple[int, float] | None:
        """Take in a period: before (nv), v at its begin; efforts in force (motors) and lacking ones (motors).

        work: evaluated at its end. Returns a motor and its s where they are suspicious, once.
        """
        if not self._watches:
            return None
        motors, count = self._motors, len(self._motors)
        self._way += self._period_s * work.v[motors]
        causes = np.zeros_like(self._causes)
        causes[:count][np.diag_indices(count)] = effort / self._most
        if (inertia := self._inertia(work)) is not None:
            faster = (work.v - before)[motors] / self._period_s
            causes[count:] = inertia * faster[:, None] / self._most
        self._causes += self._gain * (causes - self._causes)
        self._causes_slow += self._slow * (self._causes - self._causes_slow)
        self._lacking += self._slow * (lacking / self._most - self._lacking)
        x, r = self._causes_slow, self._lacking
        square = np.sum(x * x, axis=1)
        np.maximum(self._peak, square, out=self._peak)
        self._xx += square
        self._xr += x @ r
        self._total += r @ r
        found = self._suspect()
        self._watches = found is None and bool((np.abs(self._way) < self._most_way).all())
        return found

    def _suspect(self) -> tuple[int, float] | None:
        enough = np.maximum(self._peak, _ENOUGH**2) * (_ENOUGH_S / self._period_s)
        known, count = self._xx > enough, len(self._motors)
        if not known.any() or self._total[0] <= 0.0:
            return None
        c = np.divide(self._xr, self._xx, out=np.zeros_like(self._xx), where=known)
        known[count:] &= c[count:] < _MOST_COUNTS
        share = np.where(known, c * self._xr / self._total, 0.0)
        best = int(share.argmax())
        factor = 1.0 + c[best] if best < count else 1.0 / (1.0 - c[best])
        if share[best] < _EXPLAINED or abs(factor - 1.0) <= SUSPICIOUS:
            return None
        return best % count, float(factor)

    def _inertia(self, work: Workspace) -> Matrix | None:
        """Return the inertia (motors × motors) that the motors see; None where they are redundant."""
        basis = work.basis[: len(work.v) - int(work.ranking[RANK])]
        rates = basis[:, self._motors]
        if rates.shape[0] != rates.shape[1]:
            return None
        try:
            motion = np.linalg.solve(rates.T, np.eye(len(rates))).T @ basis
        except np.linalg.LinAlgError:
            return None
        return np.asarray(motion @ work.M @ motion.T)
