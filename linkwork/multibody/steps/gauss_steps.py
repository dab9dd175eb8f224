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

from linkwork.arrays import Floats
from linkwork.multibody.closure.elimination import add_transposed
from linkwork.multibody.closure.rank import factor, scaled_right_side
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.constrained_dynamics import least_motion, multipliers_of
from linkwork.multibody.dynamics.other_formulations import constrained_forward_dynamics
from linkwork.multibody.dynamics.projection import TOLERANCE, position_residual
from linkwork.multibody.dynamics.tree_dynamics import dynamics, factor_mass, mass_times, solve_mass
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import LOST, RANKING_SIZE
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.steps.integrate import driving_power, rk4
from linkwork.multibody.tree.rotations import coordinate_rates, move, normalise
from linkwork.multibody.workspace import Model, Workspace

_MOST = 20
"""Repetitions at most."""
_SETTLED, _TOLERABLE = 4e-16, 1e-11
"""Change of the stages, as a part of the largest rate: where the iteration ends, and the acceptable limit."""
_MOST_PUSHES, _BALANCED, _CLOSED, _OPEN = 6, 1e-15, 1e-15, 1e-4
"""Projections at most; their difference (scaled) that is round-off; residual that needs none; correction
of a start that was open, which has no counterpart."""
_OFF = math.sqrt(3.0) / 6.0


@part
def _stage(m: Model, w: Workspace, one: int, h: float) -> tuple[float, float]:
    """Renew a stage's rates; return how much they changed, and how large they are."""
    nq, nv = m.nq, m.nv
    size = m.nq + m.nv
    own, other = w.stages[one * size : (one + 1) * size], w.stages[(1 - one) * size : (2 - one) * size]
    aside = 0.25 + (2 * one - 1) * _OFF
    for k in range(nq):
        w.q[k] = w.start_q[k] + h * (0.25 * own[k] + aside * other[k])
    for k in range(nv):
        w.v[k] = w.start_v[k] + h * (0.25 * own[nq + k] + aside * other[nq + k])
    began = w.clock[0]
    w.clock[0] += h * (0.5 + (2 * one - 1) * _OFF)
    constrained_forward_dynamics(m, w)
    w.clock[0] = began
    coordinate_rates(m, w.q, w.v, w.rates)
    change = largest = 0.0
    for k in range(size):
        new = w.rates[k] if k < nq else w.vdot[k - nq]
        gap = abs(new - own[k])
        change = gap if not gap <= change else change  # a gap that is no number stays
        largest = max(largest, abs(new))
        own[k] = new
    w.stages[2 * size + one] = w.losses[0]
    w.stages[2 * size + 2 + one] = driving_power(m, w)
    return change, largest


@part
def _gauss(m: Model, w: Workspace, h: float, again: bool) -> bool:
    """One step, not yet back on the manifold; False, and the state as it was, where stages do not settle.

    again: begin the repetition from the last stages.
    """
    nq, nv, size = m.nq, m.nv, m.nq + m.nv
    copy(w.q, w.start_q)
    copy(w.v, w.start_v)
    copy(w.ranking, w.kept)
    if not again:
        fill(w.stages, 0.0)
    good = False
    for _ in range(_MOST):
        for k in range(RANKING_SIZE):
            w.ranking[k] = w.kept[k]
        first, at_first = _stage(m, w, 0, h)
        second, at_second = _stage(m, w, 1, h)
        change, largest = first + second, max(at_first, at_second)
        good = change <= _TOLERABLE * largest
        if change <= _SETTLED * largest or not math.isfinite(change):
            break
    for k in range(nq):
        w.q[k] = w.start_q[k] + (0.5 * h * (w.stages[k] + w.stages[size + k]) if good else 0.0)
    for k in range(nv):
        w.v[k] = w.start_v[k] + (0.5 * h * (w.stages[nq + k] + w.stages[size + nq + k]) if good else 0.0)
    if not good:
        for k in range(RANKING_SIZE):
            w.ranking[k] = w.kept[k]
        return False
    normalise(m, w.q)
    w.clock[0] += h
    w.losses[2] += 0.5 * h * (w.stages[2 * size] + w.stages[2 * size + 1])
    w.driven_work[0] += 0.5 * h * (w.stages[2 * size + 2] + w.stages[2 * size + 3])
    return True


