"""Steps of the two-stage method of Gauss: fourth order, implicit and symmetric; energy does not drift.

    Y_i = y0 + h Σ a_ij f(Y_j),   y1 = y0 + h (f(Y_1) + f(Y_2)) / 2
    a = [[1/4, 1/4 - √3/6], [1/4 + √3/6, 1/4]],   c = (1/2 - √3/6, 1/2 + √3/6)

(Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I, II.7.) For reversible motions the energy
error oscillates without drift; explicit methods lose energy in every cycle. The stages are found by
fixed-point iteration (Gauss-Seidel); its rate is the ratio of step to time scale of the motion. Where it does
not converge, the classical step replaces it.

Under constraints the step is followed by a projection onto the manifold, and a projection at the end alone
is not symmetric: energy then drifts in proportion to time and to h⁵. So the step is preceded by a
projection as well, with the multipliers of the one at its end (symmetric projection, Hairer, Lubich &
Wanner, Geometric Numerical Integration, V.4.1), here for positions and velocities, in the mass metric:

    q~0 = q0 + M⁻¹A'(q0) μ,   q1 = q~1 + M⁻¹A'(q1) μ,   Φ(q1) = 0
    v~0 = v0 + M⁻¹A'(q0) ν,   v1 = v~1 + M⁻¹A'(q1) ν,   A v1 + Φ_t = 0

μ and ν are found by fixed-point iteration: the mean of the last values and of those at the end. Corrections
below round-off need no iteration. Near a branch pose, and beside brakes that stick, the end alone is
corrected.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.formulations.constrained_dynamics import least_motion, multipliers_of
from linkwork.multibody.formulations.elimination import add_transposed
from linkwork.multibody.formulations.other_formulations import constrained_forward_dynamics
from linkwork.multibody.formulations.projection import TOLERANCE, position_residual
from linkwork.multibody.formulations.rank import factor, scaled_right_side
from linkwork.multibody.kernels.compiling import BUFFER, PARAMETERS, TOPOLOGY, float64, kernel, part, void
from linkwork.multibody.kernels.layout import (
    CHOICE,
    CLOCK,
    COLUMN_SCALE,
    CONSTRAINT_FORCE,
    DRIVEN_WORK,
    KEPT,
    LOSSES,
    LOST,
    MULTIPLIERS,
    N_ROWS,
    NQ,
    NV,
    PHI,
    PHI_RATE,
    PUSHED,
    PUSHES,
    RANKING,
    RANKING_SIZE,
    RATES,
    SHIFT,
    STAGES,
    START_Q,
    START_V,
    STUCK_COUNT,
    SUM_V,
    UNPUSHED,
    VDOT,
    A,
    Q,
    V,
)
from linkwork.multibody.kernels.views import copy, fill, matrix, vector
from linkwork.multibody.steps.constrained_steps import constrained_rk4
from linkwork.multibody.steps.integrate import driving_power, rk4
from linkwork.multibody.tree.dynamics import dynamics, factor_mass, forward_dynamics, mass_times, solve_mass
from linkwork.multibody.tree.rotations import coordinate_rates, move, normalise

_MOST = 20
"""Repetitions at most."""
_SETTLED, _TOLERABLE = 4e-16, 1e-11
"""Change of the stages, as a part of the largest rate: where the iteration ends, and the acceptable limit."""
_MOST_PUSHES, _BALANCED, _CLOSED, _OPEN = 6, 1e-15, 1e-15, 1e-4
"""Projections at most; their difference (scaled) that is round-off; residual that needs none; correction
of a start that was open, which has no counterpart."""
_OFF = math.sqrt(3.0) / 6.0

_STEP = void(PARAMETERS, TOPOLOGY, BUFFER, float64)


@part
def _stage(
    p: Floats, t: Integers, w: Floats, constrained: int | None, one: int, h: float
) -> tuple[float, float]:
    """Renew a stage's rates; return how much they changed, and how large they are."""
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
    stages[2 * size + 2 + one] = driving_power(t, w)
    return change, largest


@part
def _gauss(p: Floats, t: Integers, w: Floats, constrained: int | None, h: float, again: bool) -> bool:
    """One step, not yet back on the manifold; False, and the state as it was, where stages do not settle.

    again: begin the repetition from the last stages.
    """
    q, v, nq, nv, size = vector(t, w, Q), vector(t, w, V), t[NQ], t[NV], t[NQ] + t[NV]
    start_q, start_v, stages = vector(t, w, START_Q), vector(t, w, START_V), vector(t, w, STAGES)
    ranking, kept, clock = vector(t, w, RANKING), vector(t, w, KEPT), vector(t, w, CLOCK)
    copy(q, start_q)
    copy(v, start_v)
    copy(ranking, kept)
    if not again:
        fill(stages, 0.0)
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
def gauss(p: Floats, t: Integers, w: Floats, dt: float) -> None:
    """One step without constraints, dt in seconds."""
    if not _gauss(p, t, w, None, dt, False):
        rk4(p, t, w, dt)


