"""Static equilibrium of a machine: the pose, the motors' efforts that hold it, and the stiffness there.

With Λ spanning the velocities that the constraints admit, and motors B_a, a pose is in balance where

    Λ' g = Λ' B_a τ,      K = ∂(g - A'λ)/∂q

with g the loads of gravity, springs and applied forces at rest, and λ the multipliers that hold the pose.
Motions that the motors do not hold are brought to balance by Newton's method, with symbolic derivatives.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.assembly.assembly import AssemblyError, assemble, decide_rank
from linkwork.multibody.expressions.text import words_in
from linkwork.multibody.forces import AppliedForce
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.tree.rotations import move_by
from linkwork.symbolic.code import Numbers, numeric
from linkwork.symbolic.operation_tape import ONE, Expression
from linkwork.symbolic.symbolic_model import NamedResult, SymbolicModel

_BALANCED = 1e-10
_STEPS = 200
_FARTHEST, _SINKING = 3.0, 0.1
"""Newton steps longer than the first (rad, m) are not believed; length of a step down instead."""


class NoEquilibrium(ValueError):
    """The motors cannot hold the machine near this pose, or its constraints never rest."""


@dataclass(frozen=True)
class EquilibriumTerms:
    """Terms at one pose: M, g, A, J, and derivatives of g and A along each velocity (last index); Λ."""

    M: Floats
    g: Floats
    A: Floats
    J: Floats
    g_slope: Floats
    A_slope: Floats
    basis: Floats


@dataclass(frozen=True)
class Equilibrium:
    """A pose q (nq) in balance under `effort` (one a motor), its terms, and the stiffness K (nv × nv)."""

    q: Floats
    effort: Floats
    terms: EquilibriumTerms
    stiffness: Floats


def equilibrium(
    mechanism: Mechanism, q: Floats, motors: Sequence[int], weights: Sequence[float] | None = None
) -> Equilibrium:
    """The equilibrium nearest to the pose q (nq), which obeys the constraints, all of which count.

    motors: indices into v; weights: squares of the motors' limits, the metric of the efforts. Raises
    NoEquilibrium.
    """
    function = _function(mechanism)
    pose, metric = np.array(q, dtype=np.float64), np.sqrt(np.asarray(weights or [1.0] * len(motors)))
    for _ in range(_STEPS):
        terms = _at(function, mechanism, pose)
        share = terms.basis[list(motors)].T  # Λ' B_a
        needed = terms.basis.T @ terms.g
        effort = metric * np.linalg.lstsq(share * metric, needed, rcond=1e-10)[0]
        left = needed - share @ effort
        stiffness = _stiffness(terms, motors, effort)
        if np.abs(left).max(initial=0.0) <= _BALANCED * max(1.0, float(np.abs(terms.g).max(initial=0.0))):
            return Equilibrium(pose, effort, terms, stiffness)
        pose = _moved(mechanism, terms, pose, stiffness, share, left)
    names = ", ".join(mechanism.joint_names)
    raise NoEquilibrium(
        f"the motors cannot hold the machine near this pose, and no equilibrium of {names} was found: "
        f"{np.abs(left).max():.3g} N m or N are left over"
    )


def _refuse_moving(model: SymbolicModel) -> None:
    names = model.mechanism.row_names
    moving = [name for name, drift in zip(names, model.rows.drift, strict=True) if drift != 0]
    if moving:
        raise NoEquilibrium(f"constraints that depend on time have no equilibrium: {', '.join(moving)}")
    given = [each for each in model.mechanism.elements if isinstance(each, AppliedForce)]
    changing = [each.name for each in given if isinstance(each.value, str) and "t" in words_in(each.value)]
    if changing:
        raise NoEquilibrium(f"forces that depend on time have no equilibrium: {', '.join(changing)}")


def _function(mechanism: Mechanism) -> Numbers:
    model = SymbolicModel(mechanism)
    _refuse_moving(model)
    nv, nr, tape = mechanism.nv, len(mechanism.row_names), model.tape
    gravity, rows = model.load_at_rest, [entry for row in model.rows.A for entry in row]
    slopes = [tape.rates([*gravity, *rows], _direction(model, k)) for k in range(nv)]
    J = [entry for row in model.interest.J for entry in row]
    parts = [
        NamedResult("M", (nv, nv), [entry for row in model.M for entry in row]),
        NamedResult("g", (nv,), gravity),
        NamedResult("A", (nr, nv), rows),
        NamedResult("J", (len(mechanism.coordinate_names), nv), J),
        NamedResult("g_slope", (nv, nv), [slope[i] for i in range(nv) for slope in slopes]),
        NamedResult("A_slope", (nr, nv, nv), [slope[nv + i] for i in range(nr * nv) for slope in slopes]),
    ]
    return numeric(model, parts)


def _direction(model: SymbolicModel, k: int) -> dict[Expression, Expression]:
    """q̇ for a unit of velocity k."""
    q = model.q
    for link in model.tree.links:
        first = link.coordinate
        if link.scalar >= 0 and first <= k < first + 3:
            s, u = q[link.scalar], q[first : first + 3]
            i, j = (k - first + 1) % 3, (k - first + 2) % 3
            return {
                q[link.scalar]: -u[k - first] / 2,
                q[first + k - first]: s / 2,
                q[first + i]: u[j] / 2,
                q[first + j]: -u[i] / 2,
            }
    return {q[k]: ONE}


def _at(function: Numbers, mechanism: Mechanism, q: Floats) -> EquilibriumTerms:
    M, g, A, J, g_slope, A_slope = function(q, np.zeros(mechanism.nv))
    columns = mechanism.model.column_scale
    directions = decide_rank(mechanism, q).basis if len(A) else np.eye(len(g))
    return EquilibriumTerms(M, g, A, J, g_slope, A_slope, columns[:, None] * directions)


def _stiffness(terms: EquilibriumTerms, motors: Sequence[int], effort: Floats) -> Floats:
    """K on all velocities, with the multipliers that hold the pose."""
    if not len(terms.A):
        return terms.g_slope
    open_force = terms.g.copy()
    open_force[list(motors)] -= effort
    multipliers = np.linalg.lstsq(terms.A.T, open_force, rcond=None)[0]
    return np.asarray(terms.g_slope - np.einsum("i,ijk->jk", multipliers, terms.A_slope))


def _moved(
    mechanism: Mechanism, terms: EquilibriumTerms, q: Floats, stiffness: Floats, share: Floats, left: Floats
) -> Floats:
    """A Newton step towards balance in the motions that the motors do not hold."""
    values, sizes, _ = np.linalg.svd(share)
    free = values[:, int(np.sum(sizes > 1e-10 * max(1.0, sizes.max(initial=0.0)))) :]
    slope = free.T @ terms.basis.T @ stiffness @ terms.basis
    step = np.linalg.lstsq(slope, -free.T @ left, rcond=1e-9)[0]
    size = float(np.abs(step).max(initial=0.0))
    if not 1e-12 < size < _FARTHEST:  # a slope that leads nowhere: let the machine sink a little
        step = -_SINKING * (free @ free.T @ left) / np.abs(left).max()
        size = 0.0
    moved = q.copy()
    move_by(mechanism.model, moved, terms.basis @ step, min(1.0, 0.5 / max(size, 0.5)))
    if not mechanism.constraints:
        return moved
    try:
        return assemble(mechanism, moved, tolerance=1e-10).q
    except AssemblyError as error:
        raise NoEquilibrium(f"the search for an equilibrium left the constraints: {error}") from None
