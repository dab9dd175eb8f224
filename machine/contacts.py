"""The section `contacts`: points that touch a plane or a sphere of the world."""

from __future__ import annotations

from pydantic import model_validator

from machine.fields import Name, Number, Section, Vector3, entry, wrong
from machine.joints import unit_vector
from multibody.compliance import Contact, Plane, Sphere


class PlaneSpec(Section):
    """A plane, fixed in the world."""

    at_m: Vector3 = entry("A place of the plane, in the world", "m", [0.0, 0.0, 0.0])
    normal: Vector3 = entry("Its normal, towards where the point may be; its length does not matter")

    @model_validator(mode="after")
    def _has_direction(self) -> PlaneSpec:
        unit_vector(self, "normal")
        return self


class SphereSpec(Section):
    """A sphere, fixed in the world; the point may be outside."""

    centre_m: Vector3 = entry("Its centre, in the world", "m")
    radius_m: Number = entry("Its radius", "m", gt=0)


class ContactSpec(Section):
    """A point that touches a surface: spring and damper along the normal, never pulling; dry friction."""

    about: str = entry("What this contact is, for people", default="")
    point: Name = entry("The point, by its name in `points`")
    plane: PlaneSpec | None = entry("The plane that it touches", default=None)
    sphere: SphereSpec | None = entry("The sphere that it touches", default=None)
    stiffness_N_m: Number = entry("Stiffness along the normal", "N/m", gt=0)
    damping_N_s_m: Number = entry("Damping along the normal", "N s/m", 0.0, ge=0)
    friction: Number = entry("Coefficient of dry friction", "1", 0.0, ge=0, le=100)
    slip_speed_m_s: Number = entry("Speed at which dry friction is nearly full", "m/s", 1e-3, gt=0)

    @model_validator(mode="after")
    def _one_surface(self) -> ContactSpec:
        if self.plane is not None and self.sphere is not None:
            message = "a contact has one surface"
            raise wrong(message, "plane and sphere", "plane or sphere", "make two contacts", ("sphere",))
        if self.plane is None and self.sphere is None:
            raise wrong(
                "the surface is missing", "nothing", "plane or sphere", "add plane: {normal: [0, 0, 1]}"
            )
        return self

    def make(self, name: str) -> Contact:
        """Return what multibody calls it."""
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
            self.damping_N_s_m,
            self.friction,
            self.slip_speed_m_s,
        )
