"""`plant.stepping` for machines with constraints: the closures hold under efforts, brakes and damping."""

from linkwork.arrays import Floats, Integers
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
from linkwork.multibody.steps.constrained_steps import constrained_rk4, constrained_semi_implicit
from linkwork.multibody.steps.divided_steps import divided_constrained_rk4
from linkwork.plant.plant_layout import ADAPTIVE_RK4, METHOD, RK4
from linkwork.plant.resistance import (
    judge_resisted_constrained,
    next_resisted_constrained,
)
from linkwork.plant.stepping import ADVANCE, period_by


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, float64))
def constrained_step(p: Floats, t: Integers, w: Floats, s: Integers, dt: float) -> None:
    """One step of dt seconds by the machine's integrator, and back onto the manifold."""
    if s[METHOD] == RK4:
        constrained_rk4(p, t, w, dt)
    elif s[METHOD] == ADAPTIVE_RK4:
        divided_constrained_rk4(p, t, w, dt)
    else:
        constrained_semi_implicit(p, t, w, dt)


@part
def _step(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, dt: float) -> None:  # noqa: ARG001
    constrained_step(p, t, w, s, dt)


_period = period_by(_step, next_resisted_constrained, judge_resisted_constrained)


@kernel(ADVANCE)
def advance_constrained(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int) -> float:
    """Advance by one period with the latched command, as `plant.stepping.advance`."""
    return _period(p, t, w, s, b, mode)
