"""The entries of constraints in a table of reactions: their bodies, points of action, and multipliers.

| constraint | entries |
| --- | --- |
| closure | one: force and moment on the body of frame b, at frame b's origin |
| row on coordinates | one for each coordinate that it names: effort, and the wrench that it is |

A coordinate of a point is driven from the world, at the point; a joint's coordinate from the joint's parent,
at the child's origin and along the joint's degree of freedom. The entry of a constraint with one row and one
coordinate has the constraint's name. Where it has several rows, .ROW is added, and where a row has several
coordinates, .COORDINATE.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linkwork.multibody.constraints import Closure
from linkwork.multibody.expressions.program import COORDINATE
from linkwork.multibody.kernels import layout
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import (
    WORLD,
)
from linkwork.multibody.reactions.reaction_memory import ADJOINT, CLOSURE, FACTOR, TERM
from linkwork.multibody.tree.link_tree import Link


@dataclass(frozen=True)
class Entry:
    """Entry of a constraint: name, bodies, unit of its effort ("" of closures), and the kernel's row.

    `numbers` are the columns of `ReactionMemory.entries` after the two bodies, the form first.
    """

    name: str
    on_body: str
    from_body: str
    unit: str
    form: int
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class _Source:
    """Source of one coordinate's share of a row."""

    coordinate: int
    form: int
    source: int
    start: int = 0
    length: int = 0


def constraint_entries(mechanism: Mechanism, links: Sequence[Link]) -> list[Entry]:
    """Return the entries of all constraints, in their order; `links` are those of the mechanism's tree."""
    found: list[Entry] = []
    m = mechanism.model
    for k, constraint in enumerate(mechanism.constraints):
        if isinstance(constraint, Closure):
            numbers = (k, 0, 0, 0, 0, 0, 0, 0)
            found.append(Entry(constraint.name, constraint.b.body, constraint.a.body, "", CLOSURE, numbers))
            continue
        first, count = int(m.first_row[k]), int(m.row_count[k])
        for row in range(first, first + count):
            whose = constraint.name if count == 1 else mechanism.row_names[row]
            sources = list(_sources(mechanism, row))
            for source in sources:
                coordinate = mechanism.coordinate_names[source.coordinate]
                name = whose if len(sources) == 1 else f"{whose}.{coordinate}"
                found.append(_coordinate_entry(mechanism, links, name, k, row, source))
    return found


def _sources(mechanism: Mechanism, row: int) -> Iterator[_Source]:
    """The coordinates of a row."""
    m = mechanism.model
    kind, first, count = int(m.row_kind[row]), int(m.row_first[row]), int(m.row_second[row])
    if kind == layout.LINEAR_ROW:
        for term in range(first, first + count):
            yield _Source(int(m.term[term]), TERM, term)
    elif kind == layout.EXPRESSION:
        for k, (operation, a, _) in enumerate(m.program[first : first + count].tolist()):
            if operation == COORDINATE:
                yield _Source(a, ADJOINT, k, first, count)
    elif kind == layout.VELOCITY:
        for coordinate, start, length in m.factors[first : first + count].tolist():
            if coordinate >= 0:
                yield _Source(coordinate, FACTOR, length - 1, start, length)


def _coordinate_entry(
    mechanism: Mechanism, links: Sequence[Link], name: str, constraint: int, row: int, source: _Source
) -> Entry:
    m = mechanism.model
    kind, index = int(m.coordinate_kind[source.coordinate]), int(m.coordinate_of[source.coordinate])
    unit = "N_m" if mechanism.coordinate_is_angle[source.coordinate] else "N"
    if kind == layout.ON_JOINT:
        link = next(i for i, each in enumerate(links) if each.place == index)
        joint = links[link].joint
        on, by, seat, with_ = joint.child, joint.parent, mechanism.joints.index(joint), link
    else:
        on, by, seat, with_ = mechanism.points[index].body, WORLD, index, source.coordinate
    numbers = (constraint, row, source.source, source.start, source.length, kind, seat, with_)
    return Entry(name, on, by, unit, source.form, numbers)
