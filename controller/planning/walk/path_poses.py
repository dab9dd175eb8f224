"""Poses along a walked path, for drawing: a bounded number of them, evenly spaced in time."""

from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.planning.walk.walk import Walk

GOAL_POSES = 120
"""Poses of an accepted goal that are kept."""
_MOST_NUMBERS = 20_000
"""Numbers in all poses of one path of a machine of any size."""


def poses_along(walk: Walk, count: int, sample: int | None = None) -> Floats:
    """Return at most `count` poses, one a row: time (s) and q (nq; rad or m); none without a reached sample.

    sample: a further sample to include; where that was not reached, the last one before it is.
    """
    reached = min(walk.reached, len(walk.s))
    if reached == 0 or count == 0:
        return np.zeros((0, 1 + walk.q.shape[1]))
    count = max(2, min(count, _MOST_NUMBERS // (1 + walk.q.shape[1])))
    times = np.linspace(walk.s[0], walk.s[reached - 1], count)
    chosen = np.searchsorted(walk.s[:reached], times).clip(0, reached - 1)
    if sample is not None:
        chosen = np.append(chosen, min(sample, reached - 1))
    chosen = np.unique(chosen)
    return np.column_stack([walk.s[chosen], walk.q[chosen]])


def poses_map(poses: Floats, refused_s: float | None = None) -> dict[str, Any]:
    """Return poses (n × (1 + nq), see `poses_along`) as plain data (protocol.results.PathPoses).

    refused_s: time of the refused sample.
    """
    times = poses[:, 0]
    refused = None if refused_s is None or not len(times) else int(np.argmin(np.abs(times - refused_s)))
    return {"time_s": times.tolist(), "q": poses[:, 1:].tolist(), "refused": refused}
