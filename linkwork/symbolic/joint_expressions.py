"""Joints after Kwatny & Blankenship 1995: poses, simple and compound maps, for numbers or symbols.

A column h = (h1; h2) is the constant twist (angular; linear) of an elementary joint, in its own axes:

    λ(e) = [[exp(ĥ1 e), ∫ exp(ĥ1 s) h2 ds], [0, 1]],      X(e) = λ_r(e_r) … λ_1(e_1)
    (ω; u) = B(e) ė,   X⁻¹ Ẋ = [[ω̂, u], [0, 0]]           in the axes of the carried body

Columns come one after the other, the first next to the carried body. Everything is a SymPy matrix, whether
the arguments are numbers or symbols; `numpy.array(…, float)` makes numbers of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from linkwork.symbolic.operation_tape import Expression

Matrix = sp.Matrix
"""SymPy's dense matrix."""
_SIMPLE, _ROUND_OFF = 1000, 1e-15
"""Largest denominator of a simple fraction; gap within which a number counts as its root."""


@dataclass(frozen=True)
class JointKinematics:
    """A simple joint: (ω; u) = H β with constant H (6 × r), ė = Γ(e) β (r × r), and B(e) (6 × r).

    `holds`: whether B Γ = H for every e. Otherwise Γ is only a least-squares projection, and a constant
    H would be a nonholonomic constraint instead of a joint: use the compound form (`compound_joint_map`).
    """

    H: Any
    gamma: Any
    twists: Any
    holds: bool


@dataclass(frozen=True)
class CompoundJoint:
    """A compound joint: (ω; u) = H(e) β (6 × Σr) and ė = Γ(e) β, both by groups."""

    H: Any
    gamma: Any


def joint_configuration(columns: Sequence[Sequence[Any]], e: Sequence[Any]) -> Any:
    """X(e), 4 × 4: pose of the carried body in the joint's frame. Raises ValueError for a wrong column.

    The product of the elementary poses, which (17a) prints as a sum; it begins with 1, not with (17b)'s
    value.
    """
    pose = sp.eye(4)
    for column, value in _pairs(columns, e):
        pose = _elementary(column, value) * pose
    return pose.applyfunc(sp.trigsimp)


def joint_kinematics(columns: Sequence[Sequence[Any]], e: Sequence[Any]) -> JointKinematics:
    """H, Γ = B⁺ H and B of a simple joint. Raises ValueError where B loses rank.

    B⁺ = (B'B)⁻¹ B'. Γ has no value where the parameters are singular (spherical: cos y₂ = 0).
    """
    pairs = _pairs(columns, e)
    twists = _twists(pairs)
    constant = Matrix([list(column) for column, _ in pairs]).T
    constant = constant if pairs else sp.zeros(6, 0)
    gamma = sp.eye(len(pairs))
    if len(pairs) > 1:
        gamma = (_left_inverse(twists) * constant).applyfunc(sp.trigsimp)
    return JointKinematics(constant, gamma, twists, _closed([column for column, _ in pairs]))


def compound_joint_map(groups: Sequence[Sequence[Sequence[Any]]], e: Sequence[Any]) -> CompoundJoint:
    """H(e) and Γ(e) of a sequence of simple joints, the first group next to the carried body.

    Group i of H is its own constant map seen through the joints before it: Ad(U⁻¹) H_i. All groups of one
    column: Γ = 1 and H = B. Raises ValueError for a wrong column or number of parameters.
    """
    total = sum(len(group) for group in groups)
    if len(e) != total:
        raise ValueError(f"expected {total} parameters, one for each column, found {len(e)}")
    reached, first = sp.eye(4), 0
    maps, gammas = [], []
    for group in groups:
        own = e[first : first + len(group)]
        simple = joint_kinematics(group, own)
        maps.append((_seen_through(reached) * simple.H).applyfunc(sp.trigsimp))
        gammas.append(simple.gamma)
        reached = joint_configuration(group, own) * reached
        first += len(group)
    return CompoundJoint(Matrix.hstack(sp.zeros(6, 0), *maps), sp.diag(*gammas))


