"""Response of motors' rows to impulses, and the first-order step with bounded impulses (`impulses`).

v* = v + Δt v̇, then impulses of the motors' rows, then q += Δt v. A unit impulse on row R changes v by M⁻¹
R', and under constraints by Λ (Λ' M Λ)⁻¹ Λ' R' with Λ a basis of the admitted velocities, so that closures
stay closed.

The step never adds energy, however long it is. `resistance` takes it where brakes come and go faster than a
step can follow, and for dampers that are too stiff for it.
"""

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.dynamics.other_formulations import constrained_forward_dynamics
from linkwork.multibody.dynamics.projection import onto_manifold
from linkwork.multibody.dynamics.tree_dynamics import mass_times, solve_mass
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.linalg.linear import cholesky_solve
from linkwork.multibody.tree.rotations import move
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.simulator.impulses import bounded_impulses
from linkwork.plant.simulator.plant_state import BRAKE, DAMP, PlantState


@part
def _couple(s: PlantState, nv: int) -> None:
    """The Delassus matrix of the motors' rows, from their responses."""
    n = s.n_motors
    for i in range(n):
        for j in range(i + 1):
            coupling = 0.0
            for k in range(nv):
                coupling += s.rows[j, k] * s.response[i, k]
            s.delassus[i, j] = s.delassus[j, i] = coupling


@part
def _along(basis: Matrix, reduced: Matrix, z: Floats, motion: Floats) -> None:
    """The admitted motion (nv) with these momenta z along the basis; z is overwritten."""
    cholesky_solve(reduced, z)
    fill(motion, 0.0)
    for j in range(z.shape[0]):
        for k in range(motion.shape[0]):
            motion[k] += basis[j, k] * z[j]


@kernel
def respond(m: Model, w: Workspace, s: PlantState) -> None:
    """v̇ without stuck brakes, the motors' responses and their Delassus matrix."""
    constrained_forward_dynamics(m, w)
    nv = m.nv
    if m.n_rows == 0:
        for i in range(s.n_motors):
            for k in range(nv):
                s.response[i, k] = s.rows[i, k]
            solve_mass(m, w, s.response[i])
        _couple(s, nv)
        return
    free = nv - int(w.ranking[RANK])
    basis, reduced = w.basis[:free], block(w.reduced, 0, free, free)
    for i in range(s.n_motors):
        for j in range(free):
            w.free_motion[j] = 0.0
            for k in range(nv):
                w.free_motion[j] += basis[j, k] * s.rows[i, k]
        _along(basis, reduced, w.free_motion[:free], s.response[i])
    _couple(s, nv)


@part
def _impede(v: Floats, s: PlantState, mode: int, dt: float) -> None:
    """After `respond`: brakes (BRAKE) or damping motors (DAMP) act on v for dt seconds."""
    nv, n = v.shape[0], s.n_motors
    for i in range(n):
        s.free[i] = 0.0
        for k in range(nv):
            s.free[i] += s.rows[i, k] * v[k]
        damps = mode == DAMP and s.damping[i] > 0.0
        s.compliance[i] = 1.0 / (s.damping[i] * dt) if damps else 0.0
        s.bound[i] = dt * (s.brake_effort[i] if mode == BRAKE else s.max_effort[i] if damps else 0.0)
    bounded_impulses(s.delassus, s.free, s.compliance, s.bound, s.impulse, s.sticks, s.factor, s.trial)
    for i in range(n):
        for k in range(nv):
            v[k] += s.response[i, k] * s.impulse[i]
    for i in range(n):
        if mode == BRAKE and s.sticks[i] != 0.0:
            v[s.motor_at[i]] = 0.0


@kernel
def implicit_step(m: Model, w: Workspace, s: PlantState, mode: int, dt: float) -> None:
    """One first-order step of dt seconds with brakes or damping motors."""
    respond(m, w, s)
    nv = m.nv
    for k in range(nv):
        w.v[k] += dt * w.vdot[k]
    if m.n_rows > 0:
        free = nv - int(w.ranking[RANK])
        mass_times(m, w, w.v, w.sum_v)
        basis, reduced = w.basis[:free], block(w.reduced, 0, free, free)
        for j in range(free):
            w.free_motion[j] = 0.0
            for k in range(nv):
                w.free_motion[j] += basis[j, k] * w.sum_v[k]
        # without the part of the step that the closures do not admit
        _along(basis, reduced, w.free_motion[:free], w.v)
    _impede(w.v, s, mode, dt)
    move(m, w.q, w.v, dt)
    w.clock[0] += dt
    if m.n_rows > 0:
        onto_manifold(m, w)
