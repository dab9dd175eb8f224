"""A step under brakes or damping motors, by the integrator that the machine's file names.

Friction of a brake jumps where its speed changes sign, which costs every integrator its order. So a step is
taken in parts. During a part every brake keeps the mode of the part's beginning:

- it slips: the constant force -b sign(v) acts, until v comes to zero;
- it sticks: the velocity is held at zero (`multibody.dynamics.sticking`), until that takes more than b.

A damping motor is a damper -d v below its limit and a constant force beyond it. A part ends where one of
these changes; that time is found by the rule of false position, as in `multibody.steps.touch_search`. Between
such times the motion is smooth and the integrator keeps its order. Where a brake comes to zero speed, and
where a period begins, the bounded problem of `impulses`, on accelerations, decides which brakes at rest
stick and which begin to slip.

The caller moves the machine:

    begin_resisted(s, b, dt)
    while (h := next_resisted(p, t, w, s, b, mode)) > 0.0:
        ...  # move on by h
        judge_resisted(p, t, w, s, b, h)

Where brakes fix the machine the state is constant, bit for bit. Where brakes change more than `MOST_PARTS`
times in a step, or a damper is so stiff that a step would need more parts than that, the rest of the step
is one first-order step of `response`, which is stable with any brake and damper.
"""

import math

from linkwork.arrays import Floats
from linkwork.multibody.dynamics.other_formulations import constrained_forward_dynamics
from linkwork.multibody.dynamics.projection import correct_position, correct_velocity, position_residual
from linkwork.multibody.dynamics.sticking import hold_stuck
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import (
    AFTER,
    BEFORE,
    HIGH,
    LOST,
    LOW,
    PART,
    PARTS,
    PHASE,
    RANK,
    RANKING_SIZE,
    REST,
    SEARCH_SIZE,
    TRIALS,
)
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.steps.touch_search import narrow, trial_length
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.simulator.impulses import bounded_impulses
from linkwork.plant.simulator.plant_state import BRAKE, DAMP, PlantState
from linkwork.plant.simulator.response import implicit_step, respond

MOST_PARTS = 64
"""Of one step; the rest of it is one first-order step."""
STATIC = 1.0 + 1e-9
"""Largest load of a brake at rest, as a part of its slip force, so that a slipping brake does move."""
ARRIVED = 1e-10
"""Speed at the end of a part, as a part of the speeds in it, that is zero."""
STANDS = 1e-9
"""Speed (rad/s or m/s), and gain of speed in a step, of a machine that its brakes fix: round-off."""
OPEN = 1e-9
"""Scaled residual of position from which on even a machine that its brakes fix is closed."""
STIFF = 1.0
"""Longest part times the rates of the dampers; the classical step of Runge and Kutta is stable up to 2.7."""
_FOUND, _CLOSE, _MOST_TRIALS = 1e-13, 1e-11, 60
_GO, _SEEK, _END = 0.0, 1.0, 2.0
DECIDED, QUICK = SEARCH_SIZE, SEARCH_SIZE + 1
"""Further entries of `progress`: whether statuses hold, and the dampers' rate (1/s)."""

NOTHING, SLIPS, STICKING_NOW, FOLLOWS, LIMITED = 0.0, 1.0, 2.0, 3.0, 4.0
"""Statuses: no brake or damper, a brake that slips, one that sticks, a damper, and one at its limit."""


@part
def resists(s: PlantState, mode: int) -> bool:
    """Whether a brake or damping motor acts in this mode."""
    force = s.brake_effort if mode == BRAKE else s.damping
    found = False
    for i in range(s.n_motors):
        found = found or force[i] > 0.0
    return found and mode in (BRAKE, DAMP)


@part
def release(w: Workspace) -> None:
    """No brake or damper acts on the mechanism any more."""
    fill(w.slipping, 0.0)
    fill(w.dampers, 0.0)
    fill(w.stuck, 0.0)
    w.stuck_count[0] = 0.0


