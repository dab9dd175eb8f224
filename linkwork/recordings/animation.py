"""A recorded machine moving, with the planes and loose parts around it, as a GIF or an MP4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.drawing.model_drawing import draw_lines, draw_shapes, frame
from linkwork.drawing.skeleton import Skeleton, plane_normal
from linkwork.machine import Machine
from linkwork.machine.sections.scene_section import Scene

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d.axes3d import Axes3D  # type: ignore[import-untyped]

FORMATS: Final = (".gif", ".mp4")
MOST_FRAMES: Final = 3000


def frames_of(time_s: Floats, fps: float, speed: float) -> NDArray[np.int64]:
    """Return the samples to be shown (frames): those nearest to equal steps of speed/fps seconds, and the
    first.

    time_s (samples; s). Raises ValueError for a rate or speed that is not positive, and for more than
    MOST_FRAMES frames.
    """
    if not (np.isfinite(fps) and fps > 0.0 and np.isfinite(speed) and speed > 0.0):
        raise ValueError("frames per second and speed must be positive numbers")
    count = int((time_s[-1] - time_s[0]) * fps / speed) + 1
    if count > MOST_FRAMES:
        raise ValueError(
            f"{time_s[-1] - time_s[0]:.6g} s at {fps:g} frames per second are {count} frames, more than "
            f"{MOST_FRAMES}: take a part of them, fewer frames, or a higher speed"
        )
    wanted = time_s[0] + np.arange(count) * speed / fps
    found: NDArray[np.int64] = np.minimum(np.searchsorted(time_s, wanted - 1e-9), len(time_s) - 1)
    return found


def animate(
    machine: Machine,
    time_s: Floats,
    q: Floats,
    path: Path,
    *,
    fps: float = 25.0,
    speed: float = 1.0,
    parts: Mapping[str, Floats] | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> int:
    """Write the machine moving through q (n × nq) at time_s (n) as a GIF or MP4; return the number of frames.

    fps: frames per second; speed: of the playback, 1 is real time. parts: the centres (n × 3, m) of loose
    parts of its scene, by name. progress: called with the share that is drawn.

    Raises ValueError for a path that does not end in .gif or .mp4, for MP4 where there is no ffmpeg, and as
    `frames_of`; OSError where the file cannot be written.
    """
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"{path}: write a name that ends in {' or '.join(FORMATS)}")
    from matplotlib.animation import FFMpegWriter, PillowWriter
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    gif = path.suffix.lower() == ".gif"
    if not gif and not FFMpegWriter.isAvailable():
        raise ValueError(f"{path}: MP4 needs the program ffmpeg, which is missing; or write a GIF")
    shown = frames_of(time_s, fps, speed)
    skeleton = Skeleton(machine)
    poses = [skeleton.lines_at(q[k]) for k in shown]
    corners, normal = np.concatenate(poses).reshape(-1, 3), plane_normal(machine.mechanism)
    figure = Figure(figsize=(5.6, 5.2), dpi=100)
    FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot(projection="3d")
    writer: Any = PillowWriter(fps=round(fps)) if gif else FFMpegWriter(fps=round(fps))
    with writer.saving(figure, str(path), 100):
        for done, (k, pose) in enumerate(zip(shown, poses, strict=True)):
            axes.clear()
            draw_shapes(axes, skeleton.surfaces_at(q[k]))
            draw_lines(axes, skeleton.lines, pose, names=False)
            frame(axes, corners, f"{machine.name}   {time_s[k]:.2f} s", normal)
            if parts is not None and machine.scene is not None:
                draw_scene(axes, machine.scene, {name: centres[k] for name, centres in parts.items()})
            writer.grab_frame()
            progress((done + 1) / len(shown))
    return len(shown)


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
    for part in (*scene.parts, *(part for feeder in scene.feeders for part in feeder.parts)):
        at = centres.get(part.name)
        if at is not None and np.all((at >= low) & (at <= high)):  # NaN: it is not there
            box = at + np.array(list(product((-0.5, 0.5), repeat=3))) * part.size_m @ part.rotation.T
            axes.add_collection3d(
                Poly3DCollection(box[list(_FACES)], facecolor=_PART, edgecolor="white", linewidth=0.3)
            )
