"""The projector P = I - A⁺ A and its equations of motion in plain numpy: the reference for the fast kernels.

After Aghili 2005, with c = A⁺ b, C = dP/dt, and K v̇ = k in three assemblies:

    plain       K = M + P M - M P                     k = P r + M c
    symmetric   K = P M P + (I - P) M (I - P)         k = P r + (I - 2 P) M c
    scaled      K = P M + gamma (I - P)               k = P r + gamma c

    Fc = -(I - P) r + mu (P r + M c),   mu = (I - P) M (M + P M - M P)⁻¹          (F of that paper is -Fc)

P is orthogonal where all velocities have one unit; otherwise give A and M in scaled velocities.

P and C come in two ways that share no factors: by the singular value decomposition A = U S V' (P from the
null space of A in V), and by the pseudo-inverse A⁺ from a complete orthogonal decomposition.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.linalg.orthogonal import complete, minimum_norm, pivoted_qr

Assembly = Literal["plain", "symmetric", "scaled"]
ASSEMBLIES: tuple[Assembly, ...] = get_args(Assembly)


Way = Literal["svd", "pseudo_inverse"]
WAYS: tuple[Way, ...] = get_args(Way)


def pseudo_inverse(a: Floats, rank: int, by: Way = "svd") -> Floats:
    """A⁺ (n × m) of the `rank` largest singular values, or of the `rank` first pivots of a QR."""
    if by == "svd":
        left, values, right = np.linalg.svd(a, full_matrices=False)
        return np.asarray((right[:rank].T / values[:rank]) @ left[:, :rank].T)
    if by not in WAYS:
        raise ValueError(f"unknown pseudo-inverse method {by!r}; known: {', '.join(WAYS)}")
    m, n = a.shape
    size = min(m, n)
    exchanges, left_factors, right_factors = np.zeros(size), np.zeros(size), np.zeros(size)
    factors = np.array(a, dtype=np.float64, order="C")
    pivoted_qr(factors, exchanges, left_factors, 0.0)
    pivots = np.abs(np.diag(factors))
    if rank < size:  # once more, to stop between the last pivot that counts and the first that does not
        between = np.sqrt(pivots[rank - 1] * pivots[rank]) if rank > 0 else np.inf
        factors = np.array(a, dtype=np.float64, order="C")
        pivoted_qr(factors, exchanges, left_factors, between)
    complete(factors, right_factors, rank)
    inverse, x = np.zeros((n, m)), np.zeros(n)
    for i in range(m):
        minimum_norm(factors, exchanges, left_factors, right_factors, rank, np.eye(m)[i], x)
        inverse[:, i] = x
    return inverse


def projector(a: Floats, rank: int, by: Way = "svd") -> Floats:
    """P (n × n), onto the velocities that A (m × n) admits: V2 V2', or 1 - A⁺ A."""
    if by == "svd":
        right = np.linalg.svd(a)[2][rank:]
        return np.asarray(right.T @ right)
    return np.asarray(np.eye(a.shape[1]) - pseudo_inverse(a, rank, by) @ a)


def projector_rate(a: Floats, a_rate: Floats, rank: int, by: Way = "svd") -> Floats:
    """C = dP/dt (n × n) where the rank is locally constant: -(A⁺ Ȧ P) - (A⁺ Ȧ P)'.

    By the singular value decomposition: V1 turns towards V2 at the rate S1⁻¹ U1' Ȧ V2, and P away from V1.
    """
    if by == "svd":
        left, values, right = np.linalg.svd(a)
        v1, v2 = right[:rank], right[rank:]
        turning = (left[:, :rank].T @ a_rate @ v2.T) / values[:rank, None]
        half = v1.T @ turning @ v2
        return np.asarray(-half - half.T)
    half = pseudo_inverse(a, rank, by) @ a_rate @ projector(a, rank, by)
    return np.asarray(-half - half.T)


@dataclass(frozen=True)
class ProjectedEquations:
    """v̇ and Fc (n each) with the matrix K and right side k that gave them."""

    acceleration: Floats
    constraint_force: Floats
    matrix: Floats
    right_side: Floats


def assembled(
    mass: Floats,
    r: Floats,
    a: Floats,
    b: Floats,
    rank: int,
    assembly: Assembly = "plain",
    gamma: float | None = None,
) -> ProjectedEquations:
    """v̇ and Fc from M (n × n), r (n), A (m × n), b (m) of known rank, by one of the three assemblies.

    gamma: that of `scaled`, not zero, in the unit of M; None: the root mean square of M's singular values.
    """
    if assembly not in ASSEMBLIES:
        raise ValueError(f"there is no assembly {assembly!r}; known: {', '.join(ASSEMBLIES)}")
    p, c, one = projector(a, rank), pseudo_inverse(a, rank) @ b, np.eye(len(r))
    plain = mass + p @ mass - mass @ p
    if assembly == "plain":
        k, right = plain, p @ r + mass @ c
    elif assembly == "symmetric":
        k, right = p @ mass @ p + (one - p) @ mass @ (one - p), p @ r + (one - 2.0 * p) @ mass @ c
    else:
        gamma = float(np.linalg.norm(mass)) / np.sqrt(len(r)) if gamma is None else gamma
        k, right = p @ mass + gamma * (one - p), p @ r + gamma * c
    mu = (one - p) @ mass @ np.linalg.inv(plain)
    force = -(one - p) @ r + mu @ (p @ r + mass @ c)
    return ProjectedEquations(np.asarray(np.linalg.solve(k, right)), np.asarray(force), k, right)


def saddle_point(mass: Floats, r: Floats, a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """v̇ (n) and multipliers (m) of the saddle-point (KKT) system, which dependent rows make singular.

    [[M, -A'], [A, 0]] [v̇; λ] = [r; b]
    """
    n, m = len(r), len(b)
    system = np.block([[mass, -a.T], [a, np.zeros((m, m))]])
    found = np.linalg.solve(system, np.concatenate([r, b]))
    return np.asarray(found[:n]), np.asarray(found[n:])
