"""Many steps of a machine with stops or contacts as one compiled call (beside offline_kernels)."""

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
from linkwork.multibody.steps.compliant_constrained_steps import compliant_constrained_step
from linkwork.multibody.steps.compliant_steps import compliant_step
from linkwork.plant.offline.run_kernels import look, recorded
from linkwork.plant.plant_layout import CLASSICAL


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, int64, float64, int64, MATRIX, VECTOR))
def free_compliant_steps(
    p: Floats, t: Integers, w: Floats, method: int, dt: float, count: int, rows: Floats, figures: Floats
) -> int:
    """As `offline_kernels.free_steps`, in parts where touch begins and ends."""
    for step in range(count):
        compliant_step(p, t, w, CLASSICAL[method], dt)
        if not recorded(t, w, rows[step]):
            return step
        look(p, t, w, dt, figures)
    return count


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, int64, float64, int64, MATRIX, VECTOR))
def constrained_compliant_steps(
    p: Floats, t: Integers, w: Floats, method: int, dt: float, count: int, rows: Floats, figures: Floats
) -> int:
    """As `offline_kernels.constrained_steps`, in parts where touch begins and ends."""
    for step in range(count):
        compliant_constrained_step(p, t, w, CLASSICAL[method], dt)
        if not recorded(t, w, rows[step]):
            return step
        look(p, t, w, dt, figures)
    return count
