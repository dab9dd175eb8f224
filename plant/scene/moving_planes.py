"""Planes of the scene that move along themselves: conveyor belts and rotary tables."""

import math
from collections.abc import Mapping

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.sections.scene_section import ScenePlane
from linkwork.multibody.expressions.conditions import parse_named
from linkwork.multibody.tree.orientations import hat


class MovingPlane:
    """The motion of one plane: its expression gives the speed, the trapezoidal rule the displacement.

    `state` (2): displacement since the start (m or rad) and speed. `turned` (3 × 3): rotation in the last
    period of a plane that turns, None of one that slides. An expression without a value stops the plane.
    """

    def __init__(self, plane: ScenePlane, period_s: float) -> None:
        self.plane, self._period_s = plane, period_s
        self._speed = parse_named(plane.speed) if plane.speed else None
        self._velocity, self._shift, self.state = np.zeros(3), np.zeros(3), np.zeros(2)
        across, at = np.cross(plane.normal, plane.along), plane.at_m
        axes = np.array([plane.along, across, plane.normal])
        self._rows: list[list[float]] = np.column_stack([axes, axes @ at]).tolist()
        self._change = 0.0
        self.turned: Floats | None = np.eye(3) if plane.turns else None
        self._cross = hat(plane.normal)

    @property
    def spin(self) -> Floats:
        """Angular velocity (3, rad/s, world)."""
        return np.asarray((self.state[1] if self.plane.turns else 0.0) * self.plane.normal)

    def velocity_at(self, place: Floats) -> Floats:
        """Return the velocity (3, m/s, world) of the surface at a place (3, m, world)."""
        if self.turned is None:
            return self._velocity
        return np.asarray(self.state[1] * (self._cross @ (place - self.plane.at_m)))

    def shift_at(self, place: Floats) -> Floats:
        """Return the way (3, m, world) of the surface in the last period, from a place (3, m, world)."""
        if self.turned is None:
            return self._shift
        arm = place - self.plane.at_m
        return np.asarray(self.turned @ arm - arm)

    def acceleration_at(self, place: Floats) -> float:
        """Return the acceleration (m/s²) of the surface at a place (3, m, world) in the last period."""
        if self.turned is None:
            return abs(self._change)
        radius = float(np.linalg.norm(self._cross @ (place - self.plane.at_m)))
        return radius * math.hypot(self._change, self.state[1] ** 2)

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
        self._velocity[:] = self.state[1] * self.plane.along

    def move(self, values: Mapping[str, float]) -> None:
        """Advance by one period, to these values at its end."""
        if self._speed is None:
            return
        before, most = float(self.state[1]), self.plane.acceleration * self._period_s
        speed = before + min(max(self._wanted(values) - before, -most), most)
        way = 0.5 * (before + speed) * self._period_s
        self.state[0] += way
        self.state[1] = speed
        self._change = (speed - before) / self._period_s
        if self.turned is not None:
            cross = self._cross
            self.turned = np.eye(3) + math.sin(way) * cross + (1.0 - math.cos(way)) * (cross @ cross)
        self._shift[:] = way * self.plane.along
        self._velocity[:] = speed * self.plane.along

    def _wanted(self, values: Mapping[str, float]) -> float:
        speed = 0.0 if self._speed is None else self._speed.value(values)
        return speed if math.isfinite(speed) else 0.0
