"""Steps of Runge and Kutta that divide themselves where the motion is faster than the step.

A step also knows the result of the midpoint rule, whose only stage is its second one. Their difference, for
a motion that changes at the rate L, is (L dt)³/6 of the velocity to leading order, and gives L dt:

    L dt = (6 |v - v_midpoint| / (|v| + 50 ms |v̇|))^⅓                 lengths in the mass metric

The fourth-order step itself is wrong by some (L dt)⁵/120. Where L dt exceeds `FASTEST`, the step is taken
back and divided. Elsewhere the result is that of the plain step, bit for bit.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import BUFFER, PARAMETERS, TOPOLOGY, float64, kernel, part, void
from linkwork.multibody.kernels.layout import (
    CLOCK,
    DRIVEN_WORK,
    KEPT,
    LOSSES,
    NV,
    RANKING,
    RANKING_SIZE,
    SECOND,
    START_Q,
    START_V,
    VDOT,
    M,
    Q,
    V,
)
from linkwork.multibody.kernels.views import copy, matrix, vector
from linkwork.multibody.steps.constrained_steps import constrained_rk4
from linkwork.multibody.steps.integrate import rk4

FASTEST = 0.025
"""L dt of a step that is short enough: over ten seconds its errors stay below 1e-6 of the energy."""
MOST = 64
"""Parts of a step at most, so that it always ends soon."""
REACH = 0.05

_STEP = void(PARAMETERS, TOPOLOGY, BUFFER, float64)


@part
def _length(mass: Floats, a: Floats, b: Floats, share: float) -> float:
    """|a - share b| in the mass metric; round-off may make the square negative."""
    square = 0.0
    for i in range(a.shape[0]):
        for k in range(a.shape[0]):
            square += (a[i] - share * b[i]) * mass[i, k] * (a[k] - share * b[k])
    return math.sqrt(max(0.0, square))


@part
def _pace(t: Integers, w: Floats, dt: float) -> float:
    """L dt after a step of dt; 0 at rest."""
    nv = t[NV]
    mass, second = matrix(t, w, M, nv), vector(t, w, SECOND)
    start, v, vdot = vector(t, w, START_V), vector(t, w, V), vector(t, w, VDOT)
    size = _length(mass, v, vdot, 0.0) + REACH * _length(mass, vdot, v, 0.0)
    for k in range(nv):
        second[k] = v[k] - start[k] - dt * second[k]
    gap: float = _length(mass, second, v, 0.0)
    return (6.0 * gap / size) ** (1.0 / 3.0) if size > 0.0 else 0.0


@part
def keep_step(t: Integers, w: Floats) -> None:
    """Save the state that a step changes besides q and v."""
    kept, ranking = vector(t, w, KEPT), vector(t, w, RANKING)
    copy(ranking, kept)
    kept[RANKING_SIZE], kept[RANKING_SIZE + 1] = vector(t, w, CLOCK)[0], vector(t, w, DRIVEN_WORK)[0]
    kept[RANKING_SIZE + 2] = vector(t, w, LOSSES)[2]


def divide(left: float, parts: float, pace: float) -> tuple[bool, float, float]:
    """After a step over `left` / `parts` of the whole: whether it counts; `left` and `parts` of the next one.

    pace: its L dt over `FASTEST`.
    """
    share = left / parts
    if not pace < MOST:  # nor where it is no number
        pace = 1.0 * MOST
    if pace > 1.0 and share > 1.0 / MOST:
        return False, left, min(math.ceil(1.1 * pace * parts), math.ceil(left * MOST)) * 1.0
    if parts > 1.0:
        left -= share
        return True, left, max(1.0, min(parts - 1.0, math.ceil(1.1 * pace * left / share)))
    return True, 0.0, 1.0


_divide = part(divide)


@part
def judge_step(t: Integers, w: Floats, left: float, parts: float, dt: float) -> tuple[float, float]:
    """After a step over `left` / `parts` of dt: keep it or take it back; return new `left` and `parts`."""
    counts, left, parts = _divide(left, parts, _pace(t, w, left / parts * dt) / FASTEST)
    if not counts:
        kept, ranking = vector(t, w, KEPT), vector(t, w, RANKING)
        copy(vector(t, w, START_Q), vector(t, w, Q))
        copy(vector(t, w, START_V), vector(t, w, V))
        for k in range(RANKING_SIZE):
            ranking[k] = kept[k]
        vector(t, w, CLOCK)[0], vector(t, w, DRIVEN_WORK)[0] = kept[RANKING_SIZE], kept[RANKING_SIZE + 1]
        vector(t, w, LOSSES)[2] = kept[RANKING_SIZE + 2]
    return left, parts


@kernel(_STEP)
def divided_rk4(p: Floats, t: Integers, w: Floats, dt: float) -> None:
    """`rk4` in as many parts as the motion needs, dt in seconds."""
    left, parts = 1.0, 1.0
    while left > 0.0:
        keep_step(t, w)
        rk4(p, t, w, left / parts * dt)
        left, parts = judge_step(t, w, left, parts, dt)


@kernel(_STEP)
def divided_constrained_rk4(p: Floats, t: Integers, w: Floats, dt: float) -> None:
    """`constrained_rk4` in as many parts as the motion needs, dt in seconds."""
    left, parts = 1.0, 1.0
    while left > 0.0:
        keep_step(t, w)
        constrained_rk4(p, t, w, left / parts * dt)
        left, parts = judge_step(t, w, left, parts, dt)
