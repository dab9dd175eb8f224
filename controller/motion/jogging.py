"""Limits of a jog: its stopping position, and the speeds of the machine's points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.estimation.limit_monitor import Watch
from linkwork.controller.motion.reference import Jog
from linkwork.controller.motion.workspace_limits import Regions
from linkwork.machine import Machine
from linkwork.multibody import Workspace


class Jogging:
    """The limits of jogs on one machine; `estimate` is the workspace that the tick keeps current."""

    def __init__(self, machine: Machine, watch: Watch, estimate: Workspace) -> None:
        self._watch = watch
        self._period_s = machine.controller.period_s
        self._regions = Regions(machine, estimate)
        self._motions = estimate.basis
        self._theta, self._J = estimate.theta, estimate.J
        self._q = estimate.q[: len(estimate.v)]

    def may_go_on(self, jog: Jog) -> bool:
        """Whether every joint, stopped a tick from now, would still come to rest inside its limits."""
        rest = np.zeros(len(jog.index))
        jog.rest_after(self._period_s, rest)
        way = self._joint_rates(jog.index, rest - self._theta[jog.index])
        if way is None or not self._watch.within(self._q + way):
            return False
        return not self._regions or self._regions.admits(way)

    def speed_share(self, index: NDArray[np.int64], rates: Floats) -> float:
        """Return the share of the rates (k; rad/s or m/s) of coordinates `index` that the points' speed
        limits admit.
        """
        if not self._regions:
            return 1.0
        v = self._joint_rates(index, rates)
        return 1.0 if v is None else self._regions.share(v)

    def _joint_rates(self, index: NDArray[np.int64], rates: Floats) -> Floats | None:
        """Velocities of the joints (nv) at which these coordinates have these rates, or None."""
        try:
            motions = self._motions[: len(rates)]
            return np.asarray(motions.T @ np.linalg.solve(self._J[index] @ motions.T, rates))
        except np.linalg.LinAlgError:
            return None
