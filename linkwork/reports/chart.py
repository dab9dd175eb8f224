"""Charts as inline SVG: lines, bands, histograms, points and intervals; colours are the style sheet's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.reports.markup import Markup, element, join
from linkwork.reports.quantities import digits, raised

WIDTH, HEIGHT = 300, 184
LEFT, RIGHT, TOP, BOTTOM = 40, 292, 20, 148
"""The frame inside."""
HUES: Final = 6
"""Number of colours, 1 … 6."""
BINS = 252
"""Columns to which a line is thinned, keeping the largest and smallest value of each."""
_ROW, _BAND, _TOP, _UNDER = 26, 10, 6, 36
"""Bands: height of a row, of the band in it, room above the rows, and for the time axis below them."""
_COLUMNS = 60
"""Of a histogram."""
MOST: Final = 1500
"""Points of a group; of more, evenly spaced ones are drawn."""
_DECADES: Final = 12
_LINE, _LINES_UNDER, _LABELS = 22, 34, 96
"""Intervals: height of a row, room below the rows, and for their labels."""


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high` lie from `begin` to `end` on the paper."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def places_of(self, values: Floats | float) -> Floats:
        """Return the places of values (n; or one). On a logarithmic axis values below `low` are at its
        beginning.
        """
        given = np.asarray(values, dtype=np.float64)
        if self.log:
            part = np.log(np.maximum(given, self.low) / self.low) / math.log(self.high / self.low)
        else:
            part = (given - self.low) / (self.high - self.low)
        placed: Floats = self.begin + part * (self.end - self.begin)
        return placed

    def ticks(self, most: int = 5) -> list[tuple[float, str]]:
        """Positions and labels of the ticks."""
        if self.log:
            return self._decades(most)
        step = _nice((self.high - self.low) / most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        places = max(0, -math.floor(math.log10(step) + 1e-9))
        return [
            (number * step, f"{number * step:.{places}f}".replace("-", "−"))
            for number in range(first, last + 1)
        ]

    def _decades(self, most: int) -> list[tuple[float, str]]:
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        step = max(1, math.ceil((last - first) / most))
        return [(10.0**power, _power(power)) for power in range(first, last + 1, step)]


def linear(values: Floats, begin: float, end: float, *, tight: bool = False) -> Axis:
    """Return an axis that shows all these values (n), with a margin unless `tight`."""
    low, high = _ends(values)
    air = 0.0 if tight else 0.06 * (high - low)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        air = 0.5 * abs(high) or 1.0
    return Axis(low - air, high + air, begin, end)


def logarithmic(values: Floats, begin: float, end: float, decades: int) -> Axis:
    """Return an axis over whole decades up to the largest of these values (n), at most `decades` down."""
    positive = values[np.isfinite(values) & (values > 0.0)]
    low, high = _ends(positive) if len(positive) else (0.1, 1.0)
    top = math.ceil(math.log10(high) + 0.1)
    bottom = max(math.floor(math.log10(low)), top - decades)
    return Axis(10.0 ** min(bottom, top - 1), 10.0**top, begin, end, log=True)


def _ends(values: Floats) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)


def _nice(step: float) -> float:
    """The next of 1, 2, 5, 10 … at or above."""
    power = 10.0 ** math.floor(math.log10(step))
    return power * next(each for each in (1.0, 2.0, 5.0, 10.0) if each * power >= step * (1 - 1e-9))


def _power(power: int) -> str:
    return f"{10.0**power:g}" if -2 <= power <= 3 else "10" + raised(power)


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
    return _picture(chart.title, draw(chart), chart.note, legend(chart.lines))


def _picture(title: str, svg: Markup, note: str | None = None, keys: Markup | None = None) -> Markup:
    caption = element("figcaption", element("b", title), keys)
    return element("figure", caption, svg, element("p", note, class_="note"))


def _svg(told: str, *parts: Markup | None, height: float = HEIGHT) -> Markup:
    return element("svg", element("title", told), *parts, viewBox=f"0 0 {WIDTH} {height}", role="img")


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
    return _svg(
        f"{chart.title}: {chart.y_label} over {chart.x_label}",
        frame(x, y, chart.x_label, chart.y_label),
        *(
            _moment(moment, x, TOP, BOTTOM, BOTTOM - 5 - 11 * level)
            for level, moment in enumerate(chart.moments)
        ),
        *(_limit(limit, y) for limit in chart.limits),
        *(_line(line, x, y) for line in chart.lines),
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


def _moment(moment: Moment, x: Axis, top: float, bottom: float, text_y: float) -> Markup:
    """A line and its word. Words have different heights, as moments may be close together."""
    at = _place(x.places_of(moment.x))
    late = at > (LEFT + RIGHT) / 2
    word = "label end" if late else "label"
    return join(
        element("line", x1=at, x2=at, y1=top, y2=bottom, class_="moment"),
        element("text", moment.label, x=at + (-3 if late else 3), y=text_y, class_=word),
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
        at = _place(x.places_of(value))
        parts.append(element("line", x1=at, x2=at, y1=_TOP, y2=bottom + 4, class_="grid"))
        parts.append(element("text", text, x=at, y=bottom + 16, class_="tick x"))
    for number, band in enumerate(shown):
        base = _TOP + _ROW * (number + 1)
        parts.append(element("text", band.label, x=LEFT, y=base - _BAND - 4, class_="label"))
        parts.append(element("line", x1=LEFT, x2=RIGHT, y1=base, y2=base, class_="axis"))
        parts += [
            element(
                "rect",
                x=_place(x.places_of(begin)),
                width=max(0.8, round(float(x.places_of(end) - x.places_of(begin)), 1)),
                y=base - _BAND,
                height=_BAND,
                class_=f"band h{band.hue}",
            )
            for begin, end in spans_on(time_s, band.values)
        ]
    parts += [
        _moment(moment, x, _TOP, bottom, bottom + 30 + 12 * level) for level, moment in enumerate(moments)
    ]
    height = bottom + _UNDER + 12 * len(moments)
    parts.append(element("text", "time / s", x=RIGHT, y=height - 4, class_="label end"))
    return _picture(title, _svg(f"{title} over time", *parts, height=height), note)


def spans_on(time_s: Floats, values: Floats) -> list[tuple[float, float]]:
    """Return begin and end of the spans in which values (n,) are on, at times (n,)."""
    on = np.concatenate([[False], values > 0.5, [False]])
    edges = np.flatnonzero(on[1:] != on[:-1])
    last = len(time_s) - 1
    return [
        (float(time_s[begin]), float(time_s[min(end, last)]))
        for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    ]


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
            y=_place(y.places_of(count)),
            height=round(BOTTOM - float(y.places_of(count)), 1),
            class_="bar",
        )
        for count, left, right in zip(counts.tolist(), at[:-1], at[1:], strict=True)
        if count
    ]
    marks = []
    if wanted is not None:
        place = _place(x.places_of(wanted))
        marks.append(element("line", x1=place, x2=place, y1=TOP, y2=BOTTOM, class_="moment"))
    svg = _svg(f"{title}: how often each value was", frame(x, y, f"{title} / {unit}", "ticks"), *marks, *bars)
    return _picture(title, svg)


def scatter(
    title: str,
    x_label: str,
    y_label: str,
    groups: Sequence[ChartLine],
    limit: Limit | None = None,
    *,
    log_x: bool = False,
) -> Markup:
    """Return a figure of groups of points, which are not joined. limit: level that must not be passed."""
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
        at = _place(y.places_of(limit.value))
        level = element("line", x1=LEFT, x2=RIGHT, y1=at, y2=at, class_="limit")
    told = f"{title}: {y_label} over {x_label}"
    return _picture(title, _svg(told, frame(x, y, x_label, y_label), *marks, level))


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
    bottom = _TOP + _LINE * len(rows)
    parts: list[Markup] = []
    for value, text in x.ticks():
        at = _place(x.places_of(value))
        parts.append(element("line", x1=at, x2=at, y1=_TOP, y2=bottom, class_="grid"))
        parts.append(element("text", text, x=at, y=bottom + 14, class_="tick x"))
    zero = _place(x.places_of(0.0))
    parts.append(element("line", x1=zero, x2=zero, y1=_TOP, y2=bottom, class_="axis"))
    for number, row in enumerate(rows):
        middle = _TOP + _LINE * number + _LINE / 2
        parts.append(element("text", row.label, x=_LABELS - 8, y=middle + 4, class_="label end"))
        if not math.isfinite(row.value):
            continue
        low, high, at = (_place(x.places_of(each)) for each in (row.low, row.high, row.value))
        told = element("title", f"{row.label}: {digits(row.value)}, {digits(row.low)} to {digits(row.high)}")
        parts.append(element("line", told, x1=low, x2=high, y1=middle, y2=middle, class_=f"line h{row.hue}"))
        parts.append(element("path", d=f"M{at} {middle}h0", class_=f"dot h{row.hue}"))
    parts.append(element("text", axis_label, x=RIGHT, y=bottom + 30, class_="label end"))
    return _picture(title, _svg(title, *parts, height=bottom + _LINES_UNDER), note)
