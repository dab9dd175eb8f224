"""Poses of the whole machine along a path, as the page draws them."""

from __future__ import annotations

import base64
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from linkwork.console.machine_feed import Content
    from linkwork.drawing.body_frames import BodyFrames


class PathDrawing:
    """Forward kinematics of paths, for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version = 0
        self._frames: BodyFrames | None = None

    def drawn(self, content: Content, poses: Sequence[Sequence[float]]) -> dict[str, Any]:
        """Return `bodies`, their number, and `frames` of all bodies in each pose q (nq; rad or m).

        `frames`: base64 of 32-bit floats, of each body x, y and z axis and origin (m). Empty without poses.
        """
        from linkwork.drawing.body_frames import BodyFrames

        if not poses:
            return {}
        with self._lock:
            if self._frames is None or self._version != content.version:
                self._frames, self._version = BodyFrames(content.drawn.mechanism), content.version
            frames = [self._frames.frames_at(np.asarray(q, dtype=np.float64)) for q in poses]
        packed = base64.b64encode(np.asarray(frames, dtype="<f4").tobytes()).decode("ascii")
        return {"bodies": len(frames[0]), "frames": packed}
