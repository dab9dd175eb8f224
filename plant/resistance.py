"""A step under brakes or damping motors, by the integrator that the machine's file names.

Friction of a brake jumps where its speed changes sign, which costs every integrator its order. So a step is
taken in parts. During a part every brake keeps the mode of the part's beginning:

- it slips: the constant force -b sign(v) acts, until v comes to zero;
- it sticks: the velocity is held at zero (`multibody.steps.sticking`), until that takes more than b.

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
from collections.abc import Callable

from linkwork.arrays import Floats, Integers
from linkwork.multibody.formulations.other_formulations import constrained_forward_dynamics
from linkwork.multibody.formulations.projection import correct_position, correct_velocity, position_residual
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
    AFTER,
    BEFORE,
    CLOCK,
    DAMPERS,
    DRIVEN_WORK,
    HIGH,
    LOSSES,
    LOST,
    LOW,
    NQ,
    NV,
    PART,
    PARTS,
    PHASE,
    RANK,
    RANKING,
    RANKING_SIZE,
    REST,
    SEARCH_SIZE,
    SLIPPING,
    STICKING,
    STUCK,
    STUCK_COUNT,
    SUM_V,
    TRIALS,
    VDOT,
    Q,
    V,
)
from linkwork.multibody.kernels.views import copy, fill, matrix, table, vector
from linkwork.multibody.steps.sticking import hold_stuck
from linkwork.multibody.steps.touch_search import narrow, trial_length
from linkwork.multibody.tree.dynamics import forward_dynamics
from linkwork.plant.impulses import bounded_impulses
from linkwork.plant.plant_layout import (
    BOUND,
    BRAKE,
    BRAKE_EFFORT,
    COEFFICIENT,
    COMPLIANCE,
    CONSTANT,
    DAMP,
    DAMPING,
    DELASSUS,
    FACTOR,
    FREE,
    HOLDS,
    IMPULSE,
    LOAD,
    MAX_EFFORT,
    MOTOR_AT,
    MOTORS,
    PROGRESS,
    RESUME,
    SIGN,
    SPEED,
    STATUS,
    STICKS,
    TRIAL,
)
from linkwork.plant.response import implicit_constrained_step, implicit_step, respond, respond_constrained

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
"""Further entries of `PROGRESS`: whether statuses hold, and the dampers' rate (1/s)."""

NOTHING, SLIPS, STICKING_NOW, FOLLOWS, LIMITED = 0.0, 1.0, 2.0, 3.0, 4.0
"""Statuses: no brake or damper, a brake that slips, one that sticks, a damper, and one at its limit."""

_ASK = float64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, int64)
_TELL = void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, float64)


@part
def resists(s: Integers, b: Floats, mode: int) -> bool:
    """Whether a brake or damping motor acts in this mode."""
    force = vector(s, b, BRAKE_EFFORT) if mode == BRAKE else vector(s, b, DAMPING)
    found = False
    for i in range(s[MOTORS]):
        found = found or force[i] > 0.0
    return found and mode in (BRAKE, DAMP)


@part
def release(t: Integers, w: Floats) -> None:
    """No brake or damper acts on the mechanism any more."""
    fill(vector(t, w, SLIPPING), 0.0)
    fill(vector(t, w, DAMPERS), 0.0)
    fill(vector(t, w, STUCK), 0.0)
    vector(t, w, STUCK_COUNT)[0] = 0.0


@part
def apply(t: Integers, w: Floats, s: Integers, b: Floats) -> None:
    """Brakes and dampers act on the mechanism as they did last."""
    slipping, dampers, stuck = vector(t, w, SLIPPING), vector(t, w, DAMPERS), vector(t, w, STUCK)
    constant, coefficient, holds = vector(s, b, CONSTANT), vector(s, b, COEFFICIENT), vector(s, b, HOLDS)
    count, at = vector(t, w, STUCK_COUNT), table(s, MOTOR_AT, 1)
    release(t, w)
    for i in range(s[MOTORS]):
        k = at[i, 0]
        slipping[k] += constant[i]
        dampers[k] += coefficient[i]
        if holds[i] != 0.0 and stuck[k] == 0.0:
            stuck[k] = 1.0
            count[0] += 1.0


@part
def relax(s: Integers, b: Floats) -> None:
    """No brake or damper does anything."""
    fill(vector(s, b, STATUS), NOTHING)
    fill(vector(s, b, CONSTANT), 0.0)
    fill(vector(s, b, COEFFICIENT), 0.0)
    fill(vector(s, b, HOLDS), 0.0)
    fill(vector(s, b, LOAD), 0.0)


@part
def forget(s: Integers, b: Floats) -> None:
    """Decide again what sticks: efforts have changed."""
    vector(s, b, PROGRESS)[DECIDED] = 0.0


