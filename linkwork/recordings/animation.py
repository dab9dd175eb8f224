"""A recorded machine moving, as a GIF or an MP4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.drawing.member_lines import plane_normal
from linkwork.drawing.model_drawing import draw_lines, draw_shapes, frame
from linkwork.drawing.scene_drawing import draw_scene
from linkwork.drawing.skeleton import Skeleton
from linkwork.machine import Machine

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
    """Write the machine moving through q (n × nq) at time_s (n); return the number of frames.

    parts: the centres (n × 3, m) of loose parts of its scene, by name.

    Raises ValueError for a name that does not end in .gif or .mp4, for MP4 where there is no ffmpeg, and as
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
