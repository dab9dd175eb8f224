"""A histogram of times as inline SVG, with median, 99th percentile and maximum."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.reports.axis import Axis
from linkwork.reports.chart import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, frame
from linkwork.reports.markup import Markup, element

_COLUMNS = 60


def histogram(title: str, values: Floats, unit: str, wanted: float | None = None) -> Markup:
    """Return a histogram of values (n,) with logarithmic counts. wanted: value that is marked, the period."""
    ends = values if wanted is None else np.append(values, wanted)
    low, high = float(ends.min()), float(ends.max())
    air = 0.03 * (high - low) or 0.5
    x = Axis(max(0.0, low - air), high + air, LEFT, RIGHT)
    counts, edges = np.histogram(values, _COLUMNS, (x.low, x.high))
    y = Axis(0.5, 10.0 ** np.ceil(np.log10(max(10, counts.max()))), BOTTOM, TOP, log=True)
    at = x.places_of(edges)
    bars = [
        element(
            "rect",
            x=round(float(left), 1),
            width=round(float(right - left) - 0.6, 1),
            y=round(float(y.places_of(count)), 1),
            height=round(BOTTOM - float(y.places_of(count)), 1),
            class_="bar",
        )
        for count, left, right in zip(counts.tolist(), at[:-1], at[1:], strict=True)
        if count
    ]
    marks = []
    if wanted is not None:
        place = round(float(x.places_of(wanted)), 1)
        marks.append(element("line", x1=place, x2=place, y1=TOP, y2=BOTTOM, class_="moment"))
    svg = element(
        "svg",
        element("title", f"{title}: how often each value was"),
        frame(x, y, f"{title} / {unit}", "ticks"),
        *marks,
        *bars,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
    )
    return element("figure", element("figcaption", element("b", title)), svg, element("p", class_="note"))
