"""A linear model about an equilibrium, in independent coordinates: ẋ = A x + B u, y = C x + D u.

With Λ spanning the velocities that the constraints admit, velocities v = Λ ż and motors B_a,

    Λ' M Λ z̈ + Λ' D Λ ż + Λ' K Λ z = Λ' B_a δτ,      D: slope at rest of friction and dampers

with the stiffness K of equilibrium.py. The states are δθ and δθ̇ of the independent coordinates θ, with
δθ = J Λ z.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.mechanism import Mechanism
from linkwork.symbolic.equilibrium import Equilibrium, NoEquilibrium, equilibrium

_CONTROLLABLE = 1e-9
_DEPENDENT = 1e-9
_SINGULAR = 1e-13
_SMALL = 1e-4
"""Speed (rad/s or m/s) of differences about rest."""

Spectrum = np.ndarray[tuple[int], np.dtype[np.complex128]]


class NotIndependent(ValueError):
    """The coordinates do not describe the motion about this pose; `suggested` ones do."""

    def __init__(self, message: str, suggested: tuple[str, ...]) -> None:
        """Keep what would do."""
        super().__init__(message)
        self.suggested = suggested


@dataclass(frozen=True)
class LinearModel:
    """State space matrices with names, at an equilibrium.

    states: θ, then their rates; inputs: motors, in N m or N beyond `effort`; outputs: all of
    `coordinate_choices`. `q` (nq) and `effort` are the equilibrium, `eigenvalues` those of A (1/s),
    `uncontrollable` those that no motor reaches.
    """

    A: Floats
    B: Floats
    C: Floats
    D: Floats
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    q: Floats
    effort: Floats
    eigenvalues: Spectrum
    uncontrollable: Spectrum

    @property
    def controllable(self) -> bool:
        """Whether every motion can be reached by the motors."""
        return not len(self.uncontrollable)


def coordinate_choices(mechanism: Mechanism) -> tuple[str, ...]:
    """Names that may describe a motion about a pose.

    The coordinates of interest, then the degrees of freedom of quaternions: these are small rotations about
    the axes that the child has in the equilibrium.
    """
    own = mechanism.coordinate_names
    return (*own, *(name for name in mechanism.joint_names if name not in own))


def linearize(
    mechanism: Mechanism,
    q: Floats,
    motors: Sequence[int],
    coordinates: Sequence[str],
    weights: Sequence[float] | None = None,
) -> LinearModel:
    """The linear model at the equilibrium nearest to the pose q (nq), which obeys the constraints.

    motors: indices into v; coordinates: as many of `coordinate_choices` as there are degrees of freedom;
    weights: squares of the motors' limits, the metric of the efforts. Where the motors cannot hold q, the
    pose moves along the motions that they do not hold until it is in balance. Raises NoEquilibrium, and
    NotIndependent.
    """
    found = equilibrium(mechanism, q, motors, weights)
    terms, basis = found.terms, found.terms.basis
    n, choices = basis.shape[1], coordinate_choices(mechanism)
    free = [name for name in choices if name not in mechanism.coordinate_names]
    turns = np.eye(mechanism.nv)[[mechanism.joint_names.index(name) for name in free]]
    J = np.vstack([terms.J, turns.reshape(-1, mechanism.nv)]) @ basis  # δ(all choices) = J z
    across = _checked(J, choices, coordinates)
    back = np.linalg.inv(across)
    mass = _regular(mechanism, found, basis.T @ terms.M @ basis)

    def accelerated(force: Floats) -> Floats:
        return np.asarray(across @ np.linalg.solve(mass, basis.T @ force))

    inputs = np.zeros((mechanism.nv, len(motors)))
    inputs[list(motors), range(len(motors))] = 1.0
    stiff, damped = (-accelerated(K @ basis @ back) for K in (found.stiffness, _damping(mechanism, found.q)))
    A = np.block([[np.zeros((n, n)), np.eye(n)], [stiff, damped]])
    B = np.vstack([np.zeros((n, len(motors))), accelerated(inputs)])
    C = np.hstack([J @ back, np.zeros((len(J), n))])
    return _named(mechanism, found, (A, B, C), motors, coordinates)


def _regular(mechanism: Mechanism, found: Equilibrium, mass: Floats) -> Floats:
    sizes = np.linalg.eigvalsh(mass)
    if len(mass) and not sizes[0] > _SINGULAR * sizes[-1]:
        pose = ", ".join(f"{n} {x:.4g}" for n, x in zip(mechanism.position_names, found.q, strict=True))
        raise NoEquilibrium(f"some motion has no inertia at the equilibrium that was found, {pose}")
    return mass


def _checked(J: Floats, choices: Sequence[str], coordinates: Sequence[str]) -> Floats:
    """The rows of J (choices × dof) of these coordinates, which must determine the motion."""
    n = J.shape[1]
    if len(coordinates) != n:
        raise NotIndependent(
            f"the machine has {n} degrees of freedom in this pose; {len(coordinates)} coordinates are given",
            _independent(J, choices, coordinates),
        )
    across = J[[choices.index(name) for name in coordinates]]
    sizes = np.linalg.svd(across, compute_uv=False)
    if n and not sizes[-1] > _DEPENDENT * sizes[0]:
        raise NotIndependent(
            "these coordinates do not determine the motion about this pose",
            _independent(J, choices, coordinates),
        )
    return across


def _independent(J: Floats, choices: Sequence[str], first: Sequence[str]) -> tuple[str, ...]:
    """As many choices as there are degrees of freedom that determine the motion, rather those in `first`."""
    taken: list[int] = []
    left = J.copy()
    for group in (
        [k for k, name in enumerate(choices) if name in first],
        [k for k, name in enumerate(choices) if name not in first],
    ):
        while len(taken) < J.shape[1] and group:
            sizes = np.linalg.norm(left[group], axis=1)
            best = group[int(np.argmax(sizes))]
            if not sizes.max() > 1e-6 * max(1.0, float(np.linalg.norm(J[best]))):
                break
            along = left[best] / sizes.max()
            left -= np.outer(left @ along, along)
            taken.append(best)
            group.remove(best)
    return tuple(choices[k] for k in sorted(taken)) if len(taken) == J.shape[1] else ()


def _damping(mechanism: Mechanism, q: Floats) -> Floats:
    """The slope at rest of viscous and dry friction, and of dampers and applied forces, nv × nv."""
    m = mechanism.model
    return np.diag(m.viscous + m.coulomb / m.coulomb_speed) + _slope_of_elements(mechanism, q)


def _slope_of_elements(mechanism: Mechanism, q: Floats) -> Floats:
    """∂h/∂v at rest, by central differences: Coriolis terms are even in v and cancel."""
    slope = np.zeros((mechanism.nv, mechanism.nv))
    if not mechanism.elements:
        return slope
    for k in range(mechanism.nv):
        loads = []
        for speed in (_SMALL, -_SMALL):
            work = mechanism.workspace()
            work.q[:], work.v[k] = q, speed
            dynamics(*work.arguments)
            loads.append(work.h.copy())
        slope[:, k] = (loads[0] - loads[1]) / (2.0 * _SMALL)
    return slope


def _named(
    mechanism: Mechanism,
    found: Equilibrium,
    matrices: tuple[Floats, Floats, Floats],
    motors: Sequence[int],
    coordinates: Sequence[str],
) -> LinearModel:
    A, B, C = matrices
    eigenvalues = np.asarray(np.linalg.eigvals(A), dtype=np.complex128)
    return LinearModel(
        A,
        B,
        C,
        np.zeros((len(C), len(motors))),
        (*coordinates, *(f"{name}_rate" for name in coordinates)),
        tuple(mechanism.joint_names[k] for k in motors),
        coordinate_choices(mechanism),
        found.q,
        found.effort,
        eigenvalues,
        _uncontrollable(A, B, eigenvalues),
    )


def _uncontrollable(A: Floats, B: Floats, eigenvalues: Spectrum) -> Spectrum:
    """Eigenvalues at which [A - λ 1, B] loses rank (Hautus), after balancing rows against each other."""
    lost = []
    for value in eigenvalues:
        test = np.hstack([A - value * np.eye(len(A)), B])
        size = np.linalg.norm(test, axis=1, keepdims=True)
        if np.linalg.svd(test / np.maximum(size, 1e-300), compute_uv=False)[-1] < _CONTROLLABLE:
            lost.append(value)
    return np.array(lost, dtype=np.complex128)
