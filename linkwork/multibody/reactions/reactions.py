"""Reactions of joints and constraints, by the recursive Newton-Euler algorithm on solved accelerations.

A joint transmits the wrench that the bodies beyond it need, less that of constraints and contacts. The
*reaction* is the part of this wrench that belongs to the joint's structure: the action of motors, friction,
stops, rotors and constraints on the joint's coordinates along its degrees of freedom is left out, so that it
has no power in any motion of the joint. (A screw keeps its force along the axis.) The reaction of a closure
is the wrench of its multipliers. The entries of constraints:

| constraint | entries |
| --- | --- |
| closure | one: force and moment on the body of frame b, at frame b's origin |
| row on coordinates | one for each coordinate that it names: effort, and the wrench that it is |

A coordinate of a point is driven from the world, at the point; a joint's coordinate from the joint's parent,
at the child's origin and along the joint's degree of freedom. The entry of a constraint with one row and one
coordinate has the constraint's name. Where it has several rows, .ROW is added, and where a row has several
coordinates, .COORDINATE.

Where rows depend on others, only their sum is determined; the multipliers of least norm (in scaled rows) then
distribute it, and the reactions of the joints within the loop follow from these. The formulation `taylor`
finds the same reactions from its own unknowns, where no row is redundant.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats, Integers
from linkwork.multibody.constraints import Closure
from linkwork.multibody.expressions.program import COORDINATE
from linkwork.multibody.forces import pushed_bodies
from linkwork.multibody.formulations.acceleration import Formulation, accelerate
from linkwork.multibody.functions import workspace_at
from linkwork.multibody.kernels import layout
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import WORLD
from linkwork.multibody.reactions.reaction_kernels import (
    ADJOINT,
    CLOSURE,
    FACTOR,
    TERM,
    ReactionMemory,
    reactions,
)
from linkwork.multibody.tree.link_tree import BodyPlacement, Link, links_of
from linkwork.multibody.workspace import Workspace


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


@dataclass(frozen=True, eq=False)
class Reaction:
    """Force and moment of a joint or constraint on `on_body`, opposite on `from_body`.

    World axes; `force_N` (3) acts at `at_m` (3, world) and `moment_N_m` (3) is about it: of a joint the
    origin of its child's frame, of a closure that of frame b, of a constraint on coordinates the point or the
    joint that the coordinate belongs to. `effort`: of a constraint on a coordinate, its generalized force on
    it, in `effort_unit` ("N m" or "N"); None of joints and closures.
    """

    joint: str
    on_body: str
    from_body: str
    at_m: Floats
    force_N: Floats
    moment_N_m: Floats
    effort: float | None = None
    effort_unit: str = ""


def joint_reactions(
    mechanism: Mechanism,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    effort: npt.ArrayLike | None = None,
    formulation: Formulation = "projected",
    ordinary_rank: int = 0,
) -> tuple[Reaction, ...]:
    """Return the reactions of all joints, then of all constraints, in their order, at q (nq), v (nv), effort
    (nv).

    Arguments as of `acceleration`. Raises RedundantRows for `lagrange` and `kkt` where rows depend on others,
    ValueError for wrong lengths.
    """
    w = workspace_at(mechanism, q, v, effort)
    w.ranking[layout.ORDINARY] = ordinary_rank
    accelerate(mechanism, w, formulation)
    return ReactionTable(mechanism).reactions(w)


class ReactionTable:
    """Memory for the reactions of one mechanism; an update allocates nothing.

    `names`, `on_bodies`, `from_bodies`, `effort_units` ("" without an effort): of all entries, joints first.
    A constraint that has the name of a joint is `constraints.NAME`. `values` (entries × 10): place, force,
    moment about it and effort, as the last `update` found them; `memory` is the argument r of
    `reaction_kernels.reactions`. Of the bodies, in the axes of their links: `seats` (bodies × 7: mass,
    centre of mass, origin) and `moments` (bodies × 6, about the centre of mass), which may be changed.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        """Look up the places of bodies, the loads of joints, and the points of action of constraints."""
        links, seats, _ = links_of(mechanism.bodies, mechanism.joints)
        entries = constraint_entries(mechanism, links)
        joints = [joint.name for joint in mechanism.joints]
        self.names = (
            *joints,
            *(f"constraints.{each.name}" if each.name in joints else each.name for each in entries),
        )
        self.on_bodies = (*(j.child for j in mechanism.joints), *(each.on_body for each in entries))
        self.from_bodies = (*(j.parent for j in mechanism.joints), *(each.from_body for each in entries))
        self.effort_units = (*("" for _ in joints), *(each.unit for each in entries))
        self.memory = _memory(mechanism, links, seats, entries)
        self.values = self.memory.results
        self.seats, self.moments = self.memory.seats, self.memory.moments
        self.seats[:] = _seats(mechanism, seats)
        self.moments[:] = _moments(mechanism, seats)

    def update(self, w: Workspace) -> None:
        """Update `values` from a workspace with up-to-date acceleration, without allocation."""
        reactions(*w.arguments, self.memory)

    def reactions(self, w: Workspace) -> tuple[Reaction, ...]:
        """Return the reactions at the state, v̇ and multipliers of a workspace with up-to-date kinematics."""
        self.update(w)
        kept = zip(
            self.names, self.on_bodies, self.from_bodies, self.effort_units, self.values.copy(), strict=True
        )
        return tuple(
            Reaction(name, on, by, row[:3], row[3:6], row[6:9], *effort_of(unit, row[9]))
            for name, on, by, unit, row in kept
        )

    def transmitted(self, w: Workspace) -> Floats:
        """Place, and all force and moment that passes through each joint (9), motors and friction included.

        Along the joint's degrees of freedom it is effort + friction + what constraints exert on the joint's
        coordinates - armature times acceleration.
        """
        self.update(w)
        return self.memory.transmitted.copy()


