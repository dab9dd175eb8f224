"""Steps of the two-stage method of Gauss: fourth order, implicit and symmetric; energy does not creep.

    Y_i = y0 + h Σ a_ij f(Y_j),   y1 = y0 + h (f(Y_1) + f(Y_2)) / 2
    a = [[1/4, 1/4 - √3/6], [1/4 + √3/6, 1/4]],   c = (1/2 - √3/6, 1/2 + √3/6)

(Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I, II.7.) A motion that may as well run
backwards keeps its energy but for what swings to and fro: explicit methods lose some in every turn. The
stages are found by repetition, each time with the newest of the other; it gains about as many digits as the
motion is slower than the step. Where it does not settle, the classical step takes its place.
"""

import math

from multibody.compiling import BUFFER, PARAMETERS, TOPOLOGY, float64, kernel, part, void
from multibody.constrained_steps import constrained_rk4, driving_power
from multibody.dynamics import forward_dynamics
from multibody.formulations import constrained_forward_dynamics
from multibody.integrate import rk4
from multibody.layout import (
    CHOICE,
    CLOCK,
    DRIVEN_WORK,
    KEPT,
    LOSSES,
    NQ,
    NV,
    RANKING,
    RANKING_SIZE,
    RATES,
    STAGES,
    START_Q,
    START_V,
    VDOT,
    Q,
    V,
)
from multibody.model import Integers
from multibody.projection import onto_manifold
from multibody.rotations import coordinate_rates, normalise
from multibody.vectors import Rows
from multibody.views import copy, vector

_MOST = 20
"""Repetitions at most."""
_SETTLED, _TOLERABLE = 4e-16, 1e-11
"""Change of the stages, as a part of the largest rate: where repetition ends, and what is good enough."""
_OFF = math.sqrt(3.0) / 6.0

_STEP = void(PARAMETERS, TOPOLOGY, BUFFER, float64)


@part
def _stage(p: Rows, t: Integers, w: Rows, constrained: int | None, one: int, h: float) -> tuple[float, float]:
    """Renew a stage's rates; returns how much they changed, and how large they are."""
    q, v, nq, nv, clock = vector(t, w, Q), vector(t, w, V), t[NQ], t[NV], vector(t, w, CLOCK)
    start_q, start_v, size = vector(t, w, START_Q), vector(t, w, START_V), t[NQ] + t[NV]
    stages = vector(t, w, STAGES)
    own, other = stages[one * size : (one + 1) * size], stages[(1 - one) * size : (2 - one) * size]
    aside = 0.25 + (2 * one - 1) * _OFF
    for k in range(nq):
        q[k] = start_q[k] + h * (0.25 * own[k] + aside * other[k])
    for k in range(nv):
        v[k] = start_v[k] + h * (0.25 * own[nq + k] + aside * other[nq + k])
    began = clock[0]
    clock[0] += h * (0.5 + (2 * one - 1) * _OFF)
    if constrained is None:
        forward_dynamics(p, t, w)
    else:
        constrained_forward_dynamics(p, t, w)
    clock[0] = began
    rates, vdot = vector(t, w, RATES), vector(t, w, VDOT)
    coordinate_rates(t, q, v, rates)
    change = largest = 0.0
    for k in range(size):
        new = rates[k] if k < nq else vdot[k - nq]
        gap = abs(new - own[k])
        change = gap if not gap <= change else change  # a gap that is no number stays
        largest = max(largest, abs(new))
        own[k] = new
    stages[2 * size + one] = vector(t, w, LOSSES)[0]
    if constrained is not None:
        stages[2 * size + 2 + one] = driving_power(t, w)
    return change, largest


@part
def _gauss(p: Rows, t: Integers, w: Rows, constrained: int | None, h: float) -> bool:
    """One step, not yet back on the manifold; False, and the state as it was, where stages do not settle."""
    q, v, nq, nv, size = vector(t, w, Q), vector(t, w, V), t[NQ], t[NV], t[NQ] + t[NV]
    start_q, start_v, stages = vector(t, w, START_Q), vector(t, w, START_V), vector(t, w, STAGES)
    ranking, kept, clock = vector(t, w, RANKING), vector(t, w, KEPT), vector(t, w, CLOCK)
    copy(q, start_q)
    copy(v, start_v)
    copy(ranking, kept)
    for k in range(2 * size):
        stages[k] = 0.0
    good = False
    for _ in range(_MOST):
        for k in range(RANKING_SIZE):
            ranking[k] = kept[k]
        first, at_first = _stage(p, t, w, constrained, 0, h)
        second, at_second = _stage(p, t, w, constrained, 1, h)
        change, largest = first + second, max(at_first, at_second)
        good = change <= _TOLERABLE * largest
        if change <= _SETTLED * largest or not math.isfinite(change):
            break
    for k in range(nq):
        q[k] = start_q[k] + (0.5 * h * (stages[k] + stages[size + k]) if good else 0.0)
    for k in range(nv):
        v[k] = start_v[k] + (0.5 * h * (stages[nq + k] + stages[size + nq + k]) if good else 0.0)
    if not good:
        for k in range(RANKING_SIZE):
            ranking[k] = kept[k]
        return False
    normalise(t, q)
    clock[0] += h
    vector(t, w, LOSSES)[2] += 0.5 * h * (stages[2 * size] + stages[2 * size + 1])
    vector(t, w, DRIVEN_WORK)[0] += 0.5 * h * (stages[2 * size + 2] + stages[2 * size + 3])
    return True


@kernel(_STEP)
def gauss(p: Rows, t: Integers, w: Rows, dt: float) -> None:
    """One step without constraints, dt in seconds."""
    if not _gauss(p, t, w, None, dt):
        rk4(p, t, w, dt)


@kernel(_STEP)
def constrained_gauss(p: Rows, t: Integers, w: Rows, dt: float) -> None:
    """One step under constraints, and back onto the manifold at its end."""
    if not _gauss(p, t, w, 1, dt):
        constrained_rk4(p, t, w, dt)
    elif vector(t, w, CHOICE)[1] != 0.0:
        onto_manifold(p, t, w)
