"""The regressor Y of a tree's inverse dynamics: Y(q, v, v̇) θ = M v̇ + h - friction, compiled.

The wrench that accelerates a body is linear in its mass, its first moment m c and its inertia about the
origin of the body's frame (Atkeson, An & Hollerbach 1986). With W, D the angular velocity and acceleration
and G the acceleration of that origin less gravity, all in body axes, the wrench about the origin is

    force  = m G + D × mc + W × (W × mc)          moment = mc × G + I D + W × (I W)

and each joint that carries the body has its share by the joint's screw.
"""

import math
from typing import Annotated

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import LINE_JOINT, SPRING
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.kernels.views import fill_matrix
from linkwork.multibody.linalg.vectors import (
    Vector,
    add,
    combine,
    cross,
    dot,
    increase,
    load,
    store,
    subtract,
    times,
)
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.workspace import Model, Workspace

PER_BODY = 10
"""Columns of a body: mass; x, y, z of m c; xx, xy, xz, yy, yz, zz of the inertia about the body's origin."""
PER_JOINT = 4
"""Columns of a degree of freedom: armature, viscous and Coulomb friction, constant offset."""
PER_SPRING = 4
"""Columns of a spring: stiffness, damping, preload, progressive stiffness."""


class RegressorFrames(Struct):
    """The argument b of `regressor`: the frames of the bodies in their links (-1: the world), and scratch.

    Lengths: n_bodies, n_links.
    """

    n_bodies: int
    link: Annotated[Integers, "n_bodies"]
    axes: Annotated[Floats, "3 * n_bodies, 3", "row 3 i + k: k-th axis of body i, in link axes"]
    origin: Annotated[Floats, "n_bodies, 3", "m, in link axes"]
    rates: Annotated[Floats, "2 * n_links, 3", "angular acceleration of each link, then the linear part"]
    wrenches: Annotated[Floats, "20, 3", "moment, then force of each of a body's columns, in body axes"]


@part
def _in_axes(x: Vector, y: Vector, z: Vector, a: Vector) -> Vector:
    """Return the components of a vector in the axes x, y, z."""
    return dot(x, a), dot(y, a), dot(z, a)


@part
def _accelerations(m: Model, w: Workspace, b: RegressorFrames) -> None:
    """After `kinematics`: the rates of all twists, for v̇ of the workspace."""
    for i in range(m.n_links):
        rate, parent = w.vdot[m.in_v[i]], m.parent[i]
        store(b.rates, 2 * i, times(rate, load(w.screw_angular, i)))
        store(b.rates, 2 * i + 1, times(rate, load(w.screw_linear, i)))
        increase(b.rates, 2 * i, load(w.angular_bias, i))
        increase(b.rates, 2 * i + 1, load(w.linear_bias, i))
        if parent >= 0:  # its bias stands in that of the child already
            increase(b.rates, 2 * i, subtract(load(b.rates, 2 * parent), load(w.angular_bias, parent)))
            increase(b.rates, 2 * i + 1, subtract(load(b.rates, 2 * parent + 1), load(w.linear_bias, parent)))


@part
def _wrenches(b: RegressorFrames, spin: Vector, turn: Vector, lift: Vector) -> None:
    """Fill `wrenches` from W, D and G in body axes."""
    fill_matrix(b.wrenches, 0.0)
    store(b.wrenches, 1, lift)
    for j in range(3):
        e = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
        store(b.wrenches, 2 + 2 * j, cross(e, lift))
        store(b.wrenches, 3 + 2 * j, add(cross(turn, e), cross(spin, cross(spin, e))))
    column = 4
    for j in range(3):
        e = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
        for k in range(j, 3):
            f = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
            about, along = times(dot(f, turn), e), times(dot(f, spin), e)
            if k > j:
                about = add(about, times(dot(e, turn), f))
                along = add(along, times(dot(e, spin), f))
            store(b.wrenches, 2 * column, add(about, cross(spin, along)))
            column += 1


