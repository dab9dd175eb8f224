"""Steps of Runge and Kutta that divide themselves where the motion is faster than the step.

A step also knows the result of the midpoint rule, whose only stage is its second one. Their difference, for
a motion that changes at the rate L, is (L dt)³/6 of the velocity to leading order, and gives L dt:

    L dt = (6 |v - v_midpoint| / (|v| + 50 ms |v̇|))^⅓                 lengths in the mass metric

The fourth-order step itself is wrong by some (L dt)⁵/120. Where L dt exceeds `FASTEST`, the step is taken
back and divided. Elsewhere the result is that of the plain step, bit for bit.
"""

import math

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import RANKING_SIZE
from linkwork.multibody.kernels.views import copy
from linkwork.multibody.steps.integrate import rk4
from linkwork.multibody.workspace import Model, Workspace

FASTEST = 0.025
"""L dt of a step that is short enough: over ten seconds its errors stay below 1e-6 of the energy."""
MOST = 64
"""Parts of a step at most, so that it always ends soon."""
REACH = 0.05


@part
def _length(mass: Matrix, a: Floats, b: Floats, share: float) -> float:
    """|a - share b| in the mass metric; round-off may make the square negative."""
    square = 0.0
    for i in range(a.shape[0]):
        for k in range(a.shape[0]):
            square += (a[i] - share * b[i]) * mass[i, k] * (a[k] - share * b[k])
    return math.sqrt(max(0.0, square))


@part
def _pace(m: Model, w: Workspace, dt: float) -> float:
    """L dt after a step of dt; 0 at rest."""
    nv = m.nv
    size = _length(w.M, w.v, w.vdot, 0.0) + REACH * _length(w.M, w.vdot, w.v, 0.0)
    for k in range(nv):
        w.second[k] = w.v[k] - w.start_v[k] - dt * w.second[k]
    gap: float = _length(w.M, w.second, w.v, 0.0)
    return (6.0 * gap / size) ** (1.0 / 3.0) if size > 0.0 else 0.0


@part
def keep_step(w: Workspace) -> None:
    """Save the state that a step changes besides q and v."""
    copy(w.ranking, w.kept)
    w.kept[RANKING_SIZE], w.kept[RANKING_SIZE + 1] = w.clock[0], w.driven_work[0]
    w.kept[RANKING_SIZE + 2] = w.losses[2]


@part
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


@part
def judge_step(m: Model, w: Workspace, left: float, parts: float, dt: float) -> tuple[float, float]:
    """After a step over `left` / `parts` of dt: keep it or take it back; return new `left` and `parts`."""
    counts, left, parts = divide(left, parts, _pace(m, w, left / parts * dt) / FASTEST)
    if not counts:
        copy(w.start_q, w.q)
        copy(w.start_v, w.v)
        for k in range(RANKING_SIZE):
            w.ranking[k] = w.kept[k]
        w.clock[0], w.driven_work[0] = w.kept[RANKING_SIZE], w.kept[RANKING_SIZE + 1]
        w.losses[2] = w.kept[RANKING_SIZE + 2]
    return left, parts


@kernel
def divided_rk4(m: Model, w: Workspace, dt: float) -> None:
    """`rk4` in as many parts as the motion needs, dt in seconds."""
    left, parts = 1.0, 1.0
    while left > 0.0:
        keep_step(w)
        rk4(m, w, left / parts * dt)
        left, parts = judge_step(m, w, left, parts, dt)
