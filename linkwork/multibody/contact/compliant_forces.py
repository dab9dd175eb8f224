"""Forces of joint stops and of contacts, with stored and dissipated energy (compliance.py has the laws).

With the depth d, its rate ḋ and the force N along it, the spring holds U = stiffness d²/2. The dissipated
power, (N - stiffness d) ḋ, is the damper's work while they press, and the spring's energy where the bodies
separate faster than the damper lets it follow. Friction dissipates its force times the slip.

Points touch surfaces: a row of `surfaces` is a plane or a sphere of the world.
"""

from __future__ import annotations

import math

from linkwork.arrays import Matrix
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.linalg.vectors import Vector, add, cross, dot, load, store, subtract, times
from linkwork.multibody.workspace import Model, Workspace


@part
def surface_at(surfaces: Matrix, i: int, place: Vector) -> tuple[float, Vector]:
    """Distance (m) of a place (3, m, world) from surface i, negative inside, and the nearest normal (3,
    world).

    `surfaces` (contacts × 7): place (3) and normal (3) of a plane, then 0; or centre (3) of a sphere, three
    zeros, radius (m). At the centre of a sphere the normal is the world's z.
    """
    r = subtract(place, load(surfaces, i))
    radius = surfaces[i, 6]
    if radius == 0.0:
        normal = (surfaces[i, 3], surfaces[i, 4], surfaces[i, 5])
        return dot(normal, r), normal
    distance = math.sqrt(dot(r, r))
    if distance == 0.0:
        return -radius, (0.0, 0.0, 1.0)
    return distance - radius, times(1.0 / distance, r)


@part
def _push(w: Workspace, side: int, stiffness: float, damping: float, depth: float, rate: float) -> float:
    """The force along the depth, with `pressure` and `losses`; while `held`, according to `touching`.

    A spring that is released while held dissipates its energy at the end of the part (touch_search.py).
    """
    spring, damper = stiffness * depth, damping * rate
    w.pressure[side] = spring + min(0.0, damper)
    held = w.held[0] != 0.0
    presses = w.touching[side] != 0.0 if held else depth > 0.0 and spring + damper > 0.0
    if not held:
        w.touching[side] = 1.0 if presses else 0.0
    if not presses and depth <= 0.0:
        return 0.0
    w.losses[1] += 0.5 * spring * depth
    if not presses:
        w.losses[3] += 0.5 * spring * depth
        if not held:
            w.losses[0] -= spring * rate
        return 0.0
    w.losses[0] += damper * rate
    return spring + damper


@part
def _apply(m: Model, w: Workspace, link: int, place: Vector, force: Vector) -> None:
    """Add a force (world) at a place of a link to `compliant`."""
    moment = cross(subtract(place, load(w.reference, 0)), force)
    while link >= 0:
        w.compliant[m.in_v[link]] += dot(load(w.screw_angular, link), moment) + dot(
            load(w.screw_linear, link), force
        )
        link = m.parent[link]


@kernel
def compliant_forces(m: Model, w: Workspace) -> None:
    """After `kinematics`: `compliant`, force and gap of each contact; adds to `losses`."""
    fill(w.compliant, 0.0)
    w.losses[3] = 0.0
    laws = m.stop_law
    for i in range(m.stop_at.shape[0]):
        k, stiffness, damping = m.stop_at[i], laws[i, 0], laws[i, 1]
        w.compliant[k] += _push(w, 2 * i, stiffness, damping, m.stop_range[i, 0] - w.q[k], -w.v[k])
        w.compliant[k] -= _push(w, 2 * i + 1, stiffness, damping, w.q[k] - m.stop_range[i, 1], w.v[k])

    side = 2 * m.stop_at.shape[0]
    laws = m.contact_law
    for i in range(m.contact_point.shape[0]):
        point = m.contact_point[i]
        place, speed = load(w.point_position, point), load(w.point_velocity, point)
        gap, normal = surface_at(m.surfaces, i, place)
        w.contact_gap[i] = gap
        link = m.point_link[point]
        if laws[i, 4] > 0.0:  # a ball touches beside its centre, which moves alike along the normal
            arm = times(-laws[i, 4], normal)
            place = add(place, arm)
            if link >= 0:
                speed = add(speed, cross(load(w.angular, link), arm))
        rate = -dot(normal, speed)
        push = _push(w, side + i, laws[i, 0], laws[i, 1], -gap, rate)
        force = times(push, normal)
        if push > 0.0 and laws[i, 2] > 0.0:
            slip = add(speed, times(rate, normal))
            size = math.sqrt(dot(slip, slip))
            hold = laws[i, 2] * push
            drag = (
                hold / laws[i, 3] if size < 1e-6 * laws[i, 3] else hold * math.tanh(size / laws[i, 3]) / size
            )
            force = subtract(force, times(drag, slip))
            w.losses[0] += drag * size * size
        store(w.contact_force, i, force)
        if force[0] != 0.0 or force[1] != 0.0 or force[2] != 0.0:
            _apply(m, w, link, place, force)
