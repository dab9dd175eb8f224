"""One step of time under constraints, effort held, and back onto the manifold at its end.

The formulation and whether the end of the step is corrected follow `choice` in the workspace. The clock in
the workspace advances, so that prescribed values move; their stages are taken at the stages' times. What work
moving constraints and applied forces do is summed in `driven_work`, by the step's own quadrature.
"""

from linkwork.multibody.formulations.other_formulations import constrained_forward_dynamics
from linkwork.multibody.formulations.projection import onto_manifold
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.steps.integrate import driving_power
from linkwork.multibody.tree.rotations import coordinate_rates, move, normalise
from linkwork.multibody.workspace import Model, Workspace


@kernel
def constrained_rk4(m: Model, w: Workspace, dt: float) -> None:
    """The classical fourth-order step of Runge and Kutta, dt in seconds."""
    nq, nv = m.nq, m.nv
    began = w.clock[0]
    copy(w.q, w.start_q)
    copy(w.v, w.start_v)
    fill(w.sum_q, 0.0)
    fill(w.sum_v, 0.0)
    for stage in range(4):
        constrained_forward_dynamics(m, w)
        if stage == 1:
            copy(w.vdot, w.second)
        coordinate_rates(m, w.q, w.v, w.rates)
        weight = 1.0 / 3.0 if stage in (1, 2) else 1.0 / 6.0
        w.driven_work[0] += weight * dt * driving_power(m, w)
        w.losses[2] += dt * weight * w.losses[0]
        reach = dt if stage >= 2 else 0.5 * dt
        w.clock[0] = began + reach
        for k in range(nq):
            w.sum_q[k] += weight * w.rates[k]
            w.q[k] = w.start_q[k] + reach * w.rates[k]
        for k in range(nv):
            w.sum_v[k] += weight * w.vdot[k]
            w.v[k] = w.start_v[k] + reach * w.vdot[k]
    for k in range(nq):
        w.q[k] = w.start_q[k] + dt * w.sum_q[k]
    for k in range(nv):
        w.v[k] = w.start_v[k] + dt * w.sum_v[k]
    normalise(m, w.q)
    if w.choice[1] != 0.0:
        onto_manifold(m, w)


@kernel
def constrained_semi_implicit(m: Model, w: Workspace, dt: float) -> None:
    """The first-order step v += dt v̇(q, v), then q moves along the new v; dt in seconds."""
    constrained_forward_dynamics(m, w)
    w.driven_work[0] += dt * driving_power(m, w)
    w.losses[2] += dt * w.losses[0]
    for k in range(m.nv):
        w.v[k] += dt * w.vdot[k]
    move(m, w.q, w.v, dt)
    w.clock[0] += dt
    if w.choice[1] != 0.0:
        onto_manifold(m, w)
