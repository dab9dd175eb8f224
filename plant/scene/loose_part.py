"""A loose part of the simulated plant: a rigid box that falls, slides and comes to rest on planes.

The part is a mechanism of one free body whose corners touch the planes: spring, damper and dry friction
(`multibody.contact`). It moves in the frame of the plane that carries it: the nearest one of those under it.
At rest on the plane it costs nothing: below `REST_SPEED` for `REST_S` it stays where it is, or moves with the
plane, until that ends or accelerates by more than friction can.
"""

import math
from collections.abc import Sequence
from itertools import product
from typing import Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.sections.scene_section import ScenePart, ScenePlane
from linkwork.multibody.contact.compliance import Contact, Plane
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import Body, Joint, Point
from linkwork.multibody.steps.integrate import rk4
from linkwork.multibody.steps.step import RK4, step
from linkwork.multibody.tree.orientations import hat
from linkwork.multibody.tree.quaternions import from_matrix
from linkwork.plant.scene.moving_planes import MovingPlane

SINKS_M: Final = 2e-5
"""Depth to which a part sinks into a plane under its weight; it determines the stiffness of the contact."""
DAMPING_RATIO: Final = 0.7
SLIP_SPEED_M_S: Final = 2e-3
REST_SPEED: Final = 2e-3
"""Speed (m/s, of the centre and of the corners) below which a part may come to rest."""
REST_S: Final = 0.02
_STANDARD_GRAVITY: Final = 9.80665


LOST_M: Final = 1.0
"""A part so far behind every plane is taken away: it has fallen off."""


class PartModel:
    """The mechanics of one kind of part: a mechanism for each set of planes that it may touch."""

    def __init__(self, part: ScenePart, planes: Sequence[ScenePlane], gravity: Floats) -> None:
        self._part, self.planes, self._gravity = part, planes, gravity
        self.gravity_m_s2 = float(np.linalg.norm(gravity))
        half = part.size_m / 2.0
        self.corners = np.array(list(product((-1.0, 1.0), repeat=3))) * half
        self.radius_m = float(np.linalg.norm(half))
        self._mechanisms: dict[tuple[int, ...], Mechanism] = {}
        everywhere = [number for number, plane in enumerate(planes) if plane.size_m is None]
        self.mechanism_for(tuple(everywhere))
        for number, plane in enumerate(planes):
            if plane.size_m is not None:
                self.mechanism_for(tuple(sorted([*everywhere, number])))

    def serves(self, part: ScenePart) -> bool:
        """Whether a part has the same mass and size."""
        return part.mass_kg == self._part.mass_kg and np.array_equal(part.size_m, self._part.size_m)

    def mechanism_for(self, planes: tuple[int, ...]) -> Mechanism:
        """Return the mechanism of a part that may touch the planes of these numbers."""
        if planes not in self._mechanisms:
            self._mechanisms[planes] = self._mechanism([self.planes[number] for number in planes])
        return self._mechanisms[planes]

    def _mechanism(self, planes: Sequence[ScenePlane]) -> Mechanism:
        part, names = self._part, [f"corner{i}" for i in range(len(self.corners))]
        weight = part.mass_kg * max(self.gravity_m_s2, _STANDARD_GRAVITY)
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
        return Mechanism.build(
            [Body("part", part.mass_kg, np.zeros(3), part.inertia_kg_m2)],
            [Joint("pose", "free", "world", "part")],
            self._gravity,
            points=[Point(name, "part", at) for name, at in zip(names, self.corners, strict=True)],
            contacts=contacts,
        )


