"""`plant.minimal_stepping` for machines with stops or contacts: a period in parts."""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    INTEGERS,
    PARAMETERS,
    TOPOLOGY,
    float64,
    kernel,
    void,
)
from linkwork.multibody.steps.touch_search import begin_parts, judge_part, next_part
from linkwork.plant.minimal_stepping import minimal_step
from linkwork.plant.resistance import (
    judge_resisted_constrained,
    next_resisted_constrained,
)
from linkwork.plant.stepping import ADVANCE, period_by


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, float64))
def compliant_minimal_step(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, dt: float) -> None:
    """One step of dt seconds in parts, as touch begins, ends or is stiff."""
    begin_parts(t, w, dt)
    while True:
        h = next_part(p, t, w, dt)
        if h == 0.0:
            break
        minimal_step(p, t, w, s, b, h)
        judge_part(p, t, w, dt, h)


_period = period_by(compliant_minimal_step, next_resisted_constrained, judge_resisted_constrained)


@kernel(ADVANCE)
def advance_compliant_minimal(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int) -> float:
    """Advance by one period with the latched command, as `plant.stepping.advance`."""
    return _period(p, t, w, s, b, mode)
