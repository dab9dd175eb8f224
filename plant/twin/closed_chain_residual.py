"""The residual of a closed-chain machine: its evaluation, and its distribution to coordinates and motors."""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.formulations.other_formulations import constrained_forward_dynamics
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.linalg.orthogonal import least_squares
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.workspace import Model, Workspace

NOTHING = 1e-6
"""Share of the largest entry below which a direction is omitted: there θ, or the motors, are singular."""


@kernel
def evaluate_closed(m: Model, w: Workspace) -> None:
    """Mass matrix, admitted velocities and coordinates at the workspace's state."""
    constrained_forward_dynamics(m, w)
    coordinates(m, w)


def scratch_words(nv: int, wide: int) -> int:
    """Numbers of scratch that `spread` needs; wide: goal coordinates or motors, whichever are more."""
    return nv * wide + 4 * nv


@part
def _share(basis: Floats, force: Floats, needed: Floats) -> None:
    """needed := Λ' r."""
    for j in range(basis.shape[0]):
        needed[j] = 0.0
        for c in range(basis.shape[1]):
            needed[j] += basis[j, c] * force[c]


@part
def _solve(rows: Floats, needed: Floats, scratch: Floats, x: Floats) -> None:
    """x := rows⁺ needed; all but x are destroyed."""
    largest = 0.0
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            largest = max(largest, abs(rows[i, j]))
    least_squares(rows, needed, NOTHING * largest, scratch, x)


@kernel
def spread(
    m: Model,
    w: Workspace,
    force: Floats,
    goals: Integers,
    motors: Integers,
    most: Floats,
    scratch: Floats,
    effort: Floats,
    motor_effort: Floats,
) -> None:
    """After `evaluate_closed`: efforts along goal coordinates and of motors that do what force (nv) does.

    most (motors): their largest efforts, by which the least are weighed. scratch: `scratch_words`.
    """
    nv = m.nv
    free = nv - int(w.ranking[RANK])
    basis = w.basis[:free]
    wide = max(len(goals), len(motors))
    needed, rest = block(scratch, nv * wide, 1, free)[0], block(scratch, nv * wide + nv, 1, 3 * nv)[0]
    rows = block(scratch, 0, free, len(goals))
    for j in range(free):
        for i in range(len(goals)):
            rows[j, i] = 0.0
            for c in range(nv):
                rows[j, i] += basis[j, c] * w.J[goals[i], c]
    _share(basis, force, needed)
    _solve(rows, needed, rest, effort)
    rows = block(scratch, 0, free, len(motors))
    for j in range(free):
        for i in range(len(motors)):
            rows[j, i] = basis[j, motors[i]] * most[i]
    _share(basis, force, needed)
    _solve(rows, needed, rest, motor_effort)
    for i in range(len(motors)):
        motor_effort[i] *= most[i]
