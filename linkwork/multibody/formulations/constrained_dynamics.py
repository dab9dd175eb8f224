"""Constrained acceleration: M v̇ = r + Fc, A v̇ = b, r = effort + friction + compliant - h, Fc = A'λ.

Each formulation is a kernel with the same results in the workspace: `VDOT`, `CONSTRAINT_FORCE`, `MULTIPLIERS`
(the shortest, in scaled rows, where they are not unique) and `RANKING`. All share the decision on the rank
(rank.py).

`projected` is the fast one. Its equations are those of Aghili 2005, (I - P) v̇ = A⁺ b and P M v̇ = P r, written
with a basis Λ of the range of P instead of P itself:
    v̇ = x + Λ z,   A x = b,   Λ' M Λ z = Λ' (r - M x)
"""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.formulations.branches import replace_lost_rows
from linkwork.multibody.formulations.factors import in_fronts, multipliers_of_fronts
from linkwork.multibody.formulations.rank import (
    admitted,
    factor,
    factor_again,
    factor_rows,
    particular,
    scaled_right_side,
)
from linkwork.multibody.formulations.reduced_mass import motion_in_basis
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    ON_MECHANISM,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    kernel,
    part,
    void,
)
from linkwork.multibody.kernels.layout import (
    COLUMN_SCALE,
    COMPLIANT,
    CONSTRAINT_FORCE,
    EFFORT,
    EXCHANGES,
    FACTORED,
    FRICTION,
    LOST,
    MULTIPLIERS,
    N_ROWS,
    NV,
    RANK,
    RANKING,
    REFLECTED,
    REPLACED,
    RIGHT_SIDE,
    ROW_SCALE,
    SHIFT,
    STICKING,
    STUCK_COUNT,
    VDOT,
    B,
    H,
)
from linkwork.multibody.kernels.views import fill, matrix, vector
from linkwork.multibody.linalg.reflections import exchange, forward_substitute, reflect_back
from linkwork.multibody.steps.sticking import hold_stuck, sticking_forces
from linkwork.multibody.tree.dynamics import dynamics, mass_times


@part
def _right_side(p: Floats, t: Integers, w: Floats) -> None:
    """The right side b, with the lost rows replaced."""
    scaled_right_side(t, p, w, 1.0, B)
    if vector(t, w, RANKING)[LOST] > 0.0:
        replace_lost_rows(p, t, w)


@kernel(ON_MECHANISM)
def constrained_terms(p: Floats, t: Integers, w: Floats) -> None:
    """From q, v and effort: M, h, friction, the rows and their factors, lost ones replaced."""
    dynamics(p, t, w)
    constraint_rows(p, t, w)
    factor(p, t, w)
    _right_side(p, t, w)


@kernel(ON_MECHANISM)
def motion_terms(p: Floats, t: Integers, w: Floats) -> None:
    """`constrained_terms` without looking how near other ranks are."""
    dynamics(p, t, w)
    constraint_rows(p, t, w)
    factor_rows(p, t, w)
    _right_side(p, t, w)


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, VECTOR, VECTOR))
def least_motion(p: Floats, t: Integers, w: Floats, r: Floats, x: Floats) -> None:
    """After `factor`, with `RIGHT_SIDE` = scaled b: the x (nv) with A x = b and Λ' M x = Λ' r.

    Stuck velocities are left out of x. Leaves the basis in `BASIS`. For r = 0 it is the x with A x = b that
    is shortest in the mass metric.
    """
    particular(p, t, w, vector(t, w, RIGHT_SIDE), x)
    admitted(p, t, w)
    free = t[NV] - int(vector(t, w, RANKING)[RANK])
    if vector(t, w, STUCK_COUNT)[0] > 0.0:
        free = hold_stuck(p, t, w, free, x)
    motion_in_basis(t, w, free, r, x)


@part
def free_forces(t: Integers, w: Floats, r: Floats) -> None:
    """Write r (nv; N m or N) := effort + friction + compliant - h."""
    effort, friction, h = vector(t, w, EFFORT), vector(t, w, FRICTION), vector(t, w, H)
    compliant = vector(t, w, COMPLIANT)
    for k in range(t[NV]):
        r[k] = effort[k] + friction[k] + compliant[k] - h[k]


@kernel(ON_MECHANISM)
def forces_of_constraint(p: Floats, t: Integers, w: Floats) -> None:
    """After v̇ is known: Fc = M v̇ - r - (what holds stuck velocities), and the shortest λ with A'λ = Fc."""
    nv = t[NV]
    force, r = vector(t, w, CONSTRAINT_FORCE), vector(t, w, SHIFT)
    free_forces(t, w, r)
    mass_times(t, w, vector(t, w, VDOT), force)
    for i in range(nv):
        force[i] -= r[i]
    if vector(t, w, STUCK_COUNT)[0] > 0.0:
        sticking_forces(p, t, w)
        sticking = vector(t, w, STICKING)
        for k in range(nv):
            force[k] -= sticking[k]
    if vector(t, w, RANKING)[REPLACED] > 0.0:
        factor_again(p, t, w)
    multipliers_of(p, t, w)


@kernel(ON_MECHANISM)
def multipliers_of(p: Floats, t: Integers, w: Floats) -> None:
    """The shortest multipliers (in scaled rows) with A'λ = Fc, from the factors of the rows."""
    force, x, multipliers = vector(t, w, CONSTRAINT_FORCE), vector(t, w, SHIFT), vector(t, w, MULTIPLIERS)
    factored, columns, rows = (
        matrix(t, w, FACTORED, t[NV]),
        vector(t, p, COLUMN_SCALE),
        vector(t, p, ROW_SCALE),
    )
    ranking = vector(t, w, RANKING)
    rank = int(ranking[RANK] - ranking[REPLACED])
    for k in range(t[NV]):
        x[k] = columns[k] * force[k]
    if in_fronts(t, w):
        multipliers_of_fronts(t, w, x, multipliers)
    else:
        exchange(vector(t, w, EXCHANGES), rank, x)
        forward_substitute(factored, rank, x)
        fill(multipliers, 0.0)
        for i in range(rank):
            multipliers[i] = x[i]
        reflect_back(factored, vector(t, w, REFLECTED), rank, multipliers)
    for i in range(t[N_ROWS]):
        multipliers[i] *= rows[i]


@kernel(ON_MECHANISM)
def projected(p: Floats, t: Integers, w: Floats) -> None:
    """From q, v and effort: v̇, Fc, λ and the rank, by the basis of the admitted velocities."""
    constrained_terms(p, t, w)
    r = vector(t, w, SHIFT)
    free_forces(t, w, r)
    least_motion(p, t, w, r, vector(t, w, VDOT))
    forces_of_constraint(p, t, w)
