"""Many steps of the method of Gauss as one compiled call (beside offline_kernels)."""

from __future__ import annotations

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.steps.gauss_steps import constrained_gauss, gauss
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.offline.run_kernels import look, recorded


@kernel
def gauss_steps(
    m: Model, w: Workspace, _method: int, dt: float, count: int, rows: Matrix, figures: Floats
) -> int:
    """See `plant.offline.run_kernels.free_steps`."""
    for step in range(count):
        if m.n_rows > 0:
            constrained_gauss(m, w, dt)
        else:
            gauss(m, w, dt)
        if not recorded(m, w, rows[step]):
            return step
        look(m, w, dt, figures)
    return count
