"""A path with another time law: cubic pieces between knots of its parameter."""

from dataclasses import dataclass, replace

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.timing.stations import PARTS, Stations

_GAUSS = np.polynomial.legendre.leggauss(5)
_JUMP = 1e-6
"""Share of the largest second derivative from which on a difference of it at a knot counts."""


@dataclass(frozen=True)
class TimedKnots:
    """Knots of a timed path: their places `r`, the stations' samples there, x = ṙ² and u = r¨ (m + 1)."""

    r: Floats
    sample: Integers
    x: Floats
    u: Floats

    def times(self) -> Floats:
        """Times of the knots (m + 1); between them x is the cubic with the slopes 2 u."""
        width = np.diff(self.r)
        place = 0.5 * (1.0 + _GAUSS[0])[:, None]
        inside = (
            (1.0 + 2.0 * place) * (1.0 - place) ** 2 * self.x[:-1]
            + place * (1.0 - place) ** 2 * (2.0 * self.u[:-1] * width)
            + place**2 * (3.0 - 2.0 * place) * self.x[1:]
            + place**2 * (place - 1.0) * (2.0 * self.u[1:] * width)
        )
        inside = np.maximum(inside, 0.1 * np.minimum(self.x[:-1], self.x[1:]))
        return np.concatenate([[0.0], np.cumsum(0.5 * width * (_GAUSS[1] @ (1.0 / np.sqrt(inside))))])


def between_stations(stations: Stations, x: Floats) -> TimedKnots:
    """Knots of a profile x (n + 1) of third order: in the middle of the intervals, so that r¨ changes evenly
    between them; and at stations where the path's own second derivative jumps.
    """
    grid, second = stations.grid, stations.walk.d2
    n, count = grid.at.shape
    first = np.arange(n) * count
    u = 0.5 * np.diff(x) / grid.width
    jump = np.abs(second[first[1:]] - second[first[1:] - 1]).max(axis=1) > _JUMP * np.abs(second).max()
    inner = np.flatnonzero(jump) + 1
    r = np.concatenate([grid.r[:1], 0.5 * (grid.r[:-1] + grid.r[1:]), grid.r[-1:], grid.r[inner]])
    sample = np.concatenate([[0], first + PARTS // 2, [n * count - 1], first[inner]])
    rates = np.concatenate([x[:1], 0.5 * (x[:-1] + x[1:]), x[-1:], x[inner]])
    changes = np.concatenate([u[:1], u, u[-1:], 0.5 * (u[inner - 1] + u[inner])])
    order = np.argsort(r, kind="stable")
    return TimedKnots(r[order], sample[order], rates[order], changes[order])


def timed(stations: Stations, x: Floats, order: int) -> tuple[Path, Floats]:
    """The path at the rates √x (n + 1) of its parameter, and the parameter at its knots."""
    path, walked, grid = stations.path, stations.walk, stations.grid
    n, count = grid.at.shape
    if order == 3:
        knots = between_stations(stations, x)
        r, sample, rates, times = knots.r, knots.sample, knots.x, knots.times()
    else:
        r, sample, rates = grid.r, np.append(np.arange(n) * count, n * count - 1), x
        steps = 2.0 * grid.width / (np.sqrt(x[:-1]) + np.sqrt(x[1:]))
        times = np.concatenate([[0.0], np.cumsum(steps)])
    values = np.stack([walked.d0[sample], walked.d1[sample] * np.sqrt(rates)[:, None]], axis=1)
    values[[0, -1], 0] = path.values[[0, -1], 0]
    values[0, 1] = path.values[0, 1] if grid.in_motion else 0.0
    values[-1, 1] = 0.0
    places = grid.r[np.append(np.searchsorted(grid.piece, np.arange(len(path.knots) - 1)), n)]
    marks = np.interp(places, r, times)
    first, last = np.interp(path.full_speed, path.knots, marks).tolist()
    marks = marks if path.marked is None else marks[path.marked]
    return replace(path, knots=times, values=values, full_speed=(first, last), marks=marks, marked=None), r
