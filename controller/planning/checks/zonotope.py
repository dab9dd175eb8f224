"""Feasible forces of redundant motors: the zonotope of all efforts within their limits.

With x = effort / limit, |x| ≤ 1, and the orthonormal rows U' (k × m) of the motors' map, the forces that move
the machine are f = U' x: a zonotope, the shadow of a cube. It is the intersection of the slabs

    |y' f| ≤ h_y = Σ |y' u_i|

over the normals y of its facets, each of which is perpendicular to k − 1 of the u_i (McMullen 1971). So a
motion is feasible if and only if y' f / h_y, its *share* of each facet, is within −1 … 1. Shares are linear
in the forces, as the effort of a motor is.
"""

from itertools import combinations

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.actuation.effort_program import allocate, prices
from linkwork.machine import Machine

_FLAT = 1e-9


def limits_of(machine: Machine) -> tuple[list[int], Floats]:
    """Return the motors' joints and limits (motors; N m or N)."""
    return [motor.index for motor in machine.motors], np.array([one.max_effort for one in machine.motors])


def directions(machine: Machine, maps: Floats) -> tuple[Floats, Floats]:
    """U (n × m × k), and what takes forces on all joints to the least x (n × m × nv).

    maps (n × motors × nv): to the least efforts, as in `Walk.motors`.
    """
    joints, most = limits_of(machine)
    least = maps / most[:, None]
    vectors = np.linalg.eigh(_squares(least[:, :, joints] * most))[1]
    return vectors[:, :, -machine.dof :], least


def _squares(projectors: Floats) -> Floats:
    """X' X of the oblique projectors X (n × m × m): its range is that of X', for any metric."""
    return np.asarray(np.einsum("nji,njk->nik", projectors, projectors))


def facet_names(machine: Machine) -> list[str]:
    """For each facet the motors that are at their limits on it."""
    names = [motor.joint for motor in machine.motors]
    return [
        ", ".join(name for i, name in enumerate(names) if i not in chosen)
        for chosen in combinations(range(len(names)), machine.dof - 1)
    ]


def shares(machine: Machine, maps: Floats) -> Floats:
    """Return the map (n × facets × nv) from forces on all joints to the shares of all facets."""
    across, least = directions(machine, maps)
    count, motors, free = across.shape
    chosen = list(combinations(range(motors), free - 1))
    normals = np.empty((count, len(chosen), free))
    for place, each in enumerate(chosen):
        normals[:, place] = _perpendicular(across[:, list(each)])
    size = np.abs(np.einsum("nfk,nmk->nfm", normals, across)).sum(axis=2)
    normals /= np.where(size > _FLAT, size, np.inf)[:, :, None]
    return np.asarray(np.einsum("nfk,nmk,nmj->nfj", normals, across, least, optimize=True))


def _perpendicular(rows: Floats) -> Floats:
    """A unit vector (n × k) perpendicular to k − 1 rows (n × (k − 1) × k); zero where they are dependent."""
    free = rows.shape[2]
    if free == 1:
        return np.ones((len(rows), 1))
    minors = [np.delete(rows, column, axis=2) for column in range(free)]
    signs = (-1.0) ** np.arange(free)
    normal = np.stack([np.linalg.det(minor) for minor in minors], axis=1) * signs
    size = np.linalg.norm(normal, axis=1, keepdims=True)
    return np.asarray(normal / np.where(size > _FLAT, size, np.inf))


class ZonotopeEfforts:
    """The efforts that the loop would give along a walk: those nearest to the file's pre-load.

    Within the limits wherever any are, see effort_program.py. maps: as of `directions`.
    """

    def __init__(self, machine: Machine, maps: Floats) -> None:
        self._joints, self._most = limits_of(machine)
        self._across, x_of = directions(machine, maps)
        self._price = prices(self._most, machine.effort_weights)
        wished = np.array([one.effort for one in machine.preload])
        kept = len(wished) == len(self._most)
        self._preload = wished / self._most if kept else np.zeros(len(self._most))
        spent = x_of[:, :, self._joints] * self._most
        self._strain = self._preload - np.einsum("nml,l->nm", spent, self._preload)

    def __call__(self, least: Floats, most_solved: int | None = None) -> Floats:
        """n × nv, for the least ones (n × nv).

        Where these are beyond a limit, the program is solved at this many samples and the ones between are
        clipped; None: at every sample.
        """
        x = least[:, self._joints] / self._most
        wanted = np.einsum("nmk,nm->nk", self._across, x)
        x = x + self._strain
        beyond = np.flatnonzero(np.abs(x).max(axis=1) > 1.0)
        step = 1 if most_solved is None else max(1, len(beyond) // most_solved)
        nothing = np.zeros(wanted.shape[1])
        for n in beyond[::step]:
            rows = np.ascontiguousarray(self._across[n].T)
            allocate(rows, wanted[n], nothing, self._preload, x[n], self._price)
        effort = np.zeros_like(least)
        effort[:, self._joints] = np.clip(x, -1.0, 1.0) * self._most
        return effort