@part
def begin_resisted(s: Integers, b: Floats, dt: float) -> None:
    """Begin a step of dt seconds."""
    progress = vector(s, b, PROGRESS)
    progress[REST], progress[PARTS], progress[PHASE] = dt, 0.0, _GO


@part
def _by_speed(v: Floats, s: Integers, b: Floats, mode: int) -> bool:
    """Statuses as speeds have them; brakes at rest and dampers wait for more. Returns whether some do."""
    status, sign, constant = vector(s, b, STATUS), vector(s, b, SIGN), vector(s, b, CONSTANT)
    coefficient, at, waits = vector(s, b, COEFFICIENT), table(s, MOTOR_AT, 1), False
    friction, most, damping = vector(s, b, BRAKE_EFFORT), vector(s, b, MAX_EFFORT), vector(s, b, DAMPING)
    for i in range(s[MOTORS]):
        speed = v[at[i, 0]]
        sign[i] = math.copysign(1.0, speed)
        if mode == BRAKE and friction[i] > 0.0:
            status[i] = SLIPS if speed != 0.0 else STICKING_NOW
            constant[i] = -sign[i] * friction[i] if speed != 0.0 else 0.0
            waits = waits or speed == 0.0
        elif mode == DAMP and damping[i] > 0.0:
            beyond = damping[i] * abs(speed) > most[i]
            status[i] = LIMITED if beyond else FOLLOWS
            constant[i] = -sign[i] * most[i] if beyond else 0.0
            coefficient[i] = 0.0 if beyond else damping[i]
            waits = waits or not beyond
    return waits


@part
def _by_force(t: Integers, w: Floats, s: Integers, b: Floats) -> None:
    """After `respond`: of the brakes at rest, which stick and which begin to slip."""
    n, vdot, at = s[MOTORS], vector(t, w, VDOT), table(s, MOTOR_AT, 1)
    free, compliance, bound = vector(s, b, FREE), vector(s, b, COMPLIANCE), vector(s, b, BOUND)
    impulse, sticks, friction = vector(s, b, IMPULSE), vector(s, b, STICKS), vector(s, b, BRAKE_EFFORT)
    status, sign, constant = vector(s, b, STATUS), vector(s, b, SIGN), vector(s, b, CONSTANT)
    holds, load = vector(s, b, HOLDS), vector(s, b, LOAD)
    for i in range(n):
        free[i], compliance[i] = vdot[at[i, 0]], 0.0
        bound[i] = STATIC * friction[i] if status[i] == STICKING_NOW else 0.0
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
        if status[i] == STICKING_NOW and sticks[i] != 0.0:
            holds[i], load[i] = 1.0, abs(impulse[i]) / bound[i]
        elif status[i] == STICKING_NOW:
            status[i], sign[i] = SLIPS, -math.copysign(1.0, impulse[i])
            constant[i] = -sign[i] * friction[i]


@part
def _all_stick(p: Floats, t: Integers, w: Floats, dt: float) -> bool:  # noqa: ARG001  as `_stick_closed`
    """Whether the sticking rows fix a machine without constraints."""
    count: float = vector(t, w, STUCK_COUNT)[0]
    return count > 0.0 and count == t[NV]


@part
def _stick_closed(p: Floats, t: Integers, w: Floats, dt: float) -> bool:
    """Whether the sticking rows fix the machine, which is then at rest. Velocities agree with that."""
    nv, v, vdot, shift = t[NV], vector(t, w, V), vector(t, w, VDOT), vector(t, w, SUM_V)
    if vector(t, w, STUCK_COUNT)[0] == 0.0:
        return False
    free = nv - int(vector(t, w, RANKING)[RANK])
    copy(vdot, shift)
    fixed = hold_stuck(p, t, w, free, shift) == 0
    for k in range(nv):
        fixed = fixed and dt * abs(shift[k]) < STANDS
    moves = False
    for k in range(nv):
        moves = moves or v[k] != 0.0
    if moves and vector(t, w, RANKING)[LOST] == 0.0:
        correct_velocity(p, t, w)
    for k in range(nv):
        fixed = fixed and abs(v[k]) < STANDS
    if fixed:
        fill(v, 0.0)
        if not position_residual(p, t, w) <= OPEN:  # the machine itself was changed: it closes as it can
            release(t, w)
            correct_position(p, t, w, OPEN, 5)
    return fixed


@part
def _save(t: Integers, w: Floats, s: Integers, b: Floats) -> None:
    resume, nq, nv = vector(s, b, RESUME), t[NQ], t[NV]
    copy(vector(t, w, Q), resume)
    copy(vector(t, w, V), resume[nq:])
    resume[nq + nv], resume[nq + nv + 3] = vector(t, w, CLOCK)[0], vector(t, w, DRIVEN_WORK)[0]
    copy(vector(t, w, LOSSES)[2:4], resume[nq + nv + 1 :])
    copy(vector(t, w, RANKING), resume[nq + nv + 4 :])


