"""Distance from singularities of goal coordinates, closures and motors: singular values of scaled Jacobians.

Lengths count in units of the machine's reach, so that metres and radians are comparable in one matrix. With k
= nv coordinates θ˙ = J v can be solved for v as long as the smallest singular value is above zero.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.planning.walk.walk import Walk
from linkwork.machine import Machine
from linkwork.machine.building.initial_assembly import admitted_velocities
from linkwork.machine.checks.controllability import LEAST_LEVERAGE
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.coordinate_scales import scales
from linkwork.multibody.functions import mass_matrix
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics

DEPENDENT_BELOW = 1e-6
"""Smallest singular value below which coordinates count as dependent."""
LARGEST_KEPT_ROW = 20.0
"""Largest change of a coordinate that is kept, relative to the motion of the joints, without units."""
_HARDLY = 0.1
"""Share of the Jacobian's size below which a load is carried by the chain alone."""


def scaled_jacobian(mechanism: Mechanism, chosen: Sequence[int], q: Floats) -> Floats:
    """k × dof, free of units: the rates of these coordinates at q, along the motions that the
    constraints admit.
    """
    workspace = mechanism.workspace(q)
    kinematics(*workspace.arguments)
    coordinates(*workspace.arguments)
    rows, columns = scales(mechanism, chosen)
    jacobian = np.asarray(rows[:, None] * workspace.J[list(chosen)] * columns)
    if mechanism.constraints:
        motions = np.linalg.qr(admitted_velocities(mechanism, q) / columns[:, None])[0]
        jacobian = jacobian @ motions
    return jacobian


def smallest_singular_value(mechanism: Mechanism, chosen: Sequence[int], q: Floats) -> float:
    """Return that of the scaled Jacobian of these coordinates at q (nq), along the admitted motions.

    0 where a coordinate has no gradient, or where there are fewer coordinates than motions.
    """
    jacobian = scaled_jacobian(mechanism, chosen, q)
    if not np.all(np.isfinite(jacobian)) or len(chosen) < jacobian.shape[1]:
        return 0.0
    return float(np.linalg.svd(jacobian, compute_uv=False)[-1])


def dependent(mechanism: Mechanism, chosen: Sequence[int], q: Floats) -> list[int]:
    """Return the coordinates (of `chosen`) whose rates at q (nq) depend on each other.

    Empty where they are independent. A coordinate without a rate at q depends on none and is returned.
    """
    jacobian = np.nan_to_num(scaled_jacobian(mechanism, chosen, q))
    left, sizes, _ = np.linalg.svd(jacobian)
    rank = int(np.count_nonzero(sizes > DEPENDENT_BELOW))
    share = np.abs(left[:, rank:]).max(axis=1, initial=0.0)
    return [index for index, part in zip(chosen, share, strict=True) if part > 1e-4]


def what_is_stretched(mechanism: Mechanism, chosen: Sequence[int], q: Floats) -> str:
    """Return as text what stops these coordinates at q (nq), the last pose that a path reached.

    At the edge of the workspace they cannot move in one direction u, a left singular vector. Either the chain
    of joints that carries them is stretched or folded there, Jᵀ u = 0, or closures are, which carry a load in
    that direction: Aᵀ λ = -Jᵀ u.
    """
    lost = np.linalg.svd(np.nan_to_num(scaled_jacobian(mechanism, chosen, q)))[0][:, -1]
    workspace = mechanism.workspace(q)
    kinematics(*workspace.arguments)
    coordinates(*workspace.arguments)
    rows, columns = scales(mechanism, chosen)
    jacobian = np.nan_to_num(rows[:, None] * workspace.J[list(chosen)] * columns)
    load = jacobian.T @ lost
    if not mechanism.constraints or np.linalg.norm(load) < _HARDLY * np.linalg.norm(jacobian):
        chain = [
            mechanism.joint_names[column] for column in np.flatnonzero(np.abs(jacobian).max(axis=0) > 0.0)
        ]
        return f"the chain of {', '.join(chain)} is stretched or folded"
    constraint_rows(*workspace.arguments)
    carried = np.abs(np.linalg.lstsq((workspace.A * columns).T, -load, rcond=1e-9)[0])
    parts: dict[str, float] = {}
    for name, part in zip(mechanism.row_names, carried.tolist(), strict=True):
        closure = name.rpartition(".")[0]
        parts[closure] = max(part, parts.get(closure, 0.0))
    names = [name for name, part in parts.items() if part > 0.5 * max(parts.values())]
    return f"the loop closed by {' and by '.join(names)} is stretched or folded"


def light_joints(machine: Machine, walked: Walk, sample: int) -> list[str]:
    """Return the joints of the motion that has the least inertia at a sample, relative to their own."""
    mechanism, q = walked.under(machine, sample).mechanism, walked.q[sample]
    mass = mass_matrix(mechanism, q)
    own = np.sqrt(np.diag(mass))
    motions = np.linalg.qr(admitted_velocities(mechanism, q) * own[:, None])[0]
    lightest = np.abs(motions @ np.linalg.eigh(motions.T @ (mass / np.outer(own, own)) @ motions)[1][:, 0])
    return [mechanism.joint_names[column] for column in np.flatnonzero(lightest > 0.3 * lightest.max())]


def independent(mechanism: Mechanism, chosen: Sequence[int], q: Floats) -> bool:
    """Whether the coordinates are independent in general: at q (nq), or at one of a few other poses."""
    return any(rank_of(mechanism, chosen, pose) == len(chosen) for pose in _poses(mechanism, q))


def rank_of(mechanism: Mechanism, chosen: Sequence[int], q: Floats) -> int:
    """Return how many of the coordinates are independent at q (nq)."""
    jacobian = np.nan_to_num(scaled_jacobian(mechanism, chosen, q))
    return int(np.count_nonzero(np.linalg.svd(jacobian, compute_uv=False) > DEPENDENT_BELOW))


def _poses(mechanism: Mechanism, q: Floats) -> list[Floats]:
    """q and, where no constraint would have to be met, a few other poses."""
    if mechanism.constraints:
        return [q]
    away = 0.37 * np.sin(1.0 + np.arange(mechanism.nq))
    return [q + share * away for share in (0.0, 1.0, -1.0, 2.0)]


Closest = dict[str, float | int] | None


def closest(walked: Walk, values: Floats | None, limit: float | None = None) -> Closest:
    """Return the smallest of these values (samples), its `sample`, `time_s` and, where given, the `limit`."""
    if values is None or not len(values):
        return None
    sample = int(np.argmin(values))
    found: dict[str, float | int] = {"smallest": float(values[sample]), "sample": sample}
    found["time_s"] = float(walked.s[sample])
    return found if limit is None else {**found, "limit": limit}


def singularities(walked: Walk, goal: Closest) -> dict[str, Any]:
    """The report's entry of this name: `goal`, `closures` and `motors`, each None where it does not apply.

    `goal`: the scaled Jacobian of the goal's coordinates, as found before. `closures`: smallest singular
    value of the closures' scaled rows, of their ordinary size; 0 at a pose where branches meet. `motors`: the
    motors' leverage.
    """
    return {
        "goal": goal,
        "closures": closest(walked, walked.closures),
        "motors": closest(walked, walked.leverage, LEAST_LEVERAGE),
    }
