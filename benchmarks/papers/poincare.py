"""Poincaré's equations of Kwatny & Blankenship 1995 by numbers: quasi-velocities p with q˙ = V(q) p.

M p˙ + C p + V' dU/dq = V'τ,  C = D - D'/2 - (Σ p_j X_j)' V^-T M,  D = (d(M p)/dq) V,
X_j = [[v_j, v_1] … [v_j, v_m]] with the columns v_j of V and [f, g] = (dg/dq) f - (df/dq) g.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.tree.orientations import from_rotation_vector, hat

_STEP = 1e-6


def coriolis(
    velocity_map: Callable[[Floats], Floats], mass: Callable[[Floats], Floats], q: Floats, p: Floats
) -> Floats:
    """C(q, p), derivatives by central differences."""
    n = len(q)
    v = velocity_map(q)
    slopes, turning = np.empty((n, n, n)), np.empty((n, n))
    for k, unit in enumerate(_STEP * np.eye(n)):
        slopes[k] = (velocity_map(q + unit) - velocity_map(q - unit)) / (2.0 * _STEP)  # d v / d q_k
        turning[:, k] = (mass(q + unit) - mass(q - unit)) @ p / (2.0 * _STEP)
    d = turning @ v
    brackets = np.zeros((n, n))
    for j in range(n):
        for i in range(n):
            forward = np.einsum("ka,k->a", slopes[:, :, i], v[:, j])
            backward = np.einsum("ka,k->a", slopes[:, :, j], v[:, i])
            brackets[:, i] += p[j] * (forward - backward)
    return np.asarray(d - 0.5 * d.T - brackets.T @ np.linalg.inv(v).T @ mass(q))


def chain_inertia(q: Floats, *, previous: bool = False) -> Floats:
    """M (6 × 6) of the arm by the chain recursion; `previous`: with the rotation of the joint before.

    q: shoulder about y, then z; elbow about y; wrist about y, z, x. Links of 3, 3 and 0.7 m.
    """
    bar, grip = 3.0**2 / 12.0, 0.5 * (0.7**2 + 3.0 * 0.35**2) / 12.0
    inertias = [
        _at_hinge(1.0, 1.5, [bar, bar, 0.0]),
        _at_hinge(1.0, 1.5, [bar, bar, 0.0]),
        _at_hinge(0.5, 0.35, [grip, grip, 0.5 * 0.35**2 / 12.0]),
    ]
    y, z, x = np.eye(3)[[1, 2, 0]]
    turns = [
        _about(z, q[1]) @ _about(y, q[0]),
        _about(y, q[2]),
        _about(x, q[5]) @ _about(z, q[4]) @ _about(y, q[3]),
    ]
    to_arm, to_grip = _about(y, q[0]).T, _about(y, q[3]).T
    maps = [np.zeros((6, 6)) for _ in range(3)]
    maps[0][:3, :2] = np.column_stack([y, to_arm @ z])
    maps[1][:3, 2] = y
    maps[2][:3, 3:] = np.column_stack([y, to_grip @ z, to_grip @ _about(z, q[4]).T @ x])
    mass, velocity = np.zeros((6, 6)), np.zeros((6, 6))
    for k in range(3):
        turn = turns[k - 1 if previous and k > 0 else k].T
        ahead = np.eye(6)
        ahead[3:, :3] = -hat(np.array([0.0, 0.0, 3.0 if k else 0.0]))
        velocity = np.kron(np.eye(2), turn) @ ahead @ velocity + maps[k]
        mass += velocity.T @ inertias[k] @ velocity
    return mass


def _about(axis: Floats, angle: float) -> Floats:
    return from_rotation_vector(angle * axis)


def _at_hinge(mass: float, along: float, moments: list[float]) -> Floats:
    """Spatial inertia about the hinge, (angular; linear), centre of mass `along` the z axis."""
    a = hat(np.array([0.0, 0.0, along]))
    return np.block([[np.diag(moments) - mass * a @ a, mass * a], [-mass * a, mass * np.eye(3)]])
