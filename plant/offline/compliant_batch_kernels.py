"""`batch_kernels.sampled_steps` for machines with stops or contacts."""

from linkwork.arrays import Matrix
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.steps.compliant_constrained_steps import compliant_constrained_step
from linkwork.multibody.steps.compliant_steps import compliant_step
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.offline.run_kernels import recorded
from linkwork.plant.plant_state import CLASSICAL


@kernel(concurrent=True)
def sampled_compliant_steps(
    m: Model, w: Workspace, method: int, dt: float, every: int, samples: Matrix
) -> int:
    """See `sampled_steps`."""
    for row in range(samples.shape[0]):
        for _ in range(every):
            if m.n_rows > 0:
                compliant_constrained_step(m, w, CLASSICAL[method], dt)
            else:
                compliant_step(m, w, CLASSICAL[method], dt)
        if not recorded(m, w, samples[row]):
            return row
    return int(samples.shape[0])
