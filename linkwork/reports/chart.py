"""Charts as inline SVG: lines over time, their limits, moments; colours come from the page's style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.reports.axis import Axis, linear, logarithmic
from linkwork.reports.markup import Markup, element, join

WIDTH, HEIGHT = 300, 184
LEFT, RIGHT, TOP, BOTTOM = 40, 292, 20, 148
"""The frame inside."""
BINS = 252
"""Columns to which a line is thinned, keeping the largest and smallest value of each."""


@dataclass(frozen=True)
class ChartLine:
    """y (n,) over x (n,); NaN breaks it. hue: 1 … 6, number of a colour."""

    label: str
    x: Floats
    y: Floats
    hue: int
    dashed: bool = False


@dataclass(frozen=True)
class Limit:
    """A level that must not be passed."""

    value: float
    label: str


@dataclass(frozen=True)
class Moment:
    """Something that happened at x."""

    x: float
    label: str


@dataclass(frozen=True)
class Chart:
    """Contents of a chart. Labels of the axes have quantity and unit; log: y is logarithmic, by magnitude,
    down to `decades` decades below the largest."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[ChartLine, ...]
    limits: tuple[Limit, ...] = ()
    moments: tuple[Moment, ...] = ()
    log: bool = False
    decades: int = 8
    note: str = ""


def figure(chart: Chart) -> Markup:
    """The chart with its title, legend and note."""
    return element(
        "figure",
        element("figcaption", element("b", chart.title), legend(chart.lines)),
        draw(chart),
        element("p", chart.note, class_="note"),
    )


def legend(lines: Sequence[ChartLine]) -> Markup | None:
    """Return the legend of the lines; None for a single line."""
    if len(lines) < 2:
        return None
    keys = [
        element("span", element("i", class_=f"h{line.hue}" + (" dashed" if line.dashed else "")), line.label)
        for line in lines
    ]
    return element("span", *keys, class_="legend")


def draw(chart: Chart) -> Markup:
    """The SVG."""
    levels = np.array([limit.value for limit in chart.limits])
    values = np.concatenate([*(line.y for line in chart.lines), levels])
    times = np.concatenate([line.x for line in chart.lines])
    x = linear(times, LEFT, RIGHT, tight=True)
    y = logarithmic(values, BOTTOM, TOP, chart.decades) if chart.log else linear(values, BOTTOM, TOP)
    return element(
        "svg",
        element("title", f"{chart.title}: {chart.y_label} over {chart.x_label}"),
        frame(x, y, chart.x_label, chart.y_label),
        *(_moment(moment, x, level) for level, moment in enumerate(chart.moments)),
        *(_limit(limit, y) for limit in chart.limits),
        *(_line(line, x, y) for line in chart.lines),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
    )


def frame(x: Axis, y: Axis, x_label: str, y_label: str) -> Markup:
    """Grid, ticks and labels."""
    parts: list[Markup] = []
    for value, text in y.ticks():
        at = _place(y.places_of(value))
        parts.append(element("line", x1=LEFT, x2=RIGHT, y1=at, y2=at, class_="grid"))
        parts.append(element("text", text, x=LEFT - 5, y=at, class_="tick y"))
    for value, text in x.ticks():
        at = _place(x.places_of(value))
        parts.append(element("line", x1=at, x2=at, y1=BOTTOM, y2=BOTTOM + 4, class_="axis"))
        parts.append(element("text", text, x=at, y=BOTTOM + 16, class_="tick x"))
    parts.append(element("line", x1=LEFT, x2=RIGHT, y1=BOTTOM, y2=BOTTOM, class_="axis"))
    parts.append(element("text", x_label, x=RIGHT, y=HEIGHT - 4, class_="label end"))
    parts.append(element("text", y_label, x=0, y=9, class_="label"))
    return join(*parts)


def _line(line: ChartLine, x: Axis, y: Axis) -> Markup:
    places, values = thinned(line.x, np.abs(line.y) if y.log else line.y, log=y.log)
    at_x, at_y = x.places_of(places), y.places_of(values)
    steps, pen_up = [], True
    for across, down in zip(at_x.tolist(), at_y.tolist(), strict=True):
        if not np.isfinite(down):
            pen_up = True
            continue
        steps.append(f"{'M' if pen_up else 'L'}{_short(across)} {_short(down)}")
        pen_up = False
    return element("path", d="".join(steps), class_=f"line h{line.hue}" + (" dashed" if line.dashed else ""))


def _limit(limit: Limit, y: Axis) -> Markup:
    at = _place(y.places_of(limit.value))
    below = at < TOP + 22 or limit.value < 0
    return join(
        element("line", x1=LEFT, x2=RIGHT, y1=at, y2=at, class_="limit"),
        element("text", limit.label, x=RIGHT, y=at + (13 if below else -4), class_="label end limit"),
    )


def _moment(moment: Moment, x: Axis, level: int) -> Markup:
    """A line and its word, each word a little higher than the one before: they may be close together."""
    at = _place(x.places_of(moment.x))
    late = at > (LEFT + RIGHT) / 2
    return join(
        element("line", x1=at, x2=at, y1=TOP, y2=BOTTOM, class_="moment"),
        element(
            "text",
            moment.label,
            x=at + (-3 if late else 3),
            y=BOTTOM - 5 - 11 * level,
            class_="label end" if late else "label",
        ),
    )


def thinned(x: Floats, y: Floats, *, log: bool = False) -> tuple[Floats, Floats]:
    """Thin a curve x (n), y (n) to at most two points a column of the paper: smallest and largest value.

    With `log`, the largest magnitude.
    """
    if len(x) <= 2 * BINS:
        return x, y
    edges = np.linspace(0, len(x), BINS + 1).astype(np.intp)
    rows: list[int] = []
    for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        part = y[low:high]
        known = np.flatnonzero(np.isfinite(part))
        if not len(known):
            rows.append(low)
            continue
        top = low + int(known[np.argmax(part[known])])
        bottom = top if log else low + int(known[np.argmin(part[known])])
        rows += sorted({bottom, top})
    return x[rows], y[rows]


def _place(value: Floats) -> float:
    return round(float(value), 1)


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
