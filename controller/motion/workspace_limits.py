"""Allowed region and speed of points during a jog (the section `workspace` of the machine file)."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.kernels.layout import POINT_POSITION, POINT_VELOCITY
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move_by

MARGIN_M = 5e-4
"""How far inside its box a point comes to rest: where it will is foreseen from the present pose."""
_SPEED_SHARE = 0.98
"""Of the largest speed that jogs aim at, for the same reason."""


class Regions:
    """The regions of one machine; `estimate` is the workspace that the tick keeps current."""

    def __init__(self, machine: Machine, estimate: Workspace) -> None:
        self._estimate, self._work = estimate, machine.workspace()
        t, buffer = machine.mechanism.topology, self._work.buffer
        points = [region.index for region in machine.regions]
        self._points = np.array(points, np.int64)
        count = len(machine.mechanism.point_names)

        def field(number: int) -> Floats:
            return buffer[t[number] : t[number] + 3 * count].reshape(count, 3)

        self._position, self._velocity = field(POINT_POSITION), field(POINT_VELOCITY)
        self._low = np.array([region.low for region in machine.regions]).reshape(-1, 3)
        self._high = np.array([region.high for region in machine.regions]).reshape(-1, 3)
        self._speed = np.array([region.speed for region in machine.regions])

    def __bool__(self) -> bool:
        return len(self._points) > 0

    def admits(self, way: Floats) -> bool:
        """Whether the points, after the joints have moved by `way` (nv; rad or m), are inside or nearer to
        it.
        """
        return bool(np.all(self._outside(way) <= np.maximum(self._outside(None), 0.0)))

    def _outside(self, way: Floats | None) -> Floats:
        work = self._work
        work.q[:], work.v[:] = self._estimate.q, 0.0
        if way is not None:
            move_by(work.topology, work.q, way, 1.0)
        kinematics(*work.arguments)
        here = self._position[self._points]
        return np.asarray(np.maximum(self._low - here, here - self._high) + MARGIN_M)

    def share(self, v: Floats) -> float:
        """The largest factor, up to 1, on the joints' velocities v (nv) that keeps every point's speed."""
        work = self._work
        work.q[:], work.v[:] = self._estimate.q, v
        kinematics(*work.arguments)
        speeds = np.linalg.norm(self._velocity[self._points], axis=1)
        return float(min(1.0, np.min(_SPEED_SHARE * self._speed / np.maximum(speeds, 1e-12))))
