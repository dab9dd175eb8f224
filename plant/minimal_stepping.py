"""`plant.stepping` in minimal coordinates, for constrained machines with `plant.formulation: minimal`.

The steps are those of `formulations.minimal` (Blajer et al. 1992): independent coordinates are integrated,
the dependent ones follow from the closures, and the independent set is switched between steps. Brakes that
slip and damping motors act as forces of the mechanism. While a brake sticks, steps are made by projection,
which holds its velocity at zero; so are steps where no choice of coordinates is independent (a branch
pose).
"""

from linkwork.arrays import Integers
from linkwork.multibody.formulations.minimal import divided_minimal_rk4, minimal_rk4, minimal_semi_implicit
from linkwork.multibody.formulations.partition import PROJECTED_STEPS
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.constrained_stepping import constrained_step
from linkwork.plant.plant_state import ADAPTIVE_RK4, SEMI_IMPLICIT, PlantState
from linkwork.plant.resistance import (
    judge_resisted_constrained,
    next_resisted_constrained,
)
from linkwork.plant.stepping import period_by


@part
def partition_of(s: PlantState) -> Integers:
    """Return the partition of the coordinates, a view (flat array; partition.py)."""
    return s.partition


@kernel
def minimal_step(m: Model, w: Workspace, s: PlantState, dt: float) -> None:
    """One step of dt seconds by the machine's integrator."""
    partition = partition_of(s)
    if w.stuck_count[0] > 0.0:
        partition[PROJECTED_STEPS] += 1
        constrained_step(m, w, s, dt)
    elif s.method == SEMI_IMPLICIT:
        minimal_semi_implicit(m, w, dt, partition, s.scratch)
    elif s.method == ADAPTIVE_RK4:
        divided_minimal_rk4(m, w, dt, partition, s.scratch)
    else:
        minimal_rk4(m, w, dt, partition, s.scratch)


_period = period_by(minimal_step, next_resisted_constrained, judge_resisted_constrained)


@kernel
def advance_minimal(m: Model, w: Workspace, s: PlantState, mode: int) -> float:
    """Advance by one period with the latched command, as `plant.stepping.advance`."""
    return _period(m, w, s, mode)
