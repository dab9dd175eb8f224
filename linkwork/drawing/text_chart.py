"""Curves over time as lines of text, for terminals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from linkwork.arrays import Floats

MARKS: Final = "*o+x#%"
"""One for each curve, in order; a later curve is drawn over an earlier one."""
_LABEL: Final = 11
_LIMIT: Final = "-"
_MOMENT: Final = "|"


def text_chart(
    time_s: Floats,
    curves: Mapping[str, Floats],
    *,
    limits: Sequence[float] = (),
    moment_s: float | None = None,
    width: int = 100,
    height: int = 9,
) -> list[str]:
    """Lines of at most `width` characters.

    time_s: (n,), rising. curves: (n,) each; NaN values are left out. limits: values drawn as
    horizontal lines where they are near the curves. moment_s: instant of a vertical line. A column shows the
    least and the most of its time, so that no peak is lost.
    """
    values = np.concatenate([each[np.isfinite(each)] for each in curves.values()] or [np.zeros(0)])
    if not len(values):
        return [" " * _LABEL + " no numbers"]
    low, high = _range(values, limits)
    columns = max(width - _LABEL - 2, 10)
    grid = [[" "] * columns for _ in range(height)]
    begin, end = float(time_s[0]), float(time_s[-1])
    places = np.clip(((time_s - begin) / ((end - begin) or 1.0) * columns).astype(int), 0, columns - 1)

    def row(value: float) -> int:
        return round((high - value) / (high - low) * (height - 1))

    if moment_s is not None and begin <= moment_s <= end:
        at = min(int((moment_s - begin) / ((end - begin) or 1.0) * columns), columns - 1)
        for line in grid:
            line[at] = _MOMENT
    for limit in limits:
        if low <= limit <= high:
            grid[row(limit)] = [_LIMIT] * columns
    for mark, each in zip(MARKS * len(curves), curves.values(), strict=False):
        finite = np.isfinite(each)
        for column in np.unique(places[finite]).tolist():
            there = each[finite & (places == column)]
            for number in range(row(float(there.max())), row(float(there.min())) + 1):
                grid[number][column] = mark
    middle = height // 2
    labels = {0: high, middle: high - (high - low) * middle / (height - 1), height - 1: low}
    return [
        f"{_number(labels.get(number)):>{_LABEL}} {''.join(line)}".rstrip()
        for number, line in enumerate(grid)
    ]


def time_axis(begin_s: float, end_s: float, width: int = 100) -> str:
    """The line below charts: the first and last time, s."""
    first, last = f"{begin_s:+.3f} s", f"{end_s:+.3f} s"
    return " " * (_LABEL + 1) + first + last.rjust(max(width - _LABEL - 2 - len(first), len(last) + 1))


def _range(values: Floats, limits: Sequence[float]) -> tuple[float, float]:
    """The least and most that is drawn: the curves, with limits no farther away than they extend."""
    low, high = float(values.min()), float(values.max())
    reach = (high - low) or abs(high) or 1.0
    near = [limit for limit in limits if low - reach <= limit <= high + reach]
    low, high = min([low, *near]), max([high, *near])
    return (low, high) if high > low else (low - 0.5 * reach, high + 0.5 * reach)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
