"""Controllability of the admitted motions by the motors, and damping near actuator singularities.

With Λ an orthonormal basis of the admitted velocities (in units of the column scales, so that rad and m are
comparable) and B the motors' columns, the measure is σ, the smallest singular value of G = Λ' B (Aghili 2005,
solvability with passive joints): 1 where a motor sits on every motion, 0 where a motion is possible in which
all motors are at rest. There no motor effort can start or stop it. In a machine with many joints a motion of
unit length is spread over all of them: with nv joints and m motors, σ and all other singular values count
√(nv / (6 m)) times, where that is above 1.

Near such a pose the effort grows as 1 / σ. Below `FADING` the part of a demand that lies in a weakly held
direction of singular value s is therefore taken with the share

    φ(s) = s² / (s² + d),   d = FADED² (1 - (s / FADING)²)²

(Nakamura & Hanafusa 1986, damping that depends on the pose, here for each direction by itself), so that no
effort is more than 1 / (2 FADED) of its demand and the others keep all of theirs.

With many degrees of freedom σ comes from inverse iteration, and all directions are found only where they are
needed: near such poses, and where redundant motors are at their limits (redundant_motors.py). The motions of
several machines on one base have few joints in common: products run over the columns that a motion has.
"""

import math

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.machine.checks.controllability import JOINTS_A_MOTOR
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.linalg.linear import (
    cholesky,
    envelope_cholesky,
    envelope_lower_solve,
    lower_solve,
    reach,
    upper_solve,
)
from linkwork.multibody.linalg.symmetric import symmetric_eigen
from linkwork.multibody.linalg.vectors import squared

FADING = 0.02
"""σ below which demands fade."""
FADED = 0.005
FEW = 10
"""Degrees of freedom up to which all directions take less time than inverse iterations."""
SETTLED, MOST = 1e-6, 40
"""Relative change of σ² from one inverse iteration to the next that ends them, and the most of them."""


def scratch_words(dof: int, motors: int) -> int:
    """Numbers of scratch that `leverage` needs."""
    return dof * (3 * dof + motors + 1)


@kernel
def leverage(basis: Matrix, columns: Floats, motor: Integers, scratch: Floats) -> float:
    """Return σ for the rows of `basis` (dof × nv), which need not be orthonormal.

    columns (nv): the scales; motor: joints with motors. scratch (`scratch_words`) keeps, dof² numbers each,
    the Cholesky factor L of the scaled basis' Gram matrix, and the squares G G' (as they count) in the basis
    orthonormalised by L⁻¹; after dof² others, motors × dof, its columns at the motors.
    """
    k = basis.shape[0]
    gram, squares = block(scratch, 0, k, k), block(scratch, k * k, k, k)
    factor, driven = block(scratch, 2 * k * k, k, k), block(scratch, 3 * k * k, len(motor), k)
    begin = block(scratch, k * (3 * k + len(motor)), 1, k)[0]
    counts = max(1.0, basis.shape[1] / (JOINTS_A_MOTOR * max(1, len(motor))))
    for i in range(k):
        first, end = reach(basis[i])
        begin[i] = i
        for j in range(i + 1):
            total = 0.0
            for c in range(first, end):
                total += basis[i, c] * basis[j, c] / (columns[c] * columns[c])
            gram[i, j] = total
            if total != 0.0 and j < begin[i]:
                begin[i] = j
        fill(squares[i], 0.0)
    envelope_cholesky(gram, begin)
    for m in range(len(motor)):
        for i in range(k):
            driven[m, i] = basis[i, motor[m]] / columns[motor[m]]
        envelope_lower_solve(gram, begin, driven[m])
        for i in range(k):
            x = counts * driven[m, i]
            if x != 0.0:
                for j in range(i + 1):
                    squares[i, j] += x * driven[m, j]
    for i in range(k):
        for j in range(i):
            squares[j, i] = squares[i, j]
    if k <= FEW:
        return math.sqrt(max(symmetric_eigen(squares, factor), 0.0))
    if not cholesky(squares, factor) > 0.0:
        return 0.0
    return math.sqrt(_smallest(factor, begin))


@part
def _smallest(factor: Matrix, x: Floats) -> float:
    """Return the smallest eigenvalue of L L', L the lower triangle of `factor` (n × n); x (n) is scratch."""
    n = factor.shape[0]
    for i in range(n):
        x[i] = 1.0 + 0.5 * math.sin(1.0 + 7.0 * i)
    smallest = math.inf
    for _ in range(MOST):
        square = 0.0
        for i in range(n):
            square += x[i] * x[i]
        for i in range(n):
            x[i] /= math.sqrt(square)
        lower_solve(factor, x)
        rate = 0.0  # x' (L L')⁻¹ x of the unit vector
        for i in range(n):
            rate += x[i] * x[i]
        before, smallest = smallest, 1.0 / rate
        if before - smallest < SETTLED * smallest:
            break
        upper_solve(factor, x)
    return smallest


@part
def directions(dof: int, scratch: Floats) -> None:
    """After `leverage`: the squares become a diagonal of the singular values' squares; their directions in
    the orthonormalised basis follow row by row, dof² numbers.
    """
    k = dof
    if k > FEW:  # else `leverage` has found them
        symmetric_eigen(block(scratch, k * k, k, k), block(scratch, 2 * k * k, k, k))


@part
def fade(dof: int, motors: int, scratch: Floats, needed: Floats) -> None:
    """After `directions`: scale `needed` (dof; Λ' f for the same basis) by φ, see above, in each of them."""
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
        rest = max(0.0, 1.0 - square / squared(FADING))
        part_of *= square / (square + squared(FADED * rest)) if square > 0.0 else 0.0
        for j in range(k):
            kept[j] += turned[i, j] * part_of
    for i in range(k):
        needed[i] = 0.0
        for j in range(i + 1):
            needed[i] += gram[i, j] * kept[j]
