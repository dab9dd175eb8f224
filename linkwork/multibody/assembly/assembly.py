"""Finding a consistent state: q on the manifold of all constraints near a given one, v admitted by them.

Rows on the level of velocities (rolling) have no say in the position, and all of it in the velocity.
"""

import math
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.multibody.closure.rank import ENTERED, NOISE, admitted, factor, factor_beyond, scaled_right_side
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.constrained_dynamics import least_motion
from linkwork.multibody.dynamics.projection import correct_velocity, position_residual
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.functions import set_array
from linkwork.multibody.kernels import layout
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.tree.rotations import move_by
from linkwork.multibody.workspace import Workspace

LONGEST = 0.5
"""Longest single correction, in scaled velocities (about half a radian)."""
_STALLED = 0.5
"""Share of a residual that an iteration leaves where it has stalled, and that short directions then hold."""
_FINER = 0.1
_POLISHING = 4


_MOST_TURNED = 0.1
"""Angle (rad) between frames that a closure holds in one orientation, beyond which they count as turned."""


class AssemblyError(ValueError):
    """The constraints cannot be met near the given q.

    `residual` is the largest scaled |Φ| reached (not a number where Φ or A is none), `rows` the names of the
    rows that remain open. With `of_velocity`, it is the largest scaled |A v + Φ_t| that any v leaves.
    """

    def __init__(self, residual: float, rows: tuple[str, ...], *, of_velocity: bool = False) -> None:
        """Make the message with the residual."""
        self.of_velocity = of_velocity
        gap = f"remain open, by up to {residual:.3g} (in typical lengths, or radians)"
        if not math.isfinite(residual):
            gap = "are not defined here"
        text = f"the constraints cannot be met near this pose: {', '.join(rows)} {gap}. "
        text += "Check lengths and frames, or start nearer"
        if of_velocity:
            text = f"no velocity meets all constraints at this pose: {', '.join(rows)} {gap} per second"
        super().__init__(text)
        self.residual, self.rows = residual, rows


@dataclass(frozen=True)
class AssembledState:
    """A consistent state.

    `q` (nq), `v` (nv), the largest scaled |Φ| left, Newton's iterations, the rank here, and the rank in the
    neighbourhood, which is larger at a branch pose.
    """

    q: Floats
    v: Floats
    residual: float
    iterations: int
    rank: int
    ordinary_rank: int


@dataclass(frozen=True)
class RankDecision:
    """The decision of rank.py in one pose.

    `rank` of the rows that are kept, `ordinary_rank` of the poses around (larger at a branch pose), and the
    `basis` of the admitted velocities (nv × dof, orthonormal in scaled units). Of the singular values of the
    scaled `rows` over the reference size, `limit` lies between those that count and those that are dropped.
    """

    rank: int
    ordinary_rank: int
    basis: Floats
    rows: Floats
    limit: float

    @property
    def smallest(self) -> float:
        """The smallest singular value that counts; infinite where none does."""
        return float(self._values[self.rank - 1]) if self.rank else math.inf

    @property
    def largest_dropped(self) -> float:
        """The largest singular value that is round-off or redundant; 0 where there are none."""
        return float(self._values[min(self.ordinary_rank, len(self._values) - 1)])

    @cached_property
    def _values(self) -> Floats:
        return np.append(np.linalg.svd(self.rows, compute_uv=False), 0.0)


def assemble(
    mechanism: Mechanism,
    q: npt.ArrayLike,
    v: npt.ArrayLike | None = None,
    tolerance: float = 1e-12,
    most: int = 100,
) -> AssembledState:
    """Find the consistent state near q (nq; rad, m) and v (nv; None: 0) by Newton's method in the mass
    metric.

    Each step is the pseudo-inverse solution of A δ = -Φ (Aghili 2005, drift removal). Raises AssemblyError
    where the largest scaled |Φ| is above `tolerance` after `most` iterations, ValueError for wrong lengths.
    """
    w = mechanism.workspace()
    set_array("q", w.q, q)
    if v is not None:
        set_array("v", w.v, v)
    return assemble_workspace(mechanism, w, tolerance, most)


