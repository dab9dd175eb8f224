"""Bounded impulses: friction that sticks, solved on velocity level.

Rows of R map the velocity v to the speeds u = R v at which something resists motion: a brake's shaft, a
damped motor; a loop closure is such a row too, with an infinite bound. An impulse λ on the rows changes
their speeds by the Delassus matrix W = R M⁻¹ R'. Given the speeds u* without impulse, find λ with |λᵢ| ≤ bᵢ
and

    u = u* + W λ,     uᵢ + cᵢ λᵢ = 0       where |λᵢ| < bᵢ   (the row sticks)
                      (uᵢ + cᵢ λᵢ) λᵢ ≤ 0  where |λᵢ| = bᵢ   (it slips against the resistance)

cᵢ = 0 is dry friction that stops the row, cᵢ = 1 / (d Δt) a damper of coefficient d, taken implicitly. For
a positive definite W the solution is unique, and it is dissipative for any u*. All rows sticking is tried
first; else projected Gauss-Seidel sweeps find the rows that slip, and a direct solution on the others removes
the remaining residual.
"""

import math

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.linalg.linear import cholesky, cholesky_solve

SWEEPS = 400
"""Most sweeps: the brakes of an arm need some ten to a hundred, and a step's time stays bounded."""
CONVERGED = 1e-13
"""Largest change of a row's speed in one sweep, relative to the row's own scale, at which the sweeps end."""


@part
def _stick(
    w: Matrix,
    free: Floats,
    compliance: Floats,
    bound: Floats,
    impulse: Floats,
    sticks: Floats,
    factor: Matrix,
    trial: Floats,
) -> bool:
    """Impulses that stop the rows marked in `sticks`, those of the others given; False beyond a bound."""
    n = free.shape[0]
    for i in range(n):
        if sticks[i] == 0.0:
            for j in range(n):
                factor[i, j] = 0.0
            factor[i, i] = 1.0
            trial[i] = impulse[i]
            continue
        trial[i] = -free[i]
        for j in range(n):
            factor[i, j] = w[i, j] if sticks[j] != 0.0 else 0.0
            if sticks[j] == 0.0:
                trial[i] -= w[i, j] * impulse[j]
        factor[i, i] += compliance[i]
    if not cholesky(factor, factor) > 0.0:
        return False
    cholesky_solve(factor, trial)
    for i in range(n):
        if sticks[i] != 0.0 and not abs(trial[i]) <= bound[i]:
            return False
    for i in range(n):
        impulse[i] = trial[i]
    return True


@part
def _sweep(w: Matrix, free: Floats, compliance: Floats, bound: Floats, impulse: Floats) -> float:
    """One pass over the rows; return the largest relative change of a row's speed."""
    largest = 0.0
    for i in range(free.shape[0]):
        speed, scale = free[i] + compliance[i] * impulse[i], abs(free[i])
        for j in range(free.shape[0]):
            speed += w[i, j] * impulse[j]
            scale += abs(w[i, j] * impulse[j])
        stiffness = w[i, i] + compliance[i]
        if not stiffness > 0.0:  # no impulse on this row moves it: a motor at a singular pose
            continue
        new = min(max(impulse[i] - speed / stiffness, -bound[i]), bound[i])
        if scale > 0.0:
            largest = max(largest, abs(new - impulse[i]) * stiffness / scale)
        impulse[i] = new
    return largest


@kernel
def bounded_impulses(
    w: Matrix,
    free: Floats,
    compliance: Floats,
    bound: Floats,
    impulse: Floats,
    sticks: Floats,
    factor: Matrix,
    trial: Floats,
) -> int:
    """Solve the problem above: `impulse` gets λ, `sticks` 1 for a row inside its bound and 0 for others.

    Delassus matrix w (n × n), free speeds, compliance, bound (n each); factor (n × n) and trial (n) are
    scratch. There is no warm start. Returns the number of sweeps.
    """
    n = free.shape[0]
    for i in range(n):
        impulse[i] = 0.0
        sticks[i] = 1.0 if bound[i] > 0.0 else 0.0
    if _stick(w, free, compliance, bound, impulse, sticks, factor, trial):
        return 0
    sweeps = 0
    change = math.inf
    while sweeps < SWEEPS and change > CONVERGED:
        change = _sweep(w, free, compliance, bound, impulse)
        sweeps += 1
    for i in range(n):
        sticks[i] = 1.0 if abs(impulse[i]) < bound[i] else 0.0
    _stick(w, free, compliance, bound, impulse, sticks, factor, trial)
    return sweeps
