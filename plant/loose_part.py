"""A loose part of the simulated plant: a rigid box that falls, slides and comes to rest on planes.

The part is a mechanism of one free body whose corners touch the planes: spring, damper and dry friction
(`multibody.contact`). At rest it costs nothing: below `REST_SPEED` for `REST_S` it stays where it is.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.building.initial_state import quaternion_of
from linkwork.machine.scene import ScenePart, ScenePlane
from linkwork.multibody.contact.compliance import Contact, Plane
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import Body, Joint, Point
from linkwork.multibody.steps.compliant_steps import compliant_step

SINKS_M: Final = 2e-5
"""Depth to which a part sinks into a plane under its weight; it determines the stiffness of the contact."""
DAMPING_RATIO: Final = 0.7
SLIP_SPEED_M_S: Final = 2e-3
REST_SPEED: Final = 2e-3
"""Speed (m/s, of the centre and of the corners) below which a part may come to rest."""
REST_S: Final = 0.02
_STANDARD_GRAVITY: Final = 9.80665
_RK4: Final = 1


class LoosePart:
    """One part: `centre` (3, m) and `axes` (3 × 3, columns) in the world; whether it is `held` or `still`."""

    def __init__(self, part: ScenePart, planes: tuple[ScenePlane, ...], gravity: Floats) -> None:
        self.part = part
        half = part.size_m / 2.0
        self.corners = np.array(list(product((-1.0, 1.0), repeat=3))) * half
        names = [f"corner{i}" for i in range(len(self.corners))]
        weight = part.mass_kg * max(float(np.linalg.norm(gravity)), _STANDARD_GRAVITY)
        stiffness = weight / (4.0 * SINKS_M)
        damping = 2.0 * DAMPING_RATIO * math.sqrt(stiffness * part.mass_kg / 4.0)
        contacts = [
            Contact(
                f"{plane.name}_{name}", name, Plane(plane.at_m, plane.normal), stiffness, damping,
                plane.friction, SLIP_SPEED_M_S,
            )
            for plane in planes
            for name in names
        ]  # fmt: skip
        self._mechanism = Mechanism.build(
            [Body("part", part.mass_kg, np.zeros(3), part.inertia_kg_m2)],
            [Joint("pose", "free", "world", "part")],
            gravity,
            points=[Point(name, "part", at) for name, at in zip(names, self.corners, strict=True)],
            contacts=contacts,
        )
        self._planes = planes
        self._size = float(np.linalg.norm(half))
        self._work = self._mechanism.workspace()
        self.centre, self.axes = np.zeros(3), np.eye(3)
        self.held = self.still = False
        self._slow_s = 0.0
        self.put(part.at_m, part.rotation, np.zeros(3), np.zeros(3))

    @property
    def velocity(self) -> Floats:
        """Velocity of the centre (3, m/s, world) while nothing holds the part."""
        return self._work.v[:3]

    @property
    def angular_velocity(self) -> Floats:
        """Angular velocity (3, rad/s, world) while nothing holds the part."""
        return np.asarray(self.axes @ self._work.v[3:])

    def put(self, centre: Floats, axes: Floats, velocity: Floats, angular_velocity: Floats) -> None:
        """Release the part: pose (3; 3 × 3) and velocities (3, m/s; 3, rad/s), all in the world.

        A part that is inside a plane is moved out along the normal.
        """
        self.centre[:], self.axes[:] = centre, axes
        for plane in self._planes:
            deepest = float(((self.centre + self.corners @ self.axes.T - plane.at_m) @ plane.normal).min())
            if deepest < -SINKS_M:
                self.centre -= deepest * plane.normal
        q, v = self._work.q, self._work.v
        q[:3] = self.centre
        q[6], q[3:6] = quaternion_of(self.axes)
        v[:3], v[3:] = velocity, self.axes.T @ angular_velocity
        self.held = self.still = False
        self._slow_s = 0.0

    def carry(self, centre: Floats, axes: Floats) -> None:
        """Move with what holds the part: pose (3, m; 3 × 3) in the world."""
        self.centre[:], self.axes[:] = centre, axes
        self.held = True

    def step(self, period_s: float) -> None:
        """Advance by one period; without effect for a part that is held or rests."""
        if self.held or self.still:
            return
        work = self._work
        compliant_step(*work.arguments, _RK4, period_s)
        self.centre[:] = work.q[:3]
        self.axes[:] = _rotation(float(work.q[6]), work.q[3:6])
        speed = max(float(np.abs(work.v[:3]).max()), self._size * float(np.abs(work.v[3:]).max()))
        self._slow_s = self._slow_s + period_s if speed < REST_SPEED else 0.0
        if self._slow_s >= REST_S:
            work.v[:] = 0.0
            self.still = True


def _rotation(scalar: float, vector: Floats) -> Floats:
    """Return the rotation matrix (3 × 3) of a unit quaternion: scalar and vector part (3)."""
    x, y, z = vector
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + 2.0 * (scalar * cross + cross @ cross))
