"""Forces of joint stops and of contacts, with stored and dissipated energy (compliance.py has the laws).

With the depth d, its rate ḋ and the force N along it, the spring holds U = stiffness d²/2. The dissipated
power, (N - stiffness d) ḋ, is the damper's work while they press, and the spring's energy where the bodies
separate faster than the damper lets it follow. Friction dissipates its force times the slip.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.contact.surfaces import surface_at
from linkwork.multibody.kernels.compiling import ON_MECHANISM, kernel, part
from linkwork.multibody.kernels.layout import (
    ANGULAR,
    COMPLIANT,
    CONTACT_FORCE,
    CONTACT_GAP,
    CONTACT_LAW,
    CONTACTS,
    HELD,
    LINKS,
    LOSSES,
    POINT_POSITION,
    POINT_VELOCITY,
    POINTS,
    PRESSURE,
    REFERENCE,
    SCREW_ANGULAR,
    SCREW_LINEAR,
    STOP_LAW,
    STOP_RANGE,
    STOPS,
    SURFACES,
    TOUCHING,
    Q,
    V,
)
from linkwork.multibody.kernels.views import fill, matrix, table, vector
from linkwork.multibody.linalg.vectors import (
    Vector,
    add,
    cross,
    dot,
    load,
    store,
    subtract,
    times,
)


@part
def _push(
    t: Integers, w: Floats, side: int, stiffness: float, damping: float, depth: float, rate: float
) -> float:
    """The force along the depth, with `PRESSURE` and `LOSSES`; while `HELD`, according to `TOUCHING`.

    A spring that is released while held dissipates its energy at the end of the part (touch_search.py).
    """
    touching, pressure, losses = vector(t, w, TOUCHING), vector(t, w, PRESSURE), vector(t, w, LOSSES)
    spring, damper = stiffness * depth, damping * rate
    pressure[side] = spring + min(0.0, damper)
    held = vector(t, w, HELD)[0] != 0.0
    presses = touching[side] != 0.0 if held else depth > 0.0 and spring + damper > 0.0
    if not held:
        touching[side] = 1.0 if presses else 0.0
    if not presses and depth <= 0.0:
        return 0.0
    losses[1] += 0.5 * spring * depth
    if not presses:
        losses[3] += 0.5 * spring * depth
        if not held:
            losses[0] -= spring * rate
        return 0.0
    losses[0] += damper * rate
    return spring + damper


@part
def _apply(t: Integers, w: Floats, link: int, place: Vector, force: Vector) -> None:
    """Add a force (world) at a place of a link to `COMPLIANT`."""
    links, compliant = table(t, LINKS, 3), vector(t, w, COMPLIANT)
    screw_angular, screw_linear = matrix(t, w, SCREW_ANGULAR, 3), matrix(t, w, SCREW_LINEAR, 3)
    moment = cross(subtract(place, load(matrix(t, w, REFERENCE, 3), 0)), force)
    while link >= 0:
        compliant[links[link, 2]] += dot(load(screw_angular, link), moment) + dot(
            load(screw_linear, link), force
        )
        link = links[link, 0]


@kernel(ON_MECHANISM)
def compliant_forces(p: Floats, t: Integers, w: Floats) -> None:
    """After `kinematics`: `COMPLIANT`, force and gap of each contact; adds to `LOSSES`."""
    compliant, q, v = vector(t, w, COMPLIANT), vector(t, w, Q), vector(t, w, V)
    fill(compliant, 0.0)
    vector(t, w, LOSSES)[3] = 0.0
    stops, ranges, laws = table(t, STOPS, 1), matrix(t, p, STOP_RANGE, 2), matrix(t, p, STOP_LAW, 2)
    for i in range(stops.shape[0]):
        k, stiffness, damping = stops[i, 0], laws[i, 0], laws[i, 1]
        compliant[k] += _push(t, w, 2 * i, stiffness, damping, ranges[i, 0] - q[k], -v[k])
        compliant[k] -= _push(t, w, 2 * i + 1, stiffness, damping, q[k] - ranges[i, 1], v[k])

    contacts, points, side = table(t, CONTACTS, 1), table(t, POINTS, 1), 2 * stops.shape[0]
    surfaces, laws = matrix(t, p, SURFACES, 7), matrix(t, p, CONTACT_LAW, 5)
    forces, gaps, losses = matrix(t, w, CONTACT_FORCE, 3), vector(t, w, CONTACT_GAP), vector(t, w, LOSSES)
    position, velocity = matrix(t, w, POINT_POSITION, 3), matrix(t, w, POINT_VELOCITY, 3)
    angular = matrix(t, w, ANGULAR, 3)
    for i in range(contacts.shape[0]):
        point = contacts[i, 0]
        place, speed = load(position, point), load(velocity, point)
        gap, normal = surface_at(surfaces, i, place)
        gaps[i] = gap
        link = points[point, 0]
        if laws[i, 4] > 0.0:  # a ball touches beside its centre, which moves alike along the normal
            arm = times(-laws[i, 4], normal)
            place = add(place, arm)
            if link >= 0:
                speed = add(speed, cross(load(angular, link), arm))
        rate = -dot(normal, speed)
        push = _push(t, w, side + i, laws[i, 0], laws[i, 1], -gap, rate)
        force = times(push, normal)
        if push > 0.0 and laws[i, 2] > 0.0:
            slip = add(speed, times(rate, normal))
            size = math.sqrt(dot(slip, slip))
            hold = laws[i, 2] * push
            drag = (
                hold / laws[i, 3] if size < 1e-6 * laws[i, 3] else hold * math.tanh(size / laws[i, 3]) / size
            )
            force = subtract(force, times(drag, slip))
            losses[0] += drag * size * size
        store(forces, i, force)
        if force != (0.0, 0.0, 0.0):
            _apply(t, w, link, place, force)
