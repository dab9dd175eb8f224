"""Minimal coordinates: only independent ones are integrated, the others follow from the closures.

With the partition of partition.py, v = Λ v_I + η and v̇ = Λ v̇_I + ξ, where Λ_I = 1, A Λ = 0, ξ_I = 0, A ξ = b:

    Λ' M Λ v̇_I = Λ' (r - M ξ)

the inverse-kinematics form of Blajer et al. 1992, in which A_x and ξ are needed only through products. At
every stage of a step the dependent coordinates are recovered by Newton's method on Φ = 0 and the dependent
velocities from A v + Φ_t = 0, so that the motion does not leave the manifold and needs no stabilisation.
Changes of the partition happen between steps; q and v are continuous there.

Near poses where branches of the closure meet no choice of coordinates is independent. There, and where
Newton's method does not converge, a step is made by projection (integrate.py) and counted.

The partition and its scratch are fields of the workspace; dt is in seconds.
"""

from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.constrained_dynamics import (
    constrained_terms,
    forces_of_constraint,
    free_forces,
)
from linkwork.multibody.dynamics.partition import (
    COUNT,
    LISTS,
    POSITIONS,
    PROJECTED_STEPS,
    VELOCITIES,
    choose,
    factor_dependent,
    solve_dependent,
)
from linkwork.multibody.dynamics.projection import TOLERANCE, position_residual
from linkwork.multibody.dynamics.reduced_mass import motion_in_basis
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import LOST, NEAR
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.steps.divided_steps import judge_step, keep_step
from linkwork.multibody.steps.integrate import driving_power, rk4, semi_implicit
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.local_coordinates import chart_rates
from linkwork.multibody.tree.rotations import move
from linkwork.multibody.workspace import Model, Workspace

WORST = 1e-6
"""Largest scaled |Φ| with which a recovered pose is accepted: rounded redundant closures leave that much."""
_ITERATIONS = 12


@kernel
def recover(m: Model, w: Workspace) -> bool:
    """q from the start and x, whose dependent entries are corrected, then the dependent velocities.

    Returns whether the closures could be met.
    """
    before = 0.0
    for iteration in range(_ITERATIONS):
        copy(w.began_q, w.q)
        move(m, w.q, w.chart, 1.0)
        kinematics(m, w)
        constraint_rows(m, w)
        residual = position_residual(m, w)
        stalled = iteration > 2 and not residual < 0.5 * before
        if residual <= TOLERANCE or stalled or iteration == _ITERATIONS - 1:
            if not residual <= WORST:
                return False
            break
        before = residual
        if factor_dependent(m, w, POSITIONS) == 0.0:
            return False
        for i in range(m.n_rows):
            w.dependent_side[i] = -m.row_scale[i] * w.phi[i]
        solve_dependent(m, w, POSITIONS)
        for j in range(w.partition[COUNT + POSITIONS]):
            w.chart[w.partition[LISTS + m.nv + j]] += w.solution[j]
    if w.partition[COUNT + VELOCITIES] > 0 and factor_dependent(m, w, VELOCITIES) == 0.0:
        return False
    for i in range(m.n_rows):
        w.dependent_side[i] = -m.row_scale[i] * w.phi_rate[i]
    solve_dependent(m, w, VELOCITIES)
    for j in range(w.partition[COUNT + VELOCITIES]):
        w.v[w.partition[LISTS + j]] += w.solution[j]
    return True


@kernel
def minimal_acceleration(m: Model, w: Workspace) -> bool:
    """After `constrained_terms`: v̇ by the partition; return whether A_D could be solved."""
    n, count = m.nv, w.partition[COUNT + VELOCITIES]
    if count > 0 and factor_dependent(m, w, VELOCITIES) == 0.0:
        return False
    for i in range(m.n_rows):
        w.dependent_side[i] = m.row_scale[i] * w.b[i]
    solve_dependent(m, w, VELOCITIES)
    fill(w.vdot, 0.0)
    for j in range(count):
        w.vdot[w.partition[LISTS + j]] = w.solution[j]
    for free in range(n - count):
        k = w.partition[LISTS + count + free]
        for i in range(m.n_rows):
            w.dependent_side[i] = -m.row_scale[i] * w.A[i, k] * m.column_scale[k]
        solve_dependent(m, w, VELOCITIES)
        fill(w.basis[free], 0.0)
        w.basis[free, k] = m.column_scale[k]
        for j in range(count):
            w.basis[free, w.partition[LISTS + j]] = w.solution[j]
    free_forces(m, w, w.shift)
    motion_in_basis(m, w, n - count, w.shift, w.vdot)
    return True


