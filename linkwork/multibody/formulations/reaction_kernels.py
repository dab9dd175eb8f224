"""Reactions of joints and constraints, compiled: of one state, and of all samples of a motion.

Every body needs the wrench

    F = m (a_c - g),    N = c × F + I ω˙ + ω × I ω          about the reference point, c: its centre of mass

A joint transmits the wrench that the bodies beyond it need, less that of closures and contacts, summed from
the tips inwards. Its reaction is the part of this wrench that has no power in any motion of the joint.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.constraints.rows import _axes, _in_disc, _pick
from linkwork.multibody.contact.surfaces import surface_at
from linkwork.multibody.expressions.tape import add_gradient, run_program
from linkwork.multibody.formulations.other_formulations import constrained_forward_dynamics
from linkwork.multibody.formulations.reaction_layout import (
    ADJOINT,
    BASIS,
    BODIES,
    BODY_COLUMNS,
    CARRIED,
    CLOSURE,
    COLUMNS,
    CONSTRAINT,
    ENTRIES,
    ENTRY_COLUMNS,
    FORM,
    FROM_BODY,
    JOINT_COLUMNS,
    JOINTS,
    KIND,
    LENGTH,
    MOMENTS,
    ON_BODY,
    OUTWARD,
    PUSHED_BODIES,
    RATES,
    RESULTS,
    ROW,
    SEAT,
    SEAT_COLUMNS,
    SEATS,
    SOURCE,
    START,
    TERM,
    TOUCHED,
    TRANSMITTED,
    WITH,
)
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    MATRIX,
    ON_MECHANISM,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    kernel,
    part,
    void,
)
from linkwork.multibody.kernels.layout import (
    ALONG,
    ANGULAR,
    ANGULAR_BIAS,
    AXES,
    CLOCK,
    CONSTRAINT_FORCE,
    CONSTRAINTS,
    CONTACT_FORCE,
    CONTACT_LAW,
    CONTACTS,
    DIRECTIONS,
    DISC,
    DISTANCE,
    ELEMENT_WRENCH,
    FRAME_AT,
    GRAVITY,
    LINEAR,
    LINEAR_BIAS,
    LINKS,
    MULTIPLIERS,
    N_LINKS,
    N_ROWS,
    NQ,
    NV,
    ON,
    ON_ALONG,
    ON_DISTANCE,
    ON_JOINT,
    ON_PITCH,
    ON_ROLL,
    ON_Z,
    ORIGIN,
    PERPENDICULAR,
    POINT_AXES,
    POINT_POSITION,
    POINTS,
    REFERENCE,
    ROW_OFFSET,
    ROWS,
    SCREW_ANGULAR,
    SCREW_LINEAR,
    SHIFT,
    SURFACES,
    TAPE,
    TERM_FACTOR,
    VDOT,
    Q,
    V,
)
from linkwork.multibody.kernels.views import copy, matrix, table, vector
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
from linkwork.multibody.tree.dynamics import forward_dynamics

_ZERO = (0.0, 0.0, 0.0)
_DEPENDENT = 1e-16
"""Squared share of a screw outside the span of others below which it counts as within it."""


@part
def _link_axes(t: Integers, w: Floats, link: int) -> tuple[Vector, Vector, Vector]:
    """Axes of a link in world axes; those of the world for link -1."""
    if link < 0:
        return (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    axes = matrix(t, w, AXES, 3)
    return load(axes, 3 * link), load(axes, 3 * link + 1), load(axes, 3 * link + 2)


@part
def _link_place(t: Integers, w: Floats, link: int, at: Vector) -> Vector:
    """A place given in a link, in the world."""
    if link < 0:
        return at
    x, y, z = _link_axes(t, w, link)
    return add(load(matrix(t, w, ORIGIN, 3), link), combine(x, y, z, at))


@part
def _needed(p: Floats, t: Integers, w: Floats, r: Integers, c: Floats) -> None:
    """Write the wrench that each body needs to `CARRIED`: moment about the reference point, and force."""
    links, bodies = table(t, LINKS, 3), table(r, BODIES, BODY_COLUMNS)
    vdot, seats = vector(t, w, VDOT), matrix(r, c, SEATS, SEAT_COLUMNS)
    rates, carried = matrix(r, c, RATES, 3), matrix(r, c, CARRIED, 3)
    inertia = matrix(r, c, MOMENTS, 6)
    screw_angular, screw_linear = matrix(t, w, SCREW_ANGULAR, 3), matrix(t, w, SCREW_LINEAR, 3)
    angular, linear = matrix(t, w, ANGULAR, 3), matrix(t, w, LINEAR, 3)
    angular_bias, linear_bias = matrix(t, w, ANGULAR_BIAS, 3), matrix(t, w, LINEAR_BIAS, 3)
    gravity, reference = load(matrix(t, p, GRAVITY, 3), 0), load(matrix(t, w, REFERENCE, 3), 0)
    for i in range(t[N_LINKS]):
        parent, change = links[i, 0], vdot[links[i, 2]]
        turn, shift = times(change, load(screw_angular, i)), times(change, load(screw_linear, i))
        if parent >= 0:
            turn, shift = add(turn, load(rates, 2 * parent)), add(shift, load(rates, 2 * parent + 1))
        store(rates, 2 * i, turn)
        store(rates, 2 * i + 1, shift)
    for b in range(bodies.shape[0]):
        i, mass = bodies[b, 0], seats[b, 0]
        x, y, z = _link_axes(t, w, i)
        centre = _link_place(t, w, i, (seats[b, 1], seats[b, 2], seats[b, 3]))
        lever = subtract(centre, reference)
        if i < 0:
            force = times(-mass, gravity)
            store(carried, 2 * b, cross(lever, force))
            store(carried, 2 * b + 1, force)
            continue
        omega = load(angular, i)
        alpha = add(load(angular_bias, i), load(rates, 2 * i))
        speed = add(load(linear, i), cross(omega, lever))
        change_of_speed = add(add(load(linear_bias, i), load(rates, 2 * i + 1)), cross(alpha, lever))
        acceleration = add(change_of_speed, cross(omega, speed))
        force = times(mass, subtract(acceleration, gravity))
        spin, torque = (
            _turned_inertia(inertia, b, x, y, z, omega),
            _turned_inertia(inertia, b, x, y, z, alpha),
        )
        store(carried, 2 * b, add(cross(lever, force), add(torque, cross(omega, spin))))
        store(carried, 2 * b + 1, force)


@part
def _turned_inertia(inertia: Floats, b: int, x: Vector, y: Vector, z: Vector, a: Vector) -> Vector:
    """R I R'a, with the inertia of a body in the axes of its link."""
    own = (dot(x, a), dot(y, a), dot(z, a))
    return combine(x, y, z, apply(inertia, b, own))