def assemble_workspace(
    mechanism: Mechanism, w: Workspace, tolerance: float = 1e-12, most: int = 100
) -> AssembledState:
    """Assemble a workspace in place, with its state, targets and switches; its ordinary rank is set.

    tolerance: largest scaled residual |Φ| of an assembled pose (typical lengths or rad); most: iterations.
    Raises AssemblyError.
    """
    w.ranking[:] = 0.0
    iterations = _close(mechanism, w, tolerance, most)
    w.ranking[:] = 0.0
    _prepare(w)
    rank = int(w.ranking[layout.RANK])
    ordinary = max(int(w.ranking[layout.ORDINARY]), _ordinary_rank(mechanism, w, tolerance, most))
    w.ranking[:] = 0.0
    _prepare(w)
    w.ranking[layout.ORDINARY] = ordinary
    if math.isnan(_prepare(w)):
        raise _not_closed(mechanism, w, math.nan, tolerance)
    turned, angle = _turned(mechanism, w)
    if turned:
        raise AssemblyError(angle, turned)
    correct_velocity(*w.arguments)
    constraint_rows(*w.arguments)
    return AssembledState(w.q.copy(), w.v.copy(), position_residual(*w.arguments), iterations, rank, ordinary)


def _turned(mechanism: Mechanism, w: Workspace) -> tuple[tuple[str, ...], float]:
    """Return the rows of closures whose frames are turned against each other, and the largest angle (rad).

    Three rows of perpendicular axes hold an orientation. They vanish also where the axes of one frame are
    permuted or reversed, which is no pose of a weld or a slide.
    """
    axes = w.axes.reshape(-1, 3, 3)
    frames = w.model.frame_axes.reshape(-1, 2, 3, 3)
    links = np.column_stack([w.model.link_a, w.model.link_b])
    rows, largest = list[str](), 0.0
    for k, constraint in enumerate(mechanism.constraints):
        holds = sum(row.kind == layout.PERPENDICULAR for row in constraint.rows) == 3
        if not holds or w.on[k] == 0.0:
            continue
        a, b = (
            frame if link < 0 else frame @ axes[link] for frame, link in zip(frames[k], links[k], strict=True)
        )
        angle = math.acos(min(1.0, max(-1.0, (float((a * b).sum()) - 1.0) / 2.0)))
        if angle > _MOST_TURNED:
            rows += [f"{constraint.name}.{row.name}" for row in constraint.rows]
            largest = max(largest, angle)
    return tuple(rows[:3]), largest


def _prepare(w: Workspace) -> float:
    dynamics(*w.arguments)
    constraint_rows(*w.arguments)
    if not np.isfinite(w.A).all():
        return math.nan
    factor(*w.arguments)
    return float(position_residual(*w.arguments))


def _not_closed(mechanism: Mechanism, w: Workspace, residual: float, tolerance: float) -> AssemblyError:
    """The error that names the worst rows: those that are not defined, else the most open ones."""
    phi = np.where(np.isfinite(w.A).all(axis=1), np.abs(w.phi), np.nan)
    worst = np.argsort(-np.where(np.isfinite(phi), phi, np.inf))[:3]
    if not math.isfinite(residual):
        worst = np.flatnonzero(~np.isfinite(phi))[:3]
    return AssemblyError(
        residual, tuple(mechanism.row_names[i] for i in sorted(worst) if not phi[i] <= tolerance)
    )


def _close(mechanism: Mechanism, w: Workspace, tolerance: float, most: int) -> int:
    """Newton's method with limited steps and a line search on the residual; return the iterations."""
    w.level[0] = 1.0
    try:
        return _close_positions(mechanism, w, tolerance, most)
    finally:
        w.level[0] = 0.0


def _close_positions(mechanism: Mechanism, w: Workspace, tolerance: float, most: int) -> int:
    """Newton's method, at first without the short directions.

    Beside the manifold, dependent rows look independent in directions as short as their residual. So short
    ones join only where the iteration stalls and they hold what remains open.
    """
    limit, residual = ENTERED, _evaluate(w)
    for iteration in range(most):
        if residual <= tolerance:
            return iteration + _polish(mechanism, w, residual)
        if not math.isfinite(residual):
            raise _not_closed(mechanism, w, residual, tolerance)
        before = residual
        residual = _correct(mechanism, w, limit, before)
        beyond = w.ranking[layout.INCONSISTENCY] > _STALLED * before
        if residual > _STALLED * before and beyond and limit > mechanism.rank_tolerance:
            limit = max(mechanism.rank_tolerance, _FINER * limit)
    raise _not_closed(mechanism, w, residual, tolerance)


