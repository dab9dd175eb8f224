"""Alternative formulations of the constrained acceleration, with the results and rank decision of
`projected`.

`udwadia_kalaba`: the explicit equation of Xu & Liu 2017 on the independent combinations of rows.
`lagrange`: multipliers from A M⁻¹ A' λ = b - A M⁻¹ r, which is singular where rows are redundant: the
acceleration is then NaN, and the rank shows the cause.
"""

import math

from linkwork.multibody.closure.rank import in_one_piece
from linkwork.multibody.dynamics.constrained_dynamics import (
    constrained_terms,
    forces_of_constraint,
    free_forces,
    projected,
)
from linkwork.multibody.dynamics.tree_dynamics import forward_dynamics
from linkwork.multibody.dynamics.udwadia_kalaba import constrained_acceleration
from linkwork.multibody.kernels.compiling import block, kernel
from linkwork.multibody.kernels.layout import RANK, REPLACED
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.linalg.linear import cholesky, cholesky_solve, lower_solve, upper_solve
from linkwork.multibody.linalg.orthogonal import exchange_back, reflect
from linkwork.multibody.workspace import Model, Workspace

PROJECTED, UDWADIA_KALABA, LAGRANGE = range(3)
FORMULATIONS = {"projected": PROJECTED, "udwadia_kalaba": UDWADIA_KALABA, "lagrange": LAGRANGE}


@kernel
def udwadia_kalaba(m: Model, w: Workspace) -> None:
    """From q, v and effort: v̇, Fc, λ and the rank, by the explicit equation."""
    constrained_terms(m, w)
    in_one_piece(m, w)
    n = m.nv
    rank = int(w.ranking[RANK])
    independent = w.system[:rank]
    reflect(w.factored, w.reflected, rank, w.right_side)
    for i in range(rank):
        fill(independent[i], 0.0)
        for k in range(i, n):
            independent[i, k] = w.factored[i, k]
        exchange_back(w.exchanges, rank, independent[i])
        for k in range(n):
            independent[i, k] /= m.column_scale[k]
    free_forces(m, w, w.shift)
    constrained_acceleration(
        w.M, w.shift, independent, w.right_side[:rank], 0.0, w.square, w.vdot, w.constraint_force
    )
    forces_of_constraint(m, w)


@kernel
def lagrange(m: Model, w: Workspace) -> None:
    """From q, v and effort: v̇, Fc, λ and the rank, by multipliers; not numbers where rows are redundant."""
    constrained_terms(m, w)
    n = m.nv
    cholesky(w.M, w.factor)
    free_forces(m, w, w.vdot)
    lower_solve(w.factor, w.vdot)  # in coordinates L' v̇
    scaled = block(w.square, 0, m.n_rows, n)
    active = 0
    for c in range(m.n_constraints):
        for i in range(m.first_row[c], m.first_row[c] + m.row_count[c]):
            if w.on[c] != 0.0:
                copy(w.A[i], scaled[active])
                lower_solve(w.factor, scaled[active])
                w.right_side[active] = w.b[i]
                for k in range(n):
                    w.right_side[active] -= scaled[active, k] * w.vdot[k]
                active += 1
    if active > w.ranking[RANK] or w.ranking[REPLACED] > 0.0:
        fill(w.vdot, math.nan)
        fill(w.constraint_force, math.nan)
        fill(w.multipliers, math.nan)
        return
    system = block(w.square, m.n_rows * n, active, active)
    for i in range(active):
        for j in range(i + 1):
            system[i, j] = 0.0
            for k in range(n):
                system[i, j] += scaled[i, k] * scaled[j, k]
    cholesky(system, system)
    cholesky_solve(system, w.right_side[:active])
    for i in range(active):
        for k in range(n):
            w.vdot[k] += w.right_side[i] * scaled[i, k]
    upper_solve(w.factor, w.vdot)
    fill(w.constraint_force, 0.0)
    active = 0
    for c in range(m.n_constraints):
        for i in range(m.first_row[c], m.first_row[c] + m.row_count[c]):
            w.multipliers[i] = 0.0
            if w.on[c] != 0.0:
                w.multipliers[i] = w.right_side[active]
                for k in range(n):
                    w.constraint_force[k] += w.right_side[active] * w.A[i, k]
                active += 1


@kernel
def constrained_forward_dynamics(m: Model, w: Workspace) -> None:
    """From q, v and effort: v̇, Fc, λ and the rank by the formulation that `choice` names.

    Without constraints, v̇ by `forward_dynamics`.
    """
    if m.n_rows == 0:
        forward_dynamics(m, w)
        return
    choice = int(w.choice[0])
    if choice == UDWADIA_KALABA:
        udwadia_kalaba(m, w)
    elif choice == LAGRANGE:
        lagrange(m, w)
    else:
        projected(m, w)
