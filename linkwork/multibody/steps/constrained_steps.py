"""One step of time under constraints, effort held, and back onto the manifold at its end.

The formulation and whether the end of the step is corrected follow `CHOICE` in the workspace. The clock in
the workspace advances, so that prescribed values move; their stages are taken at the stages' times. What work
moving constraints and applied forces do is summed in `DRIVEN_WORK`, by the step's own quadrature.
"""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.formulations.other_formulations import constrained_forward_dynamics
from linkwork.multibody.formulations.projection import onto_manifold
from linkwork.multibody.kernels.compiling import BUFFER, PARAMETERS, TOPOLOGY, float64, kernel, void
from linkwork.multibody.kernels.layout import (
    CHOICE,
    CLOCK,
    DRIVEN_WORK,
    LOSSES,
    NQ,
    NV,
    RATES,
    SECOND,
    START_Q,
    START_V,
    SUM_Q,
    SUM_V,
    VDOT,
    Q,
    V,
)
from linkwork.multibody.kernels.views import copy, fill, vector
from linkwork.multibody.steps.integrate import driving_power
from linkwork.multibody.tree.rotations import coordinate_rates, move, normalise

_STEP = void(PARAMETERS, TOPOLOGY, BUFFER, float64)


@kernel(_STEP)
def constrained_rk4(p: Floats, t: Integers, w: Floats, dt: float) -> None:
    """The classical fourth-order step of Runge and Kutta, dt in seconds."""
    q, v, vdot = vector(t, w, Q), vector(t, w, V), vector(t, w, VDOT)
    start_q, start_v = vector(t, w, START_Q), vector(t, w, START_V)
    sum_q, sum_v, rates = vector(t, w, SUM_Q), vector(t, w, SUM_V), vector(t, w, RATES)
    clock, nq, nv = vector(t, w, CLOCK), t[NQ], t[NV]
    began, losses = clock[0], vector(t, w, LOSSES)
    copy(q, start_q)
    copy(v, start_v)
    fill(sum_q, 0.0)
    fill(sum_v, 0.0)
    for stage in range(4):
        constrained_forward_dynamics(p, t, w)
        if stage == 1:
            copy(vdot, vector(t, w, SECOND))
        coordinate_rates(t, q, v, rates)
        weight = 1.0 / 3.0 if stage in (1, 2) else 1.0 / 6.0
        vector(t, w, DRIVEN_WORK)[0] += weight * dt * driving_power(t, w)
        losses[2] += dt * weight * losses[0]
        reach = dt if stage >= 2 else 0.5 * dt
        clock[0] = began + reach
        for k in range(nq):
            sum_q[k] += weight * rates[k]
            q[k] = start_q[k] + reach * rates[k]
        for k in range(nv):
            sum_v[k] += weight * vdot[k]
            v[k] = start_v[k] + reach * vdot[k]
    for k in range(nq):
        q[k] = start_q[k] + dt * sum_q[k]
    for k in range(nv):
        v[k] = start_v[k] + dt * sum_v[k]
    normalise(t, q)
    if vector(t, w, CHOICE)[1] != 0.0:
        onto_manifold(p, t, w)


@kernel(_STEP)
def constrained_semi_implicit(p: Floats, t: Integers, w: Floats, dt: float) -> None:
    """The first-order step v += dt v̇(q, v), then q moves along the new v; dt in seconds."""
    q, v, vdot, losses = vector(t, w, Q), vector(t, w, V), vector(t, w, VDOT), vector(t, w, LOSSES)
    constrained_forward_dynamics(p, t, w)
    vector(t, w, DRIVEN_WORK)[0] += dt * driving_power(t, w)
    losses[2] += dt * losses[0]
    for k in range(t[NV]):
        v[k] += dt * vdot[k]
    move(t, q, v, dt)
    vector(t, w, CLOCK)[0] += dt
    if vector(t, w, CHOICE)[1] != 0.0:
        onto_manifold(p, t, w)
