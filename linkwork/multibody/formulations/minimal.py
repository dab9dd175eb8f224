"""Minimal coordinates: only independent ones are integrated, the others follow from the closures.

With the partition of partition.py, v = Λ v_I + η and v̇ = Λ v̇_I + ξ, where Λ_I = 1, A Λ = 0, ξ_I = 0, A ξ = b:

    Λ' M Λ v̇_I = Λ' (r - M ξ)

the inverse-kinematics form of Blajer et al. 1992, in which A_x and ξ are needed only through products. At
every stage of a step the dependent coordinates are recovered by Newton's method on Φ = 0 and the dependent
velocities from A v + Φ_t = 0, so that the motion does not leave the manifold and needs no stabilisation.
Changes of the partition happen between steps; q and v are continuous there.

Near poses where branches of the closure meet no choice of coordinates is independent. There, and where
Newton's method does not converge, a step is made by projection (constrained_steps.py) and counted.

`partition` (integers) and `z` (numbers), the scratch memory, are those of partition.py; dt is in seconds.
"""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.formulations.constrained_dynamics import (
    constrained_terms,
    forces_of_constraint,
    free_forces,
)
from linkwork.multibody.formulations.partition import (
    COUNT,
    LISTS,
    POSITIONS,
    PROJECTED_STEPS,
    SOLUTION,
    START_V,
    V_SUM,
    VELOCITIES,
    X_RATE,
    X_SUM,
    X,
    choose,
    factor_dependent,
    of_z,
    right_side,
    solve_dependent,
    start_q,
)
from linkwork.multibody.formulations.projection import TOLERANCE, position_residual
from linkwork.multibody.formulations.reduced_mass import motion_in_basis
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import LOST, NEAR
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.steps.constrained_steps import constrained_rk4, constrained_semi_implicit
from linkwork.multibody.steps.divided_steps import judge_step, keep_step
from linkwork.multibody.steps.integrate import driving_power
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.local_coordinates import chart_rates
from linkwork.multibody.tree.rotations import move
from linkwork.multibody.workspace import Model, Workspace

WORST = 1e-6
"""Largest scaled |Φ| with which a recovered pose is accepted: rounded redundant closures leave that much."""
_ITERATIONS = 12


@kernel
def recover(m: Model, w: Workspace, partition: Integers, z: Floats) -> bool:
    """q from the start and x, whose dependent entries are corrected, then the dependent velocities.

    Returns whether the closures could be met.
    """
    x, start = of_z(m, z, X), start_q(m, z)
    right, y = right_side(m, z), of_z(m, z, SOLUTION)
    before = 0.0
    for iteration in range(_ITERATIONS):
        copy(start, w.q)
        move(m, w.q, x, 1.0)
        kinematics(m, w)
        constraint_rows(m, w)
        residual = position_residual(m, w)
        stalled = iteration > 2 and not residual < 0.5 * before
        if residual <= TOLERANCE or stalled or iteration == _ITERATIONS - 1:
            if not residual <= WORST:
                return False
            break
        before = residual
        if factor_dependent(m, w, partition, z, POSITIONS) == 0.0:
            return False
        for i in range(m.n_rows):
            right[i] = -m.row_scale[i] * w.phi[i]
        solve_dependent(m, w, partition, z, POSITIONS)
        for j in range(partition[COUNT + POSITIONS]):
            x[partition[LISTS + m.nv + j]] += y[j]
    if partition[COUNT + VELOCITIES] > 0 and factor_dependent(m, w, partition, z, VELOCITIES) == 0.0:
        return False
    for i in range(m.n_rows):
        right[i] = -m.row_scale[i] * w.phi_rate[i]
    solve_dependent(m, w, partition, z, VELOCITIES)
    for j in range(partition[COUNT + VELOCITIES]):
        w.v[partition[LISTS + j]] += y[j]
    return True


@kernel
def minimal_acceleration(m: Model, w: Workspace, partition: Integers, z: Floats) -> bool:
    """After `constrained_terms`: v̇ by the partition; return whether A_D could be solved."""
    n, count = m.nv, partition[COUNT + VELOCITIES]
    right, y = right_side(m, z), of_z(m, z, SOLUTION)
    if count > 0 and factor_dependent(m, w, partition, z, VELOCITIES) == 0.0:
        return False
    for i in range(m.n_rows):
        right[i] = m.row_scale[i] * w.b[i]
    solve_dependent(m, w, partition, z, VELOCITIES)
    fill(w.vdot, 0.0)
    for j in range(count):
        w.vdot[partition[LISTS + j]] = y[j]
    for free in range(n - count):
        k = partition[LISTS + count + free]
        for i in range(m.n_rows):
            right[i] = -m.row_scale[i] * w.A[i, k] * m.column_scale[k]
        solve_dependent(m, w, partition, z, VELOCITIES)
        fill(w.basis[free], 0.0)
        w.basis[free, k] = m.column_scale[k]
        for j in range(count):
            w.basis[free, partition[LISTS + j]] = y[j]
    free_forces(m, w, w.shift)
    motion_in_basis(m, w, n - count, w.shift, w.vdot)
    return True