@part
def _give(c: Floats, r: Integers, body: int, moment: Vector, force: Vector, share: float) -> None:
    """Subtract a share of a wrench (about the reference point) from the wrench that a body needs from its
    joint."""
    if body >= 0:
        carried = matrix(r, c, CARRIED, 3)
        increase(carried, 2 * body, times(-share, moment))
        increase(carried, 2 * body + 1, times(-share, force))


@part
def _closure_wrench(p: Floats, t: Integers, w: Floats, k: int) -> tuple[Vector, Vector, Vector]:
    """Origin of a closure's frame b, and force and moment on its body."""
    spans, rows = table(t, CONSTRAINTS, 4), table(t, ROWS, 4)
    multipliers, offset = vector(t, w, MULTIPLIERS), vector(t, p, ROW_OFFSET)
    link_a, link_b, frame_at = spans[k, 2], spans[k, 3], matrix(t, p, FRAME_AT, 3)
    at_a = _link_place(t, w, link_a, load(frame_at, 2 * k))
    at_b = _link_place(t, w, link_b, load(frame_at, 2 * k + 1))
    xa, ya, za = _axes(t, p, w, 2 * k, link_a)
    xb, yb, zb = _axes(t, p, w, 2 * k + 1, link_b)
    force = moment = _ZERO
    for row in range(spans[k, 0], spans[k, 0] + spans[k, 1]):
        kind, size = rows[row, 0], multipliers[row]
        a = _pick(rows[row, 1], xa, ya, za)
        if kind == ALONG:
            force = add(force, times(size, a))
        elif kind == PERPENDICULAR:
            moment = add(moment, times(size, cross(_pick(rows[row, 2], xb, yb, zb), a)))
        elif kind == DISTANCE:
            way = subtract(at_b, at_a)
            force = add(force, times(size / math.sqrt(dot(way, way)), way))
        else:
            up = za
            if kind == DISC:
                up, _, _ = _in_disc(za, _ZERO, zb, _ZERO)
            force = add(force, times(size, a))
            moment = subtract(moment, times(size * offset[row], cross(up, a)))
    return at_b, force, moment


