"""Steps of one machine among many that are simulated at the same time."""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.formulations.projection import position_residual
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    MATRIX,
    PARAMETERS,
    TOPOLOGY,
    float64,
    int64,
    kernel,
)
from linkwork.multibody.kernels.layout import COLUMN_SCALE, N_ROWS, NV, PHI_RATE, ROW_SCALE, V
from linkwork.multibody.kernels.views import vector
from linkwork.multibody.tree.dynamics import dynamics
from linkwork.plant.offline.run_kernels import constrained_step, free_step, recorded


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER))
def open_by(p: Floats, t: Integers, w: Floats) -> float:
    """Return the largest closure residual of a state, in scaled rows (1: a typical length of the machine)."""
    if t[N_ROWS] == 0:
        return 0.0
    dynamics(p, t, w)
    constraint_rows(p, t, w)
    residual: float = position_residual(p, t, w)
    return residual


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER))
def opens_at(p: Floats, t: Integers, w: Floats) -> float:
    """After `open_by`: return the largest rate of a closure's residual, in parts of the largest speed.

    Both are scaled; speeds below 1 (a typical length, or a radian, per second) count as 1.
    """
    rates, rows = vector(t, w, PHI_RATE), vector(t, p, ROW_SCALE)
    v, columns = vector(t, w, V), vector(t, p, COLUMN_SCALE)
    largest, fastest = 0.0, 1.0
    for i in range(t[N_ROWS]):
        largest = max(largest, abs(rows[i] * rates[i]))
    for k in range(t[NV]):
        fastest = max(fastest, abs(v[k] / columns[k]))
    return largest / fastest


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, int64, float64, int64, MATRIX), concurrent=True)
def sampled_steps(
    p: Floats, t: Integers, w: Floats, method: int, dt: float, every: int, samples: Floats
) -> int:
    """Make `every` steps of dt (s) before each row of `samples` (samples × (nq + nv)), which gets [q, v].

    Return the number of rows with finite states.
    """
    constrained = t[N_ROWS] > 0
    for row in range(samples.shape[0]):
        for _ in range(every):
            if constrained:
                constrained_step(p, t, w, method, dt)
            else:
                free_step(p, t, w, method, dt)
        if not recorded(t, w, samples[row]):
            return row
    return int(samples.shape[0])
