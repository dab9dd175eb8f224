"""Controllability of the admitted motions by the motors, and damping near actuator singularities.

With Λ an orthonormal basis of the admitted velocities (in units of the column scales, so that rad and m are
comparable) and B the motors' columns, the measure is σ, the smallest singular value of G = Λ' B (Aghili 2005,
solvability with passive joints): 1 where a motor sits on every motion, 0 where a motion is possible in which
all motors are at rest. There no motor effort can start or stop it.

Near such a pose the effort grows as 1 / σ. Below `FADING` the part of a demand that lies in a weakly held
direction of singular value s is therefore taken with the share

    φ(s) = s² / (s² + d),   d = FADED² (1 - (s / FADING)²)²

(Nakamura & Hanafusa 1986, damping that depends on the pose, here for each direction by itself), so that no
effort is more than 1 / (2 FADED) of its demand and the others keep all of theirs.
"""

from __future__ import annotations

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import (
    part,
)
from linkwork.multibody.kernels.views import block
from linkwork.multibody.linalg.linear import cholesky, lower_solve
from linkwork.multibody.linalg.symmetric import symmetric_eigen

FADING = 0.02
"""σ below which demands fade."""
FADED = 0.005


def scratch_words(dof: int, motors: int) -> int:
    """Numbers of scratch that `leverage` needs."""
    return dof * (3 * dof + motors + 1)


@part
def leverage(basis: Floats, columns: Floats, motor: Integers, scratch: Floats) -> float:
    """Return σ for the rows of `basis` (dof × nv), which need not be orthonormal.

    columns (nv): the scales; motor: joints with motors. scratch (`scratch_words`) keeps, dof² numbers each,
    the Cholesky factor L of the scaled basis' Gram matrix; the squares of the singular values of G on a
    diagonal; and row by row their directions in the basis orthonormalised by L⁻¹.
    """
    k = basis.shape[0]
    gram, squares = block(scratch, 0, k, k), block(scratch, k * k, k, k)
    turned, driven = block(scratch, 2 * k * k, k, k), block(scratch, 3 * k * k, len(motor), k)
    for i in range(k):
        for j in range(i + 1):
            total = 0.0
            for c in range(basis.shape[1]):
                total += basis[i, c] * basis[j, c] / (columns[c] * columns[c])
            gram[i, j] = total
    cholesky(gram, gram)
    for m in range(len(motor)):
        for i in range(k):
            driven[m, i] = basis[i, motor[m]] / columns[motor[m]]
        lower_solve(gram, driven[m])
    for i in range(k):
        for j in range(k):
            total = 0.0
            for m in range(len(motor)):
                total += driven[m, i] * driven[m, j]
            squares[i, j] = total
    smallest = symmetric_eigen(squares, turned)
    return math.sqrt(max(smallest, 0.0))


@part
def fade(dof: int, motors: int, scratch: Floats, needed: Floats) -> None:
    """After `leverage`: scale `needed` (dof; Λ' f for the same basis) by φ, see above, in each direction."""
    k = dof
    gram, squares = block(scratch, 0, k, k), block(scratch, k * k, k, k)
    turned = block(scratch, 2 * k * k, k, k)
    kept = block(scratch, k * (3 * k + motors), 1, k)[0]
    lower_solve(gram, needed)
    for i in range(k):
        kept[i] = 0.0
    for i in range(k):
        square, part_of = max(squares[i, i], 0.0), 0.0
        for j in range(k):
            part_of += turned[i, j] * needed[j]
        rest = max(0.0, 1.0 - square / FADING**2)
        part_of *= square / (square + (FADED * rest) ** 2) if square > 0.0 else 0.0
        for j in range(k):
            kept[j] += turned[i, j] * part_of
    for i in range(k):
        needed[i] = 0.0
        for j in range(i + 1):
            needed[i] += gram[i, j] * kept[j]