@part
def _share(p: Floats, t: Integers, w: Floats, entry: Integers) -> float:
    """Generalized force on a coordinate from one unit of a row's multiplier."""
    form, source = entry[FORM], entry[SOURCE]
    if form == TERM:
        return vector(t, p, TERM_FACTOR)[source]  # type: ignore[no-any-return]
    run_program(p, t, w, entry[START], entry[LENGTH])
    if form == ADJOINT:
        add_gradient(p, t, w, entry[START], entry[LENGTH], vector(t, w, SHIFT))
        return matrix(t, w, TAPE, 4)[source, 3]  # type: ignore[no-any-return]
    return matrix(t, w, TAPE, 4)[source, 0]  # type: ignore[no-any-return]


@part
def _point_wrench(
    p: Floats, t: Integers, w: Floats, kind: int, point: int, coordinate: int
) -> tuple[Vector, Vector]:
    """Force and moment on a point's body that do unit work on a coordinate of the point."""
    if kind <= ON_Z:
        axis = kind - 1
        force = (1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0)
        return force, _ZERO
    directions = matrix(t, p, DIRECTIONS, 4)
    if kind == ON_ALONG:
        return load(directions, coordinate), _ZERO
    if kind == ON_DISTANCE:
        way = subtract(load(matrix(t, w, POINT_POSITION, 3), point), load(directions, coordinate))
        return times(1.0 / math.sqrt(dot(way, way)), way), _ZERO
    x, y, z = _link_axes(t, w, table(t, POINTS, 1)[point, 0])
    ahead = combine(x, y, z, load(matrix(t, p, POINT_AXES, 3), 3 * point))
    cosine, sine = math.hypot(ahead[0], ahead[1]), -ahead[2]  # of the pitch
    cy, sy = ahead[0] / cosine, ahead[1] / cosine
    if kind == ON_ROLL:
        return _ZERO, (cy / cosine, sy / cosine, 0.0)
    if kind == ON_PITCH:
        return _ZERO, (-sy, cy, 0.0)
    return _ZERO, (cy * sine / cosine, sy * sine / cosine, 1.0)


@part
def _screw_at(t: Integers, w: Floats, i: int, lever: Vector) -> tuple[Vector, Vector]:
    """Screw of a link for unit velocity, its linear part taken where `lever` leads from the reference."""
    turn = load(matrix(t, w, SCREW_ANGULAR, 3), i)
    return turn, add(load(matrix(t, w, SCREW_LINEAR, 3), i), cross(turn, lever))


@part
def _outside(basis: Floats, count: int, a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """The part of (a; b) outside the span of the first screws of an orthonormal basis."""
    for _ in range(2):  # once more for round-off
        for n in range(count):
            u, v = load(basis, 2 * n), load(basis, 2 * n + 1)
            share = dot(u, a) + dot(v, b)
            a, b = subtract(a, times(share, u)), subtract(b, times(share, v))
    return a, b


@part
def _orthonormal(
    t: Integers, w: Floats, first: int, count: int, skip: int, lever: Vector, basis: Floats
) -> int:
    """Write an orthonormal basis of the screws of a joint's links, all but `skip`; return its size."""
    size = 0
    for i in range(first, first + count):
        if i == skip or size == 6:
            continue
        a, b = _screw_at(t, w, i, lever)
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
    t: Integers, w: Floats, joint: Integers, link: int, lever: Vector, basis: Floats
) -> tuple[Vector, Vector]:
    """Force and moment that do unit work on one degree of freedom of a joint and none on its others."""
    a, b = _screw_at(t, w, link, lever)
    if joint[3] != 0:
        return _ZERO, times(1.0 / dot(a, a), a)
    size = _orthonormal(t, w, joint[1], joint[2], link, lever, basis)
    u, v = _outside(basis, size, a, b)
    power = dot(u, a) + dot(v, b)
    if not power > _DEPENDENT * (dot(a, a) + dot(b, b)):
        u, v, power = a, b, dot(a, a) + dot(b, b)
    return times(1.0 / power, v), times(1.0 / power, u)