def _correct(mechanism: Mechanism, w: Workspace, limit: float, residual: float) -> float:
    """One step of Newton, shortened until the residual falls; return the residual then."""
    columns = w.model.column_scale
    shift, zero = np.zeros(mechanism.nv), np.zeros(mechanism.nv)
    w.ranking[layout.RANK] = factor_beyond(*w.arguments, limit)
    scaled_right_side(*w.arguments, -1.0, w.phi)
    least_motion(*w.arguments, zero, shift)
    start, reach = w.q.copy(), min(1.0, LONGEST / max(1e-300, float(np.abs(shift / columns).max())))
    while True:
        w.q[:] = start
        move_by(w.model, w.q, shift, reach)
        now = _evaluate(w)
        if now < residual or reach < 1e-3:
            return now
        reach *= 0.5


def _polish(mechanism: Mechanism, w: Workspace, residual: float) -> int:
    """Iterate down to round-off, in short directions too; return the iterations."""
    for iteration in range(_POLISHING):
        before, limit = w.q.copy(), min(ENTERED, max(mechanism.rank_tolerance, NOISE * residual))
        now = _correct(mechanism, w, limit, residual) if residual > 0.0 else residual
        if not now < _STALLED * residual:
            w.q[:] = before
            _evaluate(w)
            return iteration
        residual = now
    return _POLISHING


def _evaluate(w: Workspace) -> float:
    """Renew M and the rows; return the largest scaled |Φ|, not a number where the rows are none."""
    dynamics(*w.arguments)
    constraint_rows(*w.arguments)
    return float(position_residual(*w.arguments)) if np.isfinite(w.A).all() else math.nan


def decide_rank(
    mechanism: Mechanism, q: npt.ArrayLike, ordinary_rank: int = 0, *, positions: bool = False
) -> RankDecision:
    """The decision on the rank in a pose q (nq) that obeys the constraints.

    An `ordinary_rank` that is not known (0) is decided here. For `positions`, rows on the level of velocities
    (rolling) are left out: they admit any displacement.
    """
    w = mechanism.workspace()
    set_array("q", w.q, q)
    w.level[0], w.ranking[layout.ORDINARY] = float(positions), ordinary_rank
    _prepare(w)
    admitted(*w.arguments)
    rank, ordinary = int(w.ranking[layout.RANK]), int(w.ranking[layout.ORDINARY])
    columns, rows = w.model.column_scale, w.model.row_scale
    basis = np.linalg.qr((w.basis[: mechanism.nv - rank] / columns).T)[0]
    scaled = rows[:, None] * w.A * columns / w.model.reference_size[0]
    limit = max(mechanism.rank_tolerance, min(ENTERED, NOISE * float(position_residual(*w.arguments))))
    return RankDecision(rank, ordinary, basis, scaled, limit)


def _ordinary_rank(mechanism: Mechanism, w: Workspace, tolerance: float, most: int) -> int:
    """Return the largest rank at a few poses of the manifold close by; the pose stays, its rows do not."""
    rng, best = np.random.default_rng(0), 0
    pose, ranking = w.q.copy(), w.ranking.copy()
    for _ in range(4):
        w.q[:], w.ranking[:] = pose, ranking
        move_by(w.model, w.q, w.model.column_scale * rng.normal(size=mechanism.nv), 0.02)
        with suppress(AssemblyError):
            _close(mechanism, w, max(tolerance, 1e-10), most)
            w.ranking[:] = 0.0
            _prepare(w)
            best = max(best, int(w.ranking[layout.ORDINARY]))
    w.q[:] = pose
    return best


def switch(mechanism: Mechanism, w: Workspace, name: str, on: bool) -> float:
    """Switch a constraint on or off in a running workspace; return the energy (J) lost to the impulse.

    Switching on makes v jump, v⁺ = v⁻ - M⁻¹ A' (A M⁻¹ A')⁺ (A v⁻ + Φ_t), and closes the gap in position, if
    any. Raises ModelError for an unknown name, AssemblyError where the gap cannot be closed.
    """
    w.on[mechanism.constraint_index(name)] = float(on)
    _close(mechanism, w, 1e-12, 50)
    w.ranking[[layout.ORDINARY, layout.LOST, layout.EXAMINED, layout.MEETING]] = 0.0
    _prepare(w)
    return float(correct_velocity(*w.arguments))
