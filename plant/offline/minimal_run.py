"""Many steps in minimal coordinates as one compiled call, and the partition that goes with them."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.multibody.formulations.minimal import divided_minimal_rk4, minimal_rk4, minimal_semi_implicit
from linkwork.multibody.formulations.partition import (
    COUNT,
    LISTS,
    SWITCHES,
    UNDECIDED,
    partition_size,
    scratch_size,
)
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.workspace import Model, Workspace, touches
from linkwork.plant.offline.run_kernels import look, recorded
from linkwork.plant.plant_state import ADAPTIVE_RK4, SEMI_IMPLICIT


@kernel
def minimal_steps(
    m: Model,
    w: Workspace,
    method: int,
    dt: float,
    count: int,
    rows: Matrix,
    figures: Floats,
    partition: Integers,
    z: Floats,
) -> int:
    """See `plant.offline.run_kernels.free_steps`; `partition` and `z` are those of partition.py."""
    for step in range(count):
        if method == SEMI_IMPLICIT:
            minimal_semi_implicit(m, w, dt, partition, z)
        elif method == ADAPTIVE_RK4:
            divided_minimal_rk4(m, w, dt, partition, z)
        else:
            minimal_rk4(m, w, dt, partition, z)
        if not recorded(m, w, rows[step]):
            return step
        look(m, w, dt, figures)
    return count


class MinimalSteps:
    """Steps of a workspace in minimal coordinates, called as the kernels of offline_kernels.py are."""

    stopped: str = ""

    def __init__(self, work: Workspace) -> None:
        """Set the partition and scratch memory aside; the first step chooses."""
        nv = len(work.v)
        self.partition: Integers = np.zeros(partition_size(nv), dtype=np.int64)
        self.partition[COUNT:LISTS] = UNDECIDED
        self._scratch = np.zeros(scratch_size(len(work.q), nv, len(work.phi)))
        self._run = minimal_steps
        if touches(work):
            from linkwork.plant.compliant_minimal import (
                compliant_minimal_steps,  # compiled where something touches
            )

            self._run = compliant_minimal_steps

    def restart(self) -> None:
        """Choose the independent coordinates again: constraints have been switched."""
        self.partition[COUNT:LISTS] = UNDECIDED

    def __call__(
        self, m: Model, w: Workspace, method: int, dt: float, count: int, rows: Floats, figures: Floats
    ) -> int:
        """Advance by `count` steps of dt; return how many came out finite."""
        done = self._run(m, w, method, dt, count, rows, figures, self.partition, self._scratch)
        return int(done)

    @property
    def switches(self) -> int:
        """Number of changes of the independent coordinates."""
        return int(self.partition[SWITCHES])