@part
def _put(results: Floats, row: int, at: Vector, force: Vector, moment: Vector) -> None:
    for n in range(3):
        results[row, n], results[row, 3 + n], results[row, 6 + n] = at[n], force[n], moment[n]


@part
def _child_place(t: Integers, w: Floats, r: Integers, c: Floats, body: int) -> Vector:
    """Origin of a body, in the world."""
    seats = matrix(r, c, SEATS, SEAT_COLUMNS)
    at = (seats[body, 4], seats[body, 5], seats[body, 6])
    return _link_place(t, w, table(r, BODIES, BODY_COLUMNS)[body, 0], at)


@part
def _constraints(p: Floats, t: Integers, w: Floats, r: Integers, c: Floats) -> None:
    """Results of all entries of constraints; what acts on bodies outside their joints is taken off."""
    joints, entries = table(r, JOINTS, JOINT_COLUMNS), table(r, ENTRIES, ENTRY_COLUMNS)
    results, on, multipliers = matrix(r, c, RESULTS, COLUMNS), vector(t, w, ON), vector(t, w, MULTIPLIERS)
    reference, positions = load(matrix(t, w, REFERENCE, 3), 0), matrix(t, w, POINT_POSITION, 3)
    basis, count = matrix(r, c, BASIS, 3), joints.shape[0]
    for k in range(entries.shape[0]):
        entry, works = entries[k], on[entries[k, CONSTRAINT]] != 0.0
        force = moment = _ZERO
        effort = 0.0
        if entry[FORM] == CLOSURE:
            at, pull, twist = _closure_wrench(p, t, w, entry[CONSTRAINT])
            if works:
                force, moment = pull, twist
        else:
            if entry[KIND] == ON_JOINT:
                at = _child_place(t, w, r, c, joints[entry[SEAT], 0])
            else:
                at = load(positions, entry[SEAT])
            if works:
                share = _share(p, t, w, entry)
                effort = share * multipliers[entry[ROW]]
                if entry[KIND] == ON_JOINT:
                    own, lever = joints[entry[SEAT]], subtract(at, reference)
                    pull, twist = _dof_wrench(t, w, own, entry[WITH], lever, basis)
                else:
                    pull, twist = _point_wrench(p, t, w, entry[KIND], entry[SEAT], entry[WITH])
                force, moment = times(effort, pull), times(effort, twist)
        _put(results, count + k, at, force, moment)
        results[count + k, 9] = effort
        if entry[FORM] == CLOSURE or entry[KIND] != ON_JOINT:
            about = add(moment, cross(subtract(at, reference), force))
            _give(c, r, entry[ON_BODY], about, force, 1.0)
            _give(c, r, entry[FROM_BODY], about, force, -1.0)


@part
def _contacts(p: Floats, t: Integers, w: Floats, r: Integers, c: Floats) -> None:
    """Subtract the forces of contacts on their bodies."""
    contacts, touched = table(t, CONTACTS, 1), table(r, TOUCHED, 1)
    surfaces = matrix(t, p, SURFACES, 7)
    laws, forces = matrix(t, p, CONTACT_LAW, 5), matrix(t, w, CONTACT_FORCE, 3)
    reference, positions = load(matrix(t, w, REFERENCE, 3), 0), matrix(t, w, POINT_POSITION, 3)
    for i in range(contacts.shape[0]):
        place, force = load(positions, contacts[i, 0]), load(forces, i)
        if laws[i, 4] > 0.0:
            _, normal = surface_at(surfaces, i, place)
            place = subtract(place, times(laws[i, 4], normal))
        _give(c, r, touched[i, 0], cross(subtract(place, reference), force), force, 1.0)


