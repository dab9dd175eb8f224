"""Drawings of the surroundings of a simulated machine: limited planes and loose parts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.scene import Scene, ScenePart

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d.axes3d import Axes3D  # type: ignore[import-untyped]

_PLANE, _PART = "#b9c2cb", "#c2452d"
_FACES = ((0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5))


def draw_scene(axes: Axes3D, scene: Scene, centres: Mapping[str, Floats]) -> None:
    """Draw planes that have a size, and parts at their centres (3, m, world), as they were turned at first.

    What lies outside the limits of the axes is left out.
    """
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

    low, high = np.transpose([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()])
    for plane in scene.planes:
        if plane.size_m is not None:
            ways = 0.5 * np.array(plane.size_m)[:, None] * [plane.along, np.cross(plane.normal, plane.along)]
            corners = plane.at_m + np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) @ ways
            shown = np.clip(corners, low, high)
            axes.add_collection3d(Poly3DCollection([shown], facecolor=_PLANE, alpha=0.35))
    for part in _parts(scene):
        at = centres.get(part.name)
        if at is not None and np.all((at >= low) & (at <= high)):  # NaN: it is not there
            box = at + np.array(list(product((-0.5, 0.5), repeat=3))) * part.size_m @ part.rotation.T
            axes.add_collection3d(
                Poly3DCollection(box[list(_FACES)], facecolor=_PART, edgecolor="white", linewidth=0.3)
            )


def _parts(scene: Scene) -> list[ScenePart]:
    return [*scene.parts, *(part for feeder in scene.feeders for part in feeder.parts)]
