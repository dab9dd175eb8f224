"""`plant.stepping` for machines with stops or contacts: a period in parts, as touch begins, ends or is stiff.

The parts are those of `steps.compliant_steps`, within those that brakes and damping motors ask for.
"""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import (
    kernel,
    part,
)
from linkwork.multibody.steps.compliant_steps import compliant_step
from linkwork.plant.plant_layout import CLASSICAL, METHOD
from linkwork.plant.resistance import judge_resisted, next_resisted
from linkwork.plant.stepping import ADVANCE, period_by


@part
def _step(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, dt: float) -> None:  # noqa: ARG001
    compliant_step(p, t, w, CLASSICAL[s[METHOD]], dt)


_period = period_by(_step, next_resisted, judge_resisted)


@kernel(ADVANCE)
def advance_compliant(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int) -> float:
    """Advance by one period with the latched command, as `plant.stepping.advance`."""
    return _period(p, t, w, s, b, mode)