class LoosePart:
    """One part: `centre` (3, m) and `axes` (3 × 3, columns) in the world; whether it is `held`, `still` or
    `away`.

    A part that is still rests on its plane, and moves with it. The centre of one that is away is NaN.
    centre (3): memory for the centre. planes: the planes of `model`, with their motions.
    """

    def __init__(
        self, part: ScenePart, model: PartModel, planes: Sequence[MovingPlane], centre: Floats
    ) -> None:
        self.part, self.model, self._planes = part, model, planes
        self._touched: tuple[int, ...] = ()
        self._carrier: MovingPlane | None = None
        self._work = model.mechanism_for(()).workspace()
        self.centre, self.axes = centre, np.eye(3)
        self.held = self.still = self.away = False
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
        self.held = self.still = self.away = False
        self._slow_s = 0.0
        self._settle_on_planes()
        for number in self._touched:
            plane = self._planes[number].plane
            corners = self.centre + self.model.corners @ self.axes.T
            deepest = float(((corners - plane.at_m) @ plane.normal).min())
            if deepest < -SINKS_M:
                self.centre -= deepest * plane.normal
        q, v = self._work.q, self._work.v
        q[:3] = self.centre
        q[[6, 3, 4, 5]] = from_matrix(self.axes)
        v[:3], v[3:] = velocity, self.axes.T @ angular_velocity

    def remove(self) -> None:
        """Take the part away."""
        self.away, self.centre[:] = True, np.nan

    def carry(self, centre: Floats, axes: Floats) -> None:
        """Move with what holds the part: pose (3, m; 3 × 3) in the world."""
        self.centre[:], self.axes[:] = centre, axes
        self.held = True

    def step(self, period_s: float) -> None:
        """Advance by one period, after the planes; without effect for a part that is held or away."""
        if self.held or self.away or (self.still and self._carried()):
            return
        work, carrier = self._work, self._carrier
        if carrier is not None:
            shift, turned = carrier.shift_at(self.centre), carrier.turned
            base, spin = shift / period_s, carrier.spin
            work.v[:3] -= base
            if turned is not None:
                work.v[3:] -= self.axes.T @ spin
        if self._touched:
            step(*work.arguments, RK4, period_s)
        else:
            rk4(*work.arguments, period_s)
        speed = max(float(np.abs(work.v[:3]).max()), self.model.radius_m * float(np.abs(work.v[3:]).max()))
        self.axes[:] = _rotation(float(work.q[6]), work.q[3:6])
        if carrier is not None:
            work.v[:3] += base
            work.q[:3] += shift
            if turned is not None:
                self._turn(turned)
                work.v[3:] += self.axes.T @ spin
        self.centre[:] = work.q[:3]
        self._slow_s = self._slow_s + period_s if speed < REST_SPEED else 0.0
        if self._slow_s >= REST_S:
            work.v[:] = 0.0
            if carrier is not None:
                self._move_with(carrier)
            self.still = True
        elif all(each.height(self.centre) < -LOST_M for each in self._planes):
            self.remove()
        else:
            self._settle_on_planes()

    def _carried(self) -> bool:
        """Move with the plane; False where the part begins to move on it, or leaves it."""
        carrier = self._carrier
        if carrier is None or not carrier.plane.speed:
            return True
        if carrier.acceleration_at(self.centre) > carrier.plane.friction * self.model.gravity_m_s2:
            self.still, self._slow_s = False, 0.0
            return False
        self.centre += carrier.shift_at(self.centre)
        self._work.q[:3] = self.centre
        if carrier.turned is not None:
            self._turn(carrier.turned)
        self._move_with(carrier)
        if not carrier.is_under(self.centre):
            self.still, self._slow_s = False, 0.0
            self._settle_on_planes()
        return True

    def _turn(self, turned: Floats) -> None:
        """Turn about the centre by a rotation (3 × 3, world)."""
        self.axes[:] = turned @ self.axes
        self._work.q[[6, 3, 4, 5]] = from_matrix(self.axes)

    def _move_with(self, carrier: MovingPlane) -> None:
        """Take the plane's velocity and angular velocity."""
        self._work.v[:3] = carrier.velocity_at(self.centre)
        self._work.v[3:] = self.axes.T @ carrier.spin

    def _settle_on_planes(self) -> None:
        """Find the planes that the part may touch, and the one that carries it."""
        planes = self._planes
        touched = tuple(n for n, each in enumerate(planes) if each.is_under(self.centre))
        if touched != self._touched:
            self._touched, before = touched, self._work
            self._work = self.model.mechanism_for(touched).workspace()
            self._work.q[:], self._work.v[:] = before.q, before.v
        self._carrier = min(
            (planes[n] for n in touched), key=lambda each: abs(each.height(self.centre)), default=None
        )


def _rotation(scalar: float, vector: Floats) -> Floats:
    """Return the rotation matrix (3 × 3) of a unit quaternion: scalar and vector part (3)."""
    cross = hat(vector)
    return np.asarray(np.eye(3) + 2.0 * (scalar * cross + cross @ cross))
