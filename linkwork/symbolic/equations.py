"""Coriolis matrix C(q, p) of a mechanism by names, in the machine's velocities or in coordinate rates.

With q̇ = V(q) p and D = (∂(M p)/∂q) V (Kwatny & Blankenship 1995; the printed signs mended, chains.py):

    C = D - D'/2 - (Σ p_j X_j)' V⁻ᵀ M                        the source's
    C = (Ṁ + D - D')/2 - (Σ p_j X_j)' V⁻ᵀ M                  with V = 1 Christoffel's, Ṁ - 2 C is skew

Both give the same C p. Of a joint with three rotations V⁻¹ [v_j, v_i] is constant, whatever its parameters.
"""

from dataclasses import replace

import sympy as sp

from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import Joint
from linkwork.multibody.tree.joint_dof import dof_of
from linkwork.symbolic.operation_tape import ONE, ZERO, Expression
from linkwork.symbolic.symbolic_model import SymbolicModel

Rows = list[list[Expression]]


def in_coordinates(mechanism: Mechanism) -> Mechanism:
    """The mechanism with three angles for every quaternion, whose velocities are their rates."""
    joints = [_with_angles(joint) for joint in mechanism.joints]
    return mechanism.changed(joints=joints)


def _with_angles(joint: Joint) -> Joint:
    if joint.kind in ("spherical", "free"):
        return replace(joint, coordinates="angles")
    if joint.kind == "simple" and dof_of(joint).ball:
        return replace(joint, kind="compound")
    return joint


def balls(model: SymbolicModel) -> list[int]:
    """Return the first place in v of each joint with quaternion."""
    return [link.coordinate for link in model.tree.links if link.scalar >= 0]


def velocity_map(model: SymbolicModel) -> Rows:
    """V(q), nv × nv, of a model with angles: 1, but for the joints with three rotations."""
    _needs_angles(model)
    n, put = model.mechanism.nv, model.tape.put
    rows: Rows = [[ONE if i == j else ZERO for j in range(n)] for i in range(n)]
    for first in balls(model):
        a, b = model.q[first], model.q[first + 1]
        s, c = put(sp.sin(a)), put(sp.cos(a))
        secant = put(1 / put(sp.cos(b)))
        tangent = put(put(sp.sin(b)) * secant)
        block = [
            [ONE, put(s * tangent), put(c * tangent)],
            [ZERO, c, -s],
            [ZERO, put(s * secant), put(c * secant)],
        ]
        for i in range(3):
            rows[first + i][first : first + 3] = block[i]
    return rows


def coriolis_matrix(model: SymbolicModel, *, christoffel: bool = True) -> Rows:
    """C(q, p), nv × nv, of a model whose coordinates are angles; see the module."""
    _needs_angles(model)
    tape, n, p = model.tape, model.mechanism.nv, model.v
    momentum = [tape.put(sum((m * x for m, x in zip(row, p, strict=True)), ZERO)) for row in model.M]
    V = velocity_map(model)
    columns = [
        tape.rates(momentum, {model.q[i]: V[i][k] for i in range(n) if V[i][k] != 0}) for k in range(n)
    ]
    D = [[columns[k][i] for k in range(n)] for i in range(n)]
    half = sp.Rational(1, 2)
    if christoffel:
        speed = [tape.put(sum((x * y for x, y in zip(row, p, strict=True)), ZERO)) for row in V]
        flat = [entry for row in model.M for entry in row]
        change = tape.rates(flat, dict(zip(model.q, speed, strict=True)))
        C = [[half * (change[n * i + j] + D[i][j] - D[j][i]) for j in range(n)] for i in range(n)]
    else:
        C = [[D[i][j] - half * D[j][i] for j in range(n)] for i in range(n)]
    for first in balls(model):
        # Σ p_j V⁻¹ [v_j, v_i] = (p^)_i of the three rotations
        x, y, z = p[first : first + 3]
        hat = ((ZERO, -z, y), (z, ZERO, -x), (-y, x, ZERO))
        for i in range(3):
            for j in range(n):
                C[first + i][j] -= sum((hat[k][i] * model.M[first + k][j] for k in range(3)), ZERO)
    return [[tape.put(entry) for entry in row] for row in C]


def _needs_angles(model: SymbolicModel) -> None:
    if balls(model) and not model.tree.angles:
        raise ValueError("quaternions have no C(q, p): make the model with angles=True")
