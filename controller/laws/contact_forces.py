"""Contacts as laws see them: the generalized force of a contact with a surface, normal and friction."""

from __future__ import annotations

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.contact.surfaces import surface_at
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    float64,
    int64,
    kernel,
    part,
    void,
)
from linkwork.multibody.kernels.layout import (
    CONTACT_FORCE,
    CONTACT_LAW,
    CONTACTS,
    LINKS,
    POINT_POSITION,
    POINTS,
    REFERENCE,
    SCREW_ANGULAR,
    SCREW_LINEAR,
    SURFACES,
)
from linkwork.multibody.kernels.views import matrix, table
from linkwork.multibody.linalg.vectors import Vector, add, cross, dot, load, store, subtract, times


@part
def spread(t: Integers, w: Floats, link: int, place: Vector, force: Vector, out: Floats) -> None:
    """out (nv) += the generalized force of a force (world) at a place of a link."""
    links = table(t, LINKS, 3)
    screw_angular, screw_linear = matrix(t, w, SCREW_ANGULAR, 3), matrix(t, w, SCREW_LINEAR, 3)
    moment = cross(subtract(place, load(matrix(t, w, REFERENCE, 3), 0)), force)
    while link >= 0:
        out[links[link, 2]] += dot(load(screw_angular, link), moment) + dot(load(screw_linear, link), force)
        link = links[link, 0]


@part
def velocity_of(t: Integers, w: Floats, link: int, place: Vector, v: Floats) -> Vector:
    """Velocity (world) of a place of a link for joint velocities v (nv)."""
    links = table(t, LINKS, 3)
    screw_angular, screw_linear = matrix(t, w, SCREW_ANGULAR, 3), matrix(t, w, SCREW_LINEAR, 3)
    r = subtract(place, load(matrix(t, w, REFERENCE, 3), 0))
    total = (0.0, 0.0, 0.0)
    while link >= 0:
        motion = add(load(screw_linear, link), cross(load(screw_angular, link), r))
        total = add(total, times(v[links[link, 2]], motion))
        link = links[link, 0]
    return total


@part
def contact_push(
    p: Floats, t: Integers, w: Floats, contact: int, normal_force: float, v: Floats
) -> tuple[int, Vector, Vector]:
    """After `kinematics`: link, place (3, m) and force (3, N, world) of a contact with `normal_force` (N).

    The force pushes the point off the surface; dry friction opposes the slip at velocities v (nv).
    """
    point = table(t, CONTACTS, 1)[contact, 0]
    law, link = matrix(t, p, CONTACT_LAW, 5), table(t, POINTS, 1)[point, 0]
    place = load(matrix(t, w, POINT_POSITION, 3), point)
    _, normal = surface_at(matrix(t, p, SURFACES, 7), contact, place)
    place = subtract(place, times(law[contact, 4], normal))
    force = times(normal_force, normal)
    if law[contact, 2] > 0.0:
        speed = velocity_of(t, w, link, place, v)
        slip = subtract(speed, times(dot(normal, speed), normal))
        size = math.sqrt(dot(slip, slip))
        if size > 1e-12:
            drag = law[contact, 2] * normal_force * math.tanh(size / law[contact, 3]) / size
            force = subtract(force, times(drag, slip))
    return link, place, force


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, int64, float64, VECTOR))
def set_contact_force(
    p: Floats, t: Integers, w: Floats, contact: int, normal_force: float, v: Floats
) -> None:
    """After `kinematics`: set `CONTACT_FORCE` of a contact with `normal_force` (N), sliding at v (nv)."""
    _, _, force = contact_push(p, t, w, contact, normal_force, v)
    store(matrix(t, w, CONTACT_FORCE, 3), contact, force)


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, int64, float64, VECTOR, VECTOR))
def contact_effort(
    p: Floats, t: Integers, w: Floats, contact: int, normal_force: float, v: Floats, out: Floats
) -> None:
    """After `kinematics`: out (nv) += the generalized force of a contact, see `contact_push`."""
    link, place, force = contact_push(p, t, w, contact, normal_force, v)
    spread(t, w, link, place, force, out)
