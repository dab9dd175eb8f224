"""Rows of Huang et al. 2000 for joints between two bodies, beside the change of the closure they stand for.

A direction s of a body becomes s + P + H in a step, the distance of two points E + W. P and E come from
motion and loads; H and W are linear in the reactions. A row is the closure to first order in H and W.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.papers.report import Report, small
from linkwork.arrays import Floats
from linkwork.multibody.tree.orientations import hat

Product = Callable[[Floats, Floats], Floats]


def joint_rows(report: Report) -> None:
    """Equations (27), (31) and (33) with the signs and factors that the closures have."""
    rng, worst, least = np.random.default_rng(5), 0.0, np.inf
    for _ in range(20):
        s_i, s_j, between, h_i, h_j = rng.normal(size=(5, 3))
        for product, other in ((np.cross, s_j), (np.cross, between), (_dot, s_j)):
            first, second = _terms(product, s_i, other, h_i, h_j)
            change = _change(product, s_i, other, h_i, h_j)
            worst = max(worst, float(np.abs(first + second - change).max()))
            wrong = min(np.abs(first - second - change).max(), np.abs(second - first - change).max())
            least = min(least, float(wrong / np.abs(change).max()))
    report.figures |= {"joint_rows_off": worst, "joint_rows_wrong_sign": least}
    report.row(
        "(27), (31), (33)",
        "rows of parallel axes, of a point on an axis, of perpendicular directions",
        "(s_j + P_j) × H_i - (s_i + P_i) × H_j, E × H_i - (s_i + P_i) × W and "
        "(h_j + P_j)'H_i + (h_i + P_i)'H_j "
        f"are {small(worst)} from differences of the closures",
        "corrected",
        worst < 1e-9 and least > 0.0,
        f"factors and signs; with one sign changed a row is off by {least:.0%} of itself at least",
    )


def _dot(one: Floats, two: Floats) -> Floats:
    return np.atleast_1d(one @ two)


def _terms(product: Product, s_i: Floats, other: Floats, h_i: Floats, h_j: Floats) -> tuple[Floats, Floats]:
    """Both terms of a row: of the first body's H, and of the second's H or of W."""
    if product is _dot:
        return _dot(other, h_i), _dot(s_i, h_j)
    return -hat(other) @ h_i, hat(s_i) @ h_j


def _change(product: Product, s_i: Floats, other: Floats, h_i: Floats, h_j: Floats) -> Floats:
    """Derivative of the closure s_i × other or s_i'other along (h_i, h_j), by central differences."""
    ahead, back = (product(s_i + size * h_i, other + size * h_j) for size in (1e-5, -1e-5))
    return np.asarray((ahead - back) / 2e-5)