@kernel
def minimal_rk4(m: Model, w: Workspace, dt: float) -> bool:
    """The classical step of Runge and Kutta for the independent ones; False where projection made it."""
    if _rk4(m, w, dt):
        return True
    w.partition[PROJECTED_STEPS] += 1
    w.choice[1] = 1.0
    rk4(m, w, dt)
    return False


@kernel
def divided_minimal_rk4(m: Model, w: Workspace, dt: float) -> bool:
    """`minimal_rk4` in as many parts as the motion needs (divided_steps.py)."""
    left, parts, own = 1.0, 1.0, True
    while left > 0.0:
        keep_step(w)
        own = minimal_rk4(m, w, left / parts * dt) and own
        left, parts = judge_step(m, w, left, parts, dt)
    return own


@kernel
def _rk4(m: Model, w: Workspace, dt: float) -> bool:
    """The step, or False and the state as it was."""
    n = m.nv
    lost = 0.0
    if not begin_minimal(m, w):
        return False
    began, good, work = w.clock[0], True, 0.0
    fill(w.chart_sum, 0.0)
    fill(w.speed_sum, 0.0)
    for stage in range(4):
        if stage > 0:
            constrained_terms(m, w)
            good = w.ranking[LOST] == 0.0
        good = good and minimal_acceleration(m, w)
        if not good:
            break
        if stage == 1:
            copy(w.vdot, w.second)
        chart_rates(m, w.chart, w.v, w.chart_rate)
        weight = 1.0 / 3.0 if stage in (1, 2) else 1.0 / 6.0
        work += weight * dt * _driven(m, w)
        lost += weight * dt * w.losses[0]
        reach = dt if stage >= 2 else 0.5 * dt
        w.clock[0] = began + reach
        for k in range(n):
            w.chart_sum[k] += weight * w.chart_rate[k]
            w.speed_sum[k] += weight * w.vdot[k]
            w.chart[k] = dt * w.chart_sum[k] if stage == 3 else reach * w.chart_rate[k]
            w.v[k] = w.began_v[k] + (dt * w.speed_sum[k] if stage == 3 else reach * w.vdot[k])
        good = recover(m, w)
        if not good:
            break
    if good:
        w.driven_work[0] += work
        w.losses[2] += lost
    else:
        restore(w, began)
    return good


@part
def _driven(m: Model, w: Workspace) -> float:
    """Power (W) of what moves with time by itself, once the acceleration is known."""
    moves = False
    for i in range(m.n_rows):
        moves = moves or w.explicit[i] != 0.0
    if moves:
        forces_of_constraint(m, w)
    return driving_power(m, w)


@kernel
def minimal_semi_implicit(m: Model, w: Workspace, dt: float) -> bool:
    """The first-order step v_I += dt v̇_I, x_I += dt v_I; False where projection made it."""
    began = w.clock[0]
    if begin_minimal(m, w):
        good = minimal_acceleration(m, w)
        work = dt * _driven(m, w) if good else 0.0
        lost = dt * w.losses[0]
        if good:
            for k in range(m.nv):
                w.v[k] += dt * w.vdot[k]
            good = recover(m, w)
        if good:
            for k in range(m.nv):
                w.chart[k] = dt * w.v[k]
            w.clock[0] = began + dt
            good = recover(m, w)
        if good:
            w.driven_work[0] += work
            w.losses[2] += lost
            return True
        restore(w, began)
    w.partition[PROJECTED_STEPS] += 1
    w.choice[1] = 1.0
    semi_implicit(m, w, dt)
    return False


@kernel
def begin_minimal(m: Model, w: Workspace) -> bool:
    """Begin a step: all terms, and the partition. Returns False near a pose where branches meet."""
    constrained_terms(m, w)
    if w.ranking[LOST] > 0.0 or w.ranking[NEAR] > 0.0:
        return False
    choose(m, w)
    fill(w.chart, 0.0)
    copy(w.q, w.began_q)
    copy(w.v, w.began_v)
    copy(w.q, w.start_q)
    copy(w.v, w.start_v)
    return True


@kernel
def restore(w: Workspace, began: float) -> None:
    """Restore q, v and the clock (s) as they were after `begin_minimal`."""
    copy(w.began_q, w.q)
    copy(w.began_v, w.v)
    w.clock[0] = began
