"""`plant.stepping` for machines with constraints: the closures hold under efforts, brakes and damping."""

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
from linkwork.multibody.steps.constrained_steps import constrained_rk4, constrained_semi_implicit
from linkwork.multibody.steps.divided_steps import divided_constrained_rk4
from linkwork.plant.plant_layout import ADAPTIVE_RK4, METHOD, RK4, SUBSTEPS
from linkwork.plant.resistance import (
    begin_resisted,
    judge_resisted_constrained,
    next_resisted_constrained,
    resists,
)
from linkwork.plant.stepping import look_back, take_up


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, float64))
def constrained_step(p: Floats, t: Integers, w: Floats, s: Integers, dt: float) -> None:
    """One step of dt seconds by the machine's integrator, and back onto the manifold."""
    if s[METHOD] == RK4:
        constrained_rk4(p, t, w, dt)
    elif s[METHOD] == ADAPTIVE_RK4:
        divided_constrained_rk4(p, t, w, dt)
    else:
        constrained_semi_implicit(p, t, w, dt)


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, int64))
def advance_constrained(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int) -> float:
    """Advance by one period with the latched command, as `plant.stepping.advance`."""
    dt = take_up(t, w, s, b, mode)
    for _ in range(s[SUBSTEPS]):
        if resists(s, b, mode):
            begin_resisted(s, b, dt)
            while True:
                h = next_resisted_constrained(p, t, w, s, b, mode)
                if h == 0.0:
                    break
                constrained_step(p, t, w, s, h)
                judge_resisted_constrained(p, t, w, s, b, h)
        else:
            constrained_step(p, t, w, s, dt)
    fastest: float = look_back(t, w, s, b, mode, dt)
    return fastest
