"""Steps of time with stops or contacts under constraints, in the parts of compliant_steps.py."""

from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.steps.constrained_steps import constrained_rk4, constrained_semi_implicit
from linkwork.multibody.steps.divided_steps import divided_constrained_rk4
from linkwork.multibody.steps.touch_search import begin_parts, judge_part, next_part
from linkwork.multibody.workspace import Model, Workspace


@kernel
def compliant_constrained_step(m: Model, w: Workspace, classical: int, dt: float) -> None:
    """See `compliant_steps.compliant_step`."""
    begin_parts(w, dt)
    while True:
        h = next_part(m, w, dt)
        if h == 0.0:
            break
        if classical == 2:
            divided_constrained_rk4(m, w, h)
        elif classical == 1:
            constrained_rk4(m, w, h)
        else:
            constrained_semi_implicit(m, w, h)
        judge_part(m, w, dt, h)