def effort_of(unit: str, value: float) -> tuple[float | None, str]:
    """The effort of an entry and its unit as people write it; None and "" where there is none."""
    return (float(value), unit.replace("_", " ")) if unit else (None, "")


def _memory(
    mechanism: Mechanism, links: Sequence[Link], seats: dict[str, BodyPlacement], entries: Sequence[Entry]
) -> ReactionMemory:
    index = {WORLD: -1} | {name: k for k, name in enumerate(mechanism.body_names)}
    parents = {joint.child: joint.parent for joint in mechanism.joints}
    joints = []
    for joint in mechanism.joints:
        chain = [i for i, link in enumerate(links) if link.joint is joint]
        joints.append([index[joint.child], min(chain, default=0), len(chain), int(joint.kind == "screw")])
    touched = [index[mechanism.points[mechanism.point_index(each.point)].body] for each in mechanism.contacts]
    rows = [[each.form, index[each.on_body], index[each.from_body], *each.numbers] for each in entries]
    names, of_point = mechanism.body_names, {point.name: point.body for point in mechanism.points}
    ends = [[index[body] for body in pushed_bodies(each.line, of_point)] for each in mechanism.elements]
    pushed = [[*each, -1, -1][:2] for each in ends]
    return ReactionMemory(
        {"n_links": len(links)},
        body_link=_integers([seats[name].link for name in names]),
        body_carrier=_integers([index[parents[name]] for name in names]),
        outward=_integers([index[name] for name in _outward(mechanism)]),
        joints=_integers(joints).reshape(-1, 4),
        entries=_integers(rows).reshape(-1, 11),
        touched=_integers(touched),
        pushed_bodies=_integers(pushed).reshape(-1, 2),
    )


def _integers(rows: Sequence[object]) -> Integers:
    return np.array(rows, dtype=np.int64)


def _outward(mechanism: Mechanism) -> list[str]:
    """The bodies, each after the one that carries it."""
    carried: dict[str, list[str]] = {}
    for joint in mechanism.joints:
        carried.setdefault(joint.parent, []).append(joint.child)
    found = list(carried.get(WORLD, []))
    for name in found:  # grows as it is read
        found.extend(carried.get(name, []))
    return found


def _seats(mechanism: Mechanism, seats: dict[str, BodyPlacement]) -> Floats:
    rows = []
    for body in mechanism.bodies:
        seat = seats[body.name]
        rows.append([body.mass_kg, *(seat.origin + seat.axes @ np.asarray(body.com_m)), *seat.origin])
    return np.array(rows)


def _moments(mechanism: Mechanism, seats: dict[str, BodyPlacement]) -> Floats:
    upper = np.triu_indices(3)
    axes = [seats[body.name].axes for body in mechanism.bodies]
    bodies = zip(axes, mechanism.bodies, strict=True)
    return np.array([(a @ np.asarray(body.inertia_kg_m2) @ a.T)[upper] for a, body in bodies])
