"""Response of motors' rows to impulses, and the first-order step with bounded impulses (`impulses`).

v* = v + Δt v̇, then impulses of the motors' rows, then q += Δt v. A unit impulse on row R changes v by M⁻¹
R', and under constraints by Λ (Λ' M Λ)⁻¹ Λ' R' with Λ a basis of the admitted velocities, so that closures
stay closed.

The step never adds energy, however long it is. `resistance` takes it where brakes come and go faster than a
step can follow, and for dampers that are too stiff for it.
"""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.formulations.other_formulations import constrained_forward_dynamics
from linkwork.multibody.formulations.projection import onto_manifold
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    INTEGERS,
    PARAMETERS,
    TOPOLOGY,
    float64,
    int64,
    kernel,
    part,
    void,
)
from linkwork.multibody.kernels.layout import (
    BASIS,
    CLOCK,
    FREE_MOTION,
    NV,
    RANK,
    RANKING,
    REDUCED,
    SUM_V,
    VDOT,
    Q,
    V,
)
from linkwork.multibody.kernels.views import block, fill, matrix, table, vector
from linkwork.multibody.linalg.linear import cholesky_solve
from linkwork.multibody.tree.dynamics import forward_dynamics, mass_times, solve_mass
from linkwork.multibody.tree.rotations import move
from linkwork.plant.impulses import bounded_impulses
from linkwork.plant.plant_layout import (
    BOUND,
    BRAKE,
    BRAKE_EFFORT,
    COMPLIANCE,
    DAMP,
    DAMPING,
    DELASSUS,
    FACTOR,
    FREE,
    IMPULSE,
    MAX_EFFORT,
    MOTOR_AT,
    MOTORS,
    RESPONSE,
    ROWS,
    STICKS,
    TRIAL,
)

_RESPONSE = void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER)
_IMPLICIT = void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, int64, float64)


@part
def _couple(s: Integers, b: Floats, nv: int) -> None:
    """The Delassus matrix of the motors' rows, from their responses."""
    n = s[MOTORS]
    rows, response, delassus = matrix(s, b, ROWS, nv), matrix(s, b, RESPONSE, nv), matrix(s, b, DELASSUS, n)
    for i in range(n):
        for j in range(i + 1):
            coupling = 0.0
            for k in range(nv):
                coupling += rows[j, k] * response[i, k]
            delassus[i, j] = delassus[j, i] = coupling


@kernel(_RESPONSE)
def respond(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats) -> None:
    """v̇ without stuck brakes, the motors' responses and their Delassus matrix, without constraints."""
    forward_dynamics(p, t, w)
    nv = t[NV]
    rows, response = matrix(s, b, ROWS, nv), matrix(s, b, RESPONSE, nv)
    for i in range(s[MOTORS]):
        for k in range(nv):
            response[i, k] = rows[i, k]
        solve_mass(t, w, response[i])
    _couple(s, b, nv)


@part
def _along(basis: Floats, reduced: Floats, z: Floats, motion: Floats) -> None:
    """The admitted motion (nv) with these momenta z along the basis; z is overwritten."""
    cholesky_solve(reduced, z)
    fill(motion, 0.0)
    for j in range(z.shape[0]):
        for k in range(motion.shape[0]):
            motion[k] += basis[j, k] * z[j]


@kernel(_RESPONSE)
def respond_constrained(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats) -> None:
    """`respond` under constraints."""
    constrained_forward_dynamics(p, t, w)
    nv = t[NV]
    free = nv - int(vector(t, w, RANKING)[RANK])
    basis, reduced = block(w, t[BASIS], free, nv), block(w, t[REDUCED], free, free)
    rows, response, z = matrix(s, b, ROWS, nv), matrix(s, b, RESPONSE, nv), vector(t, w, FREE_MOTION)
    for i in range(s[MOTORS]):
        for j in range(free):
            z[j] = 0.0
            for k in range(nv):
                z[j] += basis[j, k] * rows[i, k]
        _along(basis, reduced, z[:free], response[i])
    _couple(s, b, nv)


@part
def _impede(v: Floats, s: Integers, b: Floats, mode: int, dt: float) -> None:
    """After `respond`: brakes (BRAKE) or damping motors (DAMP) act on v for dt seconds."""
    nv, n = v.shape[0], s[MOTORS]
    rows, response = matrix(s, b, ROWS, nv), matrix(s, b, RESPONSE, nv)
    free, compliance, bound = vector(s, b, FREE), vector(s, b, COMPLIANCE), vector(s, b, BOUND)
    impulse, sticks, at = vector(s, b, IMPULSE), vector(s, b, STICKS), table(s, MOTOR_AT, 1)
    friction, most, damping = vector(s, b, BRAKE_EFFORT), vector(s, b, MAX_EFFORT), vector(s, b, DAMPING)
    for i in range(n):
        free[i] = 0.0
        for k in range(nv):
            free[i] += rows[i, k] * v[k]
        damps = mode == DAMP and damping[i] > 0.0
        compliance[i] = 1.0 / (damping[i] * dt) if damps else 0.0
        bound[i] = dt * (friction[i] if mode == BRAKE else most[i] if damps else 0.0)
    bounded_impulses(
        matrix(s, b, DELASSUS, n),
        free,
        compliance,
        bound,
        impulse,
        sticks,
        matrix(s, b, FACTOR, n),
        vector(s, b, TRIAL),
    )
    for i in range(n):
        for k in range(nv):
            v[k] += response[i, k] * impulse[i]
    for i in range(n):
        if mode == BRAKE and sticks[i] != 0.0:
            v[at[i, 0]] = 0.0


@kernel(_IMPLICIT)
def implicit_step(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int, dt: float) -> None:
    """One first-order step of dt seconds with brakes or damping motors, without constraints."""
    respond(p, t, w, s, b)
    v, vdot = vector(t, w, V), vector(t, w, VDOT)
    for k in range(t[NV]):
        v[k] += dt * vdot[k]
    _impede(v, s, b, mode, dt)
    move(t, vector(t, w, Q), v, dt)
    vector(t, w, CLOCK)[0] += dt


@kernel(_IMPLICIT)
def implicit_constrained_step(
    p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int, dt: float
) -> None:
    """See `implicit_step`; under constraints."""
    respond_constrained(p, t, w, s, b)
    nv = t[NV]
    free = nv - int(vector(t, w, RANKING)[RANK])
    v, vdot, z = vector(t, w, V), vector(t, w, VDOT), vector(t, w, FREE_MOTION)
    basis, reduced = block(w, t[BASIS], free, nv), block(w, t[REDUCED], free, free)
    for k in range(nv):
        v[k] += dt * vdot[k]
    momentum = vector(t, w, SUM_V)
    mass_times(t, w, v, momentum)
    for j in range(free):
        z[j] = 0.0
        for k in range(nv):
            z[j] += basis[j, k] * momentum[k]
    _along(basis, reduced, z[:free], v)  # without the part of the step that the closures do not admit
    _impede(v, s, b, mode, dt)
    move(t, vector(t, w, Q), v, dt)
    vector(t, w, CLOCK)[0] += dt
    onto_manifold(p, t, w)
