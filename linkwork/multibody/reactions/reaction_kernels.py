"""Reactions of joints and constraints, compiled: of one state, and of all samples of a motion.

Every body needs the wrench

    F = m (a_c - g),    N = c × F + I ω˙ + ω × I ω          about the reference point, c: its centre of mass

A joint transmits the wrench that the bodies beyond it need, less that of closures and contacts, summed from
the tips inwards. Its reaction is the part of this wrench that has no power in any motion of the joint.
"""

from __future__ import annotations

import math
from typing import Annotated

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.multibody.constraints.rows import _axes, _in_disc, _pick
from linkwork.multibody.contact.compliant_forces import surface_at
from linkwork.multibody.dynamics.other_formulations import constrained_forward_dynamics
from linkwork.multibody.expressions.tape import add_gradient, run_program
from linkwork.multibody.kernels.compiling import flat, kernel, part
from linkwork.multibody.kernels.layout import (
    ALONG,
    DISC,
    DISTANCE,
    ON_ALONG,
    ON_DISTANCE,
    ON_JOINT,
    ON_PITCH,
    ON_ROLL,
    ON_Z,
    PERPENDICULAR,
)
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.kernels.views import copy
from linkwork.multibody.linalg.vectors import (
    Vector,
    add,
    apply,
    combine,
    cross,
    dot,
    increase,
    load,
    store,
    subtract,
    times,
)
from linkwork.multibody.workspace import Model, Workspace

_ZERO = (0.0, 0.0, 0.0)
_DEPENDENT = 1e-16
"""Squared share of a screw outside the span of others below which it counts as within it."""
COLUMNS = 10
"""Of a result: place (3, m, world), force (3, N), moment about the place (3, N m), effort (N m or N)."""

(
    FORM,  # of the four below
    ON_BODY,  # index, -1: world
    FROM_BODY,
    CONSTRAINT,  # index
    ROW,  # of its multiplier
    SOURCE,  # of its share of the row: a term (TERM), or an entry of the tape
    START,  # of a program: first instruction
    LENGTH,  # and how many
    KIND,  # of the coordinate (layout.COORDINATE_KINDS)
    SEAT,  # index of the point, or of the joint that the coordinate belongs to
    WITH,  # index of the coordinate, or of the joint's link
) = range(11)

CLOSURE, TERM, ADJOINT, FACTOR = range(4)
"""A closure; a coordinate in a linear row, in an expression, in a sum of velocities."""


class ReactionMemory(Struct):
    """The argument r of `reaction_kernels.reactions`. A body or link -1 is the world.

    Lengths: n_bodies, n_links, n_joints, n_entries of constraints.
    """

    body_link: Annotated[Integers, "n_bodies"]
    body_carrier: Annotated[Integers, "n_bodies", "body that carries it"]
    outward: Annotated[Integers, "n_bodies", "their indices, each after the body that carries it"]
    joints: Annotated[Integers, "n_joints, 4", "child's body, first link, number of links, 1 for a screw"]
    entries: Annotated[Integers, "n_entries, 11", "of constraints: FORM to WITH"]
    touched: Annotated[Integers, "n_contacts", "index of the body"]
    pushed_bodies: Annotated[Integers, "n_elements, 2", "bodies on which they act, -1: world or none"]

    seats: Annotated[Floats, "n_bodies, 7", "in link axes: mass, centre of mass, origin"]
    moments: Annotated[Floats, "n_bodies, 6", "inertia about the centre of mass, in link axes"]
    rates: Annotated[Floats, "2 * n_links, 3", "v̇'s part of the twist's rate, angular and linear"]
    carried: Annotated[Floats, "2 * n_bodies, 3", "moment (about the reference), force, those beyond too"]
    basis: Annotated[Floats, "12, 3", "orthonormal screws"]
    transmitted: Annotated[Floats, "n_joints, 9", "place, and all force and moment through each joint"]
    results: Annotated[Floats, "n_joints + n_entries, 10", "of joints, then of entries (COLUMNS)"]


