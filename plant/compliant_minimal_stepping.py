"""`plant.minimal_stepping` for machines with stops or contacts: a period in parts."""

from multibody.compiling import BUFFER, INTEGERS, PARAMETERS, TOPOLOGY, float64, int64, kernel
from multibody.minimal import minimal_rk4, minimal_semi_implicit
from multibody.model import Integers
from multibody.touch_search import begin_parts, judge_part, next_part
from multibody.vectors import Rows
from multibody.views import vector
from plant.compliant_stepping import parts_of_step
from plant.layout import BRAKE, DAMP, METHOD, SCRATCH, SEMI_IMPLICIT, SUBSTEPS
from plant.minimal_stepping import partition_of, resist_minimal
from plant.stepping import look_back, take_up


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, int64))
def advance_compliant_minimal(p: Rows, t: Integers, w: Rows, s: Integers, b: Rows, mode: int) -> float:
    """One period with what is latched, as `plant.stepping.advance`."""
    dt = take_up(t, w, s, b, mode)
    last, partition, z = dt, partition_of(s), vector(s, b, SCRATCH)
    for _ in range(s[SUBSTEPS]):
        if mode in (BRAKE, DAMP):
            parts = parts_of_step(p, t, w, dt)
            last = dt / parts
            for _ in range(parts):
                resist_minimal(p, t, w, s, b, mode, last)
            continue
        begin_parts(t, w, dt)
        while True:
            h = next_part(p, t, w, dt)
            if h == 0.0:
                break
            if s[METHOD] == SEMI_IMPLICIT:
                minimal_semi_implicit(p, t, w, h, partition, z)
            else:
                minimal_rk4(p, t, w, h, partition, z)
            judge_part(p, t, w, dt, h)
    fastest: float = look_back(t, w, s, b, mode, last)
    return fastest
