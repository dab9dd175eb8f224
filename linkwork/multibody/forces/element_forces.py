"""Springs and applied forces evaluated: their part of h, their energy, losses and power (elements.py).

A line of action is a wrench on one or two links; its row g is that wrench against the joints' screws, as for
coordinates (tree/coordinates.py). A spring between two points that coincide has no direction: it pulls with
-stiffness r for rest 0 without preload, the spring of zero free length, which is 0 there.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.expressions.tape import run_program
from linkwork.multibody.kernels.compiling import ON_MECHANISM, kernel, part
from linkwork.multibody.kernels.layout import (
    ANGULAR,
    AXES,
    CONSTANT_FORCE,
    ELEMENT_COLUMNS,
    ELEMENT_FORCE,
    ELEMENT_LAW,
    ELEMENT_NUMBERS,
    ELEMENT_POWER,
    ELEMENT_WRENCH,
    ELEMENTS,
    LINE_BODY,
    LINE_BODY_AXIS,
    LINE_JOINT,
    LINE_POINTS,
    LINE_WORLD,
    LINKS,
    LOSSES,
    POINT_POSITION,
    POINT_VELOCITY,
    POINTS,
    REFERENCE,
    SCREW_ANGULAR,
    SCREW_LINEAR,
    SPRING,
    TAPE,
    H,
    Q,
    V,
)
from linkwork.multibody.kernels.views import matrix, table, vector
from linkwork.multibody.linalg.vectors import Vector, combine, cross, dot, load, store, subtract, times
from linkwork.multibody.tree.coordinates import coordinates

_TOGETHER_M = 1e-12


@part
def _wrench(t: Integers, w: Floats, place: int, link: int, moment: Vector, force: Vector) -> None:
    """Subtract from h the generalized force of a wrench about the reference point on a link, and keep it."""
    links, h, kept = table(t, LINKS, 3), vector(t, w, H), matrix(t, w, ELEMENT_WRENCH, 3)
    store(kept, 2 * place, moment)
    store(kept, 2 * place + 1, force)
    angular, linear = matrix(t, w, SCREW_ANGULAR, 3), matrix(t, w, SCREW_LINEAR, 3)
    while link >= 0:
        h[links[link, 2]] -= dot(load(angular, link), moment) + dot(load(linear, link), force)
        link = links[link, 0]


@part
def _push_at(t: Integers, w: Floats, place: int, point: int, link: int, force: Vector) -> None:
    """Subtract from h the generalized force of a force (world) at a point of a link."""
    arm = subtract(load(matrix(t, w, POINT_POSITION, 3), point), load(matrix(t, w, REFERENCE, 3), 0))
    _wrench(t, w, place, link, cross(arm, force), force)


@part
def _pull(law: Floats, i: int, x: float, rate: float, losses: Floats) -> float:
    """The pull of a spring at x with the rate; adds its energy and the power lost in its damper."""
    d = x - law[i, 2]
    losses[0] += law[i, 1] * rate * rate
    losses[1] += d * (law[i, 3] + d * (0.5 * law[i, 0] + 0.25 * law[i, 4] * d * d))
    pull: float = law[i, 3] + d * (law[i, 0] + law[i, 4] * d * d) + law[i, 1] * rate
    return pull


@part
def _between(t: Integers, p: Floats, w: Floats, i: int, a: int, b: int) -> None:
    """A spring between two points."""
    law, found = matrix(t, p, ELEMENT_LAW, ELEMENT_NUMBERS), matrix(t, w, ELEMENT_FORCE, 3)
    position, velocity = matrix(t, w, POINT_POSITION, 3), matrix(t, w, POINT_VELOCITY, 3)
    points, losses = table(t, POINTS, 1), vector(t, w, LOSSES)
    r = subtract(load(position, b), load(position, a))
    size = math.sqrt(dot(r, r))
    n = times(1.0 / size, r) if size > _TOGETHER_M else (0.0, 0.0, 0.0)
    rate = dot(n, subtract(load(velocity, b), load(velocity, a)))
    pull = _pull(law, i, size, rate, losses)
    found[i, 0], found[i, 1], found[i, 2] = size, rate, pull
    _push_at(t, w, 2 * i, a, points[a, 0], times(pull, n))
    _push_at(t, w, 2 * i + 1, b, points[b, 0], times(-pull, n))


@kernel(ON_MECHANISM)
def element_forces(p: Floats, t: Integers, w: Floats) -> None:
    """After `kinematics` and h of the tree: subtract the generalized force of every element from h.

    Adds springs' energy and dampers' power to `LOSSES`; fills `ELEMENT_FORCE` and `ELEMENT_POWER`.
    """
    rows, law = table(t, ELEMENTS, ELEMENT_COLUMNS), matrix(t, p, ELEMENT_LAW, ELEMENT_NUMBERS)
    found, power = matrix(t, w, ELEMENT_FORCE, 3), vector(t, w, ELEMENT_POWER)
    h, q, v = vector(t, w, H), vector(t, w, Q), vector(t, w, V)
    losses, axes = vector(t, w, LOSSES), matrix(t, w, AXES, 3)
    velocity, angular = matrix(t, w, POINT_VELOCITY, 3), matrix(t, w, ANGULAR, 3)
    power[0] = 0.0
    known = False
    for i in range(rows.shape[0]):
        line, a, b = rows[i, 0], rows[i, 1], rows[i, 2]
        if line == LINE_POINTS:
            _between(t, p, w, i, a, b)
            continue
        direction = (law[i, 5], law[i, 6], law[i, 7])
        if line in (LINE_BODY, LINE_BODY_AXIS):
            x, y, z = load(axes, 3 * b), load(axes, 3 * b + 1), load(axes, 3 * b + 2)
            direction = combine(x, y, z, direction)
        rate = displacement = 0.0
        if line == LINE_JOINT:
            displacement, rate = q[a], v[a]
        elif line in (LINE_WORLD, LINE_BODY):
            rate = dot(direction, load(velocity, a))
        else:
            rate = dot(direction, load(angular, b))
        if rows[i, 3] == SPRING:
            force = -_pull(law, i, displacement, rate, losses)
        elif rows[i, 3] == CONSTANT_FORCE:
            force = law[i, 0]
        else:
            if rows[i, 6] and not known:
                coordinates(p, t, w)
                known = True
            run_program(p, t, w, rows[i, 4], rows[i, 5])
            force = matrix(t, w, TAPE, 4)[rows[i, 5] - 1, 0]
        if rows[i, 3] != SPRING:
            power[0] += force * rate
        found[i, 0], found[i, 1], found[i, 2] = displacement, rate, force
        if line == LINE_JOINT:
            h[a] -= force
        elif line in (LINE_WORLD, LINE_BODY):
            _push_at(t, w, 2 * i, a, b, times(force, direction))
        else:
            _wrench(t, w, 2 * i, b, times(force, direction), (0.0, 0.0, 0.0))
