"""The wrenches that the multipliers of constraints stand for: force and moment on one body from another.

A row of a closure acts at frame b's origin with a force along an axis or along the line between the frames,
or with a moment; against slip with a force at the point of contact. A prescribed coordinate of a point acts
there with a force or a moment. What acts on a joint's own coordinate is an effort of that joint and no
reaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from multibody import layout
from multibody.constraints import Closure
from multibody.expressions.program import COORDINATE
from multibody.expressions.tape import add_gradient, run_program
from multibody.mechanism import Mechanism
from multibody.model import WORLD, Array, Integers
from multibody.workspace import Workspace


@dataclass(frozen=True)
class ClosureWrench:
    """Of a closure, on the body of its frame b."""

    name: str
    on_body: str
    from_body: str
    index: int

    def evaluate(self, w: Workspace) -> tuple[Array, Array, Array]:
        """Place (origin of frame b, world), force and moment about it, after the multipliers are known."""
        t = w.topology
        first, count, link_a, link_b = _table(t, layout.CONSTRAINTS, 4)[self.index]
        at_a, axes_a = _frame(w, 2 * self.index, link_a)
        at_b, axes_b = _frame(w, 2 * self.index + 1, link_b)
        offset = w.parameters[t[layout.ROW_OFFSET] : t[layout.ROW_OFFSET + 1]]
        force, moment = np.zeros(3), np.zeros(3)
        for row in range(first, first + count):
            kind, i, j, _ = _table(t, layout.ROWS, 4)[row]
            size = w.multipliers[row]
            if kind == layout.ALONG:
                force += size * axes_a[i]
            elif kind == layout.PERPENDICULAR:
                moment += size * np.cross(axes_b[j], axes_a[i])
            elif kind == layout.DISTANCE:
                force += size * (at_b - at_a) / np.linalg.norm(at_b - at_a)
            else:
                down = axes_a[2]
                if kind == layout.DISC:
                    down = down - (down @ axes_b[2]) * axes_b[2]
                    down = down / np.linalg.norm(down)
                force += size * axes_a[i]
                moment -= size * offset[row] * np.cross(down, axes_a[i])
        return at_b, force, moment


@dataclass(frozen=True)
class PointWrench:
    """Of one term of a row on coordinates: of a point's place, or of an angle of its body."""

    name: str
    on_body: str
    from_body: str
    row: int
    term: int
    kind: int
    point: int
    coordinate: int

    def _factor(self, w: Workspace) -> float:
        return float(w.parameters[w.topology[layout.TERM_FACTOR] + self.term])

    def _direction(self, w: Workspace) -> Array:
        t = w.topology
        directions = w.parameters[t[layout.DIRECTIONS] : t[layout.DIRECTIONS + 1]].reshape(-1, 4)
        direction: Array = directions[self.coordinate, :3]
        return direction

    def evaluate(self, w: Workspace) -> tuple[Array, Array, Array]:
        """Place of the point (world), force and moment about it, after the multipliers are known."""
        factor = self._factor(w) * w.multipliers[self.row]
        at, force, moment = w.point_position[self.point].copy(), np.zeros(3), np.zeros(3)
        if self.kind <= layout.ON_Z:
            force[self.kind - layout.ON_X] = factor
        elif self.kind == layout.ON_ALONG:
            force = factor * self._direction(w)
        elif self.kind == layout.ON_DISTANCE:
            way = at - self._direction(w)  # of a distance: its place
            force = factor * way / np.linalg.norm(way)
        else:
            moment = factor * _angle_gradient(w, self.point)[self.kind - layout.ON_ROLL]
        return at, force, moment


@dataclass(frozen=True)
class FormulaWrench(PointWrench):
    """Of a point's coordinate in a row of formulas; `term` is the entry of the tape that holds its share.

    `span` of the program's instructions; the share is an adjoint (of an expression) or a value (of a factor).
    """

    span: tuple[int, int]
    is_factor: bool

    def _factor(self, w: Workspace) -> float:
        t, (first, count) = w.topology, self.span
        run_program(*w.arguments, first, count)
        if not self.is_factor:
            add_gradient(*w.arguments, first, count, np.zeros(len(w.v)))
        tape = w.buffer[t[layout.TAPE] : t[layout.TAPE + 1]].reshape(-1, 4)
        return float(tape[self.term, 0 if self.is_factor else 3])