@part
def apply(w: Workspace, s: PlantState) -> None:
    """Brakes and dampers act on the mechanism as they did last."""
    release(w)
    for i in range(s.n_motors):
        k = s.motor_at[i]
        w.slipping[k] += s.constant[i]
        w.dampers[k] += s.coefficient[i]
        if s.holds[i] != 0.0 and w.stuck[k] == 0.0:
            w.stuck[k] = 1.0
            w.stuck_count[0] += 1.0


@part
def relax(s: PlantState) -> None:
    """No brake or damper does anything."""
    fill(s.status, NOTHING)
    fill(s.constant, 0.0)
    fill(s.coefficient, 0.0)
    fill(s.holds, 0.0)
    fill(s.load, 0.0)


@part
def forget(s: PlantState) -> None:
    """Decide again what sticks: efforts have changed."""
    s.progress[DECIDED] = 0.0


@part
def begin_resisted(s: PlantState, dt: float) -> None:
    """Begin a step of dt seconds."""
    s.progress[REST], s.progress[PARTS], s.progress[PHASE] = dt, 0.0, _GO


@part
def _by_speed(v: Floats, s: PlantState, mode: int) -> bool:
    """Statuses as speeds have them; brakes at rest and dampers wait for more. Returns whether some do."""
    waits = False
    for i in range(s.n_motors):
        speed = v[s.motor_at[i]]
        s.sign[i] = math.copysign(1.0, speed)
        if mode == BRAKE and s.brake_effort[i] > 0.0:
            s.status[i] = SLIPS if speed != 0.0 else STICKING_NOW
            s.constant[i] = -s.sign[i] * s.brake_effort[i] if speed != 0.0 else 0.0
            waits = waits or speed == 0.0
        elif mode == DAMP and s.damping[i] > 0.0:
            beyond = s.damping[i] * abs(speed) > s.max_effort[i]
            s.status[i] = LIMITED if beyond else FOLLOWS
            s.constant[i] = -s.sign[i] * s.max_effort[i] if beyond else 0.0
            s.coefficient[i] = 0.0 if beyond else s.damping[i]
            waits = waits or not beyond
    return waits


@part
def _by_force(w: Workspace, s: PlantState) -> None:
    """After `respond`: of the brakes at rest, which stick and which begin to slip."""
    n = s.n_motors
    for i in range(n):
        s.free[i], s.compliance[i] = w.vdot[s.motor_at[i]], 0.0
        s.bound[i] = STATIC * s.brake_effort[i] if s.status[i] == STICKING_NOW else 0.0
    bounded_impulses(s.delassus, s.free, s.compliance, s.bound, s.impulse, s.sticks, s.factor, s.trial)
    for i in range(n):
        if s.status[i] == STICKING_NOW and s.sticks[i] != 0.0:
            s.holds[i], s.load[i] = 1.0, abs(s.impulse[i]) / s.bound[i]
        elif s.status[i] == STICKING_NOW:
            s.status[i], s.sign[i] = SLIPS, -math.copysign(1.0, s.impulse[i])
            s.constant[i] = -s.sign[i] * s.brake_effort[i]


@part
def _fixed(m: Model, w: Workspace, dt: float) -> bool:
    """Whether the sticking rows fix the machine, which is then at rest. Velocities agree with that."""
    nv = m.nv
    if w.stuck_count[0] == 0.0:
        return False
    if m.n_rows == 0:
        return bool(w.stuck_count[0] == nv)
    free = nv - int(w.ranking[RANK])
    copy(w.vdot, w.sum_v)
    fixed = hold_stuck(m, w, free, w.sum_v) == 0
    for k in range(nv):
        fixed = fixed and dt * abs(w.sum_v[k]) < STANDS
    moves = False
    for k in range(nv):
        moves = moves or w.v[k] != 0.0
    if moves and w.ranking[LOST] == 0.0:
        correct_velocity(m, w)
    for k in range(nv):
        fixed = fixed and abs(w.v[k]) < STANDS
    if fixed:
        fill(w.v, 0.0)
        if not position_residual(m, w) <= OPEN:  # the machine itself was changed: it closes as it can
            release(w)
            correct_position(m, w, OPEN, 5)
    return fixed


