"""Charts of reports as inline SVG, drawn by matplotlib in the colours of the style sheet."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree

import numpy as np
from markupsafe import Markup

from linkwork.arrays import Floats
from linkwork.reports.pages import xml_text
from linkwork.reports.quantities import digits

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.lines import Line2D

WIDTH, HEIGHT = 300, 184
"""Size of a chart in px."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 292, 20, 148
"""The frame within it."""
_LEFT_OF_NAMES = 112
"""Left edge of the frame where rows have names."""
_ROW: Final = 24
"""Height of a row with a name."""
HUES: Final = 6
"""Number of colours; further lines repeat them, dashed."""
MOST: Final = 1500
"""Points of a group; of more, evenly spaced ones are drawn."""
_BINS: Final = 60
"""Of a histogram."""
_DECADES: Final = 12
"""Of a logarithmic x-axis."""
_COLOURS: Final = ("#0072b2", "#c9770a", "#007e5f", "#a3508a", "#3f9fd6", "#55606b")
_INK, _QUIET, _RULE, _LIMIT = "#1d2730", "#66727d", "#e3e7eb", "#b03a00"
_VARIABLES: Final = {colour: f"var(--h{number})" for number, colour in enumerate(_COLOURS, 1)} | {
    _INK: "var(--ink)", _QUIET: "var(--quiet)", _RULE: "var(--rule)", _LIMIT: "var(--limit)",
}  # fmt: skip
"""Colours of the light style, and the style sheet's variables that replace them in the page."""
_DASHES: Final = (0, (4.0, 2.4))
_LINE, _THIN = 1.2, 0.75
"""Widths of lines in points, which are 4/3 px."""
_METADATA: Final = ("Date", "Creator", "Format", "Type")
"""Of a file, left out of the page."""
_SETTINGS: Final[dict[Any, Any]] = {
    "svg.fonttype": "none", "svg.hashsalt": "linkwork", "text.parse_math": False,
    "path.simplify_threshold": 0.4,
    "font.size": 8.25, "axes.formatter.useoffset": False, "axes.formatter.limits": (-9, 9), "axes.grid": True,
    "axes.axisbelow": True, "axes.edgecolor": _QUIET, "axes.linewidth": 0.75, "axes.spines.left": False,
    "axes.spines.right": False, "axes.spines.top": False, "axes.labelcolor": _QUIET, "axes.labelpad": 2,
    "axes.titlesize": 8.25, "axes.titlecolor": _QUIET, "axes.titlelocation": "left", "axes.xmargin": 0.0,
    "axes.ymargin": 0.06, "grid.color": _RULE, "grid.linewidth": 0.75, "xaxis.labellocation": "right",
    "xtick.labelcolor": _QUIET, "ytick.labelcolor": _QUIET, "xtick.bottom": False, "ytick.left": False,
    "xtick.minor.bottom": False, "ytick.minor.left": False,
}  # fmt: skip


