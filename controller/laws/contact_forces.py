"""Contacts as laws see them: the generalized force of a contact with a surface, normal and friction."""

import math

from linkwork.arrays import Floats
from linkwork.multibody.contact.compliant_forces import surface_at
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.linalg.vectors import Vector, add, cross, dot, load, store, subtract, times
from linkwork.multibody.workspace import Model, Workspace


@part
def spread(m: Model, w: Workspace, link: int, place: Vector, force: Vector, out: Floats) -> None:
    """out (nv) += the generalized force of a force (world) at a place of a link."""
    moment = cross(subtract(place, load(w.reference, 0)), force)
    while link >= 0:
        out[m.in_v[link]] += dot(load(w.screw_angular, link), moment) + dot(load(w.screw_linear, link), force)
        link = m.parent[link]


@part
def velocity_of(m: Model, w: Workspace, link: int, place: Vector, v: Floats) -> Vector:
    """Velocity (world) of a place of a link for joint velocities v (nv)."""
    r = subtract(place, load(w.reference, 0))
    total = (0.0, 0.0, 0.0)
    while link >= 0:
        motion = add(load(w.screw_linear, link), cross(load(w.screw_angular, link), r))
        total = add(total, times(v[m.in_v[link]], motion))
        link = m.parent[link]
    return total


@part
def contact_push(
    m: Model, w: Workspace, contact: int, normal_force: float, v: Floats
) -> tuple[int, Vector, Vector]:
    """After `kinematics`: link, place (3, m) and force (3, N, world) of a contact with `normal_force` (N).

    The force pushes the point off the surface; dry friction opposes the slip at velocities v (nv).
    """
    point = m.contact_point[contact]
    link = m.point_link[point]
    place = load(w.point_position, point)
    _, normal = surface_at(m.surfaces, contact, place)
    place = subtract(place, times(m.contact_law[contact, 4], normal))
    force = times(normal_force, normal)
    if m.contact_law[contact, 2] > 0.0:
        speed = velocity_of(m, w, link, place, v)
        slip = subtract(speed, times(dot(normal, speed), normal))
        size = math.sqrt(dot(slip, slip))
        if size > 1e-12:
            drag = (
                m.contact_law[contact, 2] * normal_force * math.tanh(size / m.contact_law[contact, 3]) / size
            )
            force = subtract(force, times(drag, slip))
    return link, place, force


@kernel
def set_contact_force(m: Model, w: Workspace, contact: int, normal_force: float, v: Floats) -> None:
    """After `kinematics`: set `contact_force` of a contact with `normal_force` (N), sliding at v (nv)."""
    _, _, force = contact_push(m, w, contact, normal_force, v)
    store(w.contact_force, contact, force)


@kernel
def contact_effort(m: Model, w: Workspace, contact: int, normal_force: float, v: Floats, out: Floats) -> None:
    """After `kinematics`: out (nv) += the generalized force of a contact, see `contact_push`."""
    link, place, force = contact_push(m, w, contact, normal_force, v)
    spread(m, w, link, place, force, out)
