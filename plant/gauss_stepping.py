"""`plant.stepping` by the method of Gauss, for machines whose file names it."""

from multibody.compiling import BUFFER, INTEGERS, PARAMETERS, TOPOLOGY, float64, int64, kernel
from multibody.gauss_steps import constrained_gauss, gauss
from multibody.layout import N_ROWS
from multibody.model import Integers
from multibody.vectors import Rows
from plant.constrained_stepping import resist_constrained
from plant.layout import BRAKE, DAMP, SUBSTEPS
from plant.stepping import look_back, resist, take_up


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, int64))
def advance_gauss(p: Rows, t: Integers, w: Rows, s: Integers, b: Rows, mode: int) -> float:
    """One period with what is latched, as `plant.stepping.advance`."""
    dt, constrained = take_up(t, w, s, b, mode), t[N_ROWS] > 0
    for _ in range(s[SUBSTEPS]):
        if mode in (BRAKE, DAMP):
            if constrained:
                resist_constrained(p, t, w, s, b, mode, dt)
            else:
                resist(p, t, w, s, b, mode, dt)
        elif constrained:
            constrained_gauss(p, t, w, dt)
        else:
            gauss(p, t, w, dt)
    fastest: float = look_back(t, w, s, b, mode, dt)
    return fastest
