"""The picture of a demo: reference, errors, and motor efforts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.demos.demo_figures import DemoRun, MeasuredStep
from linkwork.recordings.path_plot import ACCENT, GRID, HUES, INK, QUIET, amount, dress, save_figure, scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_APART_S = 0.4
"""Between two measured parts, which are drawn one after another."""


def sheet(
    widths: tuple[float, float] = (1.0, 1.25), hspace: float = 0.34, wspace: float = 0.2
) -> tuple[Figure, Any]:
    """An empty picture, and the two by two places for its panels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 5.6), dpi=130, facecolor="white")
    FigureCanvasAgg(figure)
    room = {"left": 0.06, "right": 0.98, "bottom": 0.11, "top": 0.84}
    return figure, figure.add_gridspec(2, 2, width_ratios=widths, hspace=hspace, wspace=wspace, **room)


def draw_tool(recording: DemoRun, path: Path, title: str) -> None:
    """Write a PNG: the path of a tool that followed x, y, z and angle in space, errors, efforts."""
    largest = amount(float(recording.parts[0].tracking.distance(("x", "y", "z")).max()), "m")
    how = f"{recording.options.law_text}; {recording.seconds:g} s measured"
    draw_recording(recording, path, title, f"{how}; largest tool error {largest}")


def draw_recording(recording: DemoRun, path: Path, title: str, caption: str = "") -> None:
    """Write a PNG: the path (lengths, or all coordinates over time), errors, efforts."""
    figure, grid = sheet()
    _draw_motion(figure, grid[:, 0], recording)
    errors = figure.add_subplot(grid[0, 1])
    _draw_errors(errors, recording)
    _draw_efforts(figure.add_subplot(grid[1, 1], sharex=errors), recording)
    save_figure(figure, path, title, caption or _caption(recording))


def motion_panel(figure: Figure, place: Any, errors: Any, recording: DemoRun) -> None:
    """The path and the errors of motion, in two places of a grid, for demos that draw more besides."""
    _draw_motion(figure, place, recording)
    _draw_errors(figure.add_subplot(errors), recording)


def _caption(recording: DemoRun) -> str:
    found = " and ".join(amount(error, unit) for unit, error in _largest_errors(recording).items())
    return f"only motors driven and measured; {recording.options.law_text}; largest error {found}"


def _largest_errors(recording: DemoRun) -> dict[str, float]:
    """Largest error of any coordinate by its unit."""
    found: dict[str, float] = {}
    for tracking in (part.tracking for part in recording.parts):
        for name in tracking.coordinates:
            unit, error = recording.units[name], float(np.abs(tracking.error(name)).max())
            found[unit] = max(error, found.get(unit, 0.0))
    return found


def _draw_motion(figure: Figure, place: Any, recording: DemoRun) -> None:
    first = recording.parts[0].tracking
    lengths = [name for name in first.coordinates if recording.units[name] == "m"]
    if len(lengths) in (2, 3):
        axes: Any = figure.add_subplot(place, projection="3d" if len(lengths) == 3 else None)
        _draw_place(axes, recording.parts, lengths)
        return
    axes = figure.add_subplot(place)
    for part, begin in _in_a_row(recording):
        _draw_over_time(axes, part, begin, recording)
    dress(axes, "reference and motion")
    axes.set_xlabel("time / s", color=INK, fontsize=9)


def _draw_place(axes: Any, parts: tuple[MeasuredStep, ...], lengths: list[str]) -> None:
    for part in parts:
        columns = [part.tracking.coordinates.index(name) for name in lengths]
        actual, wanted = (
            each[:, columns].T * 1e3 for each in (part.tracking.actual, part.tracking.reference)
        )
        inside = part.tracking.measured
        axes.plot(*actual, color=HUES[0], linewidth=3.2, alpha=0.35, label="tool")
        axes.plot(*wanted, color=INK, linewidth=1.0, linestyle=(0, (4, 3)), label="reference")
        axes.plot(*wanted[:, inside], color=ACCENT, linewidth=1.3, label="reference, measured part")
    for name, label in zip(
        lengths, (axes.set_xlabel, axes.set_ylabel, getattr(axes, "set_zlabel", None)), strict=False
    ):
        if label is not None:
            label(f"{name} / mm", color=INK)
    axes.set_aspect("equal")
    axes.tick_params(labelsize=8, colors=QUIET)
    if len(lengths) == 2:
        axes.grid(color=GRID, linewidth=0.7)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis) if len(lengths) == 3 else ():
        axis.pane.set_facecolor("white")
        axis.pane.set_edgecolor(GRID)
        axis._axinfo["grid"].update(color=GRID, linewidth=0.7)
    handles, labels = axes.get_legend_handles_labels()
    place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 3}
    axes.legend(handles[:3], labels[:3], **place, fontsize=8.5, frameon=False)


def _draw_over_time(axes: Axes, part: MeasuredStep, begin: float, recording: DemoRun) -> None:
    tracking = part.tracking
    for name, wanted, actual, hue in zip(
        tracking.coordinates, tracking.reference.T, tracking.actual.T, HUES, strict=False
    ):
        time = begin + tracking.time_s
        label = f"{name} / {recording.units[name]}"
        axes.plot(time, actual, color=hue, linewidth=3.2, alpha=0.35)
        axes.plot(time, wanted, color=hue, linewidth=1.2, label=label if begin == 0.0 else None)


def _draw_errors(axes: Axes, recording: DemoRun) -> None:
    names = list(dict.fromkeys(name for part in recording.parts for name in part.tracking.coordinates))
    row = _in_a_row(recording)
    largest = _largest_errors(recording)
    for name, hue in zip(names, HUES, strict=False):
        mine = [(part.tracking, begin) for part, begin in row if name in part.tracking.coordinates]
        factor, prefix = scale(largest[recording.units[name]])
        for index, (tracking, begin) in enumerate(mine):
            time = begin + tracking.time_s[tracking.measured]
            label = f"{name} / {prefix}{recording.units[name]}" if index == 0 else None
            axes.plot(time, tracking.error(name) * factor, color=hue, linewidth=1.0, label=label)
    dress(axes, "tracking error")


def _draw_efforts(axes: Axes, recording: DemoRun) -> None:
    for index, (part, begin) in enumerate(_in_a_row(recording)):
        tracking = part.tracking
        time = begin + tracking.time_s
        for name, effort, hue in zip(tracking.motors, tracking.effort.T, HUES, strict=False):
            axes.plot(time, effort, color=hue, linewidth=1.2, label=name if index == 0 else None)
        first, last = time[tracking.measured][[0, -1]]
        for before, after in ((time[0], first), (last, time[-1])):
            axes.axvspan(before, after, color=GRID, alpha=0.5, linewidth=0)
    dress(axes, "effort / N m, N")
    axes.set_xlabel("time / s   (grey: not measured)", color=INK, fontsize=9)


def _in_a_row(recording: DemoRun) -> list[tuple[MeasuredStep, float]]:
    """Each part and the time at which it is drawn."""
    at, row = 0.0, []
    for part in recording.parts:
        row.append((part, at))
        at += float(part.tracking.time_s[-1]) + _APART_S
    return row
