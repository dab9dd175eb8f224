"""`batch_kernels.sampled_steps` for machines with stops or contacts."""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    MATRIX,
    PARAMETERS,
    TOPOLOGY,
    float64,
    int64,
    kernel,
)
from linkwork.multibody.kernels.layout import N_ROWS
from linkwork.multibody.steps.compliant_constrained_steps import compliant_constrained_step
from linkwork.multibody.steps.compliant_steps import compliant_step
from linkwork.plant.offline.run_kernels import recorded
from linkwork.plant.plant_layout import CLASSICAL


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, int64, float64, int64, MATRIX), concurrent=True)
def sampled_compliant_steps(
    p: Floats, t: Integers, w: Floats, method: int, dt: float, every: int, samples: Floats
) -> int:
    """See `sampled_steps`."""
    for row in range(samples.shape[0]):
        for _ in range(every):
            if t[N_ROWS] > 0:
                compliant_constrained_step(p, t, w, CLASSICAL[method], dt)
            else:
                compliant_step(p, t, w, CLASSICAL[method], dt)
        if not recorded(t, w, samples[row]):
            return row
    return int(samples.shape[0])
