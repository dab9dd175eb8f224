"""`plant.stepping` by the method of Gauss, for machines whose file names it."""

from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.steps.gauss_steps import constrained_gauss, gauss
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.plant_state import PlantState
from linkwork.plant.resistance import (
    begin_resisted,
    judge_resisted,
    judge_resisted_constrained,
    next_resisted,
    next_resisted_constrained,
    resists,
)
from linkwork.plant.stepping import look_back, take_up


@kernel
def advance_gauss(m: Model, w: Workspace, s: PlantState, mode: int) -> float:
    """Advance by one period with the latched command, as `plant.stepping.advance`."""
    dt, constrained = take_up(w, s, mode), m.n_rows > 0
    for _ in range(s.substeps):
        resisted = resists(s, mode)
        begin_resisted(s, dt)
        h = dt
        while True:
            if resisted and constrained:
                h = next_resisted_constrained(m, w, s, mode)
            elif resisted:
                h = next_resisted(m, w, s, mode)
            if h == 0.0:
                break
            if constrained:
                constrained_gauss(m, w, h)
            else:
                gauss(m, w, h)
            if resisted and constrained:
                judge_resisted_constrained(m, w, s, h)
            elif resisted:
                judge_resisted(m, w, s, h)
            else:
                h = 0.0
    fastest: float = look_back(m, w, s, mode, dt)
    return fastest
