"""Many steps of the method of Gauss as one compiled call (beside offline_kernels)."""

from __future__ import annotations

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    MATRIX,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    float64,
    int64,
    kernel,
)
from linkwork.multibody.kernels.layout import N_ROWS
from linkwork.multibody.steps.gauss_steps import constrained_gauss, gauss
from linkwork.plant.offline.run_kernels import look, recorded


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, int64, float64, int64, MATRIX, VECTOR))
def gauss_steps(
    p: Floats,
    t: Integers,
    w: Floats,
    _method: int,
    dt: float,
    count: int,
    rows: Floats,
    figures: Floats,
) -> int:
    """See `plant.offline.run_kernels.free_steps`."""
    for step in range(count):
        if t[N_ROWS] > 0:
            constrained_gauss(p, t, w, dt)
        else:
            gauss(p, t, w, dt)
        if not recorded(t, w, rows[step]):
            return step
        look(p, t, w, dt, figures)
    return count
