"""Velocities at a pose where branches of the closure meet: those of one branch.

There the rows admit more velocities than the motion has. Along a motion Φ stays zero to second order too,
so that for every combination of rows with u'A = 0

    u'(A v̇ + Ȧ v) = 0      hence      u'Ȧ v = -u'b(v) = 0,

quadratic equations for v. Their solutions are the tangents of the branches. Where prescribed values move,
their terms are part of b. With the given speeds kept, the equations of few lost rows have finitely many
solutions: all are found by continuation from those of z_i² = 1 (Morgan 1987, Solving polynomial systems),
double ones are refined on the derivative that vanishes with them (Leykin, Verschelde & Zhao 2006).

Where the form u'Ȧ v of some u has one sign, it allows no motion along a branch that regains the row: the
closure u'Φ holds to second order only, and its force is undetermined.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.multibody.assembly.assembly import decide_rank
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.functions import set_array
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.workspace import Workspace

STARTS = 64
"""Places from which tangents are sought, the same each time."""
_SOLVED, _SAME, _STEPS = 1e-11, 1e-6, 60
_MOST_PATHS = 6
"""Unknowns up to which all solutions (two to that power) are followed; more are sought from starts."""
SHORT = 1e-5
"""Singular value (scaled rows, 1 is ordinary) below which a row may hold to second order only."""
_FLAT, _NEARLY = 1e-6, 1e-5
_END, _STRIDE = 1e-10, 0.03
"""Where paths end, and the change of a point on them in one step."""


@dataclass(frozen=True)
class BranchTangents:
    """The quadratic equations y'H y + l'y + c = 0 of the velocities v = driven + basis y.

    `basis` (nv × free) and `driven` (nv) are those that the rows admit, `curvature` (equations × free ×
    free), `slope` (equations × free), `constant` (equations), `mass` (nv × nv), and
    `combinations` of rows (equations × rows).
    """

    basis: Floats
    driven: Floats
    curvature: Floats
    slope: Floats
    constant: Floats
    mass: Floats
    combinations: Floats

    def velocity(self, y: Floats) -> Floats:
        """The velocity (nv) of coordinates y (free)."""
        return np.asarray(self.driven + self.basis @ y)

    def open_by(self, y: Floats) -> Floats:
        """Return the residual (equations) of the quadratic equations for y (free)."""
        return np.asarray((self.curvature @ y + self.slope) @ y + self.constant)


def tangents(
    mechanism: Mechanism, q: npt.ArrayLike, ordinary_rank: int, driven: npt.ArrayLike
) -> BranchTangents | None:
    """The equations at a pose q (nq) on the manifold; None where no branches meet.

    driven: a velocity (nv) with A v = -Φ_t, zero where no prescribed value moves.
    """
    decision = decide_rank(mechanism, q, ordinary_rank)
    return None if decision.rank == ordinary_rank else _expanded(mechanism, q, decision.rank, driven)


def second_order_closures(mechanism: Mechanism, q: npt.ArrayLike) -> tuple[str, ...]:
    """Return the constraints that hold to second order only at a pose q (nq): they keep what no row keeps.

    Their forces, and the work of prescribed motions that these carry, are undetermined there.
    """
    w = mechanism.workspace()
    set_array("q", w.q, q)
    dynamics(*w.arguments)
    constraint_rows(*w.arguments)
    sizes = np.linalg.svd(_scaled(w), compute_uv=False) / w.model.reference_size[0]
    rank = int(np.count_nonzero(sizes > SHORT))
    if rank == len(mechanism.row_names) or rank == mechanism.nv:
        return ()
    found = _expanded(mechanism, q, rank, np.zeros(mechanism.nv))
    owner = [constraint.name for constraint in mechanism.constraints for _ in constraint.rows]
    names: dict[str, None] = {}
    for turned in _apart(found.combinations / w.model.row_scale):
        bends = np.linalg.eigvalsh(np.tensordot(turned, found.curvature, 1))
        share = np.abs(turned @ found.combinations)
        flat = _FLAT * max(1.0, float(np.abs(bends).max()))
        if np.abs(bends).max() > flat and (bends.min() > -flat or bends.max() < flat):
            names |= {
                name: None for name, part in zip(owner, share, strict=True) if part > _FLAT * share.max()
            }
    return tuple(names)


def _apart(combinations: Floats) -> Floats:
    """Return the combinations (equations × equations) of these rows by which each has rows of its own."""
    left, turned = combinations.copy(), np.eye(len(combinations))
    for i in range(len(left)):
        pivot = i + int(np.abs(left[i:]).max(axis=1).argmax())
        left[[i, pivot]], turned[[i, pivot]] = left[[pivot, i]], turned[[pivot, i]]
        k = int(np.abs(left[i]).argmax())
        turned[i], left[i] = turned[i] / left[i, k], left[i] / left[i, k]
        others = [j for j in range(len(left)) if j != i]
        turned[others] -= np.outer(left[others, k], turned[i])
        left[others] -= np.outer(left[others, k], left[i])
    return turned


def _scaled(w: Workspace) -> Floats:
    return np.asarray(w.model.row_scale[:, None] * w.A * w.model.column_scale)


def _expanded(mechanism: Mechanism, q: npt.ArrayLike, rank: int, driven: npt.ArrayLike) -> BranchTangents:
    """Return the quadratic equations of all but the `rank` longest directions of the rows."""
    w = mechanism.workspace()
    set_array("q", w.q, q)
    base = np.array(driven, dtype=np.float64)
    w.v[:] = base
    dynamics(*w.arguments)
    constraint_rows(*w.arguments)
    left, _, admitted = np.linalg.svd(_scaled(w))
    left = left[:, rank:].T * w.model.row_scale
    basis = w.model.column_scale[:, None] * admitted[rank:].T
    free = basis.shape[1]
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
    return BranchTangents(basis, base, curvature, 0.5 * (ahead - back), constant, mass, left)


def branch_velocities(
    equations: BranchTangents, rows: npt.ArrayLike, values: npt.ArrayLike, near: npt.ArrayLike
) -> list[Floats]:
    """Velocities (nv) of branches with `rows` v = `values`, the nearest to `near` in kinetic energy first.

    They are distinct. With more than six lost rows, not every branch of many need be found.
    """
    held, wanted = np.atleast_2d(rows), np.atleast_1d(np.asarray(values, dtype=np.float64))
    mapped, near = held @ equations.basis, np.asarray(near, dtype=np.float64)
    asked, beside = wanted - held @ equations.driven, near - equations.driven
    given = np.asarray(np.linalg.lstsq(mapped, asked, rcond=1e-9)[0], dtype=np.float64)
    own = np.asarray(np.linalg.lstsq(equations.basis, beside, rcond=None)[0], dtype=np.float64)
    sizes_of = [float(np.linalg.norm(each)) for each in (given, equations.driven, 1e-6 * own)]
    size = max(sizes_of)
    if size == 0.0:
        return [equations.velocity(given)]
    _, sizes, across = np.linalg.svd(mapped)
    rest = across[int(np.count_nonzero(sizes > 1e-9 * max(sizes.max(initial=0.0), 1e-300))) :].T
    system = _Quadratics.of(equations, given, size * rest)
    found: list[tuple[float, Floats]] = []
    for z in system.solutions(rest.T @ (own - given) / size):
        v = equations.velocity(given + size * rest @ z)
        if all(np.abs(v - other).max() > _SAME * np.abs(v).max(initial=1e-300) for _, other in found):
            found.append((float((v - near) @ equations.mass @ (v - near)), v))
    farthest = max((distance for distance, _ in found), default=0.0)
    found.sort(key=lambda one: round(one[0] / max(1e-300, farthest), 9))
    return [v for _, v in found]


@dataclass(frozen=True)
class _Quadratics:
    """The independent ones of equations z'H z + l'z + c = 0 in few unknowns, of sizes about 1."""

    curvature: Floats
    slope: Floats
    constant: Floats

    @staticmethod
    def of(equations: BranchTangents, given: Floats, across: Floats) -> "_Quadratics":
        """The equations with y = given + across z."""
        n = across.shape[1]
        curvature = np.einsum("ia,kij,jb->kab", across, equations.curvature, across)
        slope = (2.0 * equations.curvature @ given + equations.slope) @ across
        constant = equations.open_by(given)
        whole = np.concatenate([curvature.reshape(len(constant), -1), slope, constant[:, None]], axis=1)
        _, sizes, rows = np.linalg.svd(whole, full_matrices=False)
        # terms that cancel in the constants leave rounding
        size = max(float(np.linalg.norm(given)), float(np.abs(across).max(initial=0.0)))
        least = _SOLVED * size**2 * float(np.abs(equations.curvature).max(initial=0.0))
        rows = rows[sizes > max(1e-9 * sizes.max(initial=0.0), least)]
        return _Quadratics(rows[:, : n * n].reshape(len(rows), n, n), rows[:, n * n : -1], rows[:, -1])

    def value(self, z: Floats) -> Floats:
        """The residuals at points z (points × unknowns)."""
        return np.asarray(np.einsum("kab,pa,pb->pk", self.curvature, z, z) + z @ self.slope.T + self.constant)

    def jacobian(self, z: Floats) -> Floats:
        """Their derivatives (points × equations × unknowns)."""
        return np.asarray(2.0 * np.einsum("kab,pb->pka", self.curvature, z) + self.slope)

    def solutions(self, near: Floats) -> Iterator[Floats]:
        """Yield the real solutions, some of them several times; where they are many, those from starts."""
        count, unknowns = self.slope.shape
        if count == 0:
            yield near
        if count == 0 or unknowns == 0:
            return
        if count < unknowns or unknowns > _MOST_PATHS:
            rng = np.random.default_rng(0)
            starts: Floats = np.vstack([near, rng.normal(size=(STARTS, unknowns))])
        else:
            ends = self._followed()
            starts = ends[np.abs(ends.imag).max(axis=1) < 1e-2 * (1.0 + np.abs(ends).max(axis=1))].real
        for start in starts:
            z = self._refined(start)
            if np.abs(self.value(z[None])).max(initial=0.0) <= _SOLVED * max(1.0, float(z @ z)):
                yield z

    def _followed(self) -> Floats:
        """Return the finite ends of the paths from z_i² = 1, in homogeneous coordinates (z = x / x_0)."""
        rng, n = np.random.default_rng(0), self.slope.shape[1]
        mixed = np.linalg.qr(rng.normal(size=(len(self.constant), n)))[0].T
        forms = np.zeros((len(self.constant), n + 1, n + 1))
        forms[:, 0, 0], forms[:, 1:, 1:] = self.constant, self.curvature
        forms[:, 0, 1:] = forms[:, 1:, 0] = 0.5 * self.slope
        starts = np.zeros((n, n + 1, n + 1))
        starts[:, 0, 0], starts[range(n), range(1, n + 1), range(1, n + 1)] = -1.0, 1.0
        target, begin = (
            np.tensordot(mixed, forms, 1),
            np.exp(1j * np.arange(1.0, n + 1))[:, None, None] * starts,
        )
        chart = np.exp(2j * np.pi * rng.uniform(size=n + 1))
        x = np.array(list(itertools.product((1.0,), *[(1.0, -1.0)] * n)), dtype=np.complex128)
        x /= (x @ chart)[:, None]
        right, left, step = np.append(np.zeros(n), 1.0), 1.0, 0.01
        while left > _END:
            form = (1.0 - left + step) * target + (left - step) * begin
            ahead, change = x, np.inf
            for again in range(3):
                slope = np.einsum("kab,pb->pka", form, ahead)
                residual = (
                    np.append(np.einsum("pka,pa->pk", slope, ahead), (ahead @ chart)[:, None], 1) - right
                )
                slope = np.append(2.0 * slope, np.tile(chart, (len(x), 1, 1)), axis=1)
                moved = np.linalg.solve(slope, residual[:, :, None])[:, :, 0]
                ahead, share = ahead - moved, np.abs(moved).max(axis=1) / np.abs(ahead).max(axis=1)
                change = float(share.max()) if again == 0 else change
            if change > _STRIDE and step > 1e-6 * left:
                step *= 0.5
                continue
            x, left = ahead, left - step
            step = min(1.5 * step, 0.2 * left)
        x = x[np.abs(x[:, 0]) > 1e-7 * np.abs(x).max(axis=1)]
        return np.asarray(x[:, 1:] / x[:, :1])

    def _refined(self, z: Floats) -> Floats:
        """Return the solution at z by Gauss-Newton steps; a multiple one on what vanishes with it."""
        for _ in range(_STEPS):
            z = _stepped(z, self.value(z[None])[0], self.jacobian(z[None])[0])
        found = z
        for _ in range(_STEPS // 10):
            value, slope = self.value(z[None])[0], self.jacobian(z[None])[0]
            left, sizes, _ = np.linalg.svd(slope)
            sizes = np.append(sizes, np.zeros(len(left) - len(sizes)))
            flat = left.T[sizes < _NEARLY * sizes.max(initial=1.0)]
            more = 2.0 * np.einsum("uk,kab->uab", flat, self.curvature).reshape(-1, len(z))
            z = _stepped(z, np.append(value, flat @ slope), np.append(slope, more, axis=0))
        before, after = (np.abs(self.value(each[None])).max(initial=0.0) for each in (found, z))
        rounding = 1e-14 * max(1.0, float(z @ z)) * np.abs(self.curvature).max(initial=1.0)
        return z if after <= max(before, rounding) else found


def _stepped(z: Floats, value: Floats, slope: Floats) -> Floats:
    change = np.linalg.lstsq(slope, -value, rcond=1e-12)[0]
    size = float(np.abs(change).max(initial=0.0))
    return np.asarray(z + change * min(1.0, (1.0 + np.abs(z).max(initial=0.0)) / max(size, 1e-300)))
