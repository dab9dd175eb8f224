"""How the pictures look, and how they become small files. Drawn without a screen."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from benchmarks.papers.report import Picture, Report

INK, QUIET, GRID, ACCENT = "#1f2933", "#66717d", "#e4e7eb", "#c8102e"
HUES = ("#0b6e99", "#d9730d", "#448361", "#9065b0", "#8a6d3b", "#5c7080")
_COLOURS = 96
_DPI = 100


class Sheet:
    """A picture with panels in rows and columns."""

    def __init__(
        self, rows: int, columns: int, width: float = 10.0, height: float = 3.0, **options: Any
    ) -> None:
        """`width` of the picture and `height` of a row, in hundreds of pixels; options of `add_gridspec`."""
        spacing: Any = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1)
        self.figure = Figure(figsize=(width, height * rows), dpi=_DPI, facecolor="white", layout=spacing)
        FigureCanvasAgg(self.figure)
        self.grid = self.figure.add_gridspec(rows, columns, **options)

    def panel(self, place: Any, title: str, x: str, y: str, **options: Any) -> Any:
        """Axes at a place of the grid, with names and units of what they show."""
        axes: Any = self.figure.add_subplot(place, **options)
        axes.set_title(title, loc="left", fontsize=10, color=INK)
        axes.set_xlabel(x, color=INK, fontsize=9)
        axes.set_ylabel(y, color=INK, fontsize=9)
        axes.grid(color=GRID, linewidth=0.7)
        axes.set_axisbelow(True)
        axes.tick_params(labelsize=8, colors=QUIET)
        for side in ("top", "right"):
            if side in axes.spines:
                axes.spines[side].set_visible(False)
        for spine in axes.spines.values():
            spine.set_color(QUIET)
        return axes

    def save(self, out: Path, report: Report, name: str, caption: str) -> None:
        """Write the picture with few colours and note it in the report."""
        from PIL import Image

        out.mkdir(parents=True, exist_ok=True)
        raw = io.BytesIO()
        self.figure.savefig(raw, format="png", metadata={"Software": None})
        raw.seek(0)
        with Image.open(raw) as image:
            few = image.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
            few.save(out / name, optimize=True)
        report.pictures.append(Picture(name, caption))


def lines(
    axes: Any,
    x: npt.ArrayLike,
    columns: npt.ArrayLike,
    names: Sequence[str],
    *,
    most: int = 1200,
    **options: Any,
) -> None:
    """One line for each column; long series are thinned, which no eye sees."""
    times, values = np.asarray(x), np.asarray(columns)
    step = max(1, len(times) // most)
    for k, name in enumerate(names):
        drawn = {"color": HUES[k % len(HUES)], "linewidth": 1.4} | options
        axes.plot(times[::step], values[::step, k], label=name, **drawn)


def legend(axes: Any, columns: int = 1, **options: Any) -> None:
    """A legend without a frame, where there is room for it."""
    place = {"loc": "best"} | options
    axes.legend(ncols=columns, fontsize=8, frameon=False, labelcolor=INK, handlelength=1.8, **place)
