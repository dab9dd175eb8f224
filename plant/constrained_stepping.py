"""`plant.stepping` for machines with constraints: motors and brakes act, the closures hold.

Under effort the constrained step runs, with its way back onto the manifold. Under brakes or damping the
velocity without impulses is v* = v + Δt v̇, v̇ of the constrained machine; a unit impulse on a motor's row R
changes it by Λ (Λ' M Λ)⁻¹ Λ' R' with Λ a basis of the admitted velocities, so that the closures stay closed.
"""

from multibody.compiling import BUFFER, INTEGERS, PARAMETERS, TOPOLOGY, float64, int64, kernel, part, void
from multibody.constrained_steps import constrained_rk4, constrained_semi_implicit
from multibody.divided_steps import divided_constrained_rk4
from multibody.formulations import constrained_forward_dynamics
from multibody.layout import BASIS, CLOCK, FREE_MOTION, MOMENTA, NV, RANK, RANKING, REDUCED, VDOT, Q, V
from multibody.linear import cholesky_solve
from multibody.model import Integers
from multibody.projection import onto_manifold
from multibody.rotations import move
from multibody.vectors import Rows
from multibody.views import block, fill, matrix, vector
from plant.layout import ADAPTIVE_RK4, BRAKE, DAMP, METHOD, MOTORS, RESPONSE, RK4, STICKS, SUBSTEPS
from plant.layout import ROWS as MOTOR_ROWS
from plant.stepping import impede, look_back, take_up

REST = 1e-9
"""Speed (rad/s or m/s) below which a machine whose brakes all stick rests. What moves freely beside stuck
brakes gains more than that in one step, so it is never held by this."""


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, int64, float64))
def resist_constrained(p: Rows, t: Integers, w: Rows, s: Integers, b: Rows, mode: int, dt: float) -> None:
    """One step of dt seconds with brakes (BRAKE) or damping motors (DAMP)."""
    constrained_forward_dynamics(p, t, w)
    nv = t[NV]
    free = nv - int(vector(t, w, RANKING)[RANK])
    v, vdot, z = vector(t, w, V), vector(t, w, VDOT), vector(t, w, FREE_MOTION)
    basis, reduced = block(w, t[BASIS], free, nv), block(w, t[REDUCED], free, free)
    momenta = matrix(t, w, MOMENTA, nv)
    for k in range(nv):
        v[k] += dt * vdot[k]
    for j in range(free):
        z[j] = 0.0
        for k in range(nv):
            z[j] += momenta[j, k] * v[k]
    _along(basis, reduced, z[:free], v)  # without what the step has made that the closures do not admit
    motor_responses(t, w, s, b, free)
    impede(v, s, b, mode, dt)
    standing = mode == BRAKE and rests(v, s, b)
    if standing:
        fill(v, 0.0)
    move(t, vector(t, w, Q), v, dt)
    vector(t, w, CLOCK)[0] += dt
    onto_manifold(p, t, w)
    if standing:
        fill(v, 0.0)


@part
def motor_responses(t: Integers, w: Rows, s: Integers, b: Rows, free: int) -> None:
    """What a unit impulse on each motor's row does to v, from the `free` rows of `BASIS` and `REDUCED`."""
    nv, z = t[NV], vector(t, w, FREE_MOTION)
    basis, reduced = block(w, t[BASIS], free, nv), block(w, t[REDUCED], free, free)
    rows, response = matrix(s, b, MOTOR_ROWS, nv), matrix(s, b, RESPONSE, nv)
    for i in range(s[MOTORS]):
        for j in range(free):
            z[j] = 0.0
            for k in range(nv):
                z[j] += basis[j, k] * rows[i, k]
        _along(basis, reduced, z[:free], response[i])


@part
def _along(basis: Rows, reduced: Rows, z: Rows, motion: Rows) -> None:
    """The admitted motion (nv) with these momenta z along the basis; z is overwritten."""
    cholesky_solve(reduced, z)
    fill(motion, 0.0)
    for j in range(z.shape[0]):
        for k in range(motion.shape[0]):
            motion[k] += basis[j, k] * z[j]


@part
def rests(v: Rows, s: Integers, b: Rows) -> bool:
    """Whether every brake sticks and nothing moves but by round-off."""
    sticks, standing = vector(s, b, STICKS), True
    for i in range(s[MOTORS]):
        standing = standing and sticks[i] != 0.0
    for k in range(v.shape[0]):
        standing = standing and abs(v[k]) < REST
    return standing


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, int64))
def advance_constrained(p: Rows, t: Integers, w: Rows, s: Integers, b: Rows, mode: int) -> float:
    """One period with what is latched, as `plant.stepping.advance`."""
    dt = take_up(t, w, s, b, mode)
    for _ in range(s[SUBSTEPS]):
        if mode in (BRAKE, DAMP):
            resist_constrained(p, t, w, s, b, mode, dt)
        elif s[METHOD] == RK4:
            constrained_rk4(p, t, w, dt)
        elif s[METHOD] == ADAPTIVE_RK4:
            divided_constrained_rk4(p, t, w, dt)
        else:
            constrained_semi_implicit(p, t, w, dt)
    fastest: float = look_back(t, w, s, b, mode, dt)
    return fastest
