"""`plant.stepping` in minimal coordinates, for constrained machines with `plant.formulation: minimal`.

The steps are those of `formulations.minimal` (Blajer et al. 1992): independent coordinates are integrated,
the dependent ones follow from the closures, and the independent set is switched between steps. Brakes that
slip and damping motors act as forces of the mechanism. While a brake sticks, steps are made by projection,
which holds its velocity at zero; so are steps where no choice of coordinates is independent (a branch
pose).
"""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.formulations.minimal import divided_minimal_rk4, minimal_rk4, minimal_semi_implicit
from linkwork.multibody.formulations.partition import PROJECTED_STEPS
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    INTEGERS,
    PARAMETERS,
    TOPOLOGY,
    float64,
    kernel,
    part,
    void,
)
from linkwork.multibody.kernels.layout import STUCK_COUNT
from linkwork.multibody.kernels.views import vector
from linkwork.plant.constrained_stepping import constrained_step
from linkwork.plant.plant_layout import ADAPTIVE_RK4, METHOD, PARTITION, SCRATCH, SEMI_IMPLICIT
from linkwork.plant.resistance import (
    judge_resisted_constrained,
    next_resisted_constrained,
)
from linkwork.plant.stepping import ADVANCE, period_by


@part
def partition_of(s: Integers) -> Integers:
    """Return the partition of the coordinates, a view (flat array; partition.py)."""
    return s[s[PARTITION] : s[PARTITION + 1]]


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, float64))
def minimal_step(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, dt: float) -> None:
    """One step of dt seconds by the machine's integrator."""
    partition, z = partition_of(s), vector(s, b, SCRATCH)
    if vector(t, w, STUCK_COUNT)[0] > 0.0:
        partition[PROJECTED_STEPS] += 1
        constrained_step(p, t, w, s, dt)
    elif s[METHOD] == SEMI_IMPLICIT:
        minimal_semi_implicit(p, t, w, dt, partition, z)
    elif s[METHOD] == ADAPTIVE_RK4:
        divided_minimal_rk4(p, t, w, dt, partition, z)
    else:
        minimal_rk4(p, t, w, dt, partition, z)


_period = period_by(minimal_step, next_resisted_constrained, judge_resisted_constrained)


@kernel(ADVANCE)
def advance_minimal(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int) -> float:
    """Advance by one period with the latched command, as `plant.stepping.advance`."""
    return _period(p, t, w, s, b, mode)