@part
def _link_axes(w: Workspace, link: int) -> tuple[Vector, Vector, Vector]:
    """Axes of a link in world axes; those of the world for link -1."""
    if link < 0:
        return (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    return load(w.axes, 3 * link), load(w.axes, 3 * link + 1), load(w.axes, 3 * link + 2)


@part
def _link_place(w: Workspace, link: int, at: Vector) -> Vector:
    """A place given in a link, in the world."""
    if link < 0:
        return at
    x, y, z = _link_axes(w, link)
    return add(load(w.origin, link), combine(x, y, z, at))


@part
def _needed(m: Model, w: Workspace, r: ReactionMemory) -> None:
    """Write the wrench that each body needs to `carried`: moment about the reference point, and force."""
    gravity, reference = load(m.gravity, 0), load(w.reference, 0)
    for i in range(m.n_links):
        parent, change = m.parent[i], w.vdot[m.in_v[i]]
        turn, shift = times(change, load(w.screw_angular, i)), times(change, load(w.screw_linear, i))
        if parent >= 0:
            turn, shift = add(turn, load(r.rates, 2 * parent)), add(shift, load(r.rates, 2 * parent + 1))
        store(r.rates, 2 * i, turn)
        store(r.rates, 2 * i + 1, shift)
    for b in range(len(r.body_link)):
        i, mass = r.body_link[b], r.seats[b, 0]
        x, y, z = _link_axes(w, i)
        centre = _link_place(w, i, (r.seats[b, 1], r.seats[b, 2], r.seats[b, 3]))
        lever = subtract(centre, reference)
        if i < 0:
            force = times(-mass, gravity)
            store(r.carried, 2 * b, cross(lever, force))
            store(r.carried, 2 * b + 1, force)
            continue
        omega = load(w.angular, i)
        alpha = add(load(w.angular_bias, i), load(r.rates, 2 * i))
        speed = add(load(w.linear, i), cross(omega, lever))
        change_of_speed = add(add(load(w.linear_bias, i), load(r.rates, 2 * i + 1)), cross(alpha, lever))
        acceleration = add(change_of_speed, cross(omega, speed))
        force = times(mass, subtract(acceleration, gravity))
        spin, torque = (
            _turned_inertia(r.moments, b, x, y, z, omega),
            _turned_inertia(r.moments, b, x, y, z, alpha),
        )
        store(r.carried, 2 * b, add(cross(lever, force), add(torque, cross(omega, spin))))
        store(r.carried, 2 * b + 1, force)


@part
def _turned_inertia(inertia: Matrix, b: int, x: Vector, y: Vector, z: Vector, a: Vector) -> Vector:
    """R I R'a, with the inertia of a body in the axes of its link."""
    own = (dot(x, a), dot(y, a), dot(z, a))
    return combine(x, y, z, apply(inertia, b, own))


@part
def _give(r: ReactionMemory, body: int, moment: Vector, force: Vector, share: float) -> None:
    """Subtract a share of a wrench (about the reference point) from the wrench that a body needs from its
    joint."""
    if body >= 0:
        increase(r.carried, 2 * body, times(-share, moment))
        increase(r.carried, 2 * body + 1, times(-share, force))


@part
def _closure_wrench(m: Model, w: Workspace, k: int) -> tuple[Vector, Vector, Vector]:
    """Origin of a closure's frame b, and force and moment on its body."""
    link_a, link_b = m.link_a[k], m.link_b[k]
    at_a = _link_place(w, link_a, load(m.frame_at, 2 * k))
    at_b = _link_place(w, link_b, load(m.frame_at, 2 * k + 1))
    xa, ya, za = _axes(m, w, 2 * k, link_a)
    xb, yb, zb = _axes(m, w, 2 * k + 1, link_b)
    force = moment = _ZERO
    for row in range(m.first_row[k], m.first_row[k] + m.row_count[k]):
        kind, size = m.row_kind[row], w.multipliers[row]
        a = _pick(m.row_first[row], xa, ya, za)
        if kind == ALONG:
            force = add(force, times(size, a))
        elif kind == PERPENDICULAR:
            moment = add(moment, times(size, cross(_pick(m.row_second[row], xb, yb, zb), a)))
        elif kind == DISTANCE:
            way = subtract(at_b, at_a)
            force = add(force, times(size / math.sqrt(dot(way, way)), way))
        else:
            up = za
            if kind == DISC:
                up, _, _ = _in_disc(za, _ZERO, zb, _ZERO)
            force = add(force, times(size, a))
            moment = subtract(moment, times(size * m.row_offset[row], cross(up, a)))
    return at_b, force, moment


@part
def _share(m: Model, w: Workspace, entry: Integers) -> float:
    """Generalized force on a coordinate from one unit of a row's multiplier."""
    form, source = entry[FORM], entry[SOURCE]
    if form == TERM:
        return m.term_factor[source]  # type: ignore[no-any-return]
    run_program(m, w, entry[START], entry[LENGTH])
    if form == ADJOINT:
        add_gradient(m, w, entry[START], entry[LENGTH], w.shift)
        return w.tape[source, 3]  # type: ignore[no-any-return]
    return w.tape[source, 0]  # type: ignore[no-any-return]


@part
def _point_wrench(m: Model, w: Workspace, kind: int, point: int, coordinate: int) -> tuple[Vector, Vector]:
    """Force and moment on a point's body that do unit work on a coordinate of the point."""
    if kind <= ON_Z:
        axis = kind - 1
        force = (1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0)
        return force, _ZERO
    if kind == ON_ALONG:
        return load(m.directions, coordinate), _ZERO
    if kind == ON_DISTANCE:
        way = subtract(load(w.point_position, point), load(m.directions, coordinate))
        return times(1.0 / math.sqrt(dot(way, way)), way), _ZERO
    x, y, z = _link_axes(w, m.point_link[point])
    ahead = combine(x, y, z, load(m.point_axes, 3 * point))
    cosine, sine = math.hypot(ahead[0], ahead[1]), -ahead[2]  # of the pitch
    cy, sy = ahead[0] / cosine, ahead[1] / cosine
    if kind == ON_ROLL:
        return _ZERO, (cy / cosine, sy / cosine, 0.0)
    if kind == ON_PITCH:
        return _ZERO, (-sy, cy, 0.0)
    return _ZERO, (cy * sine / cosine, sy * sine / cosine, 1.0)


@part
def _screw_at(w: Workspace, i: int, lever: Vector) -> tuple[Vector, Vector]:
    """Screw of a link for unit velocity, its linear part taken where `lever` leads from the reference."""
    turn = load(w.screw_angular, i)
    return turn, add(load(w.screw_linear, i), cross(turn, lever))


@part
def _outside(basis: Matrix, count: int, a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """The part of (a; b) outside the span of the first screws of an orthonormal basis."""
    for _ in range(2):  # once more for round-off
        for n in range(count):
            u, v = load(basis, 2 * n), load(basis, 2 * n + 1)
            share = dot(u, a) + dot(v, b)
            a, b = subtract(a, times(share, u)), subtract(b, times(share, v))
    return a, b


@part
def _orthonormal(w: Workspace, first: int, count: int, skip: int, lever: Vector, basis: Matrix) -> int:
    """Write an orthonormal basis of the screws of a joint's links, all but `skip`; return its size."""
    size = 0
    for i in range(first, first + count):
        if i == skip or size == 6:
            continue
        a, b = _screw_at(w, i, lever)
        whole = dot(a, a) + dot(b, b)
        a, b = _outside(basis, size, a, b)
        left = dot(a, a) + dot(b, b)
        if left > _DEPENDENT * whole:
            store(basis, 2 * size, times(1.0 / math.sqrt(left), a))
            store(basis, 2 * size + 1, times(1.0 / math.sqrt(left), b))
            size += 1
    return size


@part
def _dof_wrench(
    w: Workspace, joint: Integers, link: int, lever: Vector, basis: Matrix
) -> tuple[Vector, Vector]:
    """Force and moment that do unit work on one degree of freedom of a joint and none on its others."""
    a, b = _screw_at(w, link, lever)
    if joint[3] != 0:
        return _ZERO, times(1.0 / dot(a, a), a)
    size = _orthonormal(w, joint[1], joint[2], link, lever, basis)
    u, v = _outside(basis, size, a, b)
    power = dot(u, a) + dot(v, b)
    if not power > _DEPENDENT * (dot(a, a) + dot(b, b)):
        u, v, power = a, b, dot(a, a) + dot(b, b)
    return times(1.0 / power, v), times(1.0 / power, u)


@part
def _put(results: Matrix, row: int, at: Vector, force: Vector, moment: Vector) -> None:
    for n in range(3):
        results[row, n], results[row, 3 + n], results[row, 6 + n] = at[n], force[n], moment[n]


@part
def _child_place(w: Workspace, r: ReactionMemory, body: int) -> Vector:
    """Origin of a body, in the world."""
    at = (r.seats[body, 4], r.seats[body, 5], r.seats[body, 6])
    return _link_place(w, r.body_link[body], at)


@part
def _constraints(m: Model, w: Workspace, r: ReactionMemory) -> None:
    """Results of all entries of constraints; what acts on bodies outside their joints is taken off."""
    reference = load(w.reference, 0)
    count = r.joints.shape[0]
    for k in range(r.entries.shape[0]):
        entry, works = r.entries[k], w.on[r.entries[k, CONSTRAINT]] != 0.0
        force = moment = _ZERO
        effort = 0.0
        if entry[FORM] == CLOSURE:
            at, pull, twist = _closure_wrench(m, w, entry[CONSTRAINT])
            if works:
                force, moment = pull, twist
        else:
            if entry[KIND] == ON_JOINT:
                at = _child_place(w, r, r.joints[entry[SEAT], 0])
            else:
                at = load(w.point_position, entry[SEAT])
            if works:
                share = _share(m, w, entry)
                effort = share * w.multipliers[entry[ROW]]
                if entry[KIND] == ON_JOINT:
                    own, lever = r.joints[entry[SEAT]], subtract(at, reference)
                    pull, twist = _dof_wrench(w, own, entry[WITH], lever, r.basis)
                else:
                    pull, twist = _point_wrench(m, w, entry[KIND], entry[SEAT], entry[WITH])
                force, moment = times(effort, pull), times(effort, twist)
        _put(r.results, count + k, at, force, moment)
        r.results[count + k, 9] = effort
        if entry[FORM] == CLOSURE or entry[KIND] != ON_JOINT:
            about = add(moment, cross(subtract(at, reference), force))
            _give(r, entry[ON_BODY], about, force, 1.0)
            _give(r, entry[FROM_BODY], about, force, -1.0)


@part
def _contacts(m: Model, w: Workspace, r: ReactionMemory) -> None:
    """Subtract the forces of contacts on their bodies."""
    reference = load(w.reference, 0)
    for i in range(m.contact_point.shape[0]):
        place, force = load(w.point_position, m.contact_point[i]), load(w.contact_force, i)
        if m.contact_law[i, 4] > 0.0:
            _, normal = surface_at(m.surfaces, i, place)
            place = subtract(place, times(m.contact_law[i, 4], normal))
        _give(r, r.touched[i], cross(subtract(place, reference), force), force, 1.0)


@part
def _elements(w: Workspace, r: ReactionMemory) -> None:
    """Take off what springs and applied forces give to their bodies."""
    for i in range(len(r.pushed_bodies)):
        for end in range(2):
            at = 2 * (2 * i + end)
            _give(r, r.pushed_bodies[i, end], load(w.element_wrench, at), load(w.element_wrench, at + 1), 1.0)


@part
def _joints(w: Workspace, r: ReactionMemory) -> None:
    """Wrenches that joints transmit, and their part without power along the joint: the reactions."""
    for n in range(len(r.body_link) - 1, -1, -1):
        b = r.outward[n]
        parent = r.body_carrier[b]
        if parent >= 0:
            increase(r.carried, 2 * parent, load(r.carried, 2 * b))
            increase(r.carried, 2 * parent + 1, load(r.carried, 2 * b + 1))
    reference = load(w.reference, 0)
    for j in range(r.joints.shape[0]):
        own, b = r.joints[j], r.joints[j, 0]
        at = _child_place(w, r, b)
        lever, force = subtract(at, reference), load(r.carried, 2 * b + 1)
        moment = subtract(load(r.carried, 2 * b), cross(lever, force))
        _put(r.transmitted, j, at, force, moment)
        if own[3] != 0:
            turn, shift = _screw_at(w, own[1], lever)
            power = dot(turn, moment) + dot(shift, force)
            moment = subtract(moment, times(power / dot(turn, turn), turn))
        else:
            size = _orthonormal(w, own[1], own[2], -1, lever, r.basis)
            moment, force = _outside(r.basis, size, moment, force)
        _put(r.results, j, at, force, moment)
        r.results[j, 9] = 0.0


@kernel
def reactions(m: Model, w: Workspace, r: ReactionMemory) -> None:
    """After any acceleration: write `results` of a `ReactionTable`, whose flat arrays are r and c."""
    _needed(m, w, r)
    _constraints(m, w, r)
    _contacts(m, w, r)
    _elements(w, r)
    _joints(w, r)


@kernel
def reactions_along(
    m: Model,
    w: Workspace,
    r: ReactionMemory,
    states: Matrix,
    times_s: Floats,
    results: Matrix,
    forces: Matrix,
) -> None:
    """Write all results of each of `states` (samples × (nq + nv)) at `times_s` (samples) in a row of
    `results`.

    A row of `forces` (samples × nv) receives A'λ, N m or N. Accelerations are those of the workspace's
    formulation, with its efforts, switches and targets.
    """
    nq, nv, n = m.nq, m.nv, results.shape[1]
    for sample in range(states.shape[0]):
        for k in range(nq):
            w.q[k] = states[sample, k]
        for k in range(nv):
            w.v[k] = states[sample, nq + k]
        w.clock[0] = times_s[sample]
        constrained_forward_dynamics(m, w)
        if n > 0:
            reactions(m, w, r)
            copy(flat(r.results), results[sample])
        copy(w.constraint_force, forces[sample])
