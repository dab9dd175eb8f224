"""Places and axes of all bodies of a mechanism at any pose."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import Point
from linkwork.multibody.tree.kinematics import kinematics


class BodyFrames:
    """Forward kinematics of a mechanism, as one frame for each body."""

    def __init__(self, mechanism: Mechanism) -> None:
        """Build the tree with four points on each body: its origin and the ends of its axes."""
        self.bodies = tuple(body.name for body in mechanism.bodies)
        corners = np.vstack([np.zeros(3), np.eye(3)])
        points = [Point(f"{body} {k}", body, at) for body in self.bodies for k, at in enumerate(corners)]
        self._work = mechanism.bare(points).workspace()

    @property
    def positions(self) -> int:
        """Number of entries of q."""
        return len(self._work.q)

    def frames_at(self, q: Floats) -> Floats:
        """Return the frames (bodies × 4 × 3) in the world at q (nq): x, y, z axis, then the origin (m)."""
        self._work.q[:] = q
        kinematics(*self._work.arguments)
        corners = self._work.point_position.reshape(-1, 4, 3)
        frames = np.empty_like(corners)
        frames[:, 3] = corners[:, 0]
        frames[:, :3] = corners[:, 1:] - corners[:, :1]
        return frames