@part
def _body_columns(m: Model, w: Workspace, b: RegressorFrames, body: int, y: Matrix) -> None:
    """Write the columns of one body."""
    i = b.link[body]
    u, v, n = load(w.axes, 3 * i), load(w.axes, 3 * i + 1), load(w.axes, 3 * i + 2)
    e = combine(u, v, n, load(b.axes, 3 * body))
    f = combine(u, v, n, load(b.axes, 3 * body + 1))
    g = combine(u, v, n, load(b.axes, 3 * body + 2))
    place = add(load(w.origin, i), combine(u, v, n, load(b.origin, body)))
    r = subtract(place, load(w.reference, 0))
    spin, turn = load(w.angular, i), load(b.rates, 2 * i)
    speed = add(load(w.linear, i), cross(spin, r))
    lift = add(load(b.rates, 2 * i + 1), add(cross(turn, r), cross(spin, speed)))
    lift = subtract(lift, load(m.gravity, 0))
    _wrenches(b, _in_axes(e, f, g, spin), _in_axes(e, f, g, turn), _in_axes(e, f, g, lift))
    first = PER_BODY * body
    while i >= 0:
        s_w = load(w.screw_angular, i)
        s_u = _in_axes(e, f, g, add(load(w.screw_linear, i), cross(s_w, r)))
        s_w = _in_axes(e, f, g, s_w)
        for column in range(PER_BODY):
            moment, force = load(b.wrenches, 2 * column), load(b.wrenches, 2 * column + 1)
            y[m.in_v[i], first + column] = dot(s_w, moment) + dot(s_u, force)
        i = m.parent[i]


@part
def _pull_columns(
    m: Model, w: Workspace, point: int, n: Vector, d: float, rate: float, first: int, y: Matrix
) -> None:
    """Add what a spring with the direction n (world) and stretch d needs against its pull at a point."""
    i = m.point_link[point]
    arm = subtract(load(w.point_position, point), load(w.reference, 0))
    while i >= 0:
        share = dot(n, add(load(w.screw_linear, i), cross(load(w.screw_angular, i), arm)))
        k = m.in_v[i]
        y[k, first] += share * d
        y[k, first + 1] += share * rate
        y[k, first + 2] += share
        y[k, first + 3] += share * d * d * d
        i = m.parent[i]


@part
def _spring_columns(m: Model, w: Workspace, i: int, first: int, y: Matrix) -> None:
    """Write the columns of the spring that is element i, for the rest length of the model."""
    a, b = m.elements[i, 1], m.elements[i, 2]
    if m.elements[i, 0] == LINE_JOINT:
        d = w.q[a] - m.element_law[i, 2]
        y[a, first], y[a, first + 1], y[a, first + 2], y[a, first + 3] = d, w.v[a], 1.0, d * d * d
        return
    r = subtract(load(w.point_position, b), load(w.point_position, a))
    size = math.sqrt(dot(r, r))
    if size == 0.0:  # without direction there is no pull
        return
    n = times(1.0 / size, r)
    rate = dot(n, subtract(load(w.point_velocity, b), load(w.point_velocity, a)))
    d = size - m.element_law[i, 2]
    _pull_columns(m, w, a, times(-1.0, n), d, rate, first, y)
    _pull_columns(m, w, b, n, d, rate, first, y)


@kernel
def regressor(m: Model, w: Workspace, b: RegressorFrames, y: Matrix) -> None:
    """From q, v and v̇ of the workspace: Y (nv × columns), the columns of bodies, joints, then springs."""
    kinematics(m, w)
    _accelerations(m, w, b)
    fill_matrix(y, 0.0)
    for body in range(b.n_bodies):
        if b.link[body] >= 0:
            _body_columns(m, w, b, body, y)
    first = PER_BODY * b.n_bodies
    for k in range(m.nv):
        y[k, first] = w.vdot[k]
        y[k, first + 1] = w.v[k]
        y[k, first + 2] = math.tanh(w.v[k] / m.coulomb_speed[k])
        y[k, first + 3] = 1.0
        first += PER_JOINT
    for i in range(m.elements.shape[0]):
        if m.elements[i, 3] == SPRING:
            _spring_columns(m, w, i, first, y)
            first += PER_SPRING