@contextmanager
def _style() -> Iterator[None]:
    """Draw with these settings, independent of the user's matplotlib configuration."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # the browser has more characters
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


@dataclass(frozen=True)
class Key:
    """An entry of the legend. hue: 1 … 6, number of its colour."""

    label: str
    hue: int
    dashed: bool = False


class Chart:
    """A chart with title, legend and note.

    Labels of the axes have quantity and unit. log, log_x: the axis is logarithmic; y then shows magnitudes,
    down to `decades` decades below the largest. rows: number of rows with names in place of a y-axis.
    """

    @_style()
    def __init__(
        self,
        title: str,
        x_label: str,
        y_label: str = "",
        *,
        note: str = "",
        log: bool = False,
        decades: int = 8,
        log_x: bool = False,
        rows: int = 0,
    ) -> None:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        self.title, self.note = title, note
        self.legend: list[Key] = []
        self._alt = f"{title}: {y_label} over {x_label}" if y_label else f"{title}: {x_label}"
        self._log, self._log_x, self._decades = log, log_x, decades
        self._levels: list[Line2D] = []
        self._limits: list[tuple[float, str]] = []
        self._moments: list[tuple[float, str]] = []
        self._names: list[str] = []
        left = _LEFT_OF_NAMES if rows else _LEFT
        height = rows * _ROW + HEIGHT - _BOTTOM + _TOP if rows else HEIGHT
        self._figure = Figure(figsize=(WIDTH / 96, height / 96))
        frame = (left / WIDTH, (HEIGHT - _BOTTOM) / height, (_RIGHT - left) / WIDTH)
        self._axes = axes = self._figure.add_axes((*frame, 1.0 - (HEIGHT - _BOTTOM + _TOP) / height))
        axes.set(xlabel=x_label, xscale="log" if log_x else "linear", yscale="log" if log else "linear")
        axes.set_title(y_label, x=(4 - left) / (_RIGHT - left), y=1.0, pad=6)
        for axis, on_decades in ((axes.xaxis, log_x), (axes.yaxis, log)):
            if not on_decades:
                axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        axes.set_autoscaley_on(not log)
        if rows:
            axes.set(ylim=(rows - 0.5, -0.5), yticks=[])

    def line(self, label: str, x: Floats, y: Floats, *, dashed: bool = False) -> None:
        """Add y (n,) over x (n,); NaN breaks the line."""
        key = self._key(label, dashed=dashed or len(self.legend) >= HUES)
        style = _DASHES if key.dashed else "-"
        values = np.abs(y) if self._log else y
        self._levels += self._axes.plot(x, values, color=_colour(key.hue), ls=style, lw=_LINE)

    def dots(self, label: str, x: Floats, y: Floats) -> None:
        """Add a group of points x (n,), y (n,), which are not joined."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
        rows = known[:: max(1, -(-len(known) // MOST))]
        # Each point is a line without length, whose round ends are drawn.
        path = Path(np.repeat(np.column_stack([x[rows], y[rows]]), 2, axis=0), [1, 2] * len(rows))
        path.should_simplify = False
        hue = _colour(self._key(label).hue)
        how: dict[str, Any] = {"linewidth": 2.2, "capstyle": "round", "alpha": 0.55}
        self._axes.add_patch(PathPatch(path, fill=False, edgecolor=hue, **how))
        self._axes.autoscale_view()

    def histogram(self, values: Floats, wanted: float | None = None) -> None:
        """Add a histogram of values (n,) with logarithmic counts. wanted: a value that is marked."""
        ends = values if wanted is None else np.append(values, wanted)
        low, high = float(ends.min()), float(ends.max())
        air = 0.03 * (high - low) or 0.5
        counts, edges = np.histogram(values, _BINS, (max(0.0, low - air), high + air))
        self._axes.set_yscale("log")
        self._axes.stairs(np.maximum(counts, 0.5), edges, baseline=0.5, fill=True, color=_colour(1))
        self._axes.set_ylim(0.5, 10.0 ** math.ceil(math.log10(max(10, counts.max()))))
        _decades(self._axes.yaxis)
        if wanted is not None:
            self.moment(wanted, "")

    def band(self, label: str, time_s: Floats, values: Floats) -> None:
        """Add a digital signal, values (n,) of 0 or 1 at times (n,), as a row."""
        spans = [(begin, end - begin) for begin, end in spans_on(time_s, values)]
        bottom = len(self._names) + 0.25
        self._axes.broken_barh(spans, (bottom, -0.5), color=_colour(len(self._names) + 1))
        self._axes.plot(time_s[[0, -1]], [bottom] * 2, color=_QUIET, linewidth=_THIN)
        self._names.append(label)

    def interval(self, label: str, value: float, low: float, high: float, hue: int = 1) -> None:
        """Add a value between the ends of its interval as a row; none is drawn for NaN. Zero is marked.

        label: of the row. low, high: ends of the interval, in the unit of the axis. hue: number of its
        colour.
        """
        self._axes.set_xmargin(0.06)
        self._axes.axvline(0.0, color=_QUIET, linewidth=_THIN)
        for ends, width in ((low, high), _LINE), ((value, value), 5.0):
            how: dict[str, Any] = {"linewidth": width, "solid_capstyle": "round"}
            self._axes.plot(ends, [len(self._names)] * 2, color=_colour(hue), **how)
        self._names.append(f"{label}  {digits(value)}")

    def limit(self, value: float, label: str) -> None:
        """Add a level that must not be passed."""
        how: dict[str, Any] = {"color": _LIMIT, "linewidth": 0.9, "linestyle": (0, (7.0, 4.0))}
        self._levels.append(self._axes.axhline(value, **how))
        self._limits.append((value, label))

    def moment(self, x: float, label: str) -> None:
        """Mark what happened at x."""
        self._axes.axvline(x, color=_INK, linewidth=_THIN, linestyle=(0, (2.0, 3.0)))
        self._moments.append((x, label))

    @cached_property
    @_style()
    def svg(self) -> Markup:
        """Return the drawing as an SVG element for an HTML page, without identifiers and references."""
        from matplotlib.backends.backend_svg import FigureCanvasSVG

        self._end_axes()
        self._label()
        text = StringIO()
        FigureCanvasSVG(self._figure).print_svg(text, metadata=dict.fromkeys(_METADATA))  # type: ignore[no-untyped-call]
        root = ElementTree.fromstring(xml_text(text.getvalue()))
        drawn = next(group for group in root.iter() if group.get("id") == "axes_1")
        drawn.remove(drawn[0])  # the background
        for each in drawn.iter():
            each.tag = each.tag.rpartition("}")[2]
            each.attrib = {name: _plain(name, value) for name, value in each.items() if _is_kept(name, value)}
            each.tail = None
            if each.tag != "text":
                each.text = None
        svg = ElementTree.Element("svg", {"viewBox": root.attrib["viewBox"], "role": "img"})
        ElementTree.SubElement(svg, "title").text = self._alt
        svg.append(drawn)
        return Markup(ElementTree.tostring(svg, encoding="unicode"))

    def _end_axes(self) -> None:
        """Set the ends of logarithmic axes; smaller values are drawn at the low end."""
        for axis, log in ((self._axes.xaxis, self._log_x), (self._axes.yaxis, self._log)):
            if not log and not self._names and not 1e-4 <= np.abs(axis.get_view_interval()).max() < 1e6:
                _label_by_digits(axis)
        if self._log_x:
            points = [patch.get_path().vertices for patch in self._axes.patches]
            self._axes.set_xlim(_whole_decades(np.concatenate(points)[:, 0], _DECADES))
            _decades(self._axes.xaxis)
        values = [np.asarray(line.get_ydata(), dtype=np.float64) for line in self._levels]
        low = -np.inf
        if self._log:
            low, high = _whole_decades(np.concatenate(values), self._decades)
            self._axes.set_ylim(low, high)
            _decades(self._axes.yaxis)
        for line, y in zip(self._levels, values, strict=True):
            line.set_ydata(np.maximum(y, low))  # also applies the threshold of simplification

    def _label(self) -> None:
        """Name rows, limits and moments; the latter two on the side that has more space."""
        axes = self._axes
        for row, label in enumerate(self._names):
            side: dict[str, Any] = {"xytext": (-6, 0), "ha": "right", "va": "center"}
            self._word(label, (0.0, row), ("axes fraction", "data"), color=_QUIET, **side)
        for value, label in self._limits:
            place = axes.transAxes.inverted().transform(axes.transData.transform((1.0, value)))[1]
            below = place > 0.85 or (value < 0.0 and place > 0.15)
            side = {
                "xytext": (0, -2.5 if below else 2.5),
                "va": "top" if below else "bottom",
                "ha": "right",
            }
            self._word(label, (1.0, value), ("axes fraction", "data"), color=_LIMIT, **side)
        for number, (x, label) in enumerate(self._moments):
            late = x > sum(axes.get_xlim()) / 2
            # Labels have different heights, because moments may be close together.
            side = {
                "xytext": (-2.0 if late else 2.0, 3 + 8 * number),
                "ha": "right" if late else "left",
            }
            self._word(label, (x, 0.0), ("data", "axes fraction"), color=_QUIET, **side)

    def _key(self, label: str, *, dashed: bool = False) -> Key:
        key = Key(label, len(self.legend) % HUES + 1, dashed)
        self.legend.append(key)
        return key

    def _word(self, label: str, place: tuple[float, float], of: tuple[str, str], **how: Any) -> None:
        self._axes.annotate(label, place, xycoords=of, textcoords="offset points", **how)


def _colour(hue: int) -> str:
    return _COLOURS[(hue - 1) % HUES]


def _is_kept(name: str, value: str) -> bool:
    return name not in ("id", "clip-path") and not (name == "transform" and value.startswith("rotate(-0"))


def _plain(name: str, value: str) -> str:
    """An attribute in the colours of the style sheet, without font families and needless digits."""
    if name == "style":
        value = re.sub(r"font-family: [^;]*;? ?", "", value)
        return re.sub("#[0-9a-f]{6}", lambda colour: _VARIABLES.get(colour[0], colour[0]), value)
    if name in ("d", "x", "y"):
        value = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.1f}", value)
        return re.sub(r"\s+", " ", value).strip()
    return value


def _whole_decades(values: Floats, decades: int) -> tuple[float, float]:
    """Return ends of the highest decades, at most `decades`, that hold the positive ones of values (n,)."""
    positive = values[np.isfinite(values) & (values > 0.0)]
    low, high = (float(positive.min()), float(positive.max())) if len(positive) else (0.1, 1.0)
    top = math.ceil(math.log10(high) + 0.1)
    bottom = min(max(math.floor(math.log10(low)), top - decades), top - 1)
    return 10.0**bottom, 10.0**top


def _decades(axis: Axis) -> None:
    from matplotlib.ticker import LogLocator

    axis.set_major_locator(LogLocator(numticks=6))
    _label_by_digits(axis)
    axis.set_minor_locator(LogLocator(numticks=1))


def _label_by_digits(axis: Axis) -> None:
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: digits(float(f"{value:.6g}"))))


def spans_on(time_s: Floats, values: Floats) -> list[tuple[float, float]]:
    """Return begin and end of the spans in which values (n,) are on, at times (n,)."""
    on = np.concatenate([[False], values > 0.5, [False]])
    edges = np.flatnonzero(on[1:] != on[:-1])
    last = len(time_s) - 1
    return [
        (float(time_s[begin]), float(time_s[min(end, last)]))
        for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    ]
