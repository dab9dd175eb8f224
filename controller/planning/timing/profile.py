"""The fastest profile of second order: reachability on linearised limits, a few times over.

Friction and the room to stop depend on √x and are linear about the last profile. Limits exceeded between the
ends of an interval lower that interval's bound.
"""

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.planning.timing.limit_rows import LimitRows, half_planes, largest_shares
from linkwork.controller.planning.timing.reachability import fastest_profile
from linkwork.controller.planning.timing.stations import Factors, Stations

PASSES = 4
MOST_PASSES = 12
_NEAR, _SLOWED = 0.99, 5
_SETTLED = 2e-5
"""Excess of a limit that is not corrected any more."""


class NoProfile(Exception):
    """There is no profile: `sample` of the stations' walk, and the row that is the cause."""

    def __init__(self, sample: int, cause: str) -> None:
        super().__init__(cause)
        self.sample, self.cause = sample, cause


def rows_about(stations: Stations, about: Floats, factors: Factors | None) -> LimitRows:
    """Return the limits about a profile (samples): a slower one where their tangents admit no rest."""
    for _ in range(_SLOWED):
        rows = stations.rows(about, factors)
        full = rows.at_rest().max(axis=0) >= _NEAR
        if not full.any():
            break
        about = np.where(full, 0.1 * about, about)
    return rows


def refuse_at_rest(stations: Stations, rows: LimitRows) -> None:
    """Raise NoProfile where a limit is exceeded at rest already."""
    used = rows.at_rest()
    row, sample = np.unravel_index(int(np.argmax(used)), used.shape)
    if used[row, sample] >= 1.0:
        limit = stations.limits[int(row)]
        share = f"{used[row, sample]:.4g} times the {limit.quantity} that it may use"
        text = f"{limit.name} would need {share} at rest already"
        raise NoProfile(int(sample), text)


def second_order(
    stations: Stations, bound: Floats, begin: float = -1.0, factors: Factors | None = None
) -> Floats:
    """The fastest x (n + 1) at the stations.

    bound (n): share of every limit that may be used in each interval. begin: x at the first station;
    negative: free. Raises NoProfile.
    """
    rows, left, bent = stations.rows(None, factors), bound, True
    used = np.empty(len(bound))
    for tried in range(MOST_PASSES):
        x = _reached(stations, rows, left, begin)
        about, u = stations.at_samples(x)
        if bent:  # the efforts bend with √x, and may be near their limits
            rows = rows_about(stations, about, factors)
        of_efforts = largest_shares(rows, about, u, used)
        bent = bent and (tried > 0 or of_efforts > _NEAR * bound.min())
        excess = used / bound - 1.0
        if tried + 1 < PASSES and bent:
            continue
        if excess.max() <= _SETTLED:
            break
        left = left / (1.0 + np.maximum(excess, 0.0))
    return x


def _reached(stations: Stations, rows: LimitRows, bound: Floats, begin: float) -> Floats:
    refuse_at_rest(stations, rows)
    n, count = stations.grid.at.shape
    p, q, k = (np.empty((n, 4 * len(rows.a))) for _ in range(3))
    most, x = np.empty(n + 1), np.empty(n + 1)
    half_planes(rows, stations.grid.width, bound, p, q, k, most)
    failed = fastest_profile(p, q, k, most, begin, x)
    if failed >= 0:
        raise NoProfile(failed * count, "the motion there cannot be continued within the limits")
    return x
