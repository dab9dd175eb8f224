"""Many steps in minimal coordinates of a machine with stops or contacts (beside offline_minimal)."""

from __future__ import annotations

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.multibody.formulations.minimal import divided_minimal_rk4, minimal_rk4, minimal_semi_implicit
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.steps.touch_search import begin_parts, judge_part, next_part
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.offline.run_kernels import look, recorded
from linkwork.plant.plant_state import ADAPTIVE_RK4, SEMI_IMPLICIT


@kernel
def compliant_minimal_steps(
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
    """As `offline_minimal.minimal_steps`, in parts where touch begins and ends."""
    for step in range(count):
        begin_parts(w, dt)
        while True:
            h = next_part(m, w, dt)
            if h == 0.0:
                break
            if method == SEMI_IMPLICIT:
                minimal_semi_implicit(m, w, h, partition, z)
            elif method == ADAPTIVE_RK4:
                divided_minimal_rk4(m, w, h, partition, z)
            else:
                minimal_rk4(m, w, h, partition, z)
            judge_part(m, w, dt, h)
        if not recorded(m, w, rows[step]):
            return step
        look(m, w, dt, figures)
    return count
