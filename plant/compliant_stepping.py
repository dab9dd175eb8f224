"""`plant.stepping` for machines with stops or contacts: a period in parts, as touch begins, ends or is stiff.

The parts are those of `steps.compliant_steps`, within those that brakes and damping motors ask for.
"""

from linkwork.multibody.kernels.compiling import (
    kernel,
    part,
)
from linkwork.multibody.steps.compliant_steps import compliant_step
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.plant_state import CLASSICAL, PlantState
from linkwork.plant.resistance import judge_resisted, next_resisted
from linkwork.plant.stepping import period_by


@part
def _step(m: Model, w: Workspace, s: PlantState, dt: float) -> None:
    compliant_step(m, w, CLASSICAL[s.method], dt)


_period = period_by(_step, next_resisted, judge_resisted)


@kernel
def advance_compliant(m: Model, w: Workspace, s: PlantState, mode: int) -> float:
    """Advance by one period with the latched command, as `plant.stepping.advance`."""
    return _period(m, w, s, mode)
