"""The picture at the end of a demo: the path in space, the error over time, the effort over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.recordings.tracking import Tracking

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, QUIET, GRID = "#1f2933", "#7b8794", "#e4e7eb"
HUES = ("#0b6e99", "#d9730d", "#448361", "#9065b0", "#b83280", "#8a6d3b", "#2b9eb3", "#5b6470")
ACCENT = "#c8102e"
_SCALES = ((1e-3, 1e3, "m"), (1e-6, 1e6, "µ"), (1e-9, 1e9, "n"), (0.0, 1e12, "p"))
"""From this size on: the factor and the prefix in which a number is read easily."""


def draw_tracking(tracking: Tracking, path: Path, *, title: str, caption: str) -> None:
    """Write a PNG of a goal followed in x, y, z and angle.

    `tracking.coordinates` must begin with the three lengths of the tool's position and end with its angle.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 5.6), dpi=130, facecolor="white")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(
        2, 2, width_ratios=(1.0, 1.25), left=0.03, right=0.98, bottom=0.11, top=0.86, hspace=0.32, wspace=0.16
    )
    _draw_path(figure, grid[:, 0], tracking)
    errors = figure.add_subplot(grid[0, 1])
    _draw_errors(errors, tracking)
    _draw_efforts(figure.add_subplot(grid[1, 1], sharex=errors), tracking)
    save_figure(figure, path, title, caption)


def save_figure(figure: Figure, path: Path, title: str, caption: str) -> None:
    """Write a figure with title and caption; equal data give equal bytes."""
    figure.text(0.03, 0.945, title, fontsize=15, fontweight="bold", color=INK)
    figure.text(0.03, 0.905, caption, fontsize=9.5, color=QUIET)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})


def _draw_path(figure: Figure, place: Any, tracking: Tracking) -> None:
    axes: Any = figure.add_subplot(place, projection="3d")
    wanted, actual = tracking.reference[:, :3] * 1e3, tracking.actual[:, :3] * 1e3
    inside = tracking.measured
    axes.plot(*actual.T, color=HUES[0], linewidth=3.2, alpha=0.35, solid_capstyle="round", label="tool")
    axes.plot(*wanted.T, color=INK, linewidth=1.0, linestyle=(0, (4, 3)), label="reference, with its ramps")
    axes.plot(*wanted[inside].T, color=ACCENT, linewidth=1.3, label="reference, measured part")
    axes.scatter(*actual[inside][[0]].T, color=ACCENT, s=22, depthshade=False)
    axes.set_xlabel("x / mm", color=INK)
    axes.set_ylabel("y / mm", color=INK)
    axes.set_zlabel("z / mm", color=INK)
    axes.tick_params(labelsize=8, colors=QUIET)
    axes.view_init(elev=24, azim=-58)
    axes.set_box_aspect((1, 1, 1.05), zoom=0.92)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.pane.set_facecolor("white")
        axis.pane.set_edgecolor(GRID)
        axis._axinfo["grid"].update(color=GRID, linewidth=0.7)
    axes.legend(loc="upper left", bbox_to_anchor=(-0.02, 1.02), fontsize=8.5, frameon=False, labelcolor=INK)


def _draw_errors(axes: Axes, tracking: Tracking) -> None:
    time = tracking.time_s[tracking.measured]
    lengths = [tracking.error(name) for name in tracking.coordinates[:3]]
    angle = tracking.error(tracking.coordinates[3])
    factor, prefix = scale(max(float(np.abs(each).max()) for each in lengths))
    turn, turn_prefix = scale(float(np.abs(angle).max()))
    for name, error, hue in zip(tracking.coordinates, lengths, HUES, strict=False):
        axes.plot(time, error * factor, color=hue, linewidth=1.2, label=f"{name} / {prefix}m")
    label = f"{tracking.coordinates[3]} / {turn_prefix}rad"
    axes.plot(time, angle * turn, color=HUES[3], linewidth=1.0, linestyle=(0, (5, 2)), label=label)
    dress(axes, "tracking error")


def _draw_efforts(axes: Axes, tracking: Tracking) -> None:
    inside = tracking.measured
    for name, effort, hue in zip(tracking.motors, tracking.effort.T, HUES, strict=False):
        axes.plot(tracking.time_s, effort, color=hue, linewidth=1.2, label=name)
    begin, end = tracking.time_s[inside][[0, -1]]
    for before, after in ((tracking.time_s[0], begin), (end, tracking.time_s[-1])):
        axes.axvspan(before, after, color=GRID, alpha=0.5, linewidth=0)
    dress(axes, "effort / N m, N")
    axes.set_xlabel("time / s   (grey: the ramps in and out)", color=INK, fontsize=9)


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
