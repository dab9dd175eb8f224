"""The fastest profile of second order: reachability on linearised limits, a few times over.

Friction and the room to stop depend on √x and are linear about the last profile. Limits exceeded between the
ends of an interval lower that interval's bound.
"""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.planning.timing.reachability import fastest_profile
from linkwork.controller.planning.timing.stations import Factors, StationRows, Stations

PASSES = 4
MOST_PASSES = 12
_NEAR = 0.99
_SETTLED = 2e-5
"""Excess of a limit that is not corrected any more."""


class NoProfile(Exception):
    """There is no profile: `sample` of the stations' walk, and the row that is the cause."""

    def __init__(self, sample: int, cause: str) -> None:
        super().__init__(cause)
        self.sample, self.cause = sample, cause


def refuse_at_rest(rows: StationRows) -> None:
    """Raise NoProfile where a limit is exceeded at rest already."""
    sample, row = np.unravel_index(int(np.argmax(rows.c)), rows.c.shape)
    if rows.c[sample, row] >= 1.0:
        limit = rows.limits[int(row)]
        share = f"{rows.c[sample, row]:.4g} times the {limit.quantity} that it may use"
        text = f"{limit.name} would need {share} at rest already"
        raise NoProfile(int(sample), text)


def second_order(
    stations: Stations, bound: Floats, begin: float = -1.0, factors: Factors | None = None
) -> tuple[Floats, StationRows]:
    """The fastest x (n + 1) at the stations, and the limits about it.

    bound (n): share of every limit that may be used in each interval. begin: x at the first station;
    negative: free. Raises NoProfile.
    """
    rows, left, bent = stations.rows(None, factors), bound, True
    for tried in range(MOST_PASSES):
        x = _reached(stations, rows, left, begin)
        about, u = stations.at_samples(x)
        if bent:  # the efforts bend with √x, and may be near their limits
            rows = stations.rows(about, factors)
        used = rows.a * u[:, None]
        used += rows.b * about[:, None]
        used += rows.c
        bent = bent and (
            tried > 0 or bool(used[:, stations.of_motors].max(initial=0.0) > _NEAR * bound.min())
        )
        excess = used.reshape(len(bound), -1).max(axis=1) / bound - 1.0
        if tried + 1 < PASSES and bent:
            continue
        if excess.max() <= _SETTLED:
            break
        left = left / (1.0 + np.maximum(excess, 0.0))
    return x, rows


def _reached(stations: Stations, rows: StationRows, bound: Floats, begin: float) -> Floats:
    grid = stations.grid
    n, count = grid.at.shape
    a, b, c = (part.reshape(n, count, -1) for part in (rows.a, rows.b, rows.c))
    steep = 0.5 / grid.width[:, None]
    left, right = steep * a[:, 0], steep * a[:, -1]
    p = np.concatenate([b[:, 0] - left, -right], axis=1)
    q = np.concatenate([left, right + b[:, -1]], axis=1)
    k = bound[:, None] - np.concatenate([c[:, 0], c[:, -1]], axis=1)
    refuse_at_rest(rows)
    speed = b[:, :, -1]
    most = np.empty(n + 1)
    most[:-1], most[-1] = speed[:, 0], speed[-1, -1]
    most[1:] = np.maximum(most[1:], speed[:, -1])
    scaled = np.append(bound, bound[-1])
    most = np.minimum(scaled, np.append(1.0, scaled[:-1])) / np.maximum(most, 1e-200)
    falling = (p > 0.0) & (q > 0.0)
    cap = np.min(k / np.where(falling, p + q, 1e-200), axis=1)
    most = np.minimum(most, np.minimum(np.append(cap, np.inf), np.append(np.inf, cap)))
    p[falling] = q[falling] = 0.0
    x = np.empty(n + 1)
    p, q, k = map(np.ascontiguousarray, (p, q, k))
    failed = fastest_profile(p, q, k, most, begin, x)
    if failed >= 0:
        raise NoProfile(failed * count, "the motion there cannot be continued within the limits")
    return x
