"""One period of the plant as one compiled call: motors and brakes act, the mechanism moves, the sensors look.

Under effort (or none) the mechanism's own integrator runs. Under brakes or damping each step is
semi-implicit: v* = v + Δt M⁻¹ (effort + friction - h), then bounded impulses of the motors' rows
(`impulses`), then q += Δt v. A brake that sticks leaves its joint's speed exactly zero, so that a braked
machine keeps its position bit for bit.
"""

import math

from multibody.compiling import (
    BUFFER,
    INTEGERS,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    float64,
    int64,
    kernel,
    part,
    void,
)
from multibody.divided_steps import divided_rk4
from multibody.dynamics import forward_dynamics
from multibody.integrate import rk4, semi_implicit
from multibody.layout import EFFORT as GENERALIZED_EFFORT
from multibody.layout import FACTOR as MASS_FACTOR
from multibody.layout import NV, VDOT, Q, V
from multibody.linear import cholesky_solve
from multibody.model import Integers
from multibody.rotations import move
from multibody.vectors import Rows
from multibody.views import matrix, table, vector
from plant.impulses import bounded_impulses
from plant.layout import (
    ADAPTIVE_RK4,
    BEFORE,
    BOUND,
    BRAKE,
    BRAKE_EFFORT,
    COMMANDED,
    COMPLIANCE,
    DAMP,
    DAMPING,
    DELASSUS,
    DRAWN,
    EFFORT,
    FACTOR,
    FREE,
    HAS_VELOCITY,
    IMPULSE,
    LAG,
    LAST_STEP,
    LEVEL,
    MAX_EFFORT,
    MEASURED_Q,
    MEASURED_V,
    METHOD,
    MOST_CHANGE,
    MOTOR_AT,
    MOTORS,
    NOISE_Q,
    NOISE_V,
    PERIOD,
    RESOLUTION,
    RESPONSE,
    RK4,
    ROWS,
    SENSOR_AT,
    STICKS,
    SUBSTEPS,
    TRAVEL,
    TRIAL,
    ZERO,
)


@kernel(void(INTEGERS, BUFFER, int64, VECTOR))
def latch(s: Integers, b: Rows, mode: int, effort: Rows) -> None:
    """Take a fresh command: its efforts, saturated, act from now on (under ZERO none); the way is 0 again."""
    commanded, most = vector(s, b, COMMANDED), vector(s, b, MAX_EFFORT)
    for i in range(s[MOTORS]):
        commanded[i] = 0.0 if mode == ZERO else min(max(effort[i], -most[i]), most[i])
    travel = vector(s, b, TRAVEL)
    for k in range(travel.shape[0]):
        travel[k] = 0.0


@kernel(void(TOPOLOGY, BUFFER, INTEGERS, BUFFER))
def measure(t: Integers, w: Rows, s: Integers, b: Rows) -> None:
    """What the sensors say of the state in w: noise first, then the step of the encoder."""
    q, v, at = vector(t, w, Q), vector(t, w, V), table(s, SENSOR_AT, 1)
    resolution, has_velocity, drawn = (
        vector(s, b, RESOLUTION),
        vector(s, b, HAS_VELOCITY),
        vector(s, b, DRAWN),
    )
    noise_q, noise_v = vector(s, b, NOISE_Q), vector(s, b, NOISE_V)
    measured_q, measured_v = vector(s, b, MEASURED_Q), vector(s, b, MEASURED_V)
    for i in range(measured_q.shape[0]):
        position = q[at[i, 0]] + noise_q[i] * drawn[2 * i]
        if resolution[i] > 0.0:
            position = math.floor(position / resolution[i] + 0.5) * resolution[i]
        measured_q[i] = position
        measured_v[i] = has_velocity[i] * (v[at[i, 0]] + noise_v[i] * drawn[2 * i + 1])


