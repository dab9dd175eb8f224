"""Velocities at a pose where branches of the closure meet: those of one branch.

There the rows admit more velocities than the motion has. Along a motion Φ stays zero to second order too,
so that for every combination of rows with u'A = 0

    u'(A v̇ + Ȧ v) = 0      hence      u'Ȧ v = -u'b(v) = 0,

quadratic equations for v. Their solutions are the tangents of the branches. Where prescribed values move,
their terms are part of b.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.formulations.assembly import decide_rank, field_of
from linkwork.multibody.functions import _set
from linkwork.multibody.kernels import layout
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.tree.dynamics import dynamics

STARTS = 64
"""Places from which tangents are sought, the same each time."""
_SOLVED, _SAME, _STEPS = 1e-11, 1e-6, 60


@dataclass(frozen=True)
class Tangents:
    """The quadratic equations y'H y + l'y + c = 0 of the velocities v = driven + basis y.

    `basis` (nv × free) and `driven` (nv) are those that the rows admit, `curvature` (equations × free ×
    free), `slope` (equations × free), `constant` (equations), `mass` (nv × nv).
    """

    basis: Floats
    driven: Floats
    curvature: Floats
    slope: Floats
    constant: Floats
    mass: Floats

    def velocity(self, y: Floats) -> Floats:
        """The velocity (nv) of coordinates y (free)."""
        return np.asarray(self.driven + self.basis @ y)

    def open_by(self, y: Floats) -> Floats:
        """Return the residual (equations) of the quadratic equations for y (free)."""
        return np.asarray((self.curvature @ y + self.slope) @ y + self.constant)


def tangents(
    mechanism: Mechanism, q: npt.ArrayLike, ordinary_rank: int, driven: npt.ArrayLike
) -> Tangents | None:
    """The equations at a pose q (nq) on the manifold; None where no branches meet.

    driven: a velocity (nv) with A v = -Φ_t, zero where no prescribed value moves.
    """
    decision = decide_rank(mechanism, q, ordinary_rank)
    if decision.rank == ordinary_rank:
        return None
    w = mechanism.workspace()
    _set("q", w.q, q)
    rows, columns = field_of(w, layout.ROW_SCALE), field_of(w, layout.COLUMN_SCALE)
    base, basis = np.array(driven, dtype=np.float64), columns[:, None] * decision.basis
    free = basis.shape[1]
    w.v[:] = base
    dynamics(*w.arguments)
    constraint_rows(*w.arguments)
    left = np.linalg.svd(rows[:, None] * w.A * columns)[0][:, decision.rank :].T * rows
    mass = w.M.copy()

    def second(y: Floats) -> Floats:
        w.v[:] = base + basis @ y
        dynamics(*w.arguments)
        constraint_rows(*w.arguments)
        return np.asarray(left @ w.b)

    unit, constant = np.eye(free), second(np.zeros(free))
    ahead = np.array([second(e) for e in unit]).T
    back = np.array([second(-e) for e in unit]).T
    curvature = np.empty((len(left), free, free))
    for i in range(free):
        curvature[:, i, i] = 0.5 * (ahead[:, i] + back[:, i]) - constant
        for j in range(i):
            both = second(unit[i] + unit[j]) - ahead[:, i] - ahead[:, j] + constant
            curvature[:, i, j] = curvature[:, j, i] = 0.5 * both
    return Tangents(basis, base, curvature, 0.5 * (ahead - back), constant, mass)


def branch_velocities(
    equations: Tangents, rows: npt.ArrayLike, values: npt.ArrayLike, near: npt.ArrayLike
) -> list[Floats]:
    """Velocities (nv) of branches with `rows` v = `values`, the nearest to `near` in kinetic energy first.

    The search begins at the velocity `near` and at random; not every branch of many need be found.
    """
    held, wanted = np.atleast_2d(rows), np.atleast_1d(np.asarray(values, dtype=np.float64))
    mapped = held @ equations.basis
    asked = wanted - held @ equations.driven
    found: list[tuple[float, Floats]] = []
    near = np.asarray(near, dtype=np.float64)
    for start in _starts(equations, mapped, asked, near):
        y = _solved(equations, mapped, asked, start)
        if y is None:
            continue
        v = equations.velocity(y)
        size = max(1e-300, float(np.abs(v).max()))
        if all(np.abs(v - other).max() > _SAME * size for _, other in found):
            found.append((float((v - near) @ equations.mass @ (v - near)), v))
    farthest = max((distance for distance, _ in found), default=0.0)
    found.sort(key=lambda one: round(one[0] / max(1e-300, farthest), 9))
    return [v for _, v in found]


def _starts(equations: Tangents, mapped: Floats, asked: Floats, near: Floats) -> Iterator[Floats]:
    """Velocities that keep the given ones: nearest to `near`, then at random beside it, of similar size."""
    rng, free = np.random.default_rng(0), equations.basis.shape[1]
    particular = np.linalg.lstsq(mapped, asked, rcond=1e-9)[0]
    rest = np.eye(free) - np.linalg.pinv(mapped, rcond=1e-9) @ mapped
    own = np.linalg.lstsq(equations.basis, near - equations.driven, rcond=None)[0]
    size = max(1e-12, float(np.linalg.norm(particular)), float(np.linalg.norm(equations.driven)))
    yield particular + rest @ (own - particular)
    for _ in range(STARTS):
        yield particular + rest @ rng.normal(size=free) * size


def _solved(equations: Tangents, mapped: Floats, asked: Floats, y: Floats) -> Floats | None:
    """A solution near y by Newton's method with least squares, damped; None where there is none."""
    damping = 1e-3
    size = max(1e-300, float(np.linalg.norm(y)), float(np.linalg.norm(asked)))
    left = _residual(equations, mapped, asked, y, size)
    for _ in range(_STEPS):
        if np.abs(left).max() <= _SOLVED:
            return y
        slope = np.vstack([(2.0 * equations.curvature @ y + equations.slope) / size**2, mapped / size])
        square = slope.T @ slope
        step = np.linalg.solve(
            square + damping * max(1e-300, float(np.trace(square))) * np.eye(len(y)), -slope.T @ left
        )
        now = _residual(equations, mapped, asked, y + step, size)
        if np.linalg.norm(now) < np.linalg.norm(left):
            y, left, damping = y + step, now, max(1e-15, 0.1 * damping)
        else:
            damping = min(1e3, 10.0 * damping)
    return y if np.abs(left).max() <= _SOLVED else None


def _residual(equations: Tangents, mapped: Floats, asked: Floats, y: Floats, size: float) -> Floats:
    return np.concatenate([equations.open_by(y) / size**2, (mapped @ y - asked) / size])
