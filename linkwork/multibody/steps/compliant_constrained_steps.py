"""Steps of time with stops or contacts under constraints, in the parts of compliant_steps.py."""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import BUFFER, PARAMETERS, TOPOLOGY, float64, int64, kernel, void
from linkwork.multibody.steps.constrained_steps import constrained_rk4, constrained_semi_implicit
from linkwork.multibody.steps.divided_steps import divided_constrained_rk4
from linkwork.multibody.steps.touch_search import begin_parts, judge_part, next_part


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, int64, float64))
def compliant_constrained_step(p: Floats, t: Integers, w: Floats, classical: int, dt: float) -> None:
    """See `compliant_steps.compliant_step`."""
    begin_parts(t, w, dt)
    while True:
        h = next_part(p, t, w, dt)
        if h == 0.0:
            break
        if classical == 2:
            divided_constrained_rk4(p, t, w, h)
        elif classical == 1:
            constrained_rk4(p, t, w, h)
        else:
            constrained_semi_implicit(p, t, w, h)
        judge_part(p, t, w, dt, h)