@part
def impede(v: Rows, s: Integers, b: Rows, mode: int, dt: float) -> None:
    """Brakes (BRAKE) or damping motors (DAMP) act on v for dt seconds; `impulses` has the equations.

    RESPONSE holds what a unit impulse of each motor's row does to v.
    """
    nv, n = v.shape[0], s[MOTORS]
    rows, response, delassus = matrix(s, b, ROWS, nv), matrix(s, b, RESPONSE, nv), matrix(s, b, DELASSUS, n)
    free, compliance, bound = vector(s, b, FREE), vector(s, b, COMPLIANCE), vector(s, b, BOUND)
    impulse, sticks, at = vector(s, b, IMPULSE), vector(s, b, STICKS), table(s, MOTOR_AT, 1)
    friction, most, damping = vector(s, b, BRAKE_EFFORT), vector(s, b, MAX_EFFORT), vector(s, b, DAMPING)
    for i in range(n):
        free[i] = 0.0
        for k in range(nv):
            free[i] += rows[i, k] * v[k]
        for j in range(i + 1):
            coupling = 0.0
            for k in range(nv):
                coupling += rows[j, k] * response[i, k]
            delassus[i, j] = delassus[j, i] = coupling
        damps = mode == DAMP and damping[i] > 0.0
        compliance[i] = 1.0 / (damping[i] * dt) if damps else 0.0
        bound[i] = dt * (friction[i] if mode == BRAKE else most[i] if damps else 0.0)
    bounded_impulses(
        delassus, free, compliance, bound, impulse, sticks, matrix(s, b, FACTOR, n), vector(s, b, TRIAL)
    )
    for i in range(n):
        for k in range(nv):
            v[k] += response[i, k] * impulse[i]
    for i in range(n):
        if mode == BRAKE and sticks[i] != 0.0:
            v[at[i, 0]] = 0.0


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, int64, float64))
def resist(p: Rows, t: Integers, w: Rows, s: Integers, b: Rows, mode: int, dt: float) -> None:
    """One step of dt seconds with brakes or damping motors."""
    forward_dynamics(p, t, w)
    nv = t[NV]
    v, vdot, mass_factor = vector(t, w, V), vector(t, w, VDOT), matrix(t, w, MASS_FACTOR, nv)
    rows, response = matrix(s, b, ROWS, nv), matrix(s, b, RESPONSE, nv)
    for k in range(nv):
        v[k] += dt * vdot[k]
    for i in range(s[MOTORS]):
        for k in range(nv):
            response[i, k] = rows[i, k]
        cholesky_solve(mass_factor, response[i])
    impede(v, s, b, mode, dt)
    move(t, vector(t, w, Q), v, dt)


@part
def deliver(s: Integers, b: Rows) -> None:
    """The drives' efforts over a period: their mean becomes what acts (EFFORT), their end is kept (LEVEL).

    From one period to the next the command counts as far as the drive's rate allows; that is followed at
    once, or by a first-order lag.
    """
    acting, level, commanded = vector(s, b, EFFORT), vector(s, b, LEVEL), vector(s, b, COMMANDED)
    most, lag, period = vector(s, b, MOST_CHANGE), vector(s, b, LAG), vector(s, b, PERIOD)[0]
    for i in range(s[MOTORS]):
        aim = min(max(commanded[i], level[i] - most[i]), level[i] + most[i])
        left, mean = 0.0, 0.0
        if lag[i] > 0.0:
            left = math.exp(-lag[i] * period)
            mean = (1.0 - left) / (lag[i] * period)
        acting[i] = aim + mean * (level[i] - aim)
        level[i] = aim + left * (level[i] - aim)


@part
def take_up(t: Integers, w: Rows, s: Integers, b: Rows, mode: int) -> float:
    """Before the steps of a period: what is latched becomes generalized effort. Returns a step's seconds."""
    q, generalized, before = vector(t, w, Q), vector(t, w, GENERALIZED_EFFORT), vector(s, b, BEFORE)
    acting, at = vector(s, b, EFFORT), table(s, MOTOR_AT, 1)
    deliver(s, b)
    for k in range(t[NV]):
        generalized[k] = 0.0
        before[k] = q[k]
    for i in range(s[MOTORS]):
        if mode != DAMP:
            generalized[at[i, 0]] += acting[i]
    dt: float = vector(s, b, PERIOD)[0] / s[SUBSTEPS]
    return dt


@part
def look_back(t: Integers, w: Rows, s: Integers, b: Rows, mode: int, dt: float) -> float:
    """After the steps of a period: way, damping efforts, sensors. Returns what `advance` returns."""
    q, v, before, travel = vector(t, w, Q), vector(t, w, V), vector(s, b, BEFORE), vector(s, b, TRAVEL)
    acting, impulse = vector(s, b, EFFORT), vector(s, b, IMPULSE)
    vector(s, b, LAST_STEP)[0] = dt
    if mode == DAMP:
        for i in range(s[MOTORS]):
            acting[i] = impulse[i] / dt
    fastest = 0.0
    for k in range(t[NV]):
        travel[k] += abs(q[k] - before[k])
        if not (math.isfinite(q[k]) and math.isfinite(v[k])):
            return math.inf
        fastest = max(fastest, abs(v[k]))
    measure(t, w, s, b)
    return fastest


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, int64))
def advance(p: Rows, t: Integers, w: Rows, s: Integers, b: Rows, mode: int) -> float:
    """One period with what is latched, then `measure`. Returns the largest speed, infinite after divergence.

    Zero means that the machine rests; the state after a divergence is worthless.
    """
    dt = take_up(t, w, s, b, mode)
    for _ in range(s[SUBSTEPS]):
        if mode in (BRAKE, DAMP):
            resist(p, t, w, s, b, mode, dt)
        elif s[METHOD] == RK4:
            rk4(p, t, w, dt)
        elif s[METHOD] == ADAPTIVE_RK4:
            divided_rk4(p, t, w, dt)
        else:
            semi_implicit(p, t, w, dt)
    fastest: float = look_back(t, w, s, b, mode, dt)
    return fastest
