"""A drawing of a machine in its initial pose: bodies as lines between their joints and points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from linkwork.arrays import Floats
from linkwork.drawing.skeleton import MemberLine, Skeleton, plane_normal
from linkwork.machine import Machine
from linkwork.machine.visuals import VisualShape
from linkwork.multibody.model import WORLD

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d.axes3d import Axes3D  # type: ignore[import-untyped]

_PLAIN, _MOST_OPAQUE = "#9aa4ad", 0.45
_WIDTHS = {"body": 2.5, "slide": 1.8, "rod": 1.8, "spring": 1.0}
_DASHES = {"body": "-", "slide": "-", "rod": "-", "spring": ":"}
_HUES = ("#2a6fbb", "#c2452d", "#3d8c40", "#8a4fb0", "#b8860b", "#1f8a8a", "#b03a6f", "#555555")


def draw(machine: Machine, path: Path, *, names: bool = False, axes: bool = False) -> None:
    """Write a picture of the machine in its initial pose, a machine that moves in a plane as seen along
    its normal.

    names: also those of bodies, rods and springs; axes: also those of joints (red where driven), and the
    world's. Raises OSError, ValueError for unknown formats.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 6.5), dpi=120)
    FigureCanvasAgg(figure)
    room = figure.add_subplot(projection="3d")
    skeleton, q = Skeleton(machine), machine.initial_q
    ends, surfaces = skeleton.lines_at(q), skeleton.surfaces_at(q)
    draw_shapes(room, surfaces)
    draw_lines(room, skeleton.lines, ends, names=names)
    corners = np.concatenate([ends.reshape(-1, 3), *(grid.reshape(-1, 3) for _, grid in surfaces)])
    frame(room, corners, machine.name, plane_normal(machine.mechanism))
    if axes:
        _draw_axes(room, machine, skeleton.frames_at(q), 0.12 * np.ptp(room.get_xlim()), names)
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


def draw_lines(axes: Axes3D, lines: Sequence[MemberLine], ends: Floats, *, names: bool) -> None:
    """Draw the lines between their `ends` (lines × 2 × 3, m), with what they belong to if `names`."""
    owners = list(dict.fromkeys(line.of for line in lines if line.of != WORLD))
    hues = {owner: _HUES[k % len(_HUES)] for k, owner in enumerate(owners)}
    hues[WORLD] = "black"
    for line, pair in zip(lines, ends, strict=True):
        is_base = line.of == WORLD
        width = 1.0 if is_base else _WIDTHS[line.kind]
        axes.plot(*pair.T, color=hues[line.of], linewidth=width, linestyle=_DASHES[line.kind])
        shown = pair[1:] if is_base else pair
        axes.scatter(*shown.T, color=hues[line.of], marker="^" if is_base else "o", s=45 if is_base else 14)
    for owner in owners if names else ():
        mine = [pair for line, pair in zip(lines, ends, strict=True) if line.of == owner]
        axes.text(*np.mean(mine, axis=(0, 1)), owner, fontsize=7, color=hues[owner], zorder=10)


def _draw_axes(axes: Axes3D, machine: Machine, frames: Floats, length: float, names: bool) -> None:
    """Draw the axes of the world and of the joints, as long as `length` (m), with names of the joints."""
    for name, hue, way in zip("xyz", ("#d62728", "#2ca02c", "#1f77b4"), np.eye(3), strict=True):
        axes.quiver(*np.zeros(3), *(length * way), color=hue, linewidth=1.5)
        axes.text(*(1.15 * length * way), name, fontsize=8, color=hue)
    driven = {motor.joint.partition(".")[0] for motor in machine.motors}
    bodies = [body.name for body in machine.mechanism.bodies]
    for joint in machine.mechanism.joints:
        if joint.kind in ("spherical", "free", "compound", "simple"):
            continue
        frame_ = frames[bodies.index(joint.child)]
        way = 0.5 * length * (np.asarray(joint.axis) @ frame_[:3])
        hue = "#c2452d" if joint.name in driven else "#777777"
        axes.plot(*np.stack([frame_[3] - way, frame_[3] + way]).T, color=hue, linewidth=1.2, linestyle="-.")
        if names:
            axes.text(*(frame_[3] + way), joint.name, fontsize=6, color=hue)


def frame(axes: Axes3D, corners: Floats, title: str, normal: Floats | None) -> None:
    """Set a cube about the corners (n × 3), looked at along the normal (3) of the machine's plane."""
    middle = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    reach = 0.55 * max(float(np.ptp(corners, axis=0).max()), 1e-3)
    for number, name in enumerate("xyz"):
        axis = getattr(axes, f"{name}axis")
        axes.set(**{f"{name}lim": (middle[number] - reach, middle[number] + reach)})
        axis.set_major_formatter(lambda value, _: f"{1e3 * value:.6g}")
        if normal is not None and abs(normal[number]) > 1.0 - 1e-9:
            axis.set_ticks([])
            axis.line.set_visible(False)
            axis.set_visible(False)  # no extent: matplotlib 3.10 does not compute that of an empty axis
        else:
            axis.set_label_text(f"{name}, mm")
    axes.set_title(title)
    axes.set_box_aspect((1.0, 1.0, 1.0), zoom=1.0 if normal is None else 1.35)
    if normal is not None:
        axes.set_proj_type("ortho")
        rise, turn = np.arcsin(np.clip(normal[2], -1.0, 1.0)), np.arctan2(normal[1], normal[0])
        upright = abs(normal[2]) > 1.0 - 1e-9
        axes.view_init(elev=np.degrees(rise), azim=-90.0 if upright else np.degrees(turn))
