"""`plant.minimal_stepping` for machines with stops or contacts: a period in parts."""

from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.steps.touch_search import begin_parts, judge_part, next_part
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.minimal_stepping import minimal_step
from linkwork.plant.plant_state import PlantState
from linkwork.plant.resistance import (
    judge_resisted_constrained,
    next_resisted_constrained,
)
from linkwork.plant.stepping import period_by


@kernel
def compliant_minimal_step(m: Model, w: Workspace, s: PlantState, dt: float) -> None:
    """One step of dt seconds in parts, as touch begins, ends or is stiff."""
    begin_parts(w, dt)
    while True:
        h = next_part(m, w, dt)
        if h == 0.0:
            break
        minimal_step(m, w, s, h)
        judge_part(m, w, dt, h)


_period = period_by(compliant_minimal_step, next_resisted_constrained, judge_resisted_constrained)


@kernel
def advance_compliant_minimal(m: Model, w: Workspace, s: PlantState, mode: int) -> float:
    """Advance by one period with the latched command, as `plant.stepping.advance`."""
    return _period(m, w, s, mode)
