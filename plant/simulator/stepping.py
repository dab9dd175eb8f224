"""One period of the plant as one compiled call: motors and brakes act, the mechanism moves, the sensors look.

The integrator that the file names moves the mechanism in every mode. Where brakes or damping motors act, its
steps are taken in parts (`resistance`); where none does, mode brake is mode zero bit for bit. A brake that
sticks leaves its joint's speed exactly zero, so that a braked machine keeps its position bit for bit.
"""

import math

from linkwork.arrays import Floats
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.steps.step import step
from linkwork.multibody.tree.rotations import reading_at, way_between
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.simulator.plant_state import DAMP, ZERO, PlantState
from linkwork.plant.simulator.resistance import (
    begin_resisted,
    forget,
    judge_resisted,
    next_resisted,
    relax,
    release,
    resists,
)


@kernel
def latch(s: PlantState, mode: int, effort: Floats) -> None:
    """Accept a fresh command: its `effort` (motors; N m or N), saturated, acts from now on, under ZERO none.

    The way is 0 again.
    """
    for i in range(s.n_motors):
        s.commanded[i] = 0.0 if mode == ZERO else min(max(effort[i], -s.max_effort[i]), s.max_effort[i])
    for k in range(s.travel.shape[0]):
        s.travel[k] = 0.0


@kernel
def measure(m: Model, w: Workspace, s: PlantState) -> None:
    """Sample the sensors at the state in w: noise first, then the encoder's resolution."""
    for i in range(s.measured_q.shape[0]):
        position = reading_at(m, w.q, s.sensor_at[i]) + s.noise_q[i] * s.drawn[2 * i]
        if s.resolution[i] > 0.0:
            position = math.floor(position / s.resolution[i] + 0.5) * s.resolution[i]
        s.measured_q[i] = position
        s.measured_v[i] = s.has_velocity[i] * (w.v[s.sensor_at[i]] + s.noise_v[i] * s.drawn[2 * i + 1])


@part
def deliver(s: PlantState) -> None:
    """The drives' efforts over a period: their mean becomes what acts (EFFORT), their end is kept (LEVEL).

    From one period to the next the command counts as far as the drive's rate allows; that is followed at
    once, or by a first-order lag.
    """
    period = s.period[0]
    for i in range(s.n_motors):
        aim = min(max(s.commanded[i], s.level[i] - s.most_change[i]), s.level[i] + s.most_change[i])
        left, mean = 0.0, 0.0
        if s.lag[i] > 0.0:
            left = math.exp(-s.lag[i] * period)
            mean = (1.0 - left) / (s.lag[i] * period)
        s.effort[i] = aim + mean * (s.level[i] - aim)
        s.level[i] = aim + left * (s.level[i] - aim)


@part
def take_up(w: Workspace, s: PlantState, mode: int) -> float:
    """Convert the latched command to generalized effort before the steps of a period. Returns a step's
    seconds."""
    deliver(s)
    copy(w.q, s.before)
    fill(w.effort, 0.0)
    for i in range(s.n_motors):
        if mode != DAMP:
            w.effort[s.motor_at[i]] += s.effort[i]
    relax(s)
    forget(s)
    dt: float = s.period[0] / s.substeps
    return dt


@part
def look_back(m: Model, w: Workspace, s: PlantState, mode: int, dt: float) -> float:
    """After the steps of a period: way, damping efforts, sensors. Returns what `advance` returns."""
    s.last_step[0] = dt
    release(w)
    if mode == DAMP:
        for i in range(s.n_motors):
            s.effort[i] = s.constant[i] - s.coefficient[i] * w.v[s.motor_at[i]]
    fastest = 0.0
    way_between(m, s.before, w.q, w.shift)
    for k in range(m.nv):
        s.travel[k] += abs(w.shift[k])
        if not (math.isfinite(w.q[k]) and math.isfinite(w.v[k])):
            return math.inf
        fastest = max(fastest, abs(w.v[k]))
    measure(m, w, s)
    return fastest


@part
def resisted_step(m: Model, w: Workspace, s: PlantState, mode: int, dt: float) -> None:
    """One step of dt (s), under brakes or damping motors where they act in this mode."""
    if not resists(s, mode):
        step(m, w, s.method, dt)
        return
    begin_resisted(s, dt)
    while True:
        h = next_resisted(m, w, s, mode)
        if h == 0.0:
            break
        step(m, w, s.method, h)
        judge_resisted(m, w, s, h)


@kernel
def advance(m: Model, w: Workspace, s: PlantState, mode: int) -> float:
    """Advance by one period with the latched command, then `measure`. Returns the largest speed, infinite
    after divergence.

    Zero means that the machine rests; the state after a divergence is worthless.
    """
    dt = take_up(w, s, mode)
    for _ in range(s.substeps):
        resisted_step(m, w, s, mode, dt)
    return look_back(m, w, s, mode, dt)
