"""`plant.stepping` for machines with constraints: the closures hold under efforts, brakes and damping."""

from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.steps.constrained_steps import constrained_rk4, constrained_semi_implicit
from linkwork.multibody.steps.divided_steps import divided_constrained_rk4
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.plant_state import ADAPTIVE_RK4, RK4, PlantState
from linkwork.plant.resistance import (
    judge_resisted_constrained,
    next_resisted_constrained,
)
from linkwork.plant.stepping import period_by


@kernel
def constrained_step(m: Model, w: Workspace, s: PlantState, dt: float) -> None:
    """One step of dt seconds by the machine's integrator, and back onto the manifold."""
    if s.method == RK4:
        constrained_rk4(m, w, dt)
    elif s.method == ADAPTIVE_RK4:
        divided_constrained_rk4(m, w, dt)
    else:
        constrained_semi_implicit(m, w, dt)


@part
def _step(m: Model, w: Workspace, s: PlantState, dt: float) -> None:
    constrained_step(m, w, s, dt)


_period = period_by(_step, next_resisted_constrained, judge_resisted_constrained)


@kernel
def advance_constrained(m: Model, w: Workspace, s: PlantState, mode: int) -> float:
    """Advance by one period with the latched command, as `plant.stepping.advance`."""
    return _period(m, w, s, mode)
