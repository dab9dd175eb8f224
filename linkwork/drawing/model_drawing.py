"""A drawing of a machine in its initial pose: bodies as lines between their joints and points."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from linkwork.arrays import Floats
from linkwork.drawing.skeleton import Skeleton
from linkwork.machine import Machine
from linkwork.multibody.model import WORLD

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d.axes3d import Axes3D  # type: ignore[import-untyped]

_HUES = ("#2a6fbb", "#c2452d", "#3d8c40", "#8a4fb0", "#b8860b", "#1f8a8a", "#b03a6f", "#555555")


def draw(machine: Machine, path: Path) -> None:
    """Write a picture of the machine in its initial pose. Raises OSError, ValueError for unknown formats."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 6.5), dpi=120)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(projection="3d")
    places = Skeleton(machine).places_at(machine.initial_q)
    draw_bodies(axes, places, names=True)
    frame(axes, np.concatenate(list(places.values())), machine.name)
    figure.savefig(path)


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