@part
def _save(m: Model, w: Workspace, s: PlantState) -> None:
    nq, nv = m.nq, m.nv
    copy(w.q, s.resume)
    copy(w.v, s.resume[nq:])
    s.resume[nq + nv], s.resume[nq + nv + 3] = w.clock[0], w.driven_work[0]
    copy(w.losses[2:4], s.resume[nq + nv + 1 :])
    copy(w.ranking, s.resume[nq + nv + 4 :])


@part
def _restore(m: Model, w: Workspace, s: PlantState) -> None:
    nq, nv = m.nq, m.nv
    copy(s.resume[:nq], w.q)
    copy(s.resume[nq : nq + nv], w.v)
    w.clock[0], w.driven_work[0] = s.resume[nq + nv], s.resume[nq + nv + 3]
    copy(s.resume[nq + nv + 1 : nq + nv + 3], w.losses[2:4])
    copy(s.resume[nq + nv + 4 : nq + nv + 4 + RANKING_SIZE], w.ranking)


@part
def _excess(s: PlantState, i: int, speed: float) -> float:
    """Distance of a brake or damper beyond the limit of its present mode, relative to its size."""
    status, size = s.status[i], s.speed[i]
    against, most = s.sign[i] * speed, s.max_effort[i]
    excess: float = -1.0
    if status == SLIPS and size > 0.0:
        excess = -against / size
    elif status == STICKING_NOW:
        excess = s.load[i] - 1.0
    elif status == FOLLOWS and math.isfinite(most):
        excess = s.damping[i] * abs(speed) / most - 1.0
    elif status == LIMITED:
        excess = 1.0 - s.damping[i] * against / most
    return excess


@part
def _measure(m: Model, w: Workspace, s: PlantState) -> None:
    """After the first move of a part: the size of its speeds, and how far its beginning is from a change."""
    before, near = s.resume[m.nq :], -1.0
    for i in range(s.n_motors):
        s.speed[i] = abs(w.v[s.motor_at[i]]) + abs(before[s.motor_at[i]])
        near = max(near, _excess(s, i, before[s.motor_at[i]]))
    s.progress[BEFORE] = near


@part
def _arrived(s: PlantState, i: int, speed: float) -> bool:
    """Whether a brake that slips has come to zero speed."""
    size = s.speed[i]
    return bool(s.status[i] == SLIPS and size > 0.0 and abs(speed) <= ARRIVED * size)


@part
def _found(w: Workspace, s: PlantState, beyond: float) -> bool:
    """Whether the last trial ended where something changes."""
    found = 0.0 < beyond <= _CLOSE
    for i in range(s.n_motors):
        found = found or (beyond <= 0.0 and _arrived(s, i, w.v[s.motor_at[i]]))
    return found


@part
def _accept(w: Workspace, s: PlantState, beyond: float, h: float) -> None:
    """The part is done; brakes whose speed has come to zero are at rest."""
    s.progress[REST] -= h
    s.progress[PHASE] = _GO
    if beyond > 0.0:
        s.progress[DECIDED] = 0.0
    for i in range(s.n_motors):
        if _arrived(s, i, w.v[s.motor_at[i]]):
            w.v[s.motor_at[i]] = 0.0
            s.progress[DECIDED] = 0.0


