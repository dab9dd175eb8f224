"""Alternative formulations of the constrained acceleration, with the results and rank decision of
`projected`.

`udwadia_kalaba`: the explicit equation of Xu & Liu 2017 on the independent combinations of rows.
`lagrange`: multipliers from A M⁻¹ A' λ = b - A M⁻¹ r, which is singular where rows are redundant: the
acceleration is then NaN, and the rank shows the cause.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.formulations.constrained_dynamics import (
    constrained_terms,
    forces_of_constraint,
    free_forces,
    projected,
)
from linkwork.multibody.formulations.rank import in_one_piece
from linkwork.multibody.formulations.udwadia_kalaba import constrained_acceleration
from linkwork.multibody.kernels.compiling import ON_MECHANISM, kernel
from linkwork.multibody.kernels.layout import (
    ASIDE_2,
    CHOICE,
    COLUMN_SCALE,
    CONSTRAINT_FORCE,
    CONSTRAINTS,
    EXCHANGES,
    FACTOR,
    FACTORED,
    MULTIPLIERS,
    N_CONSTRAINTS,
    N_ROWS,
    NV,
    ON,
    RANK,
    RANKING,
    REFLECTED,
    REPLACED,
    RIGHT_SIDE,
    SHIFT,
    SQUARE,
    VDOT,
    A,
    B,
    M,
)
from linkwork.multibody.kernels.views import block, copy, fill, matrix, table, vector
from linkwork.multibody.linalg.linear import cholesky, cholesky_solve, lower_solve, upper_solve
from linkwork.multibody.linalg.reflections import exchange_back, reflect

PROJECTED, UDWADIA_KALABA, LAGRANGE = range(3)
FORMULATIONS = {"projected": PROJECTED, "udwadia_kalaba": UDWADIA_KALABA, "lagrange": LAGRANGE}


@kernel(ON_MECHANISM)
def udwadia_kalaba(p: Floats, t: Integers, w: Floats) -> None:
    """From q, v and effort: v̇, Fc, λ and the rank, by the explicit equation."""
    constrained_terms(p, t, w)
    in_one_piece(p, t, w)
    n, ranking = t[NV], vector(t, w, RANKING)
    rank = int(ranking[RANK])
    factored, columns, right = matrix(t, w, FACTORED, n), vector(t, p, COLUMN_SCALE), vector(t, w, RIGHT_SIDE)
    independent = block(w, t[ASIDE_2], rank, n)
    reflect(factored, vector(t, w, REFLECTED), rank, right)
    for i in range(rank):
        fill(independent[i], 0.0)
        for k in range(i, n):
            independent[i, k] = factored[i, k]
        exchange_back(vector(t, w, EXCHANGES), rank, independent[i])
        for k in range(n):
            independent[i, k] /= columns[k]
    r, scratch = vector(t, w, SHIFT), vector(t, w, SQUARE)
    free_forces(t, w, r)
    vdot, force = vector(t, w, VDOT), vector(t, w, CONSTRAINT_FORCE)
    constrained_acceleration(matrix(t, w, M, n), r, independent, right[:rank], 0.0, scratch, vdot, force)
    forces_of_constraint(p, t, w)


@kernel(ON_MECHANISM)
def lagrange(p: Floats, t: Integers, w: Floats) -> None:
    """From q, v and effort: v̇, Fc, λ and the rank, by multipliers; not numbers where rows are redundant."""
    constrained_terms(p, t, w)
    n, m = t[NV], t[N_ROWS]
    spans, on, ranking = table(t, CONSTRAINTS, 4), vector(t, w, ON), vector(t, w, RANKING)
    a, b = matrix(t, w, A, n), vector(t, w, B)
    vdot, force, multipliers = vector(t, w, VDOT), vector(t, w, CONSTRAINT_FORCE), vector(t, w, MULTIPLIERS)
    root = matrix(t, w, FACTOR, n)
    cholesky(matrix(t, w, M, n), root)
    free_forces(t, w, vdot)
    lower_solve(root, vdot)  # in coordinates L' v̇
    scaled, right = block(w, t[SQUARE], m, n), vector(t, w, RIGHT_SIDE)
    active = 0
    for c in range(t[N_CONSTRAINTS]):
        for i in range(spans[c, 0], spans[c, 0] + spans[c, 1]):
            if on[c] != 0.0:
                copy(a[i], scaled[active])
                lower_solve(root, scaled[active])
                right[active] = b[i]
                for k in range(n):
                    right[active] -= scaled[active, k] * vdot[k]
                active += 1
    if active > ranking[RANK] or ranking[REPLACED] > 0.0:
        fill(vdot, math.nan)
        fill(force, math.nan)
        fill(multipliers, math.nan)
        return
    system = block(w, t[SQUARE] + m * n, active, active)
    for i in range(active):
        for j in range(i + 1):
            system[i, j] = 0.0
            for k in range(n):
                system[i, j] += scaled[i, k] * scaled[j, k]
    cholesky(system, system)
    cholesky_solve(system, right[:active])
    for i in range(active):
        for k in range(n):
            vdot[k] += right[i] * scaled[i, k]
    upper_solve(root, vdot)
    fill(force, 0.0)
    active = 0
    for c in range(t[N_CONSTRAINTS]):
        for i in range(spans[c, 0], spans[c, 0] + spans[c, 1]):
            multipliers[i] = 0.0
            if on[c] != 0.0:
                multipliers[i] = right[active]
                for k in range(n):
                    force[k] += right[active] * a[i, k]
                active += 1


@kernel(ON_MECHANISM)
def constrained_forward_dynamics(p: Floats, t: Integers, w: Floats) -> None:
    """From q, v and effort: v̇, Fc, λ and the rank by the formulation that `CHOICE` names."""
    choice = int(vector(t, w, CHOICE)[0])
    if choice == UDWADIA_KALABA:
        udwadia_kalaba(p, t, w)
    elif choice == LAGRANGE:
        lagrange(p, t, w)
    else:
        projected(p, t, w)
