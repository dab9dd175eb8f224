"""A linear model about an equilibrium, in independent coordinates: ẋ = A x + B u, y = C x + D u.

With Λ spanning the velocities that the constraints admit, velocities v = Λ ż and motors B_a,

    Λ' M Λ z̈ + Λ' D Λ ż + Λ' K Λ z = Λ' B_a δτ,      K = ∂(g - A'λ)/∂q,   D: friction's slope at rest

where g are the forces of gravity and λ the multipliers that hold the pose. Derivatives are those of the
model in symbols. The states are δθ and δθ̇ of the independent coordinates θ, with δθ = J Λ z.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multibody import layout
from multibody.assembly import AssemblyError, assemble
from multibody.mechanism import Mechanism
from multibody.model import Array
from multibody.rotations import move_by
from multibody.symbolic.evaluate import Numbers, numeric
from multibody.symbolic.model import Part, SymbolicModel
from multibody.symbolic.tape import ONE, Expression

_DROPPED = 2e-4
_BALANCED = 1e-10
_CONTROLLABLE = 1e-9
_STEPS = 200
_FARTHEST, _SINKING = 3.0, 0.1
"""Newton steps longer than the first (rad, m) are not believed; length of a step down instead."""


class NoEquilibrium(ValueError):
    """The motors cannot hold the machine near this pose, or the coordinates do not describe it."""


@dataclass(frozen=True)
class LinearModel:
    """State space matrices with names, at an equilibrium.

    states: θ, then their rates; inputs: motors, in N m or N beyond `effort`; outputs: all coordinates of
    interest. `q` (nq) and `effort` are the equilibrium, `eigenvalues` those of A (1/s), `uncontrollable`
    those that no motor reaches.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    q: Array
    effort: Array
    eigenvalues: np.ndarray[tuple[int], np.dtype[np.complex128]]
    uncontrollable: np.ndarray[tuple[int], np.dtype[np.complex128]]

    @property
    def controllable(self) -> bool:
        """Whether every motion can be reached by the motors."""
        return not len(self.uncontrollable)


@dataclass(frozen=True)
class _Terms:
    """Of one pose: M, g, A, J, and derivatives of g and A along each velocity (last index)."""

    M: Array
    g: Array
    A: Array
    J: Array
    g_slope: Array
    A_slope: Array
    basis: Array


def linearize(
    mechanism: Mechanism,
    q: Array,
    motors: Sequence[int],
    coordinates: Sequence[int],
    weights: Sequence[float] | None = None,
) -> LinearModel:
    """The linear model at the equilibrium nearest to the pose q (nq), which obeys the constraints.

    motors: indices into v; coordinates: as many indices of coordinates of interest as there are freedoms;
    weights: squares of the motors' limits, the metric of the efforts. Where the motors cannot hold q, the
    pose moves along what they do not hold until it is in balance. Raises NoEquilibrium.
    """
    function = _function(mechanism)
    t, p = mechanism.topology, mechanism.parameters
    scales = (
        p[t[layout.ROW_SCALE] : t[layout.ROW_SCALE + 1]],
        p[t[layout.COLUMN_SCALE] : t[layout.COLUMN_SCALE + 1]],
    )
    pose, metric = np.array(q, dtype=np.float64), np.sqrt(np.asarray(weights or [1.0] * len(motors)))
    for _ in range(_STEPS):
        terms = _at(function, mechanism, pose, scales)
        share = terms.basis[list(motors)].T  # Λ' B_a
        needed = terms.basis.T @ terms.g
        effort = metric * np.linalg.lstsq(share * metric, needed, rcond=1e-10)[0]
        left = needed - share @ effort
        stiffness = _stiffness(terms, motors, effort)
        if np.abs(left).max(initial=0.0) <= _BALANCED * max(1.0, float(np.abs(terms.g).max(initial=0.0))):
            return _reduced(mechanism, terms, pose, effort, stiffness, motors, coordinates)
        pose = _moved(mechanism, terms, pose, stiffness, share, left)
    names = ", ".join(mechanism.joint_names)
    raise NoEquilibrium(
        f"the motors cannot hold the machine near this pose, and no equilibrium of {names} was found: "
        f"{np.abs(left).max():.3g} N m or N are left over"
    )