@part
def _restore(t: Integers, w: Floats, s: Integers, b: Floats) -> None:
    resume, nq, nv = vector(s, b, RESUME), t[NQ], t[NV]
    copy(resume[:nq], vector(t, w, Q))
    copy(resume[nq : nq + nv], vector(t, w, V))
    vector(t, w, CLOCK)[0], vector(t, w, DRIVEN_WORK)[0] = resume[nq + nv], resume[nq + nv + 3]
    copy(resume[nq + nv + 1 : nq + nv + 3], vector(t, w, LOSSES)[2:4])
    copy(resume[nq + nv + 4 : nq + nv + 4 + RANKING_SIZE], vector(t, w, RANKING))


@part
def _excess(s: Integers, b: Floats, i: int, speed: float) -> float:
    """Distance of a brake or damper beyond the limit of its present mode, relative to its size."""
    status, size = vector(s, b, STATUS)[i], vector(s, b, SPEED)[i]
    against, most = vector(s, b, SIGN)[i] * speed, vector(s, b, MAX_EFFORT)[i]
    excess: float = -1.0
    if status == SLIPS and size > 0.0:
        excess = -against / size
    elif status == STICKING_NOW:
        excess = vector(s, b, LOAD)[i] - 1.0
    elif status == FOLLOWS and math.isfinite(most):
        excess = vector(s, b, DAMPING)[i] * abs(speed) / most - 1.0
    elif status == LIMITED:
        excess = 1.0 - vector(s, b, DAMPING)[i] * against / most
    return excess


@part
def _measure(t: Integers, w: Floats, s: Integers, b: Floats) -> None:
    """After the first move of a part: the size of its speeds, and how far its beginning is from a change."""
    at, speed, v = table(s, MOTOR_AT, 1), vector(s, b, SPEED), vector(t, w, V)
    before, near = vector(s, b, RESUME)[t[NQ] :], -1.0
    for i in range(s[MOTORS]):
        speed[i] = abs(v[at[i, 0]]) + abs(before[at[i, 0]])
        near = max(near, _excess(s, b, i, before[at[i, 0]]))
    vector(s, b, PROGRESS)[BEFORE] = near


@part
def _arrived(s: Integers, b: Floats, i: int, speed: float) -> bool:
    """Whether a brake that slips has come to zero speed."""
    size = vector(s, b, SPEED)[i]
    return bool(vector(s, b, STATUS)[i] == SLIPS and size > 0.0 and abs(speed) <= ARRIVED * size)


@part
def _found(t: Integers, w: Floats, s: Integers, b: Floats, beyond: float) -> bool:
    """Whether the last trial ended where something changes."""
    at, v, found = table(s, MOTOR_AT, 1), vector(t, w, V), 0.0 < beyond <= _CLOSE
    for i in range(s[MOTORS]):
        found = found or (beyond <= 0.0 and _arrived(s, b, i, v[at[i, 0]]))
    return found


@part
def _accept(t: Integers, w: Floats, s: Integers, b: Floats, beyond: float, h: float) -> None:
    """The part is done; brakes whose speed has come to zero are at rest."""
    progress, at, v = vector(s, b, PROGRESS), table(s, MOTOR_AT, 1), vector(t, w, V)
    progress[REST] -= h
    progress[PHASE] = _GO
    if beyond > 0.0:
        progress[DECIDED] = 0.0
    for i in range(s[MOTORS]):
        if _arrived(s, b, i, v[at[i, 0]]):
            v[at[i, 0]] = 0.0
            progress[DECIDED] = 0.0


