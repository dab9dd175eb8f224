"""`plant.compliant_stepping` for machines with constraints."""

from linkwork.multibody.kernels.compiling import (
    kernel,
    part,
)
from linkwork.multibody.steps.compliant_constrained_steps import compliant_constrained_step
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.plant_state import CLASSICAL, PlantState
from linkwork.plant.resistance import (
    judge_resisted_constrained,
    next_resisted_constrained,
)
from linkwork.plant.stepping import period_by


@part
def _step(m: Model, w: Workspace, s: PlantState, dt: float) -> None:
    compliant_constrained_step(m, w, CLASSICAL[s.method], dt)


_period = period_by(_step, next_resisted_constrained, judge_resisted_constrained)


@kernel
def advance_compliant_constrained(m: Model, w: Workspace, s: PlantState, mode: int) -> float:
    """See `compliant_stepping.advance_compliant`."""
    return _period(m, w, s, mode)
