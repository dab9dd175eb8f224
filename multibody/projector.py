"""The projector P = I - A⁺ A and what follows from it, as plain numpy: the reference of the fast kernels.

After Aghili 2005, with c = A⁺ b, C = dP/dt, and K v̇ = k in three assemblies:

    plain       K = M + P M - M P                     k = P r + M c
    symmetric   K = P M P + (I - P) M (I - P)         k = P r + (I - 2 P) M c
    scaled      K = P M + gamma (I - P)               k = P r + gamma c

    Fc = -(I - P) r + mu (P r + M c),   mu = (I - P) M (M + P M - M P)⁻¹          (F of that paper is -Fc)

P is orthogonal where all velocities have one unit; otherwise give A and M in scaled velocities.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from multibody.model import Array

Assembly = Literal["plain", "symmetric", "scaled"]
ASSEMBLIES: tuple[Assembly, ...] = get_args(Assembly)


def pseudo_inverse(a: Array, rank: int) -> Array:
    """A⁺ (n × m) by the singular value decomposition, of the `rank` largest singular values."""
    left, values, right = np.linalg.svd(a, full_matrices=False)
    return np.asarray((right[:rank].T / values[:rank]) @ left[:, :rank].T)


def projector(a: Array, rank: int) -> Array:
    """P (n × n), onto the velocities that A (m × n) admits."""
    right = np.linalg.svd(a, full_matrices=False)[2][:rank]
    return np.asarray(np.eye(a.shape[1]) - right.T @ right)


def projector_rate(a: Array, a_rate: Array, rank: int) -> Array:
    """C = dP/dt (n × n) where the rank is locally constant: -(A⁺ Ȧ P) - (A⁺ Ȧ P)'."""
    half = pseudo_inverse(a, rank) @ a_rate @ projector(a, rank)
    return np.asarray(-half - half.T)


@dataclass(frozen=True)
class Assembled:
    """v̇ and Fc (n each) with the matrix K and right side k that gave them."""

    acceleration: Array
    constraint_force: Array
    matrix: Array
    right_side: Array


def assembled(
    mass: Array, r: Array, a: Array, b: Array, rank: int, assembly: Assembly = "plain"
) -> Assembled:
    """v̇ and Fc from M (n × n), r (n), A (m × n), b (m) of known rank, by one of the three assemblies."""
    if assembly not in ASSEMBLIES:
        raise ValueError(f"there is no assembly {assembly!r}; known: {', '.join(ASSEMBLIES)}")
    p, c, one = projector(a, rank), pseudo_inverse(a, rank) @ b, np.eye(len(r))
    plain = mass + p @ mass - mass @ p
    if assembly == "plain":
        k, right = plain, p @ r + mass @ c
    elif assembly == "symmetric":
        k, right = p @ mass @ p + (one - p) @ mass @ (one - p), p @ r + (one - 2.0 * p) @ mass @ c
    else:
        gamma = float(np.linalg.norm(mass)) / np.sqrt(len(r))
        k, right = p @ mass + gamma * (one - p), p @ r + gamma * c
    mu = (one - p) @ mass @ np.linalg.inv(plain)
    force = -(one - p) @ r + mu @ (p @ r + mass @ c)
    return Assembled(np.asarray(np.linalg.solve(k, right)), np.asarray(force), k, right)
