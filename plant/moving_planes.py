"""Planes of the scene that move along themselves, such as conveyor belts."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.scene import ScenePlane
from linkwork.multibody.expressions.conditions import parse_named


class MovingPlane:
    """The motion of one plane: its expression gives the speed, the trapezoidal rule the displacement.

    `velocity` (3, m/s, world) at the present tick, `shift` (3, m) during the last period; `state` (2):
    displacement since the start (m) and speed (m/s). An expression without a value stops the plane.
    """

    def __init__(self, plane: ScenePlane, period_s: float) -> None:
        self.plane, self._period_s = plane, period_s
        self._speed = parse_named(plane.speed) if plane.speed else None
        self.velocity, self.shift, self.state = np.zeros(3), np.zeros(3), np.zeros(2)
        across, at = np.cross(plane.normal, plane.along), plane.at_m
        axes = np.array([plane.along, across, plane.normal])
        self._rows: list[list[float]] = np.column_stack([axes, axes @ at]).tolist()
        self.change = 0.0
        """Acceleration along the plane in the last period (m/s²)."""

    def height(self, centre: Floats) -> float:
        """Return the distance of a place (3, m, world) from the plane, positive on the free side."""
        return self._along(2, *centre.tolist())

    def is_under(self, centre: Floats) -> bool:
        """Whether a part with this centre (3, m, world) may touch the plane."""
        size = self.plane.size_m
        if size is None:
            return True
        x, y, z = centre.tolist()
        if abs(self._along(0, x, y, z)) > 0.5 * size[0] or abs(self._along(1, x, y, z)) > 0.5 * size[1]:
            return False
        return self._along(2, x, y, z) > 0.0

    def _along(self, axis: int, x: float, y: float, z: float) -> float:
        a, b, c, own = self._rows[axis]
        return a * x + b * y + c * z - own

    def begin(self, values: Mapping[str, float]) -> None:
        """Set the speed at the start. values: signals and time_s."""
        self.state[1] = self._wanted(values)
        self.velocity[:] = self.state[1] * self.plane.along

    def move(self, values: Mapping[str, float]) -> None:
        """Advance by one period, to these values at its end."""
        if self._speed is None:
            return
        before, most = float(self.state[1]), self.plane.acceleration_m_s2 * self._period_s
        speed = before + min(max(self._wanted(values) - before, -most), most)
        way = 0.5 * (before + speed) * self._period_s
        self.state[0] += way
        self.state[1] = speed
        self.change = (speed - before) / self._period_s
        self.shift[:] = way * self.plane.along
        self.velocity[:] = speed * self.plane.along

    def _wanted(self, values: Mapping[str, float]) -> float:
        speed = 0.0 if self._speed is None else self._speed.value(values)
        return speed if math.isfinite(speed) else 0.0
