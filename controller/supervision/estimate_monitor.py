"""Monitor of the estimate: closures, assembly mode and sensors must agree with the model."""

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.estimation.estimate_quality import Quality
from linkwork.controller.exchange.faults import FaultCode
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.tree.rotations import way_between

_STAYED = 0.05
"""Scaled way of a joint between a suggested pose and the estimate that begins there, up to which they are in
one assembly mode."""
Found = tuple[FaultCode, int, float, float]


class EstimateMonitor:
    """Judges the quality of each tick's estimate.

    `confirmed`: whether the assembly may be taken for known; `confirm` says that a person has looked, after
    `suggest` at another pose than that of the estimate.
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
        self._one = machine.controller.estimator.assemblies != "several"
        self.confirmed = self._one
        self._suggested: Floats = np.full(len(estimate.q), np.nan)
        self.begin_at: Callable[[Floats], None] = lambda _: None
        """Begins the next estimate at a pose (nq; rad or m), at rest; the tick sets it."""
        self._begun: Floats | None = None
        """The suggested pose at which the estimate has begun again, until it is confirmed or not."""

    def confirm(self) -> bool:
        """The assembly that the estimate shows is the machine's: False if it is not the one suggested."""
        begun, self._begun = self._begun, None
        if begun is not None and not self._stayed(begun):
            return False
        self.confirmed = True
        return True

    def suggest(self, pairs: Sequence[tuple[int, float]]) -> bool:
        """Take positions (index in q; rad or m) of another pose; with all, begin the estimate there.

        Its assembly mode is then not confirmed. Returns False, without an effect, if the assembly mode is
        known without a confirmation, or for an index that is none of q.
        """
        if (self._one and self.confirmed) or any(not 0 <= k < len(self._suggested) for k, _ in pairs):
            return False
        for index, value in pairs:
            self._suggested[index] = value
        if np.isfinite(self._suggested).all():
            self._begun = self._suggested.copy()
            self._suggested[:] = np.nan
            self._branch, self.confirmed = 1.0, False
            self.begin_at(self._begun)
        return True

    def _stayed(self, pose: Floats) -> bool:
        way = np.empty(len(self._estimate.v))
        way_between(self._estimate.model, pose, self._estimate.q, way)
        columns = self._estimate.model.column_scale
        return bool(np.all(np.abs(way / columns) < _STAYED))

    def adopt(self, other: Self) -> None:
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
        scale = self._estimate.model.row_scale
        open_by = np.nan_to_num(np.abs(scale * self._estimate.phi), nan=np.inf)
        return self._constraint[int(np.argmax(open_by))]
