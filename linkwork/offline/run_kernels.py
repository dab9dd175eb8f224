"""Many steps of the machine alone as one compiled call, with what its constraints did on the way."""

import math

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.closure.rank import factor
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.projection import position_residual
from linkwork.multibody.dynamics.tree_dynamics import dynamics, energy
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import RANK, SMALLEST
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.linalg.vectors import dot
from linkwork.multibody.steps.step import step
from linkwork.multibody.tree.rotations import ball_of, turn_between
from linkwork.multibody.workspace import Model, Workspace
from linkwork.offline.passages import count_passages, forget_passages

(
    POSITION,  # largest |Φ|, m or rad
    VELOCITY,  # largest |A v + Φ_t|, m/s or rad/s
    RANK_LEAST,
    RANK_MOST,
    SIGMA,  # smallest singular value of the scaled rows that was kept
    LOST,  # to friction, stops, contacts and impulses, J
    SWITCH_LOSS,  # of that, what switching took (J)
    COUNTED,  # of that, the part counted by the steps at the last check, J
    POWER,  # lost when the machine was last looked at, W
    MOTOR_WORK,  # J
    MOTOR_EARLIER,  # of that, by efforts that held before the present ones (J)
    ENERGY_START,  # kinetic and potential, J
    IMBALANCE,  # largest |energy - energy at the start - work|, that of moving constraints too, J
    TURNING_WORK,  # of the motors' work, that along turns of quaternions (J)
) = range(14)
FIGURES = 14
"""Entries above; then q where the present efforts began, but quaternions as they were at the last look."""


@kernel
def look(m: Model, w: Workspace, dt: float, figures: Floats) -> None:
    """Update the figures (flat array, see above) by the state at the end of a step of dt (s); dt = 0 starts
    them.

    Losses are counted by the steps (`losses`), else here by the trapezoidal rule.
    """
    dynamics(m, w)
    energy(m, w)
    total = w.energy[0] + w.energy[1]
    if dt == 0.0:
        w.losses[2] = 0.0
        forget_passages(m, w)
        fill(figures, 0.0)
        copy(w.q, figures[FIGURES:])
        figures[ENERGY_START], figures[TURNING_WORK] = total, 0.0
        figures[RANK_LEAST] = figures[SIGMA] = math.inf
    if w.losses[2] == figures[COUNTED]:
        w.losses[2] += 0.5 * dt * (w.losses[0] + figures[POWER])
    figures[COUNTED], figures[POWER] = w.losses[2], w.losses[0]
    figures[LOST] = w.losses[2] + figures[SWITCH_LOSS]
    earlier = figures[MOTOR_EARLIER]
    figures[MOTOR_WORK] = earlier + _work(m, w.q, w.effort, figures)
    gained = total - figures[ENERGY_START] + figures[LOST] - figures[MOTOR_WORK]
    gained -= w.driven_work[0]
    figures[IMBALANCE] = max(figures[IMBALANCE], abs(gained))
    if m.n_rows > 0:
        _look_at_constraints(m, w, figures)


@part
def _work(m: Model, q: Floats, effort: Floats, figures: Floats) -> float:
    """Work of the present efforts along coordinates, and of all along turns, added up step by step (J)."""
    start = figures[FIGURES:]
    work: float = 0.0
    for k in range(m.nv):
        if ball_of(m, k) < 0:
            work += effort[k] * (q[k] - start[k])
    for i in range(m.n_balls):
        k, scalar = m.ball_vector[i], m.ball_scalar[i]
        u, u2 = (start[k], start[k + 1], start[k + 2]), (q[k], q[k + 1], q[k + 2])
        turn = turn_between(start[scalar], u, q[scalar], u2)
        figures[TURNING_WORK] += dot((effort[k], effort[k + 1], effort[k + 2]), turn)
        start[k], start[k + 1], start[k + 2], start[scalar] = q[k], q[k + 1], q[k + 2], q[scalar]
    work += figures[TURNING_WORK]
    return work


@part
def _look_at_constraints(m: Model, w: Workspace, figures: Floats) -> None:
    constraint_rows(m, w)
    factor(m, w)
    count_passages(m, w)
    for i in range(m.n_rows):
        figures[POSITION] = max(figures[POSITION], abs(w.phi[i]))
        figures[VELOCITY] = max(figures[VELOCITY], abs(w.phi_rate[i]))
    figures[RANK_LEAST] = min(figures[RANK_LEAST], w.ranking[RANK])
    figures[RANK_MOST] = max(figures[RANK_MOST], w.ranking[RANK])
    if w.ranking[RANK] > 0.0:
        figures[SIGMA] = min(figures[SIGMA], w.ranking[SMALLEST])


@kernel
def steps(m: Model, w: Workspace, method: int, dt: float, count: int, rows: Matrix, figures: Floats) -> int:
    """Make `count` steps of dt (s), writing [q, v] to `rows` (steps × (nq + nv)); return those finite.

    method: of `step.METHODS`. figures (flat array): see `look`.
    """
    for i in range(count):
        step(m, w, method, dt)
        if not recorded(m, w, rows[i]):
            return i
        look(m, w, dt, figures)
    return count


@kernel(concurrent=True)
def sampled_steps(m: Model, w: Workspace, method: int, dt: float, every: int, samples: Matrix) -> int:
    """Make `every` steps of dt (s) before each row of `samples` (samples × (nq + nv)), which gets [q, v].

    Return the number of rows with finite states.
    """
    for row in range(samples.shape[0]):
        for _ in range(every):
            step(m, w, method, dt)
        if not recorded(m, w, samples[row]):
            return row
    return int(samples.shape[0])


@part
def recorded(m: Model, w: Workspace, row: Floats) -> bool:
    """Write the state to a row (nq + nv); return whether it is finite."""
    total = 0.0
    for k in range(m.nq):
        row[k] = w.q[k]
        total += w.q[k]
    for k in range(m.nv):
        row[m.nq + k] = w.v[k]
        total += w.v[k]
    return math.isfinite(total)


@kernel
def open_by(m: Model, w: Workspace) -> float:
    """Return the largest closure residual of a state, in scaled rows (1: a typical length of the machine)."""
    if m.n_rows == 0:
        return 0.0
    dynamics(m, w)
    constraint_rows(m, w)
    return position_residual(m, w)


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
