"""Serial chains after Kwatny & Blankenship 1995: inertia, end effector and potential, for numbers or symbols.

Body k has its frame at its inboard hinge O_k; r_k leads from O_k to the next hinge, a_k to the centre of
mass, both in body axes. With V_k = (ω; velocity of O_k) in body axes and φ(x) = [[1, 0], [-x̂, 1]],

    V_k = diag(R_k', R_k') φ(r_{k-1}) V_{k-1} + H_k β_k,      T = β' M β / 2,
    M = Σ V_k' φ(a_k)' diag(I_k, m_k 1) φ(a_k) V_k            V_k here as the map from all β

R_k is the rotation of joint k itself (the printed rows of the example have that of the joint before).

Poincaré's equations: motion in quasi-velocities p with q̇ = V(q) p,

    M(q) ṗ + C(q, p) p + V' ∂U/∂q = V' τ,
    C = D - D'/2 - (Σ p_j X_j)' V⁻ᵀ M,    D = (∂(M p)/∂q) V,    X_j = [[v_j, v_1] … [v_j, v_m]]

with the columns v_j of V and the bracket [f, g] = (∂g/∂q) f - (∂f/∂q) g. V = 1 gives Lagrange's equations.
The printed (53b) has the opposite sign; (53c) and (41) have inverses of V where V' and Q'V belong.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp

from linkwork.symbolic.joint_expressions import (
    CompoundJoint,
    Matrix,
    compound_joint_map,
    hat,
    joint_configuration,
)


@dataclass(frozen=True)
class ChainBody:
    """A body and the joint that carries it; numbers or SymPy symbols throughout.

    `groups` are the joint's columns (joints.py): one group is a simple joint, several make a compound one,
    the first next to this body. `e` are its parameters, one for each column. Inertia about the centre of
    mass.
    """

    groups: Sequence[Sequence[Sequence[Any]]]
    e: Sequence[Any]
    mass_kg: Any = 0
    com_m: Sequence[Any] = (0, 0, 0)
    inertia_kg_m2: Any = ((0, 0, 0), (0, 0, 0), (0, 0, 0))
    to_next_m: Sequence[Any] = (0, 0, 0)

    def __post_init__(self) -> None:
        """Check the sizes. Raises ValueError."""
        for name in ("com_m", "to_next_m"):
            if len(getattr(self, name)) != 3:
                raise ValueError(f"{name} has three components, found {getattr(self, name)}")
        if Matrix(self.inertia_kg_m2).shape != (3, 3):
            raise ValueError(f"inertia_kg_m2 is 3 × 3, found {Matrix(self.inertia_kg_m2).shape}")
        count = sum(len(group) for group in self.groups)
        if len(self.e) != count:
            raise ValueError(f"expected {count} parameters, one for each column, found {len(self.e)}")

    @cached_property
    def joint(self) -> CompoundJoint:
        """H(e) and Γ(e)."""
        return compound_joint_map(self.groups, self.e)

    @cached_property
    def pose(self) -> Any:
        """Return the pose of this body in the frame at the hinge, 4 × 4."""
        return joint_configuration([column for group in self.groups for column in group], self.e)


def velocity_map(chain: Sequence[ChainBody]) -> Any:
    """V(q) with q̇ = V(q) p: the Γ of all joints on one diagonal."""
    return sp.diag(*[body.joint.gamma for body in chain])


def chain_inertia(chain: Sequence[ChainBody], simplify: Callable[[Any], Any] = sp.trigsimp) -> Any:
    """M (n × n) in the quasi-velocities of the joints, kg, m, rad. `simplify` is applied to every map V_k."""
    counts = [body.joint.H.cols for body in chain]
    n, first = sum(counts), 0
    total, velocity = sp.zeros(n), sp.zeros(6, n)
    reach: Sequence[Any] = (0, 0, 0)
    for body, count in zip(chain, counts, strict=True):
        back = body.pose[:3, :3].T
        velocity = sp.diag(back, back) * _shift(reach) * velocity
        velocity[:, first : first + count] += body.joint.H
        velocity = velocity.applyfunc(simplify)
        total += velocity.T * _spatial_inertia(body) * velocity
        first, reach = first + count, body.to_next_m
    return total.applyfunc(sp.expand)


def end_effector(chain: Sequence[ChainBody]) -> Any:
    """Pose (4 × 4) of the frame at the end of the last body's `to_next_m`, in the world.

    X = X_1 T(r_1) X_2 T(r_2) … X_K T(r_K); the world's own frame without bodies.
    """
    return _poses(chain)[-1] * _along(chain[-1].to_next_m) if chain else sp.eye(4)


def gravity_potential(chain: Sequence[ChainBody], gravity_m_s2: Sequence[Any]) -> Any:
    """U = -Σ m_k g'(centre of mass in the world), J. All masses, and all links before each, count."""
    if len(gravity_m_s2) != 3:
        raise ValueError(f"gravity_m_s2 has three components, found {gravity_m_s2}")
    total = sp.Integer(0)
    for body, pose in zip(chain, _poses(chain), strict=True):
        centre = pose * Matrix([*body.com_m, 1])
        total -= body.mass_kg * (Matrix(list(gravity_m_s2)).T * centre[:3, :])[0]
    return sp.expand(total)


def _poses(chain: Sequence[ChainBody]) -> list[Any]:
    found, reached = [], sp.eye(4)
    for body in chain:
        reached = reached * body.pose
        found.append(reached)
        reached = reached * _along(body.to_next_m)
    return found


def _along(reach: Sequence[Any]) -> Any:
    pose = sp.eye(4)
    pose[:3, 3] = Matrix(list(reach))
    return pose


def _shift(reach: Sequence[Any]) -> Any:
    """φ(r): a twist at one point of a body as one at the point that r leads to."""
    return Matrix.vstack(Matrix.hstack(sp.eye(3), sp.zeros(3)), Matrix.hstack(-hat(reach), sp.eye(3)))


def _spatial_inertia(body: ChainBody) -> Any:
    moved = _shift(body.com_m)
    return moved.T * sp.diag(Matrix(body.inertia_kg_m2), body.mass_kg * sp.eye(3)) * moved


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
