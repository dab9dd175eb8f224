"""Poincaré's equations after Kwatny & Blankenship 1995: motion in quasi-velocities p with q̇ = V(q) p.

    M(q) ṗ + C(q, p) p + V' ∂U/∂q = V' τ,
    C = D - D'/2 - (Σ p_j X_j)' V⁻ᵀ M,    D = (∂(M p)/∂q) V,    X_j = [[v_j, v_1] … [v_j, v_m]]

with the columns v_j of V and the bracket [f, g] = (∂g/∂q) f - (∂f/∂q) g. V = 1 gives Lagrange's equations.
The printed (53b) has the opposite sign; (53c) and (41) have inverses of V where V' and Q'V belong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from linkwork.multibody.symbolic.joint_expressions import Matrix


@dataclass(frozen=True)
class PoincareEquations:
    """M ṗ + C p + gravity = applied τ, and q̇ = V p, with τ the generalized forces of the coordinates q."""

    M: Any
    C: Any
    gravity: Any
    applied: Any
    V: Any


def poincare_equations(
    M: Any,
    V: Any,
    U: Any,
    q: Sequence[Any],
    p: Sequence[Any],
    simplify: Callable[[Any], Any] = sp.trigsimp,
) -> PoincareEquations:
    """The equations from the inertia M(q), the map V(q) (n × n) and the potential U(q), for symbols q and p.

    `simplify` is applied to every entry. Raises ValueError where the sizes differ, and for
    numbers in q or p.
    """
    n = len(q)
    M, V = Matrix(M), Matrix(V)
    if M.shape != (n, n) or V.shape != (n, n) or len(p) != n:
        sizes = f"M {M.shape}, V {V.shape}, {n} coordinates, {len(p)} quasi-velocities"
        raise ValueError(f"M and V are n × n, for n coordinates and n quasi-velocities; found {sizes}")
    if not all(getattr(each, "is_Symbol", False) for each in [*q, *p]):
        raise ValueError(f"q and p are SymPy symbols, by which is differentiated; found {[*q, *p]}")
    speeds, where = Matrix(list(p)), list(q)
    turning = (M * speeds).jacobian(where) * V
    columns = [V[:, k] for k in range(n)]
    slopes = [column.jacobian(where) for column in columns]
    C = turning - turning.T / 2
    if any(slope != sp.zeros(n) for slope in slopes):
        brackets = sp.zeros(n)
        for j in range(n):
            for i in range(n):
                brackets[:, i] += p[j] * (slopes[i] * columns[j] - slopes[j] * columns[i])
        inverse = _inverse_by_blocks(V)
        C -= (inverse * brackets).applyfunc(simplify).T * M
    slope = Matrix([sp.sympify(U)]).jacobian(where).T
    gravity = V.T * slope
    return PoincareEquations(M, C.applyfunc(simplify), gravity.applyfunc(simplify), V.T, V)


def _inverse_by_blocks(V: Any) -> Any:
    """V⁻¹, block by block: V is the Γ of all joints on one diagonal, and most of them are 1."""
    inverse: Any = sp.diag(
        *[block if block == sp.eye(block.rows) else block.inv() for block in V.get_diag_blocks()]
    )
    return inverse.applyfunc(sp.trigsimp)
