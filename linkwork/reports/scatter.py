"""A scatter plot as inline SVG: one mark for each pair of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.reports.axis import linear, logarithmic
from linkwork.reports.chart import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Limit, frame
from linkwork.reports.markup import Markup, element

MOST: Final = 1500
"""Marks of a group; of more, evenly spaced ones are drawn."""
_DECADES: Final = 12


@dataclass(frozen=True)
class Marks:
    """y (n,) over x (n,). hue: 1 … 6, number of a colour."""

    label: str
    x: Floats
    y: Floats
    hue: int


def scatter(
    title: str,
    x_label: str,
    y_label: str,
    groups: Sequence[Marks],
    limit: Limit | None = None,
    *,
    log_x: bool = False,
) -> Markup:
    """Return a figure of groups of marks. limit: level that must not be passed."""
    xs = np.concatenate([each.x for each in groups])
    ys = np.concatenate([*(each.y for each in groups), *([[limit.value]] if limit else [])])
    x = logarithmic(xs, LEFT, RIGHT, _DECADES) if log_x else linear(xs, LEFT, RIGHT)
    y = linear(ys, BOTTOM, TOP)
    marks = []
    for group in groups:
        known = np.flatnonzero(np.isfinite(group.x) & np.isfinite(group.y))
        rows = known[:: max(1, -(-len(known) // MOST))]
        across, down = x.places_of(group.x[rows]).tolist(), y.places_of(group.y[rows]).tolist()
        steps = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(across, down, strict=True))
        marks.append(element("path", d=steps, class_=f"marks h{group.hue}"))
    level = None
    if limit is not None:
        at = round(float(y.places_of(limit.value)), 1)
        level = element("line", x1=LEFT, x2=RIGHT, y1=at, y2=at, class_="limit")
    svg = element(
        "svg",
        element("title", f"{title}: {y_label} over {x_label}"),
        frame(x, y, x_label, y_label),
        *marks,
        level,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
    )
    return element("figure", element("figcaption", element("b", title)), svg, element("p", class_="note"))