def _of_formulas(mechanism: Mechanism, row: int) -> Iterator[tuple[int, int, tuple[int, int], bool]]:
    """Of a row of formulas: coordinates, each with entry of the tape, span, and whether it is a factor."""
    t = mechanism.topology
    kind, first, count, _ = _table(t, layout.ROWS, 4)[row].tolist()
    if kind == layout.EXPRESSION:
        for k, (operation, a, _) in enumerate(_table(t, layout.PROGRAM, 3)[first : first + count].tolist()):
            if operation == COORDINATE:
                yield a, k, (first, count), False
    elif kind == layout.VELOCITY:
        for coordinate, start, length in _table(t, layout.FACTORS, 3)[first : first + count].tolist():
            if coordinate >= 0:
                yield coordinate, length - 1, (start, length), True


def row_wrenches(mechanism: Mechanism) -> list[ClosureWrench | PointWrench]:
    """All wrenches of a mechanism's constraints, in their order."""
    t = mechanism.topology
    found: list[ClosureWrench | PointWrench] = []
    coordinates, terms = _table(t, layout.COORDINATES, 2), _table(t, layout.TERMS, 1)
    for k, constraint in enumerate(mechanism.constraints):
        if isinstance(constraint, Closure):
            found.append(ClosureWrench(constraint.name, constraint.b.body, constraint.a.body, k))
            continue
        row, rows = _table(t, layout.CONSTRAINTS, 4)[k, :2].tolist()
        of, start, count, _ = _table(t, layout.ROWS, 4)[row]
        for each in range(row, row + rows):
            for coordinate, term, span, is_factor in _of_formulas(mechanism, each):
                kind, index = coordinates[coordinate].tolist()
                if kind != layout.ON_JOINT:
                    name = f"{mechanism.row_names[each]}.{mechanism.coordinate_names[coordinate]}"
                    on = mechanism.points[index].body
                    found.append(
                        FormulaWrench(name, on, WORLD, each, term, kind, index, coordinate, span, is_factor)
                    )
        if of != layout.LINEAR_ROW:
            continue
        for term in range(start, start + count):
            coordinate = int(terms[term, 0])
            kind, index = coordinates[coordinate].tolist()
            if kind == layout.ON_JOINT:
                continue
            name = constraint.name
            if count > 1:
                name = f"{name}.{mechanism.coordinate_names[coordinate]}"
            on = mechanism.points[index].body
            found.append(PointWrench(name, on, WORLD, row, term, kind, index, coordinate))
    return found


def _table(t: Integers, field: int, columns: int) -> Integers:
    return t[t[field] : t[field + 1]].reshape(-1, columns)


def _link_axes(w: Workspace, link: int) -> Array:
    """Axes of a link as rows, in world axes."""
    if link < 0:
        return np.eye(3)
    start = w.topology[layout.AXES] + 9 * link
    return w.buffer[start : start + 9].reshape(3, 3)


def _frame(w: Workspace, frame: int, link: int) -> tuple[Array, Array]:
    """Origin and axes (rows) of a constraint's frame, in the world."""
    p, t = w.parameters, w.topology
    at = p[t[layout.FRAME_AT] + 3 * frame :][:3]
    own = p[t[layout.FRAME_AXES] + 9 * frame :][:9].reshape(3, 3)
    axes = _link_axes(w, link)
    origin = w.buffer[t[layout.ORIGIN] + 3 * link :][:3] if link >= 0 else np.zeros(3)
    return origin + at @ axes, own @ axes


def _angle_gradient(w: Workspace, point: int) -> Array:
    """Rows: rates of a body's roll, pitch and yaw for unit angular velocities about the world's axes."""
    p, t = w.parameters, w.topology
    own = p[t[layout.POINT_AXES] + 9 * point :][:9].reshape(3, 3)
    x = (own @ _link_axes(w, int(_table(t, layout.POINTS, 1)[point, 0])))[0]
    across = np.array([-x[1], x[0], 0.0])
    across /= np.linalg.norm(across)
    # ω = yaw rate z + pitch rate (z turned by yaw: y) + roll rate x
    gradient: Array = np.linalg.inv(np.column_stack([x, across, (0.0, 0.0, 1.0)]))
    return gradient
