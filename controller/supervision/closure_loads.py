"""Constraint loads against their limits: from sensors, else from the model's multipliers."""

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.actuation.load_relief import farthest_beyond, rows_of
from linkwork.controller.exchange.faults import FaultCode
from linkwork.machine import Machine


class BearingLoads:
    """The machine's load limits. `worst`: the limit most exceeded in the last tick, −1 for none."""

    def __init__(self, machine: Machine) -> None:
        limits = self._limits = machine.held_limits()
        self._kept, self.loads = rows_of(limits), np.zeros(len(limits))
        self._multipliers = np.zeros(len(machine.mechanism.row_names))
        self.worst = -1
        gauges = {row: machine.gauge_of(row) for limit in limits for row in limit.rows}
        measured = {row: gauge for row, gauge in gauges.items() if gauge >= 0}
        self._gauged = np.array(list(measured), np.int64)
        self._gauges = np.array(list(measured.values()), np.int64)
        self._measured = np.zeros(len(measured))
        self.gauged = bool(measured)
        """Whether sensors measure any of it: then `read` comes before `look`."""

    def read(self, measured: Floats) -> None:
        """Store the readings (one flat array) of all force sensors."""
        np.take(measured, self._gauges, out=self._measured)

    def check(self, multipliers: Floats) -> bool:
        """Check the model's multipliers (nr), or the measured ones; return whether one exceeds its limit."""
        self._multipliers[:] = multipliers
        if self.gauged:
            self._multipliers[self._gauged] = self._measured
        self.worst = farthest_beyond(self._kept, self._multipliers, self.loads)
        return self.worst >= 0

    def fault(self) -> tuple[FaultCode, int, float, float] | None:
        """Return the fault of the load that `look` found; None where such a load only limits the motion."""
        at = self.worst
        if at < 0 or not self._limits[at].faults:
            return None
        sign = self._limits[at].side or 1
        return FaultCode.CONSTRAINT_FORCE, at, sign * float(self.loads[at]), sign * self._limits[at].most
