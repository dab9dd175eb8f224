"""Steps of one machine among many that are simulated at the same time."""

from linkwork.arrays import Matrix
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.formulations.projection import position_residual
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.tree.dynamics import dynamics
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.offline.run_kernels import constrained_step, free_step, recorded


@kernel
def open_by(m: Model, w: Workspace) -> float:
    """Return the largest closure residual of a state, in scaled rows (1: a typical length of the machine)."""
    if m.n_rows == 0:
        return 0.0
    dynamics(m, w)
    constraint_rows(m, w)
    residual: float = position_residual(m, w)
    return residual


@kernel
def opens_at(m: Model, w: Workspace) -> float:
    """After `open_by`: return the largest rate of a closure's residual, in parts of the largest speed.

    Both are scaled; speeds below 1 (a typical length, or a radian, per second) count as 1.
    """
    largest, fastest = 0.0, 1.0
    for i in range(m.n_rows):
        largest = max(largest, abs(m.row_scale[i] * w.phi_rate[i]))
    for k in range(m.nv):
        fastest = max(fastest, abs(w.v[k] / m.column_scale[k]))
    return largest / fastest


@kernel(concurrent=True)
def sampled_steps(m: Model, w: Workspace, method: int, dt: float, every: int, samples: Matrix) -> int:
    """Make `every` steps of dt (s) before each row of `samples` (samples × (nq + nv)), which gets [q, v].

    Return the number of rows with finite states.
    """
    constrained = m.n_rows > 0
    for row in range(samples.shape[0]):
        for _ in range(every):
            if constrained:
                constrained_step(m, w, method, dt)
            else:
                free_step(m, w, method, dt)
        if not recorded(m, w, samples[row]):
            return row
    return int(samples.shape[0])
