"""Constrained acceleration: M v̇ = r + Fc, A v̇ = b, r = effort + friction + compliant - h, Fc = A'λ.

Each formulation is a kernel with the same results in the workspace: `vdot`, `constraint_force`, `multipliers`
(the shortest, in scaled rows, where they are not unique) and `ranking`. All share the decision on the rank
(rank.py).

`projected` is the fast one. Its equations are those of Aghili 2005, (I - P) v̇ = A⁺ b and P M v̇ = P r, written
with a basis Λ of the range of P instead of P itself:
    v̇ = x + Λ z,   A x = b,   Λ' M Λ z = Λ' (r - M x)
"""

from linkwork.arrays import Floats
from linkwork.multibody.closure.branches import replace_lost_rows
from linkwork.multibody.closure.factors import in_fronts, multipliers_of_fronts
from linkwork.multibody.closure.rank import (
    admitted,
    factor,
    factor_again,
    factor_rows,
    particular,
    scaled_right_side,
)
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.reduced_mass import motion_in_basis
from linkwork.multibody.dynamics.sticking import hold_stuck, sticking_forces
from linkwork.multibody.dynamics.tree_dynamics import dynamics, mass_times
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import LOST, RANK, REPLACED
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.linalg.orthogonal import exchange, forward_substitute, reflect_back
from linkwork.multibody.workspace import Model, Workspace


@part
def _right_side(m: Model, w: Workspace) -> None:
    """The right side b, with the lost rows replaced."""
    scaled_right_side(m, w, 1.0, w.b)
    if w.ranking[LOST] > 0.0:
        replace_lost_rows(m, w)


@kernel
def constrained_terms(m: Model, w: Workspace) -> None:
    """From q, v and effort: M, h, friction, the rows and their factors, lost ones replaced."""
    dynamics(m, w)
    constraint_rows(m, w)
    factor(m, w)
    _right_side(m, w)


@kernel
def motion_terms(m: Model, w: Workspace) -> None:
    """`constrained_terms` without looking how near other ranks are."""
    dynamics(m, w)
    constraint_rows(m, w)
    factor_rows(m, w)
    _right_side(m, w)


@kernel
def least_motion(m: Model, w: Workspace, r: Floats, x: Floats) -> None:
    """After `factor`, with `right_side` = scaled b: the x (nv) with A x = b and Λ' M x = Λ' r.

    Stuck velocities are left out of x. Leaves the basis in `basis`. For r = 0 it is the x with A x = b that
    is shortest in the mass metric.
    """
    particular(m, w, w.right_side, x)
    admitted(m, w)
    free = m.nv - int(w.ranking[RANK])
    if w.stuck_count[0] > 0.0:
        free = hold_stuck(m, w, free, x)
    motion_in_basis(m, w, free, r, x)


@part
def free_forces(m: Model, w: Workspace, r: Floats) -> None:
    """Write r (nv; N m or N) := effort + friction + compliant - h."""
    for k in range(m.nv):
        r[k] = w.effort[k] + w.friction[k] + w.compliant[k] - w.h[k]


@kernel
def forces_of_constraint(m: Model, w: Workspace) -> None:
    """After v̇ is known: Fc = M v̇ - r - (what holds stuck velocities), and the shortest λ with A'λ = Fc."""
    nv = m.nv
    free_forces(m, w, w.shift)
    mass_times(m, w, w.vdot, w.constraint_force)
    for i in range(nv):
        w.constraint_force[i] -= w.shift[i]
    if w.stuck_count[0] > 0.0:
        sticking_forces(m, w)
        for k in range(nv):
            w.constraint_force[k] -= w.sticking[k]
    if w.ranking[REPLACED] > 0.0:
        factor_again(m, w)
    multipliers_of(m, w)


@kernel
def multipliers_of(m: Model, w: Workspace) -> None:
    """The shortest multipliers (in scaled rows) with A'λ = Fc, from the factors of the rows."""
    rank = int(w.ranking[RANK] - w.ranking[REPLACED])
    for k in range(m.nv):
        w.shift[k] = m.column_scale[k] * w.constraint_force[k]
    if in_fronts(w):
        multipliers_of_fronts(w, w.shift, w.multipliers)
    else:
        exchange(w.exchanges, rank, w.shift)
        forward_substitute(w.factored, rank, w.shift)
        fill(w.multipliers, 0.0)
        for i in range(rank):
            w.multipliers[i] = w.shift[i]
        reflect_back(w.factored, w.reflected, rank, w.multipliers)
    for i in range(m.n_rows):
        w.multipliers[i] *= m.row_scale[i]


@kernel
def projected(m: Model, w: Workspace) -> None:
    """From q, v and effort: v̇, Fc, λ and the rank, by the basis of the admitted velocities."""
    constrained_terms(m, w)
    free_forces(m, w, w.shift)
    least_motion(m, w, w.shift, w.vdot)
    forces_of_constraint(m, w)