def _resisted(
    accelerations: Callable[..., None],
    answer: Callable[..., None],
    fixed: Callable[..., bool],
    step: Callable[..., None],
) -> tuple[Callable[..., float], Callable[..., None]]:
    """Return `next_resisted` and `judge_resisted` by the functions of an open or of a closed chain.

    accelerations: of the state now; answer: of motors to forces (`respond`); fixed: whether brakes that stick
    fix the machine; step: a first-order step.
    """

    @part
    def decide(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int, dt: float) -> bool:
        """Decide every status; return whether the brakes fix the machine, which is then exactly at rest."""
        progress, damping = vector(s, b, PROGRESS), vector(s, b, DAMPING)
        relax(s, b)
        progress[DECIDED], progress[QUICK] = 1.0, 0.0
        waits = _by_speed(vector(t, w, V), s, b, mode)
        apply(t, w, s, b)
        if not waits:
            return False
        answer(p, t, w, s, b)
        if mode == BRAKE:
            _by_force(t, w, s, b)
            apply(t, w, s, b)
            return fixed(p, t, w, dt)
        delassus, status = matrix(s, b, DELASSUS, s[MOTORS]), vector(s, b, STATUS)
        for i in range(s[MOTORS]):
            if status[i] == FOLLOWS:
                progress[QUICK] += damping[i] * delassus[i, i] / STIFF
        return False

    @part
    def finish(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int, rest: float) -> None:
        """One first-order step over the rest; brakes and dampers then count with their mean over it."""
        relax(s, b)
        release(t, w)
        step(p, t, w, s, b, mode, rest)
        constant, impulse = vector(s, b, CONSTANT), vector(s, b, IMPULSE)
        for i in range(s[MOTORS]):
            constant[i] = impulse[i] / rest

    @part
    def next_move(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int) -> float:
        """Return the length of the next move (s); 0 where the step is done."""
        progress = vector(s, b, PROGRESS)
        if progress[PHASE] != _GO:
            _restore(t, w, s, b)
            margin = 0.1 * _FOUND * progress[PART]
            again: float = progress[HIGH] if progress[PHASE] == _END else trial_length(progress, margin)
            return again
        rest: float = progress[REST]
        if not rest > 0.0:
            return 0.0
        if progress[DECIDED] == 0.0 and decide(p, t, w, s, b, mode, rest):
            vector(t, w, CLOCK)[0] += rest
            progress[REST], progress[DECIDED] = 0.0, 0.0
            return 0.0
        parts = max(1.0, math.ceil(min(progress[QUICK] * rest, 2.0 * MOST_PARTS)))
        if progress[PARTS] + parts > MOST_PARTS:
            finish(p, t, w, s, b, mode, rest)
            progress[REST], progress[DECIDED] = 0.0, 0.0
            return 0.0
        progress[PARTS] += 1.0
        _save(t, w, s, b)
        length: float = rest / parts
        return length

    @part
    def beyond_limit(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats) -> float:
        """`_excess` of the first of all brakes and dampers, at the state now."""
        at, v, holds, load = table(s, MOTOR_AT, 1), vector(t, w, V), vector(s, b, HOLDS), vector(s, b, LOAD)
        sticking, friction = vector(t, w, STICKING), vector(s, b, BRAKE_EFFORT)
        if vector(t, w, STUCK_COUNT)[0] > 0.0:
            accelerations(p, t, w)
        first = -1.0
        for i in range(s[MOTORS]):
            if holds[i] != 0.0:
                load[i] = abs(sticking[at[i, 0]]) / (STATIC * friction[i])
            excess = _excess(s, b, i, v[at[i, 0]])
            first = excess if not excess <= first else first  # one that is no number stays
        first_excess: float = first
        return first_excess

    @part
    def judge(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, h: float) -> None:
        """After a move of h: whether the part is done, or where its end is to be sought."""
        progress = vector(s, b, PROGRESS)
        if progress[PHASE] == _GO:
            _measure(t, w, s, b)
        beyond = beyond_limit(p, t, w, s, b)
        if not math.isfinite(beyond):
            progress[REST], progress[PHASE], progress[DECIDED] = 0.0, _GO, 0.0
        elif progress[PHASE] == _SEEK:
            narrow(progress, beyond, h)
            if _found(t, w, s, b, beyond):
                _accept(t, w, s, b, beyond, h)
            elif (
                progress[HIGH] - progress[LOW] <= _FOUND * progress[PART]
                or abs(progress[TRIALS]) >= _MOST_TRIALS
            ):
                progress[PHASE] = _END
        elif progress[PHASE] == _GO and beyond > _CLOSE:
            progress[PART] = progress[HIGH] = h
            progress[AFTER], progress[LOW], progress[TRIALS], progress[PHASE] = beyond, 0.0, 0.0, _SEEK
        else:
            _accept(t, w, s, b, beyond, h)

    return next_move, judge


_next, _judge = _resisted(forward_dynamics, respond, _all_stick, implicit_step)
_next_constrained, _judge_constrained = _resisted(
    constrained_forward_dynamics, respond_constrained, _stick_closed, implicit_constrained_step
)


@kernel(_ASK)
def next_resisted(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int) -> float:
    """Return the length of the next move (s) from the workspace's state; 0 where the step is done."""
    length: float = _next(p, t, w, s, b, mode)
    return length


@kernel(_TELL)
def judge_resisted(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, h: float) -> None:
    """After a move of h without constraints."""
    _judge(p, t, w, s, b, h)


@kernel(_ASK)
def next_resisted_constrained(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, mode: int) -> float:
    """`next_resisted` under constraints."""
    length: float = _next_constrained(p, t, w, s, b, mode)
    return length


@kernel(_TELL)
def judge_resisted_constrained(p: Floats, t: Integers, w: Floats, s: Integers, b: Floats, h: float) -> None:
    """`judge_resisted` under constraints."""
    _judge_constrained(p, t, w, s, b, h)
