"""Colours, units and frames of pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, QUIET, GRID = "#1f2933", "#7b8794", "#e4e7eb"
HUES = ("#0b6e99", "#d9730d", "#448361", "#9065b0", "#b83280", "#8a6d3b", "#2b9eb3", "#5b6470")
ACCENT = "#c8102e"
_SCALES = ((1e-3, 1e3, "m"), (1e-6, 1e6, "µ"), (1e-9, 1e9, "n"), (0.0, 1e12, "p"))
"""From this size on: the factor and the prefix in which a number is read easily."""


def save_figure(figure: Figure, path: Path, title: str, caption: str) -> None:
    """Write a figure with title and caption; equal data give equal bytes."""
    figure.text(0.03, 0.945, title, fontsize=15, fontweight="bold", color=INK)
    figure.text(0.03, 0.905, caption, fontsize=9.5, color=QUIET)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})


def dress(axes: Axes, label: str, *, legend: bool = True) -> None:
    """Title, grid and legend of one panel."""
    axes.set_title(label, loc="left", fontsize=10, color=INK)
    axes.grid(color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8, colors=QUIET)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GRID)
    if legend:
        axes.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, fontsize=8.5, frameon=False, labelcolor=INK
        )


def amount(value: float, unit: str) -> str:
    """A small quantity for people: "1.23 nm"."""
    factor, prefix = scale(abs(value))
    return f"{value * factor:.3g} {prefix}{unit}"


def scale(largest: float) -> tuple[float, str]:
    """The factor and the prefix in which a number of this size is read easily."""
    return next((factor, prefix) for least, factor, prefix in _SCALES if largest >= least or least == 0.0)
