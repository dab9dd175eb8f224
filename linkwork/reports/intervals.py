"""Values with their confidence intervals as inline SVG, one row each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.reports.axis import linear
from linkwork.reports.chart import RIGHT, WIDTH
from linkwork.reports.markup import Markup, element
from linkwork.reports.quantities import digits

_ROW, _TOP, _UNDER, _LABELS = 22, 6, 34, 96
"""Height of a row, room above the rows, below them, and for their labels."""


@dataclass(frozen=True)
class Interval:
    """A value between the ends of its interval. hue: 1 … 6, number of a colour."""

    label: str
    value: float
    low: float
    high: float
    hue: int


def intervals(title: str, axis_label: str, rows: Sequence[Interval], note: str = "") -> Markup:
    """Return a figure of intervals; zero is marked."""
    known = [each for each in rows if math.isfinite(each.value)]
    ends = [0.0, *(end for each in known for end in (each.low, each.high, each.value) if math.isfinite(end))]
    x = linear(np.array(ends), _LABELS, RIGHT - 4)
    bottom = _TOP + _ROW * len(rows)
    parts: list[Markup] = []
    for value, text in x.ticks():
        at = _place(float(x.places_of(value)))
        parts.append(element("line", x1=at, x2=at, y1=_TOP, y2=bottom, class_="grid"))
        parts.append(element("text", text, x=at, y=bottom + 14, class_="tick x"))
    zero = _place(float(x.places_of(0.0)))
    parts.append(element("line", x1=zero, x2=zero, y1=_TOP, y2=bottom, class_="axis"))
    for number, row in enumerate(rows):
        middle = _TOP + _ROW * number + _ROW / 2
        parts.append(element("text", row.label, x=_LABELS - 8, y=middle + 4, class_="label end"))
        if not math.isfinite(row.value):
            continue
        low, high, at = (_place(float(x.places_of(each))) for each in (row.low, row.high, row.value))
        told = element("title", f"{row.label}: {digits(row.value)}, {digits(row.low)} to {digits(row.high)}")
        parts.append(element("line", told, x1=low, x2=high, y1=middle, y2=middle, class_=f"line h{row.hue}"))
        parts.append(element("path", d=f"M{at} {middle}h0", class_=f"dot h{row.hue}"))
    parts.append(element("text", axis_label, x=RIGHT, y=bottom + 30, class_="label end"))
    height = bottom + _UNDER
    svg = element("svg", element("title", title), *parts, viewBox=f"0 0 {WIDTH} {height}", role="img")
    return element(
        "figure", element("figcaption", element("b", title)), svg, element("p", note, class_="note")
    )


def _place(value: float) -> float:
    return round(value, 1)
