"""Monitor of the estimate: closures, assembly mode and sensors must agree with the model."""

from __future__ import annotations

import numpy as np

from linkwork.controller.estimation.estimate_quality import Quality
from linkwork.controller.faults import FaultCode
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.kernels import layout

Found = tuple[FaultCode, int, float, float]


class Beliefs:
    """Judges the quality of each tick's estimate.

    `confirmed`: whether the assembly may be taken for known; `confirm` says that a person has looked.
    """

    def __init__(self, machine: Machine, estimate: Workspace, quality: Quality) -> None:
        self._estimate, self._quality = estimate, quality
        self._residual_max = machine.controller.estimator.closure_residual_max
        rows = machine.mechanism.row_names
        names = machine.mechanism.constraint_names
        self._constraint = [names.index(row.rpartition(".")[0]) for row in rows]
        self._branch = quality.branch
        self.needed = quality.closes
        """Whether the machine has closures, so that `check` finds anything."""
        self.confirmed = machine.controller.estimator.assemblies == "one"

    def confirm(self) -> None:
        """The assembly that the estimate shows is the machine's."""
        self.confirmed = True

    def adopt(self, other: Beliefs) -> None:
        """Continue from the monitor of another constraint set; the assembly mode counts as known if it was
        before.
        """
        self.confirmed, self._branch = other.confirmed, 1.0

    def check(self) -> Found | None:
        """The first doubt: (code, index, value, limit), or None."""
        quality = self._quality
        if not quality.closure_residual <= self._residual_max:
            return FaultCode.CLOSURE_RESIDUAL, self._worst(), quality.closure_residual, self._residual_max
        if quality.group:
            if quality.suspect >= 0:
                return FaultCode.SENSOR_DISAGREES, quality.suspect, quality.error, quality.error_limit
            return FaultCode.SENSORS_DISAGREE, quality.group, quality.error, quality.error_limit
        if quality.branch != self._branch:
            self._branch, self.confirmed = quality.branch, False
            return FaultCode.BRANCH_FLIP, -1, quality.sigma_closures, 0.0
        return None

    def still_there(self, code: FaultCode) -> bool:
        """Whether the cause of a latched fault persists."""
        match code:
            case FaultCode.CLOSURE_RESIDUAL:
                return not self._quality.closure_residual <= self._residual_max
            case FaultCode.SENSOR_DISAGREES | FaultCode.SENSORS_DISAGREE:
                return self._quality.group != 0
            case _:
                return False

    def _worst(self) -> int:
        """The constraint that is furthest open."""
        p, t = self._estimate.parameters, self._estimate.topology
        scale = p[t[layout.ROW_SCALE] : t[layout.ROW_SCALE + 1]]
        open_by = np.nan_to_num(np.abs(scale * self._estimate.phi), nan=np.inf)
        return self._constraint[int(np.argmax(open_by))]
