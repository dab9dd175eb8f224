"""Digital signals over time as inline SVG: one band for each, filled where the signal is on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.reports.axis import linear
from linkwork.reports.chart import LEFT, RIGHT, WIDTH, Moment
from linkwork.reports.markup import Markup, element

_ROW, _BAND, _TOP, _UNDER = 26, 10, 6, 36
"""Height of a row, of the band in it, room above the rows, and for the time axis below them."""


@dataclass(frozen=True)
class Band:
    """Values (n,), 0 or 1, over the chart's times; NaN where unknown. hue: 1 … 6, number of a colour."""

    label: str
    values: Floats
    hue: int


def bands(
    title: str, time_s: Floats, shown: Sequence[Band], moments: Sequence[Moment] = (), note: str = ""
) -> Markup:
    """Return a figure of digital signals over times (n,)."""
    bottom = _TOP + _ROW * len(shown)
    x = linear(time_s, LEFT, RIGHT, tight=True)
    parts: list[Markup] = []
    for value, text in x.ticks():
        at = round(float(x.places_of(value)), 1)
        parts.append(element("line", x1=at, x2=at, y1=_TOP, y2=bottom + 4, class_="grid"))
        parts.append(element("text", text, x=at, y=bottom + 16, class_="tick x"))
    for number, band in enumerate(shown):
        base = _TOP + _ROW * (number + 1)
        parts.append(element("text", band.label, x=LEFT, y=base - _BAND - 4, class_="label"))
        parts.append(element("line", x1=LEFT, x2=RIGHT, y1=base, y2=base, class_="axis"))
        parts += [
            element(
                "rect",
                x=round(float(x.places_of(begin)), 1),
                width=max(0.8, round(float(x.places_of(end) - x.places_of(begin)), 1)),
                y=base - _BAND,
                height=_BAND,
                class_=f"band h{band.hue}",
            )
            for begin, end in spans_on(time_s, band.values)
        ]
    for level, moment in enumerate(moments):
        at = round(float(x.places_of(moment.x)), 1)
        parts.append(element("line", x1=at, x2=at, y1=_TOP, y2=bottom, class_="moment"))
        late = at > (LEFT + RIGHT) / 2
        parts.append(
            element(
                "text",
                moment.label,
                x=at + (-3 if late else 3),
                y=bottom + 30 + 12 * level,
                class_="label end" if late else "label",
            )
        )
    height = bottom + _UNDER + 12 * len(moments)
    parts.append(element("text", "time / s", x=RIGHT, y=height - 4, class_="label end"))
    svg = element(
        "svg", element("title", f"{title} over time"), *parts, viewBox=f"0 0 {WIDTH} {height}",
        role="img",
    )  # fmt: skip
    return element(
        "figure", element("figcaption", element("b", title)), svg, element("p", note, class_="note")
    )


def spans_on(time_s: Floats, values: Floats) -> list[tuple[float, float]]:
    """Return begin and end of the spans in which values (n,) are on, at times (n,)."""
    on = np.concatenate([[False], values > 0.5, [False]])
    edges = np.flatnonzero(on[1:] != on[:-1])
    last = len(time_s) - 1
    return [
        (float(time_s[begin]), float(time_s[min(end, last)]))
        for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    ]
