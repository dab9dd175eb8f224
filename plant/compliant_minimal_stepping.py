"""`plant.minimal_stepping` for machines with stops or contacts: a period in parts."""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    INTEGERS,
    PARAMETERS,
    TOPOLOGY,
    float64,
    int64,
    kernel,
    void,
)
from linkwork.multibody.steps.touch_search import begin_parts, judge_part, next_part
from linkwork.plant.minimal_stepping import minimal_step
from linkwork.plant.plant_layout import SUBSTEPS
from linkwork.plant.resistance import (
    begin_resisted,
    judge_resisted_constrained,
    next_resisted_constrained,
    resists,
)
from linkwork.plant.stepping import look_back, take_up


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


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, int64))
def advance_compliant_minimal(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int) -> float:
    """Advance by one period with the latched command, as `plant.stepping.advance`."""
    dt = take_up(t, w, s, b, mode)
    for _ in range(s[SUBSTEPS]):
        if resists(s, b, mode):
            begin_resisted(s, b, dt)
            while True:
                h = next_resisted_constrained(p, t, w, s, b, mode)
                if h == 0.0:
                    break
                compliant_minimal_step(p, t, w, s, b, h)
                judge_resisted_constrained(p, t, w, s, b, h)
        else:
            compliant_minimal_step(p, t, w, s, b, dt)
    fastest: float = look_back(t, w, s, b, mode, dt)
    return fastest
