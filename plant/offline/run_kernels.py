"""Many steps of the machine alone as one compiled call, with what its constraints did on the way."""

from __future__ import annotations

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.formulations.passages import count_passages, forget_passages
from linkwork.multibody.formulations.rank import factor
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    MATRIX,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    float64,
    int64,
    kernel,
    part,
    void,
)
from linkwork.multibody.kernels.layout import (
    BALLS,
    DRIVEN_WORK,
    EFFORT,
    ENERGY,
    LOSSES,
    N_ROWS,
    NQ,
    NV,
    PHI,
    PHI_RATE,
    RANK,
    RANKING,
    SMALLEST,
    Q,
    V,
)
from linkwork.multibody.kernels.views import copy, fill, table, vector
from linkwork.multibody.linalg.vectors import (
    dot,
)
from linkwork.multibody.steps.constrained_steps import constrained_rk4, constrained_semi_implicit
from linkwork.multibody.steps.divided_steps import divided_constrained_rk4, divided_rk4
from linkwork.multibody.steps.integrate import rk4, semi_implicit
from linkwork.multibody.tree.dynamics import dynamics, energy
from linkwork.multibody.tree.rotations import ball_of, turn_between
from linkwork.plant.plant_layout import ADAPTIVE_RK4, RK4

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


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, float64, VECTOR))
def look(p: Floats, t: Integers, w: Floats, dt: float, figures: Floats) -> None:
    """Update the figures (flat array, see above) by the state at the end of a step of dt (s); dt = 0 starts
    them.

    Losses are counted by the steps (`LOSSES`), else here by the trapezoidal rule.
    """
    q, effort, losses = vector(t, w, Q), vector(t, w, EFFORT), vector(t, w, LOSSES)
    dynamics(p, t, w)
    energy(p, t, w)
    total = vector(t, w, ENERGY)[0] + vector(t, w, ENERGY)[1]
    if dt == 0.0:
        losses[2] = 0.0
        forget_passages(p, t, w)
        fill(figures, 0.0)
        copy(q, figures[FIGURES:])
        figures[ENERGY_START], figures[TURNING_WORK] = total, 0.0
        figures[RANK_LEAST] = figures[SIGMA] = math.inf
    if losses[2] == figures[COUNTED]:
        losses[2] += 0.5 * dt * (losses[0] + figures[POWER])
    figures[COUNTED], figures[POWER] = losses[2], losses[0]
    figures[LOST] = losses[2] + figures[SWITCH_LOSS]
    earlier = figures[MOTOR_EARLIER]
    figures[MOTOR_WORK] = earlier + _work(t, q, effort, figures)
    gained = total - figures[ENERGY_START] + figures[LOST] - figures[MOTOR_WORK]
    gained -= vector(t, w, DRIVEN_WORK)[0]
    figures[IMBALANCE] = max(figures[IMBALANCE], abs(gained))
    if t[N_ROWS] > 0:
        _look_at_constraints(p, t, w, figures)


@part
def _work(t: Integers, q: Floats, effort: Floats, figures: Floats) -> float:
    """Work of the present efforts along coordinates, and of all along turns, added up step by step (J)."""
    start, balls = figures[FIGURES:], table(t, BALLS, 2)
    work: float = 0.0
    for k in range(t[NV]):
        if ball_of(t, k) < 0:
            work += effort[k] * (q[k] - start[k])
    for i in range(balls.shape[0]):
        k, scalar = balls[i, 0], balls[i, 1]
        u, u2 = (start[k], start[k + 1], start[k + 2]), (q[k], q[k + 1], q[k + 2])
        turn = turn_between(start[scalar], u, q[scalar], u2)
        figures[TURNING_WORK] += dot((effort[k], effort[k + 1], effort[k + 2]), turn)
        start[k], start[k + 1], start[k + 2], start[scalar] = q[k], q[k + 1], q[k + 2], q[scalar]
    work += figures[TURNING_WORK]
    return work


@part
def _look_at_constraints(p: Floats, t: Integers, w: Floats, figures: Floats) -> None:
    constraint_rows(p, t, w)
    factor(p, t, w)
    count_passages(p, t, w)
    phi, phi_rate, ranking = vector(t, w, PHI), vector(t, w, PHI_RATE), vector(t, w, RANKING)
    for i in range(t[N_ROWS]):
        figures[POSITION] = max(figures[POSITION], abs(phi[i]))
        figures[VELOCITY] = max(figures[VELOCITY], abs(phi_rate[i]))
    figures[RANK_LEAST] = min(figures[RANK_LEAST], ranking[RANK])
    figures[RANK_MOST] = max(figures[RANK_MOST], ranking[RANK])
    if ranking[RANK] > 0.0:
        figures[SIGMA] = min(figures[SIGMA], ranking[SMALLEST])


@part
def free_step(p: Floats, t: Integers, w: Floats, method: int, dt: float) -> None:
    """Make one step of dt (s) by a method of `plant_layout.METHODS`."""
    if method == RK4:
        rk4(p, t, w, dt)
    elif method == ADAPTIVE_RK4:
        divided_rk4(p, t, w, dt)
    else:
        semi_implicit(p, t, w, dt)


@part
def constrained_step(p: Floats, t: Integers, w: Floats, method: int, dt: float) -> None:
    """Make one step of dt (s) under constraints, see `free_step`."""
    if method == RK4:
        constrained_rk4(p, t, w, dt)
    elif method == ADAPTIVE_RK4:
        divided_constrained_rk4(p, t, w, dt)
    else:
        constrained_semi_implicit(p, t, w, dt)


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, int64, float64, int64, MATRIX, VECTOR))
def free_steps(
    p: Floats, t: Integers, w: Floats, method: int, dt: float, count: int, rows: Floats, figures: Floats
) -> int:
    """Make `count` steps of dt (s), writing [q, v] to `rows` (steps × (nq + nv)); return those finite."""
    for step in range(count):
        free_step(p, t, w, method, dt)
        if not recorded(t, w, rows[step]):
            return step
        look(p, t, w, dt, figures)
    return count


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, int64, float64, int64, MATRIX, VECTOR))
def constrained_steps(
    p: Floats, t: Integers, w: Floats, method: int, dt: float, count: int, rows: Floats, figures: Floats
) -> int:
    """See `free_steps`; under constraints, by formulation and corrections that the workspace names."""
    for step in range(count):
        constrained_step(p, t, w, method, dt)
        if not recorded(t, w, rows[step]):
            return step
        look(p, t, w, dt, figures)
    return count


@part
def recorded(t: Integers, w: Floats, row: Floats) -> bool:
    """Write the state to a row (nq + nv); return whether it is finite."""
    q, v = vector(t, w, Q), vector(t, w, V)
    total = 0.0
    for k in range(t[NQ]):
        row[k] = q[k]
        total += q[k]
    for k in range(t[NV]):
        row[t[NQ] + k] = v[k]
        total += v[k]
    return math.isfinite(total)
