"""A mechanism's equations in symbols, derived part by part on one tape.

The generalized forces of springs and applied forces follow multibody/forces/elements.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import sympy as sp

from linkwork.multibody.expressions import parse
from linkwork.multibody.expressions.text import RATE_OF
from linkwork.multibody.forces import AlongDirection, AppliedForce, BetweenPoints, OnJoint, Spring
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.tree.link_tree import BodyPlacement
from linkwork.symbolic import constraint_equations as _rows
from linkwork.symbolic import coordinate_expressions as _coordinates
from linkwork.symbolic import tree_equations as _dynamics
from linkwork.symbolic.coordinate_expressions import SymbolicCoordinates, point_seat
from linkwork.symbolic.operation_tape import (
    NOWHERE,
    ZERO,
    Expression,
    Tape,
    Triple,
    exact,
    exact_triple,
)
from linkwork.symbolic.symbolic_tree import Rotation, SymbolicTree
from linkwork.symbolic.sympy_formulas import formula_of


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


@dataclass(frozen=True)
class NamedResult:
    """A named result: `shape` is (rows,) or (rows, columns), `entries` lists it row by row."""

    name: str
    shape: tuple[int, ...]
    entries: list[Expression]


class SymbolicModel:
    """The equations of one mechanism: M(q) v̇ + h(q, v) = f + A'λ, A v̇ = -Ȧ v - dΦ_t/dt.

    Every property is derived when it is first asked for, in terms of `q`, `v` and earlier names of `tape`.
    Without friction and compliance. SI units and radians; quaternions are taken to be of unit length. With
    `angles` three angles take their place: the source's parameters, that end at cos y₂ = 0.
    """

    def __init__(self, mechanism: Mechanism, *, angles: bool = False) -> None:
        """Name the inputs."""
        self.mechanism = mechanism
        self.tree = SymbolicTree(mechanism, angles=angles)

    @property
    def tape(self) -> Tape:
        """The definitions."""
        return self.tree.tape

    @property
    def q(self) -> list[Expression]:
        """Coordinates, nq symbols."""
        return self.tree.q

    @property
    def v(self) -> list[Expression]:
        """Velocities, nv symbols."""
        return self.tree.v

    @cached_property
    def M(self) -> list[list[Expression]]:
        """Mass matrix, nv × nv, armature included."""
        return _dynamics.mass_matrix(self.tree)

    @cached_property
    def h(self) -> list[Expression]:
        """Coriolis, centrifugal and gravity terms less the forces of springs and applied forces, nv."""
        return self._less(_dynamics.bias(self.tree), self.element_forces)

    @cached_property
    def gravity(self) -> list[Expression]:
        """The part of h that is gravity's, nv."""
        return _dynamics.bias(self.tree, motion=False)

    @cached_property
    def element_forces(self) -> list[Expression]:
        """Generalized forces of springs and applied forces, nv, on the right-hand side."""
        return element_forces(self.tree, self.interest)

    @cached_property
    def load_at_rest(self) -> list[Expression]:
        """The part of h that is there at rest, nv: gravity less springs and applied forces."""
        at_rest = element_forces(self.tree, self.interest, motion=False)
        return self._less(self.gravity, at_rest)

    def _less(self, loads: list[Expression], forces: list[Expression]) -> list[Expression]:
        if not self.mechanism.elements:
            return loads
        return [self.tape.put(load - force) for load, force in zip(loads, forces, strict=True)]

    @cached_property
    def potential(self) -> Expression:
        """U(q) = -Σ m g'c, in joules."""
        return _dynamics.potential(self.tree)

    @cached_property
    def interest(self) -> _coordinates.SymbolicCoordinates:
        """θ, J and J̇ v of the coordinates of interest."""
        return _coordinates.coordinates(self.tree)

    @cached_property
    def rows(self) -> _rows.SymbolicConstraints:
        """Φ, A and Ȧ v of the constraints."""
        return _rows.rows(self.tree, self.interest)

    def point(self, name: str) -> tuple[Rotation, Triple]:
        """Axes of a point's body (three columns) and place of the point, in the world. Raises ModelError."""
        index = self.mechanism.point_index(name)
        return self.tree.frame(_coordinates.point_seat(self.tree, index))

    def parts(self) -> dict[str, NamedResult]:
        """Everything by name: M, h, phi, A, Adot_v, theta, J, Jdot_v, points."""
        nv, nr = self.mechanism.nv, len(self.mechanism.row_names)
        nc, places = len(self.mechanism.coordinate_names), self.mechanism.point_names
        shapes: dict[str, tuple[tuple[int, ...], Callable[[], list[Expression]]]] = {
            "M": ((nv, nv), lambda: list(chain.from_iterable(self.M))),
            "h": ((nv,), lambda: self.h),
            "phi": ((nr,), lambda: self.rows.phi),
            "A": ((nr, nv), lambda: list(chain.from_iterable(self.rows.A))),
            "Adot_v": ((nr,), lambda: self.rows.Adv),
            "theta": ((nc,), lambda: self.interest.theta),
            "J": ((nc, nv), lambda: list(chain.from_iterable(self.interest.J))),
            "Jdot_v": ((nc,), lambda: self.interest.Jdv),
            "points": ((len(places), 3), lambda: [x for name in places for x in self.point(name)[1]]),
        }
        return {name: NamedResult(name, shape, entries()) for name, (shape, entries) in shapes.items()}


def derive(mechanism: Mechanism, progress: Callable[[float], None] | None = None) -> SymbolicModel:
    """The model with M, h, coordinates and rows derived; `progress` receives the completed share."""
    model = SymbolicModel(mechanism)
    steps = ("M", "h", "interest", "rows")
    for done, name in enumerate(steps):
        getattr(model, name)
        if progress is not None:
            progress((done + 1) / len(steps))
    return model
