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
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    INTEGERS,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    boolean,
    float64,
    kernel,
    part,
    void,
)
from linkwork.multibody.kernels.layout import (
    BASIS,
    CHOICE,
    CLOCK,
    COLUMN_SCALE,
    DRIVEN_WORK,
    EXPLICIT,
    LOSSES,
    LOST,
    N_ROWS,
    NEAR,
    NV,
    PHI,
    PHI_RATE,
    RANKING,
    ROW_SCALE,
    SECOND,
    SHIFT,
    START_Q,
    VDOT,
    A,
    B,
    Q,
    V,
)
from linkwork.multibody.kernels.layout import START_V as BEGAN_V
from linkwork.multibody.kernels.views import copy, fill, matrix, vector
from linkwork.multibody.steps.constrained_steps import constrained_rk4, constrained_semi_implicit
from linkwork.multibody.steps.divided_steps import judge_step, keep_step
from linkwork.multibody.steps.integrate import driving_power
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.local_coordinates import chart_rates
from linkwork.multibody.tree.rotations import move

WORST = 1e-6
"""Largest scaled |Φ| with which a recovered pose is accepted: rounded redundant closures leave that much."""
_ITERATIONS = 12

_STEP = boolean(PARAMETERS, TOPOLOGY, BUFFER, float64, INTEGERS, VECTOR)


@kernel(boolean(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, VECTOR))
def recover(p: Floats, t: Integers, w: Floats, partition: Integers, z: Floats) -> bool:
    """q from the start and x, whose dependent entries are corrected, then the dependent velocities.

    Returns whether the closures could be met.
    """
    q, v, x, start = vector(t, w, Q), vector(t, w, V), of_z(t, z, X), start_q(t, z)
    rows, right, y = vector(t, p, ROW_SCALE), right_side(t, z), of_z(t, z, SOLUTION)
    phi, phi_rate = vector(t, w, PHI), vector(t, w, PHI_RATE)
    before = 0.0
    for iteration in range(_ITERATIONS):
        copy(start, q)
        move(t, q, x, 1.0)
        kinematics(p, t, w)
        constraint_rows(p, t, w)
        residual = position_residual(p, t, w)
        stalled = iteration > 2 and not residual < 0.5 * before
        if residual <= TOLERANCE or stalled or iteration == _ITERATIONS - 1:
            if not residual <= WORST:
                return False
            break
        before = residual
        if factor_dependent(p, t, w, partition, z, POSITIONS) == 0.0:
            return False
        for i in range(t[N_ROWS]):
            right[i] = -rows[i] * phi[i]
        solve_dependent(p, t, w, partition, z, POSITIONS)
        for j in range(partition[COUNT + POSITIONS]):
            x[partition[LISTS + t[NV] + j]] += y[j]
    if partition[COUNT + VELOCITIES] > 0 and factor_dependent(p, t, w, partition, z, VELOCITIES) == 0.0:
        return False
    for i in range(t[N_ROWS]):
        right[i] = -rows[i] * phi_rate[i]
    solve_dependent(p, t, w, partition, z, VELOCITIES)
    for j in range(partition[COUNT + VELOCITIES]):
        v[partition[LISTS + j]] += y[j]
    return True


@kernel(boolean(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, VECTOR))
def minimal_acceleration(p: Floats, t: Integers, w: Floats, partition: Integers, z: Floats) -> bool:
    """After `constrained_terms`: v̇ by the partition; return whether A_D could be solved."""
    n, m, count = t[NV], t[N_ROWS], partition[COUNT + VELOCITIES]
    a, b, rows, columns = (
        matrix(t, w, A, n),
        vector(t, w, B),
        vector(t, p, ROW_SCALE),
        vector(t, p, COLUMN_SCALE),
    )
    right, y, basis = right_side(t, z), of_z(t, z, SOLUTION), matrix(t, w, BASIS, n)
    vdot, r = vector(t, w, VDOT), vector(t, w, SHIFT)
    if count > 0 and factor_dependent(p, t, w, partition, z, VELOCITIES) == 0.0:
        return False
    for i in range(m):
        right[i] = rows[i] * b[i]
    solve_dependent(p, t, w, partition, z, VELOCITIES)
    fill(vdot, 0.0)
    for j in range(count):
        vdot[partition[LISTS + j]] = y[j]
    for free in range(n - count):
        k = partition[LISTS + count + free]
        for i in range(m):
            right[i] = -rows[i] * a[i, k] * columns[k]
        solve_dependent(p, t, w, partition, z, VELOCITIES)
        fill(basis[free], 0.0)
        basis[free, k] = columns[k]
        for j in range(count):
            basis[free, partition[LISTS + j]] = y[j]
    free_forces(t, w, r)
    motion_in_basis(t, w, n - count, r, vdot)
    return True


@kernel(_STEP)
def minimal_rk4(p: Floats, t: Integers, w: Floats, dt: float, partition: Integers, z: Floats) -> bool:
    """The classical step of Runge and Kutta for the independent ones; False where projection made it."""
    if _rk4(p, t, w, dt, partition, z):
        return True
    partition[PROJECTED_STEPS] += 1
    vector(t, w, CHOICE)[1] = 1.0
    constrained_rk4(p, t, w, dt)
    return False


