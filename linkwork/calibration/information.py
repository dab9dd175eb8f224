"""Estimate of geometric parameters from linear measurements: rank, covariance, outliers, null directions.

Unknowns of edges and poses are eliminated first. Parameters are scaled by their prior deviations, so that a
singular value above 1 is a direction that the measurements determine better than the prior.
"""

from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Flags, Floats
from linkwork.calibration.linearisation import LinearRows

_RANK = 1e-6
"""Share of the largest singular value below which a direction is not seen at all."""
_SMALL = 1e-6


@dataclass(frozen=True, eq=False)
class Information:
    """Information of measurements about n parameters (scaled by `before`, n): singular values and directions.

    ways: orthonormal rows in scaled parameters, of the `rank` directions seen, best first. unseen: rows that
    span those not seen. admitted (n × ·): scaled changes that loops admit.
    """

    before: Floats
    sizes: Floats
    ways: Floats
    unseen: Floats
    admitted: Floats

    @property
    def rank(self) -> int:
        """Number of directions that the measurements see."""
        return len(self.sizes)

    @property
    def better(self) -> int:
        """Number of directions that the measurements determine better than the prior."""
        return int((self.sizes > 1.0).sum())

    @property
    def alone(self) -> Flags:
        """Whether each parameter is seen alone, not only in combinations."""
        return np.asarray((np.abs(self.unseen) < _SMALL).all(axis=0), dtype=np.bool_)

    @property
    def sigma(self) -> Floats:
        """Standard deviations without priors (n; m or rad); infinite where not seen alone."""
        own = np.sqrt(((self.ways / self.sizes[:, None]) ** 2).sum(axis=0)) * self.before
        return np.where(self.alone, own, np.inf)

    @property
    def sigma_with_prior(self) -> Floats:
        """Standard deviations (n; m or rad) with the prior."""
        seen = ((self.ways**2) / (1.0 + self.sizes[:, None] ** 2)).sum(axis=0)
        found: Floats = self.before * np.sqrt(seen + (self.unseen**2).sum(axis=0))
        return found


def eliminated(linear: LinearRows) -> tuple[Floats, Floats, Floats]:
    """Return derivatives (rows × n) and residuals (rows) without the other unknowns, and their basis Q."""
    if not linear.by_others.shape[1]:
        return linear.by_parameters, linear.residual, np.zeros((len(linear.residual), 0))
    left, sizes, _ = np.linalg.svd(linear.by_others, full_matrices=False)
    basis = left[:, sizes > 1e-10 * max(sizes[0], 1e-300)]
    by_parameters = linear.by_parameters - basis @ (basis.T @ linear.by_parameters)
    return by_parameters, linear.residual - basis @ (basis.T @ linear.residual), basis


def admitted_changes(unclosed: Floats, before: Floats) -> Floats:
    """Return an orthonormal basis (n × ·) of the scaled changes that loops admit.

    unclosed: rows × n, see `LinearPoses.unclosed`; before: n.
    """
    if not unclosed.size:
        return np.eye(len(before))
    scaled = unclosed * before
    _, sizes, ways = np.linalg.svd(scaled, full_matrices=True)
    return ways[int((sizes > 1e-6 * float(before.max())).sum()) :].T


def information(by_parameters: Floats, before: Floats, admitted: Floats) -> Information:
    """Return what whitened derivatives (rows × n) say. before: scale of each parameter (m or rad)."""
    scaled = (by_parameters * before) @ admitted
    _, sizes, ways = np.linalg.svd(scaled, full_matrices=True)
    rank = int((sizes > _RANK * max(float(sizes.max(initial=0.0)), 1e-9)).sum())
    return Information(before, sizes[:rank], ways[:rank] @ admitted.T, ways[rank:] @ admitted.T, admitted)


def step(
    found: Information, by_parameters: Floats, residual: Floats, so_far: Floats, *, prior: bool
) -> Floats:
    """Return the change (n) of the parameters that explains residuals best.

    prior: whether the prior pulls the sum of all changes to zero; without it, directions not seen stay.
    """
    scaled = by_parameters * found.before
    sight = found.ways @ (scaled.T @ residual)
    if not prior:
        return found.before * (found.ways.T @ (sight / found.sizes**2))
    pull = found.ways @ (so_far / found.before)
    own = found.ways.T @ ((sight - pull) / (1.0 + found.sizes**2))
    return found.before * (own - found.unseen.T @ (found.unseen @ (so_far / found.before)))


def leverages(
    by_parameters: Floats, before: Floats, basis: Floats, info: Information, *, prior: bool
) -> Floats:
    """Return the leverage of each row (rows): how much its prediction depends on its own measurement."""
    onto = (by_parameters * before) @ info.ways.T / np.sqrt(info.sizes**2 + float(prior))
    found: Floats = (onto**2).sum(axis=1) + (basis**2).sum(axis=1)
    return found


def sparse_directions(unseen: Floats) -> Floats:
    """Return a basis (rows × n) of the rows' span with few entries each, the largest of each being 1."""
    rows = np.array(unseen)
    for k in range(len(rows)):
        rest = np.abs(rows[k:])
        if not rest.size or rest.max() < _SMALL:
            break
        at, column = np.unravel_index(int(np.argmax(rest)), rest.shape)
        rows[[k, k + int(at)]] = rows[[k + int(at), k]]
        rows[k] /= rows[k, column]
        for other in range(len(rows)):
            if other != k:
                rows[other] -= rows[other, column] * rows[k]
    rows[np.abs(rows) < _SMALL] = 0.0
    return rows
