"""`plant.stepping` by the method of Gauss, for machines whose file names it."""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    INTEGERS,
    PARAMETERS,
    TOPOLOGY,
    float64,
    int64,
    kernel,
)
from linkwork.multibody.kernels.layout import N_ROWS
from linkwork.multibody.steps.gauss_steps import constrained_gauss, gauss
from linkwork.plant.plant_layout import SUBSTEPS
from linkwork.plant.resistance import (
    begin_resisted,
    judge_resisted,
    judge_resisted_constrained,
    next_resisted,
    next_resisted_constrained,
    resists,
)
from linkwork.plant.stepping import look_back, take_up


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, int64))
def advance_gauss(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int) -> float:
    """Advance by one period with the latched command, as `plant.stepping.advance`."""
    dt, constrained = take_up(t, w, s, b, mode), t[N_ROWS] > 0
    for _ in range(s[SUBSTEPS]):
        resisted = resists(s, b, mode)
        begin_resisted(s, b, dt)
        h = dt
        while True:
            if resisted and constrained:
                h = next_resisted_constrained(p, t, w, s, b, mode)
            elif resisted:
                h = next_resisted(p, t, w, s, b, mode)
            if h == 0.0:
                break
            if constrained:
                constrained_gauss(p, t, w, h)
            else:
                gauss(p, t, w, h)
            if resisted and constrained:
                judge_resisted_constrained(p, t, w, s, b, h)
            elif resisted:
                judge_resisted(p, t, w, s, b, h)
            else:
                h = 0.0
    fastest: float = look_back(t, w, s, b, mode, dt)
    return fastest
