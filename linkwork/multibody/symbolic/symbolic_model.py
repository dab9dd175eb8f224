"""A mechanism's equations in symbols, derived part by part on one tape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.symbolic import constraint_equations as _rows
from linkwork.multibody.symbolic import coordinate_expressions as _coordinates
from linkwork.multibody.symbolic import element_expressions as _elements
from linkwork.multibody.symbolic import tree_equations as _dynamics
from linkwork.multibody.symbolic.operation_tape import Expression, Tape, Triple
from linkwork.multibody.symbolic.symbolic_tree import Rotation, SymbolicTree


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
        return _elements.element_forces(self.tree, self.interest)

    @cached_property
    def load_at_rest(self) -> list[Expression]:
        """The part of h that is there at rest, nv: gravity less springs and applied forces."""
        at_rest = _elements.element_forces(self.tree, self.interest, motion=False)
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
