"""The constraints of a state for people: residuals, rows and their rate, singular values, P and C.

Everything that compares sizes is in scaled rows and velocities (`row_scale`, `velocity_scale`), where a
typical length of the machine equals one radian: v = velocity_scale · v^, Φ^ = row_scale · Φ.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.multibody.dynamics.constrained_dynamics import constrained_terms
from linkwork.multibody.formulations.projector import Way, projector, projector_rate, pseudo_inverse
from linkwork.multibody.functions import workspace_at
from linkwork.multibody.kernels import layout
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.tree.rotations import move_by
from linkwork.multibody.workspace import Workspace

_STEP = 1e-3


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Φ (`phi`, nr), A v + Φ_t (`phi_rate`, nr), `A` (nr × nv) and `b` (nr) of A v̇ = b, in SI units.

    `rank` is that of the one decision that all formulations share, `singular_values` (largest first) are of
    the scaled rows, `row_scale` (nr) · A · `velocity_scale` (nv).
    """

    phi: Floats
    phi_rate: Floats
    A: Floats
    b: Floats
    rank: int
    singular_values: Floats
    row_scale: Floats
    velocity_scale: Floats

    @property
    def scaled_rows(self) -> Floats:
        """The rows in which the rank was decided, nr × nv."""
        return self.row_scale[:, None] * self.A * self.velocity_scale


@dataclass(frozen=True, eq=False)
class Projection:
    """Projectors of scaled velocities: `P` (nv × nv) onto the admitted ones, `C` = dP/dt, and c = A⁺ b (nv).

    (1 - P) v̇ = c, and C v = c where nothing is prescribed in time; `velocity_scale` (nv) as in `Evaluation`.
    """

    P: Floats
    C: Floats
    c: Floats
    rank: int
    velocity_scale: Floats


def constraint_evaluation(mechanism: Mechanism, q: npt.ArrayLike, v: npt.ArrayLike) -> Evaluation:
    """Return Φ, A v + Φ_t, A, b and the rank at a state q (nq; rad, m), v (nv).

    Raises ValueError for wrong lengths.
    """
    return _evaluated(workspace_at(mechanism, q, v))


def _evaluated(w: Workspace) -> Evaluation:
    constrained_terms(*w.arguments)
    rows = w.model.row_scale
    columns = w.model.column_scale
    values = np.linalg.svd(rows[:, None] * w.A * columns, compute_uv=False)
    return Evaluation(
        w.phi.copy(),
        w.phi_rate.copy(),
        w.A.copy(),
        w.b.copy(),
        int(w.ranking[layout.RANK] - w.ranking[layout.REPLACED]),
        np.asarray(values, dtype=np.float64),
        rows,
        columns,
    )


def row_rates(mechanism: Mechanism, q: npt.ArrayLike, v: npt.ArrayLike) -> Floats:
    """Ȧ (nr × nv) along v, by differences of A at five points, whose error is about 1e-11 of A."""
    w = workspace_at(mechanism, q, v)
    start, speed = w.q.copy(), float(np.linalg.norm(w.v))
    rate = np.zeros_like(w.A)
    if speed == 0.0:
        return rate
    direction = w.v / speed
    for reach, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
        w.q[:] = start
        move_by(w.model, w.q, direction, reach * _STEP)
        constrained_terms(*w.arguments)
        rate += weight * speed / (12.0 * _STEP) * w.A
    return rate


def projection(mechanism: Mechanism, q: npt.ArrayLike, v: npt.ArrayLike, by: Way = "svd") -> Projection:
    """Return P (nv × nv), C and c at a state q (nq), v (nv), computed by "svd" or "pseudo_inverse".

    Aghili 2005: P = 1 - A⁺A, C = dP/dt, c = A⁺ b. Raises ValueError for wrong lengths and names.
    """
    found = _evaluated(workspace_at(mechanism, q, v))
    a, rank = found.scaled_rows, found.rank
    a_rate = found.row_scale[:, None] * row_rates(mechanism, q, v) * found.velocity_scale
    return Projection(
        projector(a, rank, by),
        projector_rate(a, a_rate, rank, by),
        pseudo_inverse(a, rank, by) @ (found.row_scale * found.b),
        rank,
        found.velocity_scale,
    )
