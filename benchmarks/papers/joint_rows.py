"""Rows of Huang et al. 2000 for joints between two bodies, beside the change of the closure they stand for.

A direction s of a body becomes s + P + H in a step, the distance of two points E + W. P and E come from
motion and loads; H and W are linear in the reactions. A row is the closure to first order in H and W.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.papers.report import Report, small
from multibody.joint_map import hat
from multibody.model import Array

Closure = Callable[[Array, Array], Array]


def joint_rows(report: Report) -> None:
    """Equations (27), (31) and (33) with the signs and factors that the closures have."""
    rng, worst, least = np.random.default_rng(5), 0.0, np.inf
    for _ in range(20):
        s_i, s_j, between = rng.normal(size=(3, 3))
        h_i, h_j = rng.normal(size=(2, 3))
        cases: list[tuple[Closure, list[Array], Array, Array]] = [
            (lambda a, b: np.cross(s_i + a, s_j + b), [-hat(s_j) @ h_i, hat(s_i) @ h_j], h_i, h_j),
            (lambda a, b: np.cross(s_i + a, between + b), [-hat(between) @ h_i, hat(s_i) @ h_j], h_i, h_j),
            (lambda a, b: np.atleast_1d((s_i + a) @ (s_j + b)), [_row(s_j, h_i), _row(s_i, h_j)], h_i, h_j),
        ]
        for closure, terms, one, two in cases:
            change = _change(closure, one, two)
            worst = max(worst, float(np.abs(sum(terms) - change).max()))
            wrong = [np.abs(terms[0] - terms[1] - change).max(), np.abs(terms[1] - terms[0] - change).max()]
            least = min(least, float(min(wrong)) / float(np.abs(change).max()))
    report.figures |= {"joint_rows_off": worst, "joint_rows_wrong_sign": least}
    report.row(
        "(27), (31), (33)",
        "rows of parallel axes, of a point on an axis, of perpendicular directions",
        "(s_j + P_j) × H_i - (s_i + P_i) × H_j, E × H_i - (s_i + P_i) × W and (h_j + P_j)'H_i + (h_i + P_i)'H_j: "
        f"{small(worst)} from differences of the closures",
        "mended",
        worst < 1e-9 and least > 0.0,
        f"factors and signs; with one sign changed a row is off by {least:.0%} of itself at least",
    )


def _row(fixed: Array, moved: Array) -> Array:
    return np.atleast_1d(fixed @ moved)


def _change(closure: Closure, one: Array, two: Array, size: float = 1e-5) -> Array:
    """Derivative of a closure along (one, two), by central differences."""
    return np.asarray((closure(size * one, size * two) - closure(-size * one, -size * two)) / (2.0 * size))
