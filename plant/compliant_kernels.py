"""Many steps of a machine with stops or contacts as one compiled call (beside offline_kernels)."""

from __future__ import annotations

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.steps.compliant_constrained_steps import compliant_constrained_step
from linkwork.multibody.steps.compliant_steps import compliant_step
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.offline.run_kernels import look, recorded
from linkwork.plant.plant_state import CLASSICAL


@kernel
def free_compliant_steps(
    m: Model, w: Workspace, method: int, dt: float, count: int, rows: Matrix, figures: Floats
) -> int:
    """As `offline_kernels.free_steps`, in parts where touch begins and ends."""
    for step in range(count):
        compliant_step(m, w, CLASSICAL[method], dt)
        if not recorded(m, w, rows[step]):
            return step
        look(m, w, dt, figures)
    return count


@kernel
def constrained_compliant_steps(
    m: Model, w: Workspace, method: int, dt: float, count: int, rows: Matrix, figures: Floats
) -> int:
    """As `offline_kernels.constrained_steps`, in parts where touch begins and ends."""
    for step in range(count):
        compliant_constrained_step(m, w, CLASSICAL[method], dt)
        if not recorded(m, w, rows[step]):
            return step
        look(m, w, dt, figures)
    return count
