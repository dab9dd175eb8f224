"""One period of the plant as one compiled call: motors and brakes act, the mechanism moves, the sensors look.

The integrator that the file names moves the mechanism in every mode. Where brakes or damping motors act, its
steps are taken in parts (`resistance`); where none does, mode brake is mode zero bit for bit. A brake that
sticks leaves its joint's speed exactly zero, so that a braked machine keeps its position bit for bit.
"""

import math
from collections.abc import Callable

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import (
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
from linkwork.multibody.kernels.layout import EFFORT as GENERALIZED_EFFORT
from linkwork.multibody.kernels.layout import NV, SHIFT, Q, V
from linkwork.multibody.kernels.views import copy, fill, table, vector
from linkwork.multibody.steps.divided_steps import divided_rk4
from linkwork.multibody.steps.integrate import rk4, semi_implicit
from linkwork.multibody.tree.rotations import reading_at, way_between
from linkwork.plant.plant_layout import (
    ADAPTIVE_RK4,
    BEFORE,
    COEFFICIENT,
    COMMANDED,
    CONSTANT,
    DAMP,
    DRAWN,
    EFFORT,
    HAS_VELOCITY,
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
    RK4,
    SENSOR_AT,
    SUBSTEPS,
    TRAVEL,
    ZERO,
)
from linkwork.plant.resistance import (
    begin_resisted,
    forget,
    judge_resisted,
    next_resisted,
    relax,
    release,
    resists,
)

ADVANCE = float64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, int64)


@kernel(void(INTEGERS, BUFFER, int64, VECTOR))
def latch(s: Integers, b: Floats, mode: int, effort: Floats) -> None:
    """Accept a fresh command: its `effort` (motors; N m or N), saturated, acts from now on, under ZERO none.

    The way is 0 again.
    """
    commanded, most = vector(s, b, COMMANDED), vector(s, b, MAX_EFFORT)
    for i in range(s[MOTORS]):
        commanded[i] = 0.0 if mode == ZERO else min(max(effort[i], -most[i]), most[i])
    travel = vector(s, b, TRAVEL)
    for k in range(travel.shape[0]):
        travel[k] = 0.0


@kernel(void(TOPOLOGY, BUFFER, INTEGERS, BUFFER))
def measure(t: Integers, w: Floats, s: Integers, b: Floats) -> None:
    """Sample the sensors at the state in w: noise first, then the encoder's resolution."""
    q, v, at = vector(t, w, Q), vector(t, w, V), table(s, SENSOR_AT, 1)
    resolution, has_velocity, drawn = (
        vector(s, b, RESOLUTION),
        vector(s, b, HAS_VELOCITY),
        vector(s, b, DRAWN),
    )
    noise_q, noise_v = vector(s, b, NOISE_Q), vector(s, b, NOISE_V)
    measured_q, measured_v = vector(s, b, MEASURED_Q), vector(s, b, MEASURED_V)
    for i in range(measured_q.shape[0]):
        position = reading_at(t, q, at[i, 0]) + noise_q[i] * drawn[2 * i]
        if resolution[i] > 0.0:
            position = math.floor(position / resolution[i] + 0.5) * resolution[i]
        measured_q[i] = position
        measured_v[i] = has_velocity[i] * (v[at[i, 0]] + noise_v[i] * drawn[2 * i + 1])


@part
def deliver(s: Integers, b: Floats) -> None:
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
def take_up(t: Integers, w: Floats, s: Integers, b: Floats, mode: int) -> float:
    """Convert the latched command to generalized effort before the steps of a period. Returns a step's
    seconds."""
    generalized, acting, at = vector(t, w, GENERALIZED_EFFORT), vector(s, b, EFFORT), table(s, MOTOR_AT, 1)
    deliver(s, b)
    copy(vector(t, w, Q), vector(s, b, BEFORE))
    fill(generalized, 0.0)
    for i in range(s[MOTORS]):
        if mode != DAMP:
            generalized[at[i, 0]] += acting[i]
    relax(s, b)
    forget(s, b)
    dt: float = vector(s, b, PERIOD)[0] / s[SUBSTEPS]
    return dt


@part
def look_back(t: Integers, w: Floats, s: Integers, b: Floats, mode: int, dt: float) -> float:
    """After the steps of a period: way, damping efforts, sensors. Returns what `advance` returns."""
    q, v, before, travel = vector(t, w, Q), vector(t, w, V), vector(s, b, BEFORE), vector(s, b, TRAVEL)
    acting, at, way = vector(s, b, EFFORT), table(s, MOTOR_AT, 1), vector(t, w, SHIFT)
    constant, coefficient = vector(s, b, CONSTANT), vector(s, b, COEFFICIENT)
    vector(s, b, LAST_STEP)[0] = dt
    release(t, w)
    if mode == DAMP:
        for i in range(s[MOTORS]):
            acting[i] = constant[i] - coefficient[i] * v[at[i, 0]]
    fastest = 0.0
    way_between(t, before, q, way)
    for k in range(t[NV]):
        travel[k] += abs(way[k])
        if not (math.isfinite(q[k]) and math.isfinite(v[k])):
            return math.inf
        fastest = max(fastest, abs(v[k]))
    measure(t, w, s, b)
    return fastest


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, float64))
def free_step(p: Floats, t: Integers, w: Floats, s: Integers, dt: float) -> None:
    """One step of dt seconds by the machine's integrator, without constraints."""
    if s[METHOD] == RK4:
        rk4(p, t, w, dt)
    elif s[METHOD] == ADAPTIVE_RK4:
        divided_rk4(p, t, w, dt)
    else:
        semi_implicit(p, t, w, dt)


def period_by(
    step: Callable[[Floats, Integers, Floats, Integers, Floats, float], None],
    next_part: Callable[[Floats, Integers, Floats, Integers, Floats, int], float],
    judge_part: Callable[[Floats, Integers, Floats, Integers, Floats, float], None],
) -> Callable[[Floats, Integers, Floats, Integers, Floats, int], float]:
    """Return `advance` by these steps: step(p, t, w, s, b, seconds).

    next_part and judge_part: those of resistance.py, for the parts that brakes and damping motors ask for.
    """

    @part
    def period(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int) -> float:
        dt = take_up(t, w, s, b, mode)
        for _ in range(s[SUBSTEPS]):
            if resists(s, b, mode):
                begin_resisted(s, b, dt)
                while True:
                    h = next_part(p, t, w, s, b, mode)
                    if h == 0.0:
                        break
                    step(p, t, w, s, b, h)
                    judge_part(p, t, w, s, b, h)
            else:
                step(p, t, w, s, b, dt)
        fastest: float = look_back(t, w, s, b, mode, dt)
        return fastest

    return period


@part
def _step(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, dt: float) -> None:  # noqa: ARG001
    free_step(p, t, w, s, dt)


_period = period_by(_step, next_resisted, judge_resisted)


@kernel(ADVANCE)
def advance(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int) -> float:
    """Advance by one period with the latched command, then `measure`. Returns the largest speed, infinite
    after divergence.

    Zero means that the machine rests; the state after a divergence is worthless.
    """
    return _period(p, t, w, s, b, mode)
