"""Inequalities on a motion: rows that stay between bounds while the rows of a task are followed.

A row s(q) >= 0 is kept by

    h' + k h >= 0,     h = s' + p(s),     p(s) = a/k (sqrt(1 + 2 k² s/a) - 1)

Near the bound p(s) is k s, so that this is s'' + 2 k s' + k² s >= 0 there, and the row comes to its bound
with critical damping. Farther off it brakes by no more than a. What begins with s >= 0 and h >= 0 passes
nothing. In terms of the motion a of task_motion.py that is one linear inequality per bound. Of all motions
that keep them the wanted one misses the rows of the first level least, then those of the next, and is nearest
to the reference in what is free: a quadratic program on each level. Its solution follows from `follow_levels`
and `settle` alone, with the bounds that bind as a level above the others. These are found by an active-set
method: the bound that is passed farthest is added; one that would not be passed without being added is
dropped. Each step makes the motion worse by the order of the levels, so no set comes twice.
"""

import math
from typing import Annotated

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.multibody.dynamics.task_motion import TaskRows, follow_levels, settle
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.linalg.linear import products
from linkwork.multibody.workspace import Model, Workspace

POSITION, VELOCITY, ACCELERATION = range(3)
"""What a motion is: a step of positions, a velocity, or an acceleration."""
NOT_BINDING, BINDS, DISPLACES = range(3)
"""Results of `keep_between`: no bound binds; some do; the task's first level yields to them."""
PASSED = 1e-9
"""How far a bound may be passed, relative to its size or 1, before it counts as binding."""


class KeptRows(Struct):
    """Coordinates that stay between bounds, as c rows of the motion of a task.

    index, low, high (rad or m), rate (k, 1/s), braking (a), scale: of each, see `GoalRows`. side: -1 where
    the lower bound binds, 1 for the upper one, 0 for none.
    """

    c: int
    f: int
    index: Annotated[Integers, "c"]
    low: Annotated[Floats, "c"]
    high: Annotated[Floats, "c"]
    rate: Annotated[Floats, "c"]
    braking: Annotated[Floats, "c"]
    scale: Annotated[Floats, "c"]
    rows: Annotated[Floats, "c, f", "the rows, scaled, on the admitted motions"]
    least: Annotated[Floats, "c", "bounds of the rows times the motion"]
    most: Annotated[Floats, "c"]
    side: Annotated[Integers, "c"]


def kept_for(f: int, keep: Floats, scale: Floats) -> KeptRows:
    """Return rows for at most f degrees of freedom.

    keep (5 × c): see `TaskPart`; scale (coordinates): units of all coordinates of the machine.
    """
    c, index = keep.shape[1], keep[0].astype(np.int64)
    low, high, rate, braking = (part.copy() for part in keep[1:])
    return KeptRows(
        c=c, f=f, index=index, low=low, high=high, rate=rate, braking=braking,
        scale=np.ascontiguousarray(scale[index]),
        rows=np.zeros((c, f)), least=np.zeros(c), most=np.zeros(c), side=np.zeros(c, np.int64),
    )  # fmt: skip


@part
def bound_motion(m: Model, w: Workspace, kept: KeptRows, f: int, order: int, base: Floats) -> None:
    """Write rows and bounds for the motion base (nv) + Λ a; order: `POSITION`, `VELOCITY` or `ACCELERATION`.

    w: the state, with `J`, `Jdv` and Λ' in the first f rows of `basis`.
    """
    for i in range(kept.c):
        row, scale = kept.index[i], kept.scale[i]
        products(w.J[row], w.basis[:f], kept.rows[i])
        along, rate = 0.0, 0.0
        for j in range(f):
            kept.rows[i, j] *= scale
        for j in range(m.nv):
            along += w.J[row, j] * base[j]
            rate += w.J[row, j] * w.v[j]
        if order == ACCELERATION:
            along += w.Jdv[row]
        below, above = w.theta[row] - kept.low[i], kept.high[i] - w.theta[row]
        kept.least[i] = -scale * (_room(kept, i, order, below, rate) + along)
        kept.most[i] = scale * (_room(kept, i, order, above, -rate) - along)


@part
def _room(kept: KeptRows, i: int, order: int, s: float, rate: float) -> float:
    """Return how far a motion may lead a row toward a bound that is s away, with s' = rate."""
    if order == POSITION:
        return s
    k, a = kept.rate[i], kept.braking[i]
    root: float = math.sqrt(1.0 + 2.0 * k * k * max(s, 0.0) / a)
    speed: float = a / k * (root - 1.0) + k * min(s, 0.0)
    if order == VELOCITY:
        return speed
    braked: float = k / root * rate + k * (rate + speed)
    return braked


@part
def passed(t: TaskRows, kept: KeptRows, f: int, i: int) -> float:
    """Return how far the motion passes a bound of row i: negative below the lower one, 0 between both."""
    value, over = 0.0, 0.0
    for j in range(f):
        value += kept.rows[i, j] * t.motion[j]
    if value < kept.least[i] - PASSED * (1.0 + abs(kept.least[i])):
        over = value - kept.least[i]
    if value > kept.most[i] + PASSED * (1.0 + abs(kept.most[i])):
        over = value - kept.most[i]
    return over


@part
def farthest_passed(t: TaskRows, kept: KeptRows, f: int) -> int:
    """Return the row whose bound the motion passes farthest; -1: it passes none."""
    found, most = -1, 0.0
    for i in range(kept.c):
        over = abs(passed(t, kept, f, i))
        if over > most:
            found, most = i, over
    return found


@part
def _follow_bounds(t: TaskRows, kept: KeptRows, f: int) -> None:
    """The motion of the task with the bounds that bind as its first level."""
    first = kept.c
    for i in range(kept.c):
        if kept.side[i] != 0:
            first -= 1
            t.wanted[first] = kept.least[i] if kept.side[i] < 0 else kept.most[i]
            for j in range(f):
                t.rows[first, j] = kept.rows[i, j]
    t.use[0] = first
    left = follow_levels(t, f)
    if left > 0:
        settle(t, f, left)


@kernel
def keep_between(t: TaskRows, kept: KeptRows, f: int) -> int:
    """After `follow_levels` and `settle` of a task without bounds: its motion within them.

    The metric and its pull are known. Returns `NOT_BINDING`, `BINDS` or `DISPLACES`.
    """
    for i in range(kept.c):
        kept.side[i] = 0
    worst = farthest_passed(t, kept, f)
    if worst < 0:
        return NOT_BINDING
    rank = int(t.rank[1])
    for _ in range(2 * kept.c):
        if worst < 0 or kept.side[worst] != 0:  # within all, or the bounds contradict each other
            break
        kept.side[worst] = -1 if passed(t, kept, f, worst) < 0.0 else 1
        for i in range(kept.c):
            side = int(kept.side[i])
            if side != 0 and i != worst:
                kept.side[i] = 0
                _follow_bounds(t, kept, f)
                if passed(t, kept, f, i) * side > 0.0:
                    kept.side[i] = side
        _follow_bounds(t, kept, f)
        worst = farthest_passed(t, kept, f)
    displaces: bool = worst >= 0 or t.rank[1] < rank
    t.use[0] = kept.c
    return DISPLACES if displaces else BINDS
