"""Generalized forces of springs and applied forces in symbols, after multibody/forces/elements.py."""

from __future__ import annotations

import numpy as np
import sympy as sp

from linkwork.multibody.expressions import parse
from linkwork.multibody.expressions.text import RATE_OF
from linkwork.multibody.forces import AlongDirection, AppliedForce, BetweenPoints, OnJoint, Spring
from linkwork.multibody.symbolic.coordinate_expressions import SymbolicCoordinates, point_seat
from linkwork.multibody.symbolic.operation_tape import NOWHERE, ZERO, Expression, Triple, exact, exact_triple
from linkwork.multibody.symbolic.symbolic_tree import SymbolicTree
from linkwork.multibody.symbolic.sympy_formulas import formula_of
from linkwork.multibody.tree.link_tree import BodyPlacement


def element_forces(
    tree: SymbolicTree, interest: SymbolicCoordinates, *, motion: bool = True
) -> list[Expression]:
    """The generalized force (nv, right-hand side) of all elements; without `motion` that at rest."""
    found = [ZERO] * tree.mechanism.nv
    for element in tree.mechanism.elements:
        if isinstance(element.line, BetweenPoints):
            assert isinstance(element, Spring)
            _between(tree, element, element.line, found, motion=motion)
        elif isinstance(element, AppliedForce):
            _apply(tree, element, _value(tree, interest, element, motion=motion), found)
        elif isinstance(element.line, OnJoint):
            k = tree.mechanism.joint_index(element.line.dof)
            found[k] -= _pull(element, tree.q[k], tree.v[k] if motion else ZERO)
    return [tree.tape.put(force) for force in found]


def _pull(spring: Spring, x: Expression, rate: Expression) -> Expression:
    d = x - exact(spring.rest)
    linear = exact(spring.preload) + exact(spring.stiffness) * d + exact(spring.damping) * rate
    return linear + exact(spring.progressive) * d**3


def _between(
    tree: SymbolicTree, spring: Spring, line: BetweenPoints, found: list[Expression], *, motion: bool
) -> None:
    tape = tree.tape
    a, b = (point_seat(tree, tree.mechanism.point_index(name)) for name in (line.a, line.b))
    at_a, at_b = tree.frame(a)[1], tree.frame(b)[1]
    way = tape.subtract(at_b, at_a)
    size = tape.put(sp.sqrt(tape.dot(way, way)))
    along = tape.times(tape.put(1 / size), way)
    rate = ZERO
    if motion and spring.damping:
        speeds = tape.subtract(tree.motion_of(b).velocity, tree.motion_of(a).velocity)
        rate = tape.dot(along, speeds)
    pull = tape.put(_pull(spring, size, rate))
    for i, sign in tree.path(a.link, b.link):
        found[tree.links[i].place] -= sign * pull * tree.share(i, NOWHERE, along, at_b)


def _value(
    tree: SymbolicTree, interest: SymbolicCoordinates, force: AppliedForce, *, motion: bool
) -> Expression:
    if not isinstance(force.value, str):
        return exact(float(force.value))
    names = tree.mechanism.coordinate_names
    rates = {
        name: sum((entry * v for entry, v in zip(row, tree.v, strict=True)), ZERO) if motion else ZERO
        for name, row in zip(names, interest.J, strict=True)
    }
    theta = dict(zip(names, interest.theta, strict=True))
    return tree.tape.put(formula_of(parse(force.value, {RATE_OF: 1}), theta, rates))


def _apply(tree: SymbolicTree, force: AppliedForce, value: Expression, found: list[Expression]) -> None:
    line, mechanism = force.line, tree.mechanism
    if isinstance(line, OnJoint):
        found[mechanism.joint_index(line.dof)] += value
        return
    at_point = isinstance(line, AlongDirection)
    seat = (
        point_seat(tree, mechanism.point_index(line.point))
        if isinstance(line, AlongDirection)
        else tree.seats[line.body]
    )
    given = np.asarray(line.direction if isinstance(line, AlongDirection) else line.axis, dtype=np.float64)
    direction = exact_triple(given / np.linalg.norm(given))
    (axes, origin) = tree.frame(BodyPlacement(seat.link, seat.axes, seat.origin))
    wrench: Triple = tree.tape.combine(*axes, direction) if line.axes == "body" else direction
    moment, push = (NOWHERE, wrench) if at_point else (wrench, NOWHERE)
    for i, _ in tree.path(-1, seat.link):
        found[tree.links[i].place] += value * tree.share(i, moment, push, origin)
