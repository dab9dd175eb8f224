"""`plant.compliant_stepping` for machines with constraints."""

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
from linkwork.multibody.steps.compliant_constrained_steps import compliant_constrained_step
from linkwork.plant.plant_layout import CLASSICAL, METHOD, SUBSTEPS
from linkwork.plant.resistance import (
    begin_resisted,
    judge_resisted_constrained,
    next_resisted_constrained,
    resists,
)
from linkwork.plant.stepping import look_back, take_up


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, int64))
def advance_compliant_constrained(
    p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int
) -> float:
    """See `compliant_stepping.advance_compliant`."""
    dt = take_up(t, w, s, b, mode)
    for _ in range(s[SUBSTEPS]):
        if resists(s, b, mode):
            begin_resisted(s, b, dt)
            while True:
                h = next_resisted_constrained(p, t, w, s, b, mode)
                if h == 0.0:
                    break
                compliant_constrained_step(p, t, w, CLASSICAL[s[METHOD]], h)
                judge_resisted_constrained(p, t, w, s, b, h)
        else:
            compliant_constrained_step(p, t, w, CLASSICAL[s[METHOD]], dt)
    fastest: float = look_back(t, w, s, b, mode, dt)
    return fastest
