"""`plant.stepping` for machines with stops or contacts: a period in parts, as touch begins, ends or is stiff.

Under effort the parts are those of `multibody.compliant_steps`. Under brakes or damping each step is cut
evenly, so that what presses at its beginning is followed.
"""

import math

from multibody.compiling import BUFFER, INTEGERS, PARAMETERS, TOPOLOGY, float64, int64, kernel, part
from multibody.compliant_steps import compliant_constrained_step, compliant_step
from multibody.dynamics import dynamics
from multibody.model import Integers
from multibody.touch_search import MOST_PARTS, quickest
from multibody.vectors import Rows
from plant.constrained_stepping import resist_constrained
from plant.layout import BRAKE, CLASSICAL, DAMP, METHOD, SUBSTEPS
from plant.stepping import look_back, resist, take_up


@part
def parts_of_step(p: Rows, t: Integers, w: Rows, dt: float) -> int:
    """Number of equal parts into which a step of dt seconds is cut to follow what presses now."""
    dynamics(p, t, w)
    return max(1, math.ceil(min(quickest(p, t, w) * dt, 1.0 * MOST_PARTS)))


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, int64))
def advance_compliant(p: Rows, t: Integers, w: Rows, s: Integers, b: Rows, mode: int) -> float:
    """One period with what is latched, as `plant.stepping.advance`."""
    dt = take_up(t, w, s, b, mode)
    last = dt
    for _ in range(s[SUBSTEPS]):
        if mode in (BRAKE, DAMP):
            parts = parts_of_step(p, t, w, dt)
            last = dt / parts
            for _ in range(parts):
                resist(p, t, w, s, b, mode, last)
        else:
            compliant_step(p, t, w, CLASSICAL[s[METHOD]], dt)
    fastest: float = look_back(t, w, s, b, mode, last)
    return fastest


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, int64))
def advance_compliant_constrained(p: Rows, t: Integers, w: Rows, s: Integers, b: Rows, mode: int) -> float:
    """The same under constraints."""
    dt = take_up(t, w, s, b, mode)
    last = dt
    for _ in range(s[SUBSTEPS]):
        if mode in (BRAKE, DAMP):
            parts = parts_of_step(p, t, w, dt)
            last = dt / parts
            for _ in range(parts):
                resist_constrained(p, t, w, s, b, mode, last)
        else:
            compliant_constrained_step(p, t, w, CLASSICAL[s[METHOD]], dt)
    fastest: float = look_back(t, w, s, b, mode, last)
    return fastest