@part
def _elements(t: Integers, w: Floats, r: Integers, c: Floats) -> None:
    """Take off what springs and applied forces give to their bodies."""
    ends, wrenches = table(r, PUSHED_BODIES, 2), matrix(t, w, ELEMENT_WRENCH, 3)
    for i in range(ends.shape[0]):
        for end in range(2):
            at = 2 * (2 * i + end)
            _give(c, r, ends[i, end], load(wrenches, at), load(wrenches, at + 1), 1.0)


@part
def _joints(t: Integers, w: Floats, r: Integers, c: Floats) -> None:
    """Wrenches that joints transmit, and their part without power along the joint: the reactions."""
    bodies, outward = table(r, BODIES, BODY_COLUMNS), table(r, OUTWARD, 1)
    carried, basis = matrix(r, c, CARRIED, 3), matrix(r, c, BASIS, 3)
    for n in range(bodies.shape[0] - 1, -1, -1):
        b = outward[n, 0]
        parent = bodies[b, 1]
        if parent >= 0:
            increase(carried, 2 * parent, load(carried, 2 * b))
            increase(carried, 2 * parent + 1, load(carried, 2 * b + 1))
    joints, reference = table(r, JOINTS, JOINT_COLUMNS), load(matrix(t, w, REFERENCE, 3), 0)
    transmitted, results = matrix(r, c, TRANSMITTED, 9), matrix(r, c, RESULTS, COLUMNS)
    for j in range(joints.shape[0]):
        own, b = joints[j], joints[j, 0]
        at = _child_place(t, w, r, c, b)
        lever, force = subtract(at, reference), load(carried, 2 * b + 1)
        moment = subtract(load(carried, 2 * b), cross(lever, force))
        _put(transmitted, j, at, force, moment)
        if own[3] != 0:
            turn, shift = _screw_at(t, w, own[1], lever)
            power = dot(turn, moment) + dot(shift, force)
            moment = subtract(moment, times(power / dot(turn, turn), turn))
        else:
            size = _orthonormal(t, w, own[1], own[2], -1, lever, basis)
            moment, force = _outside(basis, size, moment, force)
        _put(results, j, at, force, moment)
        results[j, 9] = 0.0


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, TOPOLOGY, BUFFER))
def reactions(p: Floats, t: Integers, w: Floats, r: Integers, c: Floats) -> None:
    """After any acceleration: write `RESULTS` of a `ReactionTable`, whose flat arrays are r and c."""
    _needed(p, t, w, r, c)
    _constraints(p, t, w, r, c)
    _contacts(p, t, w, r, c)
    _elements(t, w, r, c)
    _joints(t, w, r, c)


@kernel(ON_MECHANISM)
def _accelerate(p: Floats, t: Integers, w: Floats) -> None:
    if t[N_ROWS] > 0:
        constrained_forward_dynamics(p, t, w)
    else:
        forward_dynamics(p, t, w)


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, TOPOLOGY, BUFFER, MATRIX, VECTOR, MATRIX, MATRIX))
def reactions_along(
    p: Floats,
    t: Integers,
    w: Floats,
    r: Integers,
    c: Floats,
    states: Floats,
    times_s: Floats,
    results: Floats,
    forces: Floats,
) -> None:
    """Write all results of each of `states` (samples × (nq + nv)) at `times_s` (samples) in a row of
    `results`.

    A row of `forces` (samples × nv) receives A'λ, N m or N. Accelerations are those of the workspace's
    formulation, with its efforts, switches and targets.
    """
    nq, nv, n = t[NQ], t[NV], results.shape[1]
    q, v, force = vector(t, w, Q), vector(t, w, V), vector(t, w, CONSTRAINT_FORCE)
    clock, found = vector(t, w, CLOCK), vector(r, c, RESULTS)
    for sample in range(states.shape[0]):
        for k in range(nq):
            q[k] = states[sample, k]
        for k in range(nv):
            v[k] = states[sample, nq + k]
        clock[0] = times_s[sample]
        _accelerate(p, t, w)
        if n > 0:
            reactions(p, t, w, r, c)
            copy(found, results[sample])
        copy(force, forces[sample])