def hat(a: Sequence[Any]) -> Any:
    """The matrix with hat(a) b = a × b, 3 × 3."""
    x, y, z = a
    return Matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def _pairs(columns: Sequence[Sequence[Any]], e: Sequence[Any]) -> list[tuple[list[Expression], Expression]]:
    if len(columns) != len(e):
        raise ValueError(f"expected {len(columns)} parameters, one for each column, found {len(e)}")
    pairs = []
    for column, value in zip(columns, e, strict=True):
        entries = [_tidy(entry, sp.sympify(value)) for entry in column]
        if len(entries) != 6 or all(entry == 0 for entry in entries):
            raise ValueError(f"a column has six entries (angular; linear), not all 0, found {entries}")
        size = sp.simplify(sum(x**2 for x in entries[:3]))
        if not size.is_number:
            raise ValueError(f"the length of a column's angular part must be a number, found {entries[:3]}")
        pairs.append((entries, sp.sympify(value)))
    return pairs


def _tidy(value: Any, e: Expression) -> Expression:
    """Whole numbers as such, and beside a symbol also roots of simple fractions, as in unit vectors.

    So zeros and ones are recognized exactly.
    """
    given = sp.sympify(value)
    if not given.is_Float:
        return given
    if given == int(given):
        return sp.Integer(int(given))
    square = sp.Rational(float(given) ** 2).limit_denominator(_SIMPLE)
    root = sp.sqrt(square) * sp.sign(given)
    return root if e.free_symbols and abs(float(root) - float(given)) < _ROUND_OFF else given


def _elementary(column: list[Expression], e: Expression) -> Any:
    """λ(e) after Rodrigues, and its integral; of h1 = 0, or with |h1| e as the angle."""
    size = sp.sqrt(sp.simplify(sum(x**2 for x in column[:3])))
    if size != 0 and abs(float(size) - 1.0) > 1e-12:
        column, e = [x / size for x in column], size * e
    h1, h2 = column[:3], Matrix(column[3:])
    k = hat(h1)
    square = k * k
    rotation = sp.eye(3) + sp.sin(e) * k + (1 - sp.cos(e)) * square
    moved = (e * sp.eye(3) + (1 - sp.cos(e)) * k + (e - sp.sin(e)) * square) * h2
    return Matrix.vstack(Matrix.hstack(rotation, moved), Matrix([[0, 0, 0, 1]]))


def _seen_through(pose: Any) -> Any:
    """Ad(U⁻¹), 6 × 6: a twist (angular; linear) before U as it is behind U."""
    back, moved = pose[:3, :3].T, pose[:3, 3]
    return Matrix.vstack(Matrix.hstack(back, sp.zeros(3)), Matrix.hstack(-back * hat(list(moved)), back))


def _twists(pairs: list[tuple[list[Expression], Expression]]) -> Any:
    reached, found = sp.eye(4), []
    for column, value in pairs:
        found.append((_seen_through(reached) * Matrix(column)).applyfunc(sp.trigsimp))
        reached = _elementary(column, value) * reached
    return Matrix.hstack(sp.zeros(6, 0), *found)


def _left_inverse(twists: Any) -> Any:
    if not twists.free_symbols:
        values = sp.matrix2numpy(twists, dtype=float)
        if _lost(values):
            raise ValueError("the parameters are singular for this joint: its twists are dependent here")
    square = (twists.T * twists).applyfunc(sp.trigsimp)
    return (square.LUsolve(twists.T)).applyfunc(sp.trigsimp)


def _lost(values: Any) -> bool:
    import numpy as np

    sizes = np.linalg.svd(values, compute_uv=False)
    return bool(sizes[-1] < 1e-9 * sizes[0])


def _closed(columns: list[list[Expression]]) -> bool:
    """Whether the span of the columns is closed under the bracket of twists."""
    span = Matrix(len(columns), 6, [entry for column in columns for entry in column])
    rank = span.rank()
    for j, b in enumerate(columns):
        for a in columns[:j]:
            angular = hat(a[:3]) * Matrix(b[:3])
            linear = hat(a[:3]) * Matrix(b[3:]) - hat(b[:3]) * Matrix(a[3:])
            if Matrix.vstack(span, Matrix.vstack(angular, linear).T).rank(simplify=True) > rank:
                return False
    return True