@part
def _begin_from(m: Model, w: Workspace) -> None:
    """Save the start of a symmetric step."""
    nq, nv = m.nq, m.nv
    copy(w.q, w.unpushed)
    copy(w.v, w.unpushed[nq:])
    copy(w.ranking, w.unpushed[nq + nv :])
    rest = w.unpushed[nq + nv + RANKING_SIZE :]
    rest[0], rest[1] = w.clock[0], w.driven_work[0]
    rest[2] = w.losses[2]
    fill(w.pushes, 0.0)
    fill(w.pushed, 0.0)


@part
def _begin_again(m: Model, w: Workspace) -> None:
    nq, nv = m.nq, m.nv
    copy(w.unpushed[:nq], w.q)
    copy(w.unpushed[nq : nq + nv], w.v)
    copy(w.unpushed[nq + nv : nq + nv + RANKING_SIZE], w.ranking)
    rest = w.unpushed[nq + nv + RANKING_SIZE :]
    w.clock[0], w.driven_work[0] = rest[0], rest[1]
    w.losses[2] = rest[2]


@part
def _push(m: Model, w: Workspace) -> None:
    """At the beginning: move q and v by M⁻¹A'μ and M⁻¹A'ν, which are kept in `pushed`."""
    nv, nr = m.nv, m.n_rows
    dynamics(m, w)
    constraint_rows(m, w)
    factor_mass(m, w)
    for one in range(2):
        x = w.pushed[one * nv : (one + 1) * nv]
        fill(x, 0.0)
        add_transposed(m, w.A, w.pushes[one * nr : (one + 1) * nr], x)
        solve_mass(m, w, x)
    move(m, w.q, w.pushed[:nv], 1.0)
    for k in range(nv):
        w.v[k] += w.pushed[nv + k]


@part
def _correct(m: Model, w: Workspace, residual: Floats, of_position: bool, total: Floats) -> None:
    """Add the shortest motion (mass metric) that takes these residuals off, to `total` too."""
    scaled_right_side(m, w, -1.0, residual)
    fill(w.sum_v, 0.0)
    least_motion(m, w, w.sum_v, w.shift)
    for k in range(m.nv):
        total[k] += w.shift[k]
    if of_position:
        move(m, w.q, w.shift, 1.0)
        return
    for k in range(m.nv):
        w.v[k] += w.shift[k]


@part
def _pull(m: Model, w: Workspace) -> None:
    """At the end: project position (five times at most) and velocity. `pushed` has both."""
    nv = m.nv
    fill(w.pushed[2 * nv :], 0.0)
    for count in range(6):
        dynamics(m, w)
        constraint_rows(m, w)
        factor(m, w)
        if count == 5 or position_residual(m, w) <= (_CLOSED if count == 0 else TOLERANCE):
            break
        _correct(m, w, w.phi, True, w.pushed[2 * nv : 3 * nv])
    _correct(m, w, w.phi_rate, False, w.pushed[3 * nv :])


@part
def _balance(m: Model, w: Workspace) -> bool:
    """After `_pull`: whether both ends are corrected alike; else μ and ν for the next attempt."""
    nv, nr = m.nv, m.n_rows
    worst, size = 0.0, 1.0
    for k in range(nv):
        size = max(size, abs(w.v[k]) / m.column_scale[k])
    for k in range(2 * nv):
        gap = abs(w.pushed[k] - w.pushed[2 * nv + k]) / m.column_scale[k % nv]
        worst = max(worst, gap if k < nv else gap / size)
    if worst <= _BALANCED or worst > _OPEN:
        return True
    for one in range(2):
        mass_times(m, w, w.pushed[(2 + one) * nv : (3 + one) * nv], w.constraint_force)
        multipliers_of(m, w)
        for i in range(nr):
            w.pushes[one * nr + i] = 0.5 * (w.pushes[one * nr + i] + w.multipliers[i])
    return False


@kernel
def gauss(m: Model, w: Workspace, dt: float) -> None:
    """One step; under constraints with a projection onto the manifold that is the same at both ends."""
    if m.n_rows == 0 or w.choice[1] == 0.0:
        if not _gauss(m, w, dt, False):
            rk4(m, w, dt)
        return
    _begin_from(m, w)
    for count in range(_MOST_PUSHES):
        if count > 0:
            _begin_again(m, w)
            _push(m, w)
        if not _gauss(m, w, dt, count > 0):
            _begin_again(m, w)
            rk4(m, w, dt)
            return
        _pull(m, w)
        one_sided = w.ranking[LOST] > 0.0 or w.stuck_count[0] > 0.0
        if one_sided or _balance(m, w):
            return
