"""Allocate admissible accelerations to efforts of the motors, within their limits.

An acceleration u needs the generalized force f = h + M u − friction on all joints, of which only the
component Λ' f moves the machine; the rest would load the closures. The motors, selected by B, give the same
component with

    τ = τ_p + W G' (G W G')⁻¹ (Λ' f − G τ_p),     G = Λ' B, W = diag(scale²),

the nearest to the pre-load τ_p (the smallest, where that is zero) in the norm τ' W⁻¹ τ of all that do
(Aghili 2005, passive joints, with a metric). W makes newtons and newton-metres comparable; a motor's scale is
its largest effort unless the machine file gives another (`controller.effort_scale`). Where there are as many
motors as degrees of freedom τ is unique, and τ_p has no effect.

Where τ is beyond a motor's limit, the direction of the motion is kept: with f₀ the force for coasting (no
acceleration of the goal's coordinates is asked for) the machine gets f₀ + α (f − f₀) with the largest share α
≤ 1 within the motors' limits. Where even f₀ is beyond them, each motor is clipped by itself.

Without constraints each motor moves its joint alone: Λ is diagonal, σ is 1, and τ is f.
"""

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.controller.actuation.motor_conditioning import FADING, directions, fade, leverage, scratch_words
from linkwork.multibody.dynamics.tree_dynamics import mass_times
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.linalg.linear import cholesky, cholesky_solve
from linkwork.multibody.workspace import Model, Workspace

LEVERAGE, SHARE, FREE = range(3)
"""Outputs of `drive`: σ; α, or `BEYOND`; and the degrees of freedom at this pose."""
BEYOND = -1.0
"""The least effort is beyond a motor's limit, but others may make the motion: see `RedundantMotors`."""
_NEVER_SINGULAR = 1e-12


@part
def largest_share(most: Floats, motor: Integers, coasting: Floats, force: Floats) -> float:
    """Return the largest α in [0, 1] with |coasting + α (force − coasting)| ≤ most; negative: none.

    most, motor (motors): limits and the motors' joints; coasting, force (nv; N m or N).
    """
    share = 1.0
    for m in range(len(motor)):
        least, wanted = coasting[motor[m]], force[motor[m]]
        if abs(least) > most[m]:
            return -1.0
        change = wanted - least
        if abs(wanted) > most[m] and change != 0.0:
            room = most[m] - least if change > 0.0 else most[m] + least
            share = min(share, room / abs(change))
    return share


@part
def within(most: Floats, motor: Integers, force: Floats) -> bool:
    """Whether every motor can give its part of force (nv)."""
    beyond = False
    for m in range(len(motor)):
        beyond = beyond or abs(force[motor[m]]) > most[m]
    return not beyond


@part
def keep_direction(most: Floats, motor: Integers, coasting: Floats, force: Floats) -> float:
    """force := coasting + α (force − coasting), within the limits; return α, 0 where coasting is beyond them.

    Arguments as of `largest_share`: (motors) and (nv).
    """
    share = largest_share(most, motor, coasting, force)
    for m in range(len(motor)):
        c = motor[m]
        value = coasting[c] + max(share, 0.0) * (force[c] - coasting[c])
        force[c] = min(max(value, -most[m]), most[m])
    return max(share, 0.0)


def words(nv: int, motors: int) -> int:
    """Numbers of scratch that `drive` needs: that of `leverage`, then needed and coasting (nv each), …"""
    return scratch_words(nv, motors) + nv * nv + 4 * nv


@part
def motor_forces(
    basis: Matrix, motor: Integers, weight: Floats, square: Floats, needed: Floats, force: Floats
) -> None:
    """force (nv) := W B' Λ (Λ' B W B' Λ)⁻¹ needed, with needed (dof) = Λ' f, which is overwritten.

    basis (dof × nv) is Λ'; motor: joints with motors; weight: W's diagonal; square: scratch for dof² numbers.
    Where the motors have no leverage, the force is zero. Aghili 2005, passive joints.
    """
    fill(force, 0.0)
    if held_by(basis, motor, weight, square):
        solved(basis, motor, weight, square, needed, force)


@part
def motor_map(
    basis: Matrix, motor: Integers, weight: Floats, square: Floats, share: Floats, through: Matrix
) -> None:
    """through (motors × nv) := W B' Λ (Λ' B W B' Λ)⁻¹ Λ': the motors' efforts for forces on all joints.

    Arguments as of `motor_forces`; share: scratch for dof numbers.
    """
    free = basis.shape[0]
    found = held_by(basis, motor, weight, square)
    for m in range(len(motor)):
        fill(through[m], 0.0)
        if found:
            for i in range(free):
                share[i] = weight[m] * basis[i, motor[m]]
            cholesky_solve(block(square, 0, free, free), share)
            for i in range(free):
                for c in range(basis.shape[1]):
                    through[m, c] += share[i] * basis[i, c]