@part
def _begin_from(t: Integers, w: Floats) -> None:
    """Save the start of a symmetric step."""
    kept, nq, nv = vector(t, w, UNPUSHED), t[NQ], t[NV]
    copy(vector(t, w, Q), kept)
    copy(vector(t, w, V), kept[nq:])
    copy(vector(t, w, RANKING), kept[nq + nv :])
    rest = kept[nq + nv + RANKING_SIZE :]
    rest[0], rest[1] = vector(t, w, CLOCK)[0], vector(t, w, DRIVEN_WORK)[0]
    rest[2] = vector(t, w, LOSSES)[2]
    fill(vector(t, w, PUSHES), 0.0)
    fill(vector(t, w, PUSHED), 0.0)


@part
def _begin_again(t: Integers, w: Floats) -> None:
    kept, nq, nv = vector(t, w, UNPUSHED), t[NQ], t[NV]
    copy(kept[:nq], vector(t, w, Q))
    copy(kept[nq : nq + nv], vector(t, w, V))
    copy(kept[nq + nv : nq + nv + RANKING_SIZE], vector(t, w, RANKING))
    rest = kept[nq + nv + RANKING_SIZE :]
    vector(t, w, CLOCK)[0], vector(t, w, DRIVEN_WORK)[0] = rest[0], rest[1]
    vector(t, w, LOSSES)[2] = rest[2]


@part
def _push(p: Floats, t: Integers, w: Floats) -> None:
    """At the beginning: move q and v by M⁻¹A'μ and M⁻¹A'ν, which are kept in `PUSHED`."""
    nv, nr, q, v = t[NV], t[N_ROWS], vector(t, w, Q), vector(t, w, V)
    pushes, pushed = vector(t, w, PUSHES), vector(t, w, PUSHED)
    dynamics(p, t, w)
    constraint_rows(p, t, w)
    a = matrix(t, w, A, nv)
    factor_mass(p, t, w)
    for one in range(2):
        x = pushed[one * nv : (one + 1) * nv]
        fill(x, 0.0)
        add_transposed(t, a, pushes[one * nr : (one + 1) * nr], x)
        solve_mass(t, w, x)
    move(t, q, pushed[:nv], 1.0)
    for k in range(nv):
        v[k] += pushed[nv + k]


@part
def _correct(p: Floats, t: Integers, w: Floats, field: int, total: Floats) -> None:
    """Add the shortest motion (mass metric) that takes these residuals off, to `total` too."""
    shift, zero, v = vector(t, w, SHIFT), vector(t, w, SUM_V), vector(t, w, V)
    scaled_right_side(t, p, w, -1.0, field)
    fill(zero, 0.0)
    least_motion(p, t, w, zero, shift)
    for k in range(t[NV]):
        total[k] += shift[k]
    if field == PHI:
        move(t, vector(t, w, Q), shift, 1.0)
        return
    for k in range(t[NV]):
        v[k] += shift[k]


@part
def _pull(p: Floats, t: Integers, w: Floats) -> None:
    """At the end: project position (five times at most) and velocity. `PUSHED` has both."""
    nv, pushed = t[NV], vector(t, w, PUSHED)
    fill(pushed[2 * nv :], 0.0)
    for count in range(6):
        dynamics(p, t, w)
        constraint_rows(p, t, w)
        factor(p, t, w)
        if count == 5 or position_residual(p, t, w) <= (_CLOSED if count == 0 else TOLERANCE):
            break
        _correct(p, t, w, PHI, pushed[2 * nv : 3 * nv])
    _correct(p, t, w, PHI_RATE, pushed[3 * nv :])


@part
def _balance(p: Floats, t: Integers, w: Floats) -> bool:
    """After `_pull`: whether both ends are corrected alike; else μ and ν for the next attempt."""
    nv, nr, v = t[NV], t[N_ROWS], vector(t, w, V)
    pushes, pushed, columns = vector(t, w, PUSHES), vector(t, w, PUSHED), vector(t, p, COLUMN_SCALE)
    worst, size = 0.0, 1.0
    for k in range(nv):
        size = max(size, abs(v[k]) / columns[k])
    for k in range(2 * nv):
        gap = abs(pushed[k] - pushed[2 * nv + k]) / columns[k % nv]
        worst = max(worst, gap if k < nv else gap / size)
    if worst <= _BALANCED or worst > _OPEN:
        return True
    force, multipliers = vector(t, w, CONSTRAINT_FORCE), vector(t, w, MULTIPLIERS)
    for one in range(2):
        mass_times(t, w, pushed[(2 + one) * nv : (3 + one) * nv], force)
        multipliers_of(p, t, w)
        for i in range(nr):
            pushes[one * nr + i] = 0.5 * (pushes[one * nr + i] + multipliers[i])
    return False


@kernel(_STEP)
def constrained_gauss(p: Floats, t: Integers, w: Floats, dt: float) -> None:
    """One step under constraints, with a projection onto the manifold that is the same at both ends."""
    if vector(t, w, CHOICE)[1] == 0.0:
        if not _gauss(p, t, w, 1, dt, False):
            constrained_rk4(p, t, w, dt)
        return
    _begin_from(t, w)
    for count in range(_MOST_PUSHES):
        if count > 0:
            _begin_again(t, w)
            _push(p, t, w)
        if not _gauss(p, t, w, 1, dt, count > 0):
            _begin_again(t, w)
            constrained_rk4(p, t, w, dt)
            return
        _pull(p, t, w)
        one_sided = vector(t, w, RANKING)[LOST] > 0.0 or vector(t, w, STUCK_COUNT)[0] > 0.0
        if one_sided or _balance(p, t, w):
            return
