"""One step of time for the state (q, v) in a workspace, effort held; under constraints, where there are any.

Friction and forces are taken at each stage. The clock in the workspace advances, so that prescribed values
move; their stages are taken at the stages' times. The formulation of the accelerations and whether the end of
a step is brought back onto the manifold follow `choice`. After a step only q, v and the clock are new: all
else in the workspace belongs to the last stage. The energy lost so far (`losses`) and the work of applied
forces and moving constraints (`driven_work`) are added up over the stages, with their weights.
"""

from linkwork.multibody.dynamics.other_formulations import constrained_forward_dynamics
from linkwork.multibody.dynamics.projection import onto_manifold
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.tree.rotations import coordinate_rates, move, normalise
from linkwork.multibody.workspace import Model, Workspace


@part
def driving_power(m: Model, w: Workspace) -> float:
    """After an acceleration: the power (W) of applied forces and of the constraints that move with time.

    That of constraints is -λ'Φ_t.
    """
    power: float = w.element_power[0]
    for i in range(m.n_rows):
        power -= w.multipliers[i] * w.explicit[i]
    return power


@part
def _close(m: Model, w: Workspace) -> None:
    """Back onto the manifold, where that is wanted."""
    if m.n_rows > 0 and w.choice[1] != 0.0:
        onto_manifold(m, w)


@kernel
def rk4(m: Model, w: Workspace, dt: float) -> None:
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
        w.losses[2] += dt * weight * w.losses[0]
        w.driven_work[0] += dt * weight * driving_power(m, w)
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
    _close(m, w)


@kernel
def semi_implicit(m: Model, w: Workspace, dt: float) -> None:
    """The symplectic first-order step: v += dt v̇(q, v), then q moves along the new v; dt in seconds."""
    constrained_forward_dynamics(m, w)
    w.losses[2] += dt * w.losses[0]
    w.driven_work[0] += dt * driving_power(m, w)
    for k in range(m.nv):
        w.v[k] += dt * w.vdot[k]
    move(m, w.q, w.v, dt)
    w.clock[0] += dt
    _close(m, w)
