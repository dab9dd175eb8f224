"""Pictures of demos: panels in two columns, and the panels that several demos have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import degrees
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.demos.demo_figures import DemoRun, MeasuredStep
from linkwork.recordings.path_plot import ACCENT, GRID, HUES, INK, QUIET, dress, save_figure
from linkwork.reports.quantities import amount, scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from linkwork.arrays import Floats
    from linkwork.machine.sections.scene_section import ScenePart

Panel = Callable[[Callable[..., Any], DemoRun], None]
"""Draws one panel: its first argument makes the axes."""
_APART_S = 0.4
"""Between two measured parts, which are drawn one after another."""


def motion(add: Callable[..., Any], recording: DemoRun) -> None:
    """Draw the path in two or three lengths, or all coordinates over time where there are others."""
    first = recording.parts[0].tracking
    lengths = [name for name in first.coordinates if recording.units[name] == "m"]
    if len(lengths) in (2, 3):
        _draw_path(add(projection="3d" if len(lengths) == 3 else None), recording.parts, lengths)
        return
    axes = add()
    for part, begin in _in_a_row(recording):
        _draw_over_time(axes, part, begin, recording)
    dress(axes, "reference and motion", x="time / s")


def errors(add: Callable[..., Any], recording: DemoRun) -> None:
    """Draw the tracking errors of the measured parts."""
    axes = add()
    names = list(dict.fromkeys(name for part in recording.parts for name in part.tracking.coordinates))
    row = _in_a_row(recording)
    largest = _largest_errors(recording)
    for name, hue in zip(names, HUES, strict=False):
        mine = [(part.tracking, begin) for part, begin in row if name in part.tracking.coordinates]
        unit = recording.units[name]
        factor, shown = scale(largest[unit], unit)
        for index, (tracking, begin) in enumerate(mine):
            time = begin + tracking.time_s[tracking.measured]
            label = f"{name} / {shown}" if index == 0 else None
            axes.plot(time, tracking.error(name) * factor, color=hue, linewidth=1.0, label=label)
    dress(axes, "tracking error")


def efforts(add: Callable[..., Any], recording: DemoRun) -> None:
    """Draw the efforts of the motors."""
    axes = add()
    for index, (part, begin) in enumerate(_in_a_row(recording)):
        tracking = part.tracking
        time = begin + tracking.time_s
        for name, effort, hue in zip(tracking.motors, tracking.effort.T, HUES, strict=False):
            axes.plot(time, effort, color=hue, linewidth=1.2, label=name if index == 0 else None)
        shade_outside(axes, time, tracking.measured)
    dress(axes, "effort / N m, N", x="time / s   (grey: not measured)")


def shade_outside(axes: Axes, time_s: Floats, measured: NDArray[np.bool_]) -> None:
    """Shade the times (n) before and after those that are measured (n)."""
    first, last = time_s[measured][[0, -1]]
    for before, after in ((time_s[0], first), (last, time_s[-1])):
        axes.axvspan(before, after, color=GRID, alpha=0.5, linewidth=0)


def draw_part(axes: Axes, part: ScenePart, centre_m: Floats, turn_rad: float = 0.0, **style: Any) -> None:
    """Draw a part from above, in mm, with its centre at `centre_m` (3; m)."""
    from matplotlib.patches import Rectangle

    width, depth = 1e3 * part.size_m[:2]
    x, y = 1e3 * centre_m[:2]
    corner, angle = (x - width / 2.0, y - depth / 2.0), degrees(turn_rad)
    axes.add_patch(Rectangle(corner, width, depth, angle=angle, rotation_point="center", fill=False, **style))


def largest_error_caption(recording: DemoRun) -> str:
    """Return law, pace and the largest error of each unit."""
    found = " and ".join(amount(error, unit) for unit, error in _largest_errors(recording).items())
    return f"only motors driven and measured; {recording.options.law_text}; largest error {found}"


def tool_caption(recording: DemoRun) -> str:
    """Return law, pace, measured length and the largest error of the tool."""
    largest = amount(float(recording.parts[0].tracking.distance(("x", "y", "z")).max()), "m")
    return f"{recording.options.law_text}; {recording.seconds:g} s measured; largest tool error {largest}"


@dataclass(frozen=True)
class DemoPicture:
    """A demo's picture: a panel on the left, or none, those beside it from the top, a line below the title.

    same_time: whether the panels on the right have one axis of time.
    """

    caption: Callable[[DemoRun], str] = largest_error_caption
    left: Panel | None = motion
    right: tuple[Panel, ...] = (errors, efforts)
    same_time: bool = True

    def write(self, recording: DemoRun, path: Path, title: str) -> None:
        """Write the picture of a recording as PNG."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(11.0, 5.6 if len(self.right) < 3 else 7.4), dpi=130, facecolor="white")
        FigureCanvasAgg(figure)
        room = {"left": 0.06, "right": 0.98, "bottom": 0.11, "top": 0.84}
        grid = figure.add_gridspec(
            len(self.right), 2, width_ratios=(1.0, 1.25), hspace=0.42, wspace=0.2, **room
        )
        if self.left is not None:
            self.left(partial(figure.add_subplot, grid[:, 0]), recording)
        shared: Mapping[str, Any] = {}
        for row, panel in enumerate(self.right):
            place = grid[row, slice(None) if self.left is None else 1]
            panel(partial(figure.add_subplot, place, **shared), recording)
            shared = {"sharex": figure.axes[-1]} if self.same_time else {}
        save_figure(figure, path, title, self.caption(recording))


MOTION_ERRORS_EFFORTS = DemoPicture()


def _largest_errors(recording: DemoRun) -> dict[str, float]:
    """Largest error of any coordinate by its unit."""
    found: dict[str, float] = {}
    for tracking in (part.tracking for part in recording.parts):
        for name in tracking.coordinates:
            unit, error = recording.units[name], float(np.abs(tracking.error(name)).max())
            found[unit] = max(error, found.get(unit, 0.0))
    return found


def _draw_path(axes: Any, parts: tuple[MeasuredStep, ...], lengths: list[str]) -> None:
    for part in parts:
        columns = [part.tracking.coordinates.index(name) for name in lengths]
        actual, wanted = (
            each[:, columns].T * 1e3 for each in (part.tracking.actual, part.tracking.reference)
        )
        inside = part.tracking.measured
        axes.plot(*actual, color=HUES[0], linewidth=3.2, alpha=0.35, label="tool")
        axes.plot(*wanted, color=INK, linewidth=1.0, linestyle=(0, (4, 3)), label="reference")
        axes.plot(*wanted[:, inside], color=ACCENT, linewidth=1.3, label="reference, measured part")
    for axis, name in zip("xyz", lengths, strict=False):
        axes.set(**{f"{axis}label": f"{name} / mm"})
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


def _in_a_row(recording: DemoRun) -> list[tuple[MeasuredStep, float]]:
    """Each part and the time at which it is drawn."""
    at, row = 0.0, []
    for part in recording.parts:
        row.append((part, at))
        at += float(part.tracking.time_s[-1]) + _APART_S
    return row
