"""The constrained acceleration of a state behind one interface, with its residuals; for people and tests."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.multibody.dynamics.other_formulations import FORMULATIONS, constrained_forward_dynamics
from linkwork.multibody.formulations.projector import ASSEMBLIES, assembled, saddle_point
from linkwork.multibody.functions import workspace_at
from linkwork.multibody.kernels import layout
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.workspace import Workspace

Formulation = Literal["projected", "udwadia_kalaba", "lagrange", "kkt", "plain", "symmetric", "scaled"]


REFERENCES = ("kkt", *ASSEMBLIES)
"""Formulations in plain numpy."""


class RedundantRows(ValueError):
    """Rows of constraints that depend on others, where a formulation needs independent ones.

    `rank` of the rows, their number `active`, and the names of dependent `rows`.
    """

    def __init__(self, rank: int, active: int, rows: tuple[str, ...], who: str = "lagrange") -> None:
        """Make the message: the number of rows, and those that depend on others."""
        super().__init__(
            f"{who} needs independent rows, but the {active} rows have rank {rank} here; dependent on the "
            f'others: {", ".join(rows)}. Switch them off, or use "projected" or "udwadia_kalaba"'
        )
        self.rank, self.active, self.rows = rank, active, rows


@dataclass(frozen=True)
class Acceleration:
    """M v̇ = r + Fc and A v̇ = b at one state.

    `vdot` (nv), `constraint_force` (nv, Fc, acting on the mechanism), `multipliers` (nr, the shortest in
    scaled rows), `rank`, `smallest` and `dropped` singular values over the reference size, `lost` and
    `replaced` rows of a branch pose; residuals: largest |A v̇ - b|, and largest |M v̇ - r - A'λ|.
    `condition`: of the matrix K of an assembly (plain, symmetric, scaled; 2-norm, scaled velocities), else
    None.
    """

    vdot: Floats
    constraint_force: Floats
    multipliers: Floats
    rank: int
    smallest: float
    dropped: float
    lost: int
    replaced: int
    residual_rows: float
    residual_forces: float
    condition: float | None = None


def acceleration(
    mechanism: Mechanism,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    effort: npt.ArrayLike | None = None,
    formulation: Formulation = "projected",
    ordinary_rank: int = 0,
    gamma: float | None = None,
) -> Acceleration:
    """Constrained acceleration v̇ (nv), constraint force Fc (nv) and multipliers λ (nr) at a state.

    Reference paths in plain numpy: plain, symmetric and scaled are Aghili's assemblies by SVD, kkt solves the
    saddle-point system. `ordinary_rank`, the rank away from branch poses, distinguishes them from redundancy.
    `gamma` is that of `scaled`, in kg m² (scaled velocities); None: of the size of M. Raises RedundantRows
    where `lagrange` or `kkt` is asked for dependent rows, ValueError for wrong lengths and names.
    """
    if formulation not in FORMULATIONS and formulation not in REFERENCES:
        known = ", ".join([*FORMULATIONS, *REFERENCES])
        raise ValueError(f"there is no formulation {formulation!r}; known: {known}")
    w = workspace_at(mechanism, q, v, effort)
    w.ranking[layout.ORDINARY] = ordinary_rank
    w.choice[0] = FORMULATIONS.get(formulation, 0)
    return accelerate(mechanism, w, formulation, gamma)


def accelerate(
    mechanism: Mechanism,
    w: Workspace,
    formulation: Formulation = "projected",
    gamma: float | None = None,
) -> Acceleration:
    """Compute `acceleration` in place for state, effort, targets and switches of a workspace.

    formulation, gamma, errors: as of `acceleration`.
    """
    w.choice[0] = FORMULATIONS.get(formulation, 0)
    constrained_forward_dynamics(*w.arguments)
    if formulation in ("lagrange", "kkt"):
        _refuse_redundancy(mechanism, w, formulation)
    r = w.effort + w.friction + w.compliant - w.h
    condition = _by_reference(w, r, formulation, gamma) if formulation in REFERENCES else None
    ranking = w.ranking
    return Acceleration(
        w.vdot.copy(),
        w.constraint_force.copy(),
        w.multipliers.copy(),
        int(ranking[layout.RANK]),
        float(ranking[layout.SMALLEST]),
        float(ranking[layout.DROPPED]),
        int(ranking[layout.LOST]),
        int(ranking[layout.REPLACED]),
        float(np.abs(w.A @ w.vdot - w.b).max(initial=0.0)),
        float(np.abs(w.M @ w.vdot - r - w.A.T @ w.multipliers).max()),
        condition,
    )


def _by_reference(w: Workspace, r: Floats, formulation: Formulation, gamma: float | None) -> float | None:
    """In scaled rows and velocities, where P is orthogonal. Return the condition number of an assembly."""
    rows = w.model.row_scale
    columns = w.model.column_scale
    a = rows[:, None] * w.A * columns
    mass = columns[:, None] * w.M * columns
    if formulation == "kkt":
        active = np.abs(a).max(axis=1, initial=0.0) > 0.0
        vdot, multipliers = saddle_point(mass, columns * r, a[active], (rows * w.b)[active])
        w.vdot[:] = columns * vdot
        w.multipliers[:] = 0.0
        w.multipliers[active] = rows[active] * multipliers
        w.constraint_force[:] = w.A.T @ w.multipliers
        return None
    rank = int(w.ranking[layout.RANK] - w.ranking[layout.REPLACED])
    found = assembled(mass, columns * r, a, rows * w.b, rank, formulation, gamma)  # type: ignore[arg-type]  # checked by the caller
    w.vdot[:] = columns * found.acceleration
    w.constraint_force[:] = found.constraint_force / columns
    return float(np.linalg.cond(found.matrix))


def _refuse_redundancy(mechanism: Mechanism, w: Workspace, who: str) -> None:
    rank, names = int(w.ranking[layout.RANK]), []
    m = w.model
    active = [
        i
        for on, first, count in zip(w.on, m.first_row, m.row_count, strict=True)
        if on
        for i in range(first, first + count)
    ]
    if rank == len(active) and not w.ranking[layout.REPLACED]:
        return
    kept: list[Floats] = []
    for i in active:
        row = w.A[i]
        for other in kept:
            row = row - (other @ row) * other
        size = float(np.linalg.norm(row))
        if size > 1e-6 * max(1e-300, float(np.abs(w.A).max())):
            kept.append(row / size)
        else:
            names.append(mechanism.row_names[i])
    raise RedundantRows(rank, len(active), tuple(names), who)
