"""Colours and frames of pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, QUIET, GRID = "#1f2933", "#7b8794", "#e4e7eb"
HUES = ("#0b6e99", "#d9730d", "#448361", "#9065b0", "#b83280", "#8a6d3b", "#2b9eb3", "#5b6470")
ACCENT = "#c8102e"
_BESIDE_TITLE = 4
"""Entries of a legend that fit beside the title; more stand inside the panel."""


def save_figure(figure: Figure, path: Path, title: str, caption: str) -> None:
    """Write a figure with title and caption; equal data give equal bytes."""
    figure.text(0.03, 0.945, title, fontsize=15, fontweight="bold", color=INK)
    figure.text(0.03, 0.905, caption, fontsize=9.5, color=QUIET)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})


def dress(axes: Axes, label: str, *, legend: bool = True, x: str = "", y: str = "") -> None:
    """Set title, grid, legend and names of the axes (x, y) of one panel."""
    axes.set_title(label, loc="left", fontsize=10, color=INK)
    axes.set_xlabel(x, color=INK, fontsize=9)
    axes.set_ylabel(y, color=INK, fontsize=9)
    axes.grid(color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8, colors=QUIET)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GRID)
    entries = len(axes.get_legend_handles_labels()[0]) if legend else 0
    if entries > _BESIDE_TITLE:
        axes.legend(loc="best", fontsize=7, ncols=2, framealpha=0.8, edgecolor="none")
    elif entries:
        axes.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, fontsize=8.5, frameon=False, labelcolor=INK
        )
