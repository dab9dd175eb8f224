"""One step of time for the state (q, v) in a workspace, effort held; friction and forces at each stage.

After a step only q, v and the clock are new: everything else in the workspace belongs to the last stage (the
energy lost so far, and the work of applied forces, are added up over the stages, with their weights).
"""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import BUFFER, PARAMETERS, TOPOLOGY, float64, kernel, part, void
from linkwork.multibody.kernels.layout import (
    CLOCK,
    DRIVEN_WORK,
    ELEMENT_POWER,
    EXPLICIT,
    LOSSES,
    MULTIPLIERS,
    N_ROWS,
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
from linkwork.multibody.tree.dynamics import forward_dynamics
from linkwork.multibody.tree.rotations import coordinate_rates, move, normalise

_STEP = void(PARAMETERS, TOPOLOGY, BUFFER, float64)


@part
def driving_power(t: Integers, w: Floats) -> float:
    """After an acceleration: the power (W) of applied forces and of the constraints that move with time.

    That of constraints is -λ'Φ_t.
    """
    multipliers, explicit = vector(t, w, MULTIPLIERS), vector(t, w, EXPLICIT)
    power: float = vector(t, w, ELEMENT_POWER)[0]
    for i in range(t[N_ROWS]):
        power -= multipliers[i] * explicit[i]
    return power


@kernel(_STEP)
def rk4(p: Floats, t: Integers, w: Floats, dt: float) -> None:
    """The classical fourth-order step of Runge and Kutta, dt in seconds."""
    q, v, vdot = vector(t, w, Q), vector(t, w, V), vector(t, w, VDOT)
    start_q, start_v = vector(t, w, START_Q), vector(t, w, START_V)
    sum_q, sum_v, rates = vector(t, w, SUM_Q), vector(t, w, SUM_V), vector(t, w, RATES)
    losses, clock, nq, nv = vector(t, w, LOSSES), vector(t, w, CLOCK), t[NQ], t[NV]
    began = clock[0]
    copy(q, start_q)
    copy(v, start_v)
    fill(sum_q, 0.0)
    fill(sum_v, 0.0)
    for stage in range(4):
        forward_dynamics(p, t, w)
        if stage == 1:
            copy(vdot, vector(t, w, SECOND))
        coordinate_rates(t, q, v, rates)
        weight = 1.0 / 3.0 if stage in (1, 2) else 1.0 / 6.0
        losses[2] += dt * weight * losses[0]
        vector(t, w, DRIVEN_WORK)[0] += dt * weight * driving_power(t, w)
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


@kernel(_STEP)
def semi_implicit(p: Floats, t: Integers, w: Floats, dt: float) -> None:
    """The symplectic first-order step: v += dt v̇(q, v), then q += dt v, dt in seconds."""
    q, v, vdot, losses = vector(t, w, Q), vector(t, w, V), vector(t, w, VDOT), vector(t, w, LOSSES)
    forward_dynamics(p, t, w)
    losses[2] += dt * losses[0]
    vector(t, w, DRIVEN_WORK)[0] += dt * driving_power(t, w)
    for k in range(t[NV]):
        v[k] += dt * vdot[k]
    move(t, q, v, dt)
    vector(t, w, CLOCK)[0] += dt
