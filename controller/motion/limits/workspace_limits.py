"""Largest speeds of points during a jog (the section `workspace` of the machine file)."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.tree.kinematics import kinematics

_SPEED_SHARE = 0.96
"""Of the largest speed that jogs aim at: they are checked a little ahead."""


class WorkspaceLimits:
    """The points of one machine; `estimate` is the workspace that the tick keeps current."""

    def __init__(self, machine: Machine, estimate: Workspace) -> None:
        self._estimate, self._work = estimate, machine.workspace()
        self._points = np.array([region.index for region in machine.regions], np.int64)
        self._velocity = self._work.point_velocity
        self._speed = np.array([region.speed for region in machine.regions])

    def share(self, v: Floats) -> float:
        """The largest factor, up to 1, on the joints' velocities v (nv) that keeps every point's speed."""
        work = self._work
        work.q[:], work.v[:] = self._estimate.q, v
        kinematics(*work.arguments)
        speeds = np.linalg.norm(self._velocity[self._points], axis=1)
        return float(min(1.0, np.min(_SPEED_SHARE * self._speed / np.maximum(speeds, 1e-12))))
