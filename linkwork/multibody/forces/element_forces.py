"""Springs and applied forces evaluated: their part of h, their energy, losses and power (elements.py).

A line of action is a wrench on one or two links; its row g is that wrench against the joints' screws, as for
coordinates (tree/coordinates.py). A spring between two points that coincide has no direction: it pulls with
-stiffness r for rest 0 without preload, the spring of zero free length, which is 0 there.
"""

import math

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.expressions.tape import run_program
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import (
    CONSTANT_FORCE,
    LINE_BODY,
    LINE_BODY_AXIS,
    LINE_JOINT,
    LINE_POINTS,
    LINE_WORLD,
    SPRING,
)
from linkwork.multibody.linalg.vectors import Vector, combine, cross, dot, load, store, subtract, times
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.workspace import Model, Workspace

_TOGETHER_M = 1e-12


@part
def _wrench(m: Model, w: Workspace, place: int, link: int, moment: Vector, force: Vector) -> None:
    """Subtract from h the generalized force of a wrench about the reference point on a link, and keep it."""
    store(w.element_wrench, 2 * place, moment)
    store(w.element_wrench, 2 * place + 1, force)
    while link >= 0:
        w.h[m.in_v[link]] -= dot(load(w.screw_angular, link), moment) + dot(load(w.screw_linear, link), force)
        link = m.parent[link]


@part
def _push_at(m: Model, w: Workspace, place: int, point: int, link: int, force: Vector) -> None:
    """Subtract from h the generalized force of a force (world) at a point of a link."""
    arm = subtract(load(w.point_position, point), load(w.reference, 0))
    _wrench(m, w, place, link, cross(arm, force), force)


@part
def _pull(law: Matrix, i: int, x: float, rate: float, losses: Floats) -> float:
    """The pull of a spring at x with the rate; adds its energy and the power lost in its damper."""
    d = x - law[i, 2]
    losses[0] += law[i, 1] * rate * rate
    losses[1] += d * (law[i, 3] + d * (0.5 * law[i, 0] + 0.25 * law[i, 4] * d * d))
    pull: float = law[i, 3] + d * (law[i, 0] + law[i, 4] * d * d) + law[i, 1] * rate
    return pull


@part
def _between(m: Model, w: Workspace, i: int, a: int, b: int) -> None:
    """A spring between two points."""
    r = subtract(load(w.point_position, b), load(w.point_position, a))
    size = math.sqrt(dot(r, r))
    n = times(1.0 / size, r) if size > _TOGETHER_M else (0.0, 0.0, 0.0)
    rate = dot(n, subtract(load(w.point_velocity, b), load(w.point_velocity, a)))
    pull = _pull(m.element_law, i, size, rate, w.losses)
    w.element_force[i, 0], w.element_force[i, 1], w.element_force[i, 2] = size, rate, pull
    _push_at(m, w, 2 * i, a, m.point_link[a], times(pull, n))
    _push_at(m, w, 2 * i + 1, b, m.point_link[b], times(-pull, n))


@kernel
def element_forces(m: Model, w: Workspace) -> None:
    """After `kinematics` and h of the tree: subtract the generalized force of every element from h.

    Adds springs' energy and dampers' power to `losses`; fills `element_force` and `element_power`.
    """
    w.element_power[0] = 0.0
    known = False
    for i in range(m.elements.shape[0]):
        line, a, b = m.elements[i, 0], m.elements[i, 1], m.elements[i, 2]
        if line == LINE_POINTS:
            _between(m, w, i, a, b)
            continue
        direction = (m.element_law[i, 5], m.element_law[i, 6], m.element_law[i, 7])
        if line in (LINE_BODY, LINE_BODY_AXIS):
            x, y, z = load(w.axes, 3 * b), load(w.axes, 3 * b + 1), load(w.axes, 3 * b + 2)
            direction = combine(x, y, z, direction)
        rate = displacement = 0.0
        if line == LINE_JOINT:
            displacement, rate = w.q[a], w.v[a]
        elif line in (LINE_WORLD, LINE_BODY):
            rate = dot(direction, load(w.point_velocity, a))
        else:
            rate = dot(direction, load(w.angular, b))
        if m.elements[i, 3] == SPRING:
            force = -_pull(m.element_law, i, displacement, rate, w.losses)
        elif m.elements[i, 3] == CONSTANT_FORCE:
            force = m.element_law[i, 0]
        else:
            if m.elements[i, 6] and not known:
                coordinates(m, w)
                known = True
            run_program(m, w, m.elements[i, 4], m.elements[i, 5])
            force = w.tape[m.elements[i, 5] - 1, 0]
        if m.elements[i, 3] != SPRING:
            w.element_power[0] += force * rate
        w.element_force[i, 0], w.element_force[i, 1], w.element_force[i, 2] = displacement, rate, force
        if line == LINE_JOINT:
            w.h[a] -= force
        elif line in (LINE_WORLD, LINE_BODY):
            _push_at(m, w, 2 * i, a, b, times(force, direction))
        else:
            _wrench(m, w, 2 * i, b, times(force, direction), (0.0, 0.0, 0.0))
