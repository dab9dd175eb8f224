"""The section `contacts`: points that touch a plane or a sphere of the world."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from linkwork.machine.sections.fields import Direction, Name, Number, Section, Vector3, entry, one_of, wrong
from linkwork.machine.sections.orientation import unit
from linkwork.multibody.contact.compliance import Contact, Plane, Sphere
from linkwork.multibody.functions import point_position
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import Coordinate


class PlaneSpec(Section):
    """A plane, fixed in the world."""

    at_m: Vector3 = entry("A point of the plane, in the world", "m", [0.0, 0.0, 0.0])
    normal: Direction = entry("Its normal, towards the free side; its length does not matter")


class SphereSpec(Section):
    """A sphere, fixed in the world; the point may be outside."""

    centre_m: Vector3 = entry("Its centre, in the world", "m")
    radius_m: Number = entry("Its radius", "m", gt=0)


class ContactSpec(Section):
    """A point that touches a surface: spring and damper along the normal, never pulling; dry friction."""

    about: str = entry("Description of the contact", default="")
    point: Name = entry("The point, by its name in `points`")
    plane: PlaneSpec | None = entry("The plane that it touches", default=None)
    sphere: SphereSpec | None = entry("The sphere that it touches", default=None)
    stiffness_N_m: Number = entry("Stiffness along the normal", "N/m", gt=0)
    damping_N_s_m: Number | None = entry("Damping along the normal. Default: 0", "N s/m", None, ge=0)
    damping_ratio: Number | None = entry(
        "Instead of damping_N_s_m: damping ratio of the point on the spring, with the inertia of the"
        " initial pose",
        "1",
        None,
        ge=0,
        le=100,
    )
    friction: Number = entry("Coefficient of dry friction", "1", 0.0, ge=0, le=100)
    ball_radius_m: Number = entry(
        "Radius of a ball about the point, which touches instead of the point; 0: the point itself",
        "m",
        0.0,
        ge=0,
    )
    slip_speed_m_s: Number = entry("Speed at which dry friction is nearly full", "m/s", 1e-3, gt=0)

    @model_validator(mode="after")
    def _one_surface(self) -> ContactSpec:
        one_of(self, "damping_N_s_m", "damping_ratio")
        if self.plane is not None and self.sphere is not None:
            message = "a contact has exactly one surface"
            raise wrong(message, "plane and sphere", "plane or sphere", "make two contacts", ("sphere",))
        if self.plane is None and self.sphere is None:
            raise wrong(
                "the surface is missing", "nothing", "plane or sphere", "add plane: {normal: [0, 0, 1]}"
            )
        return self

    def make(self, name: str, mass_kg: float = 1.0) -> Contact:
        """Return the contact of `multibody`; `mass_kg` is the point's effective mass along the normal."""
        surface: Plane | Sphere
        if self.plane is not None:
            surface = Plane(self.plane.at_m, self.plane.normal)
        else:
            assert self.sphere is not None
            surface = Sphere(self.sphere.centre_m, self.sphere.radius_m)
        return Contact(
            name,
            self.point,
            surface,
            self.stiffness_N_m,
            self._damping(mass_kg),
            self.friction,
            self.slip_speed_m_s,
            self.ball_radius_m,
        )

    def distance(self, name: str) -> Coordinate:
        """Return how far the point, or its ball, is off the surface, as a coordinate; negative inside."""
        if self.plane is not None:
            normal = unit(self.plane.normal)
            (x, y, z), (u, v, w) = self.plane.normal, np.array(self.plane.at_m) + self.ball_radius_m * normal
            return Coordinate(name, "along", self.point, (x, y, z), (u, v, w))
        assert self.sphere is not None
        u, v, w = self.sphere.centre_m
        less = self.sphere.radius_m + self.ball_radius_m
        return Coordinate(name, "distance", self.point, from_m=(u, v, w), less_m=less)

    def _damping(self, mass_kg: float) -> float:
        if self.damping_ratio is None:
            return self.damping_N_s_m or 0.0
        return 2.0 * self.damping_ratio * math.sqrt(self.stiffness_N_m * mass_kg)

    def normal_at(self, mechanism: Mechanism, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the surface's normal (3, world) nearest to the point at a pose."""
        if self.plane is not None:
            return unit(self.plane.normal)
        assert self.sphere is not None

        way: NDArray[np.float64] = point_position(mechanism, self.point, q) - np.array(self.sphere.centre_m)
        return way / max(float(np.linalg.norm(way)), 1e-300)
