"""Fewer points of curves for a plot, so that no peak is lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.arrays import Floats


def thinned(time_s: Floats, curves: Mapping[str, Floats], points: int) -> dict[str, Any]:
    """Return `time_s` and `values` by curve as lists of about this many points; None is not a number.

    time_s: (n,), rising; curves: (n,) each. Of each part of the time the least and the largest value stay.
    """
    count = len(time_s)
    parts = max(points // 2, 1)
    if count <= 2 * parts:
        return {"time_s": time_s.tolist(), "values": {name: _plain(each) for name, each in curves.items()}}
    begins = np.unique(np.linspace(0, count, parts + 1).astype(int)[:-1])
    ends = np.append(begins[1:], count) - 1
    times = np.stack([time_s[begins], time_s[ends]], axis=1).ravel()
    return {
        "time_s": times.tolist(),
        "values": {name: _plain(_extremes(each, begins)) for name, each in curves.items()},
    }


def _extremes(values: Floats, begins: Any) -> Floats:
    """Return the least and the largest value of each part, in the order in which they come (2 × parts)."""
    low, high = np.fmin.reduceat(values, begins), np.fmax.reduceat(values, begins)
    first = values[begins]
    falls = np.abs(first - high) < np.abs(first - low)
    return np.where(falls[:, None], np.stack([high, low], axis=1), np.stack([low, high], axis=1)).ravel()


def _plain(values: Floats) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]