def _function(mechanism: Mechanism) -> Numbers:
    model = SymbolicModel(mechanism)
    nv, nr, tape = mechanism.nv, len(mechanism.row_names), model.tape
    gravity, rows = model.gravity, [entry for row in model.rows.A for entry in row]
    slopes = [tape.rates([*gravity, *rows], _direction(model, k)) for k in range(nv)]
    J = [entry for row in model.interest.J for entry in row]
    parts = [
        Part("M", (nv, nv), [entry for row in model.M for entry in row]),
        Part("g", (nv,), gravity),
        Part("A", (nr, nv), rows),
        Part("J", (len(mechanism.coordinate_names), nv), J),
        Part("g_slope", (nv, nv), [slope[i] for i in range(nv) for slope in slopes]),
        Part("A_slope", (nr, nv, nv), [slope[nv + i] for i in range(nr * nv) for slope in slopes]),
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


def _at(function: Numbers, mechanism: Mechanism, q: Array, scales: tuple[Array, Array]) -> _Terms:
    M, g, A, J, g_slope, A_slope = function(q, np.zeros(mechanism.nv))
    rows, columns = scales
    _, sizes, directions = np.linalg.svd(rows[:, None] * A * columns) if len(A) else (0, [], np.eye(len(g)))
    rank = int(np.sum(np.asarray(sizes) > _DROPPED))
    return _Terms(M, g, A, J, g_slope, A_slope, columns[:, None] * directions[rank:].T)


def _stiffness(terms: _Terms, motors: Sequence[int], effort: Array) -> Array:
    """K on all velocities, with the multipliers that hold the pose."""
    if not len(terms.A):
        return terms.g_slope
    open_force = terms.g.copy()
    open_force[list(motors)] -= effort
    multipliers = np.linalg.lstsq(terms.A.T, open_force, rcond=None)[0]
    return np.asarray(terms.g_slope - np.einsum("i,ijk->jk", multipliers, terms.A_slope))


def _moved(
    mechanism: Mechanism, terms: _Terms, q: Array, stiffness: Array, share: Array, left: Array
) -> Array:
    """A Newton step towards balance in what the motors do not hold."""
    values, sizes, _ = np.linalg.svd(share)
    free = values[:, int(np.sum(sizes > 1e-10 * max(1.0, sizes.max(initial=0.0)))) :]
    slope = free.T @ terms.basis.T @ stiffness @ terms.basis
    step = np.linalg.lstsq(slope, -free.T @ left, rcond=1e-9)[0]
    size = float(np.abs(step).max(initial=0.0))
    if not 1e-12 < size < _FARTHEST:  # a slope that leads nowhere: let the machine sink a little
        step = -_SINKING * (free @ free.T @ left) / np.abs(left).max()
        size = 0.0
    moved = q.copy()
    move_by(mechanism.topology, moved, terms.basis @ step, min(1.0, 0.5 / max(size, 0.5)))
    if not mechanism.constraints:
        return moved
    try:
        return assemble(mechanism, moved, tolerance=1e-10).q
    except AssemblyError as error:
        raise NoEquilibrium(f"the search for an equilibrium left the constraints: {error}") from None


def _reduced(
    mechanism: Mechanism, terms: _Terms, q: Array, effort: Array, stiffness: Array,
    motors: Sequence[int], coordinates: Sequence[int],
) -> LinearModel:  # fmt: skip
    basis, p, t = terms.basis, mechanism.parameters, mechanism.topology
    viscous, coulomb, speed = (
        p[t[field] : t[field + 1]] for field in (layout.VISCOUS, layout.COULOMB, layout.COULOMB_SPEED)
    )
    damping = np.diag(viscous + coulomb / speed)
    n = basis.shape[1]
    if len(coordinates) != n:
        raise NoEquilibrium(
            f"the machine has {n} freedoms in this pose, {len(coordinates)} coordinates are named"
        )
    across = terms.J[list(coordinates)] @ basis  # δθ = across z
    sizes = np.linalg.svd(across, compute_uv=False)
    if not sizes[-1] > 1e-9 * sizes[0]:
        raise NoEquilibrium("the coordinates do not determine the motion in this pose: choose others")
    back = np.linalg.inv(across)
    mass = basis.T @ terms.M @ basis

    def accelerated(force: Array) -> Array:
        return np.asarray(across @ np.linalg.solve(mass, basis.T @ force))

    inputs = np.zeros((mechanism.nv, len(motors)))
    inputs[list(motors), range(len(motors))] = 1.0
    A = np.block(
        [
            [np.zeros((n, n)), np.eye(n)],
            [-accelerated(stiffness @ basis @ back), -accelerated(damping @ basis @ back)],
        ]
    )
    B = np.vstack([np.zeros((n, len(motors))), accelerated(inputs)])
    C = np.hstack([terms.J @ basis @ back, np.zeros((len(terms.J), n))])
    names = [mechanism.coordinate_names[k] for k in coordinates]
    eigenvalues = np.asarray(np.linalg.eigvals(A), dtype=np.complex128)
    return LinearModel(
        A,
        B,
        C,
        np.zeros((len(C), len(motors))),
        (*names, *(f"{name}_rate" for name in names)),
        tuple(mechanism.joint_names[k] for k in motors),
        mechanism.coordinate_names,
        q,
        effort,
        eigenvalues,
        _uncontrollable(A, B, eigenvalues),
    )


def _uncontrollable(
    A: Array, B: Array, eigenvalues: np.ndarray[tuple[int], np.dtype[np.complex128]]
) -> np.ndarray[tuple[int], np.dtype[np.complex128]]:
    """Eigenvalues at which [A - λ 1, B] loses rank (Hautus), after balancing rows against each other."""
    lost = []
    for value in eigenvalues:
        test = np.hstack([A - value * np.eye(len(A)), B])
        size = np.linalg.norm(test, axis=1, keepdims=True)
        if np.linalg.svd(test / np.maximum(size, 1e-300), compute_uv=False)[-1] < _CONTROLLABLE:
            lost.append(value)
    return np.array(lost, dtype=np.complex128)