@part
def held_by(basis: Matrix, motor: Integers, weight: Floats, square: Floats) -> bool:
    """square (dof² numbers) := the Cholesky factor of Λ' B W B' Λ; return False where there is none.

    Arguments as of `motor_forces`.
    """
    free = basis.shape[0]
    held = block(square, 0, free, free)
    for i in range(free):
        fill(held[i], 0.0)
    for m in range(len(motor)):
        c = motor[m]
        for i in range(free):
            x = basis[i, c] * weight[m]
            if x != 0.0:
                for j in range(i + 1):
                    held[i, j] += x * basis[j, c]
    size = 0.0
    for i in range(free):
        size = max(size, held[i, i])
    for i in range(free):
        held[i, i] += _NEVER_SINGULAR * _NEVER_SINGULAR * size
    return cholesky(held, held) > 0.0


@part
def solved(
    basis: Matrix, motor: Integers, weight: Floats, square: Floats, needed: Floats, force: Floats
) -> None:
    """After `held_by`: force (nv) += the motors' forces; needed is overwritten."""
    free = basis.shape[0]
    cholesky_solve(block(square, 0, free, free), needed)
    for m in range(len(motor)):
        c = motor[m]
        for i in range(free):
            force[c] += weight[m] * basis[i, c] * needed[i]


@part
def component(m: Model, w: Workspace, basis: Matrix, u: Floats, y: Floats, needed: Floats) -> None:
    """needed (dof) := Λ' (h + M u − friction); y (nv) is scratch."""
    mass_times(m, w, u, y)
    for c in range(m.nv):
        y[c] += w.h[c] - w.friction[c]
    for i in range(len(needed)):
        needed[i] = 0.0
        for c in range(m.nv):
            needed[i] += basis[i, c] * y[c]


@part
def _joint_forces(m: Model, w: Workspace, u: Floats, force: Floats) -> None:
    """force (nv) := h + M u − friction."""
    for i in range(m.nv):
        force[i] = w.h[i] - w.friction[i]
        for j in range(m.nv):
            force[i] += w.M[i, j] * u[j]


@part
def drive_here(
    m: Model,
    w: Workspace,
    motor: Integers,
    most: Floats,
    weight: Floats,
    preload: Floats,
    u: Floats,
    coast: Floats,
    scratch: Floats,
    force: Floats,
    told: Floats,
) -> None:
    """Write the motors' forces (nv) for u (nv), at the rank decided before; arguments as of `drive`."""
    nv, motors = m.nv, len(motor)
    free = nv - int(w.ranking[RANK])
    basis = w.basis[:free]
    at = nv * (3 * nv + motors + 1)
    needed, coasting = block(scratch, at, 1, free)[0], block(scratch, at + nv, 1, free)[0]
    spent, other = block(scratch, at + 2 * nv, 1, free)[0], block(scratch, at + 3 * nv, 1, nv)[0]
    square = block(scratch, at + 4 * nv, 1, nv * nv)[0]
    told[FREE], told[LEVERAGE], told[SHARE] = free, 1.0, 1.0
    if m.n_rows == 0:
        _joint_forces(m, w, u, force)
        if not within(most, motor, force):
            _joint_forces(m, w, coast, other)
            told[SHARE] = keep_direction(most, motor, other, force)
        return
    told[LEVERAGE] = leverage(basis, m.column_scale, motor, scratch)
    component(m, w, basis, u, force, needed)
    if told[LEVERAGE] < FADING:
        directions(free, scratch)
        fade(free, motors, scratch, needed)
    fill(force, 0.0)
    if not held_by(basis, motor, weight, square):
        told[SHARE] = 0.0
        return
    _nearest(basis, motor, weight, square, preload, needed, spent, force)
    if within(most, motor, force):
        return
    component(m, w, basis, coast, other, coasting)
    if told[LEVERAGE] < FADING:
        fade(free, motors, scratch, coasting)
    if motors > free:
        if not told[LEVERAGE] < FADING:
            directions(free, scratch)
        told[SHARE] = BEYOND
        return
    fill(other, 0.0)
    _nearest(basis, motor, weight, square, preload, coasting, spent, other)
    told[SHARE] = keep_direction(most, motor, other, force)


@part
def _nearest(
    basis: Matrix, motor: Integers, weight: Floats, square: Floats, preload: Floats, needed: Floats,
    spent: Floats, force: Floats,
) -> None:  # fmt: skip
    """force (nv, zero on entry) := the efforts nearest to the pre-load that give `needed`, which is kept."""
    for i in range(len(needed)):
        spent[i] = needed[i]
        for m in range(len(motor)):
            spent[i] -= basis[i, motor[m]] * preload[m]
    for m in range(len(motor)):
        force[motor[m]] = preload[m]
    solved(basis, motor, weight, square, spent, force)


@kernel
def drive(
    m: Model,
    w: Workspace,
    motor: Integers,
    most: Floats,
    weight: Floats,
    preload: Floats,
    u: Floats,
    coast: Floats,
    scratch: Floats,
    force: Floats,
    told: Floats,
) -> None:
    """After `evaluate_motion`: write the motors' forces, in `force` (nv), for the admissible acceleration u
    (nv).

    motor: joints with motors; most, preload (motors; N m or N); weight (motors): W's diagonal, the squares of
    the scales; coast (nv): the acceleration without motion of the goal's coordinates; scratch: `words`; told:
    `LEVERAGE`, `SHARE`, `FREE`. After `BEYOND` scratch holds what `RedundantMotors` needs.
    """
    drive_here(m, w, motor, most, weight, preload, u, coast, scratch, force, told)
