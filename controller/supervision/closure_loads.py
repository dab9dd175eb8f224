"""Constraint loads against their limits: from sensors, else from the model's multipliers."""

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.controller.exchange.faults import FaultCode
from linkwork.machine import Machine
from linkwork.multibody.kernels.compiling import kernel


@kernel
def load_beyond(multipliers: Floats, ends: Integers, most: Floats, loads: Floats) -> int:
    """Write the norms of multipliers to `loads` (limits); return the one most beyond its limit `most`, or −1.

    `multipliers` are those of the limited rows, limit after limit; limit i has those before `ends[i]`.
    """
    worst, beyond, row = -1, 1.0, 0
    for i in range(len(ends)):
        square = 0.0
        while row < ends[i]:
            square += multipliers[row] * multipliers[row]
            row += 1
        loads[i] = np.sqrt(square)
        if loads[i] > beyond * most[i]:
            worst, beyond = i, loads[i] / most[i]
    return worst


class BearingLoads:
    """The machine's load limits. `worst`: the limit most exceeded in the last tick, −1 for none."""

    def __init__(self, machine: Machine) -> None:
        limits = machine.load_limits
        self._rows = np.array([row for limit in limits for row in limit.rows], np.int64)
        self._ends = np.cumsum([len(limit.rows) for limit in limits]).astype(np.int64)
        self._most = np.array([limit.most for limit in limits])
        self._faults = [limit.faults for limit in limits]
        self._own, self.loads = np.zeros(len(self._rows)), np.zeros(len(limits))
        self.worst = -1
        gauges = np.array([machine.gauge_of(row) for row in self._rows.tolist()], np.int64)
        self._gauged = np.flatnonzero(gauges >= 0)
        self._gauges = gauges[self._gauged]
        self._measured = np.zeros(len(self._gauges))
        self.gauged = bool(len(self._gauges))
        """Whether sensors measure any of it: then `read` comes before `look`."""

    def read(self, measured: Floats) -> None:
        """Store the readings (one flat array) of all force sensors."""
        np.take(measured, self._gauges, out=self._measured)

    def check(self, multipliers: Floats) -> bool:
        """Check the model's multipliers (nr), or the measured ones; return whether one exceeds its limit."""
        np.take(multipliers, self._rows, out=self._own)
        if self.gauged:
            self._own[self._gauged] = self._measured
        self.worst = load_beyond(self._own, self._ends, self._most, self.loads)
        return self.worst >= 0

    def fault(self) -> tuple[FaultCode, int, float, float] | None:
        """Return the fault of the load that `look` found; None where such a load only limits the motion."""
        if self.worst < 0 or not self._faults[self.worst]:
            return None
        at = self.worst
        return FaultCode.CONSTRAINT_FORCE, at, float(self.loads[at]), float(self._most[at])
