"""`plant.compliant_stepping` for machines with constraints."""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import (
    kernel,
    part,
)
from linkwork.multibody.steps.compliant_constrained_steps import compliant_constrained_step
from linkwork.plant.plant_layout import CLASSICAL, METHOD
from linkwork.plant.resistance import (
    judge_resisted_constrained,
    next_resisted_constrained,
)
from linkwork.plant.stepping import ADVANCE, period_by


@part
def _step(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, dt: float) -> None:  # noqa: ARG001
    compliant_constrained_step(p, t, w, CLASSICAL[s[METHOD]], dt)


_period = period_by(_step, next_resisted_constrained, judge_resisted_constrained)


@kernel(ADVANCE)
def advance_compliant_constrained(
    p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int
) -> float:
    """See `compliant_stepping.advance_compliant`."""
    return _period(p, t, w, s, b, mode)
