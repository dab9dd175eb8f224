"""Quality of the estimate and loads of the closures: the figures that every tick publishes."""

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.exchange.records import Record


class Quality:
    """The figures of one tick, written by the model and the laws; `rows` of constraints.

    `newton_iterations`, `rank` and `branch` (whole numbers) as the channels of these names say.
    `closure_residual` is the largest |Φ| at the estimate, scaled (typical lengths, or rad). `sigma_closures`
    estimates the smallest singular value of the scaled rows at the estimate, over their ordinary size
    (rank.py: two steps of inverse iteration on the factor of the one decision on the rank); 0 where a row is
    lost to a branch pose. `sigma_motors` is the law's, 1 on a machine whose joints all have motors.
    `constraint_force` (rows) holds the multipliers, N or N m. `group`, `suspect`, `error` and `error_limit`
    as of `RedundantSensors`.
    """

    def __init__(self, rows: int) -> None:
        self.closes = rows > 0
        """Whether there are constraints, and so an assembly, a residual and a rank to judge."""
        self.newton_iterations = self.rank = self.branch = 0.0
        self.closure_residual = 0.0
        self.sigma_closures = self.sigma_motors = 1.0
        self.unknown: Floats = np.full(rows, np.nan)
        self.constraint_force = self.unknown
        self.group, self.suspect, self.error, self.error_limit = 0, -1, 0.0, 0.0

    def bind(self, record: Record) -> None:
        """Set the arrays to which the figures are published."""
        at = record.layout.offsets
        first = at["newton_iterations"]
        self._integers = record.integers[first : first + 3]
        first = at["closure_residual"]
        self._floats = record.floats[first : first + 3]
        self._force = record.view("constraint_force")

    def write(self) -> None:
        """Publish the figures."""
        integers, floats = self._integers, self._floats
        integers[0], integers[1], integers[2] = self.newton_iterations, self.rank, self.branch
        floats[0], floats[1], floats[2] = self.closure_residual, self.sigma_closures, self.sigma_motors
        self._force[:] = self.constraint_force