@kernel
def minimal_rk4(m: Model, w: Workspace, dt: float, partition: Integers, z: Floats) -> bool:
    """The classical step of Runge and Kutta for the independent ones; False where projection made it."""
    if _rk4(m, w, dt, partition, z):
        return True
    partition[PROJECTED_STEPS] += 1
    w.choice[1] = 1.0
    constrained_rk4(m, w, dt)
    return False


@kernel
def divided_minimal_rk4(m: Model, w: Workspace, dt: float, partition: Integers, z: Floats) -> bool:
    """`minimal_rk4` in as many parts as the motion needs (divided_steps.py)."""
    left, parts, own = 1.0, 1.0, True
    while left > 0.0:
        keep_step(w)
        own = minimal_rk4(m, w, left / parts * dt, partition, z) and own
        left, parts = judge_step(m, w, left, parts, dt)
    return own


@kernel
def _rk4(m: Model, w: Workspace, dt: float, partition: Integers, z: Floats) -> bool:
    """The step, or False and the state as it was."""
    n = m.nv
    lost = 0.0
    x, rate, sum_x, sum_v, began_v = (
        of_z(m, z, X),
        of_z(m, z, X_RATE),
        of_z(m, z, X_SUM),
        of_z(m, z, V_SUM),
        of_z(m, z, START_V),
    )
    if not begin_minimal(m, w, partition, z):
        return False
    began, good, work = w.clock[0], True, 0.0
    fill(sum_x, 0.0)
    fill(sum_v, 0.0)
    for stage in range(4):
        if stage > 0:
            constrained_terms(m, w)
            good = w.ranking[LOST] == 0.0
        good = good and minimal_acceleration(m, w, partition, z)
        if not good:
            break
        if stage == 1:
            copy(w.vdot, w.second)
        chart_rates(m, x, w.v, rate)
        weight = 1.0 / 3.0 if stage in (1, 2) else 1.0 / 6.0
        work += weight * dt * _driven(m, w)
        lost += weight * dt * w.losses[0]
        reach = dt if stage >= 2 else 0.5 * dt
        w.clock[0] = began + reach
        for k in range(n):
            sum_x[k] += weight * rate[k]
            sum_v[k] += weight * w.vdot[k]
            x[k] = dt * sum_x[k] if stage == 3 else reach * rate[k]
            w.v[k] = began_v[k] + (dt * sum_v[k] if stage == 3 else reach * w.vdot[k])
        good = recover(m, w, partition, z)
        if not good:
            break
    if good:
        w.driven_work[0] += work
        w.losses[2] += lost
    else:
        restore(m, w, z, began)
    return good


@part
def _driven(m: Model, w: Workspace) -> float:
    """Power (W) of what moves with time by itself, once the acceleration is known."""
    moves = False
    for i in range(m.n_rows):
        moves = moves or w.explicit[i] != 0.0
    if moves:
        forces_of_constraint(m, w)
    power: float = driving_power(m, w)
    return power


@kernel
def minimal_semi_implicit(m: Model, w: Workspace, dt: float, partition: Integers, z: Floats) -> bool:
    """The first-order step v_I += dt v̇_I, x_I += dt v_I; False where projection made it."""
    x = of_z(m, z, X)
    began = w.clock[0]
    if begin_minimal(m, w, partition, z):
        good = minimal_acceleration(m, w, partition, z)
        work = dt * _driven(m, w) if good else 0.0
        lost = dt * w.losses[0]
        if good:
            for k in range(m.nv):
                w.v[k] += dt * w.vdot[k]
            good = recover(m, w, partition, z)
        if good:
            for k in range(m.nv):
                x[k] = dt * w.v[k]
            w.clock[0] = began + dt
            good = recover(m, w, partition, z)
        if good:
            w.driven_work[0] += work
            w.losses[2] += lost
            return True
        restore(m, w, z, began)
    partition[PROJECTED_STEPS] += 1
    w.choice[1] = 1.0
    constrained_semi_implicit(m, w, dt)
    return False


@kernel
def begin_minimal(m: Model, w: Workspace, partition: Integers, z: Floats) -> bool:
    """Begin a step: all terms, and the partition. Returns False near a pose where branches meet."""
    constrained_terms(m, w)
    if w.ranking[LOST] > 0.0 or w.ranking[NEAR] > 0.0:
        return False
    choose(m, w, partition, z)
    fill(of_z(m, z, X), 0.0)
    copy(w.q, start_q(m, z))
    copy(w.v, of_z(m, z, START_V))
    copy(w.q, w.start_q)
    copy(w.v, w.start_v)
    return True


@kernel
def restore(m: Model, w: Workspace, z: Floats, began: float) -> None:
    """Restore q, v and the clock (s) as they were after `begin_minimal`."""
    copy(start_q(m, z), w.q)
    copy(of_z(m, z, START_V), w.v)
    w.clock[0] = began
