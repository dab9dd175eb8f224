"""Many steps in minimal coordinates of a machine with stops or contacts (beside offline_minimal)."""

from __future__ import annotations

from linkwork.arrays import Floats, Integers
from linkwork.multibody.formulations.minimal import divided_minimal_rk4, minimal_rk4, minimal_semi_implicit
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    INTEGERS,
    MATRIX,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    float64,
    int64,
    kernel,
)
from linkwork.multibody.steps.touch_search import begin_parts, judge_part, next_part
from linkwork.plant.offline.run_kernels import look, recorded
from linkwork.plant.plant_layout import ADAPTIVE_RK4, SEMI_IMPLICIT


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, int64, float64, int64, MATRIX, VECTOR, INTEGERS, VECTOR))
def compliant_minimal_steps(
    p: Floats,
    t: Integers,
    w: Floats,
    method: int,
    dt: float,
    count: int,
    rows: Floats,
    figures: Floats,
    partition: Integers,
    z: Floats,
) -> int:
    """As `offline_minimal.minimal_steps`, in parts where touch begins and ends."""
    for step in range(count):
        begin_parts(t, w, dt)
        while True:
            h = next_part(p, t, w, dt)
            if h == 0.0:
                break
            if method == SEMI_IMPLICIT:
                minimal_semi_implicit(p, t, w, h, partition, z)
            elif method == ADAPTIVE_RK4:
                divided_minimal_rk4(p, t, w, h, partition, z)
            else:
                minimal_rk4(p, t, w, h, partition, z)
            judge_part(p, t, w, dt, h)
        if not recorded(t, w, rows[step]):
            return step
        look(p, t, w, dt, figures)
    return count