@kernel(_STEP)
def divided_minimal_rk4(p: Floats, t: Integers, w: Floats, dt: float, partition: Integers, z: Floats) -> bool:
    """`minimal_rk4` in as many parts as the motion needs (divided_steps.py)."""
    left, parts, own = 1.0, 1.0, True
    while left > 0.0:
        keep_step(t, w)
        own = minimal_rk4(p, t, w, left / parts * dt, partition, z) and own
        left, parts = judge_step(t, w, left, parts, dt)
    return own


@kernel(_STEP)
def _rk4(p: Floats, t: Integers, w: Floats, dt: float, partition: Integers, z: Floats) -> bool:
    """The step, or False and the state as it was."""
    v, vdot, clock, n = vector(t, w, V), vector(t, w, VDOT), vector(t, w, CLOCK), t[NV]
    losses, lost = vector(t, w, LOSSES), 0.0
    x, rate, sum_x, sum_v, began_v = (
        of_z(t, z, X),
        of_z(t, z, X_RATE),
        of_z(t, z, X_SUM),
        of_z(t, z, V_SUM),
        of_z(t, z, START_V),
    )
    if not begin_minimal(p, t, w, partition, z):
        return False
    began, good, work = clock[0], True, 0.0
    fill(sum_x, 0.0)
    fill(sum_v, 0.0)
    for stage in range(4):
        if stage > 0:
            constrained_terms(p, t, w)
            good = vector(t, w, RANKING)[LOST] == 0.0
        good = good and minimal_acceleration(p, t, w, partition, z)
        if not good:
            break
        if stage == 1:
            copy(vdot, vector(t, w, SECOND))
        chart_rates(t, x, v, rate)
        weight = 1.0 / 3.0 if stage in (1, 2) else 1.0 / 6.0
        work += weight * dt * _driven(p, t, w)
        lost += weight * dt * losses[0]
        reach = dt if stage >= 2 else 0.5 * dt
        clock[0] = began + reach
        for k in range(n):
            sum_x[k] += weight * rate[k]
            sum_v[k] += weight * vdot[k]
            x[k] = dt * sum_x[k] if stage == 3 else reach * rate[k]
            v[k] = began_v[k] + (dt * sum_v[k] if stage == 3 else reach * vdot[k])
        good = recover(p, t, w, partition, z)
        if not good:
            break
    if good:
        vector(t, w, DRIVEN_WORK)[0] += work
        losses[2] += lost
    else:
        restore(t, w, z, began)
    return good


@part
def _driven(p: Floats, t: Integers, w: Floats) -> float:
    """Power (W) of what moves with time by itself, once the acceleration is known."""
    explicit = vector(t, w, EXPLICIT)
    moves = False
    for i in range(t[N_ROWS]):
        moves = moves or explicit[i] != 0.0
    if moves:
        forces_of_constraint(p, t, w)
    power: float = driving_power(t, w)
    return power


@kernel(_STEP)
def minimal_semi_implicit(
    p: Floats, t: Integers, w: Floats, dt: float, partition: Integers, z: Floats
) -> bool:
    """The first-order step v_I += dt v̇_I, x_I += dt v_I; False where projection made it."""
    v, vdot, clock, x = vector(t, w, V), vector(t, w, VDOT), vector(t, w, CLOCK), of_z(t, z, X)
    began, losses = clock[0], vector(t, w, LOSSES)
    if begin_minimal(p, t, w, partition, z):
        good = minimal_acceleration(p, t, w, partition, z)
        work = dt * _driven(p, t, w) if good else 0.0
        lost = dt * losses[0]
        if good:
            for k in range(t[NV]):
                v[k] += dt * vdot[k]
            good = recover(p, t, w, partition, z)
        if good:
            for k in range(t[NV]):
                x[k] = dt * v[k]
            clock[0] = began + dt
            good = recover(p, t, w, partition, z)
        if good:
            vector(t, w, DRIVEN_WORK)[0] += work
            losses[2] += lost
            return True
        restore(t, w, z, began)
    partition[PROJECTED_STEPS] += 1
    vector(t, w, CHOICE)[1] = 1.0
    constrained_semi_implicit(p, t, w, dt)
    return False


@kernel(boolean(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, VECTOR))
def begin_minimal(p: Floats, t: Integers, w: Floats, partition: Integers, z: Floats) -> bool:
    """Begin a step: all terms, and the partition. Returns False near a pose where branches meet."""
    constrained_terms(p, t, w)
    ranking = vector(t, w, RANKING)
    if ranking[LOST] > 0.0 or ranking[NEAR] > 0.0:
        return False
    choose(p, t, w, partition, z)
    fill(of_z(t, z, X), 0.0)
    copy(vector(t, w, Q), start_q(t, z))
    copy(vector(t, w, V), of_z(t, z, START_V))
    copy(vector(t, w, Q), vector(t, w, START_Q))
    copy(vector(t, w, V), vector(t, w, BEGAN_V))
    return True


@kernel(void(TOPOLOGY, BUFFER, VECTOR, float64))
def restore(t: Integers, w: Floats, z: Floats, began: float) -> None:
    """Restore q, v and the clock (s) as they were after `begin_minimal`."""
    copy(start_q(t, z), vector(t, w, Q))
    copy(of_z(t, z, START_V), vector(t, w, V))
    vector(t, w, CLOCK)[0] = began