@part
def _decide(m: Model, w: Workspace, s: PlantState, mode: int, dt: float) -> bool:
    """Decide every status; return whether the brakes fix the machine, which is then exactly at rest."""
    relax(s)
    s.progress[DECIDED], s.progress[QUICK] = 1.0, 0.0
    waits = _by_speed(w.v, s, mode)
    apply(w, s)
    if not waits:
        return False
    respond(m, w, s)
    if mode == BRAKE:
        _by_force(w, s)
        apply(w, s)
        return _fixed(m, w, dt)
    for i in range(s.n_motors):
        if s.status[i] == FOLLOWS:
            s.progress[QUICK] += s.damping[i] * s.delassus[i, i] / STIFF
    return False


@part
def _finish(m: Model, w: Workspace, s: PlantState, mode: int, rest: float) -> None:
    """One first-order step over the rest; brakes and dampers then count with their mean over it."""
    relax(s)
    release(w)
    implicit_step(m, w, s, mode, rest)
    for i in range(s.n_motors):
        s.constant[i] = s.impulse[i] / rest


@kernel
def next_resisted(m: Model, w: Workspace, s: PlantState, mode: int) -> float:
    """Return the length of the next move (s); 0 where the step is done."""
    if s.progress[PHASE] != _GO:
        _restore(m, w, s)
        margin = 0.1 * _FOUND * s.progress[PART]
        again: float = s.progress[HIGH] if s.progress[PHASE] == _END else trial_length(s.progress, margin)
        return again
    rest: float = s.progress[REST]
    if not rest > 0.0:
        return 0.0
    if s.progress[DECIDED] == 0.0 and _decide(m, w, s, mode, rest):
        w.clock[0] += rest
        s.progress[REST], s.progress[DECIDED] = 0.0, 0.0
        return 0.0
    parts = max(1.0, math.ceil(min(s.progress[QUICK] * rest, 2.0 * MOST_PARTS)))
    if s.progress[PARTS] + parts > MOST_PARTS:
        _finish(m, w, s, mode, rest)
        s.progress[REST], s.progress[DECIDED] = 0.0, 0.0
        return 0.0
    s.progress[PARTS] += 1.0
    _save(m, w, s)
    length: float = rest / parts
    return length


@part
def _beyond_limit(m: Model, w: Workspace, s: PlantState) -> float:
    """`_excess` of the first of all brakes and dampers, at the state now."""
    if w.stuck_count[0] > 0.0:
        constrained_forward_dynamics(m, w)
    first = -1.0
    for i in range(s.n_motors):
        if s.holds[i] != 0.0:
            s.load[i] = abs(w.sticking[s.motor_at[i]]) / (STATIC * s.brake_effort[i])
        excess = _excess(s, i, w.v[s.motor_at[i]])
        first = excess if not excess <= first else first  # one that is no number stays
    first_excess: float = first
    return first_excess


@kernel
def judge_resisted(m: Model, w: Workspace, s: PlantState, h: float) -> None:
    """After a move of h: whether the part is done, or where its end is to be sought."""
    if s.progress[PHASE] == _GO:
        _measure(m, w, s)
    beyond = _beyond_limit(m, w, s)
    if not math.isfinite(beyond):
        s.progress[REST], s.progress[PHASE], s.progress[DECIDED] = 0.0, _GO, 0.0
    elif s.progress[PHASE] == _SEEK:
        narrow(s.progress, beyond, h)
        if _found(w, s, beyond):
            _accept(w, s, beyond, h)
        elif (
            s.progress[HIGH] - s.progress[LOW] <= _FOUND * s.progress[PART]
            or abs(s.progress[TRIALS]) >= _MOST_TRIALS
        ):
            s.progress[PHASE] = _END
    elif s.progress[PHASE] == _GO and beyond > _CLOSE:
        s.progress[PART] = s.progress[HIGH] = h
        s.progress[AFTER], s.progress[LOW], s.progress[TRIALS], s.progress[PHASE] = (
            beyond,
            0.0,
            0.0,
            _SEEK,
        )
    else:
        _accept(w, s, beyond, h)
