"""A drawing of a machine in its initial pose: bodies as lines between their joints and points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from linkwork.arrays import Floats
from linkwork.drawing.skeleton import Skeleton
from linkwork.machine import Machine
from linkwork.machine.visuals import VisualShape
from linkwork.multibody.model import WORLD

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d.axes3d import Axes3D  # type: ignore[import-untyped]

_PLAIN, _MOST_OPAQUE = "#9aa4ad", 0.45
_HUES = ("#2a6fbb", "#c2452d", "#3d8c40", "#8a4fb0", "#b8860b", "#1f8a8a", "#b03a6f", "#555555")


def draw(machine: Machine, path: Path) -> None:
    """Write a picture of the machine in its initial pose. Raises OSError, ValueError for unknown formats."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 6.5), dpi=120)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(projection="3d")
    skeleton = Skeleton(machine)
    places, surfaces = skeleton.places_at(machine.initial_q), skeleton.surfaces_at(machine.initial_q)
    draw_shapes(axes, surfaces)
    draw_bodies(axes, places, names=True)
    shown = [*places.values(), *(grid.reshape(-1, 3) for _, grid in surfaces)]
    frame(axes, np.concatenate(shown), machine.name)
    figure.savefig(path)


def draw_shapes(axes: Axes3D, surfaces: Sequence[tuple[VisualShape, Floats]]) -> None:
    """Draw the shapes of bodies as surfaces, each a grid (m × n × 3, m) of places."""
    for shape, grid in surfaces:
        color = shape.color or _PLAIN
        axes.plot_surface(*np.moveaxis(grid, -1, 0), color=color[:7], alpha=_opacity(color), linewidth=0.2)


def _opacity(color: str) -> float:
    """Return the opacity of #rrggbbaa, at most so much that the lines of the bodies stay visible."""
    given = int(color[7:], 16) / 255.0 if len(color) == 9 else 1.0
    return min(given, _MOST_OPAQUE)


def draw_bodies(axes: Axes3D, places: dict[str, Floats], *, names: bool) -> None:
    """Draw the `places` (n × 3, m) on each body as lines from its origin, with its name if `names`."""
    for hue, (body, points) in zip(_repeated(len(places)), places.items(), strict=True):
        if body == WORLD:
            axes.scatter(*points.T, color="black", marker="^", s=45)
            continue
        for end in points[1:]:
            axes.plot(*np.stack([points[0], end]).T, color=hue, linewidth=2.5)
        axes.scatter(*points.T, color=hue, s=14)
        if names:
            axes.text(*points.mean(axis=0), body, fontsize=7, color=hue)


def _repeated(count: int) -> list[str]:
    return [_HUES[k % len(_HUES)] for k in range(count)]


def frame(axes: Axes3D, corners: Floats, title: str) -> None:
    """Set a cube about the corners (n × 3), looked at from the front where all lies in one plane."""
    middle = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    reach = 0.55 * max(float(np.ptp(corners, axis=0).max()), 1e-3)
    axes.set(
        xlim=(middle[0] - reach, middle[0] + reach),
        ylim=(middle[1] - reach, middle[1] + reach),
        zlim=(middle[2] - reach, middle[2] + reach),
        xlabel="x / m",
        ylabel="y / m",
        zlabel="z / m",
        title=title,
    )
    axes.set_box_aspect((1.0, 1.0, 1.0))
    flat = np.ptp(corners, axis=0)
    if flat[2] < 1e-9:
        axes.view_init(elev=90.0, azim=-90.0)
    elif flat[1] < 1e-9:
        axes.view_init(elev=0.0, azim=-90.0)
