"""The order in which the rows of constraints are eliminated, loop by loop, planned once from their pattern.

A row of A involves the degrees of freedom between the two bodies that it relates, so that the rows of a
machine with many loops are sparse. They are factored front by front (multifrontal QR): a *front* gathers the
rows of a few constraints and what is left of the fronts before it, and eliminates the columns that occur in
no other front, its *summed* columns. The order is that of least fill: of all columns the one whose front
would have the fewest columns comes next (minimum degree).

Fronts that share no column, directly or by others, are *clusters*, such as several machines on one base. The
fronts of a cluster follow each other, and clusters come before those that carry them: so the admitted
velocities of a cluster and of all that it carries are neighbours, and the mass matrix of the admitted
velocities (reduced_mass.py) has a narrow envelope. A velocity in no row is a cluster by itself.

Small machines, and those whose rows are dense, are factored in one piece (rank.py): their plan is one front.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linkwork.arrays import Integers
from linkwork.multibody.expressions.program import COORDINATE
from linkwork.multibody.kernels import layout
from linkwork.multibody.tree.link_tree import Link
from linkwork.multibody.workspace import Model

FEWEST_COLUMNS = 10
"""Degrees of freedom from which on a plan is considered."""
WORTH = 0.25
"""Part of the operations of one piece, up to which several fronts are worth their lists."""
ROOM = 3
"""Room for the lists of columns and rows, over what they need where no column is delayed."""


@dataclass
class Front:
    """Rows and columns of one front: own rows, summed columns, other columns, and the fronts before it."""

    rows: list[int]
    summed: list[int]
    others: list[int]
    before: list[int] = field(default_factory=list)
    left: int = 0
    """Rows that are left for the next front where the rows are independent."""
    cluster: int = 0
    """The first front of its cluster."""

    @property
    def columns(self) -> int:
        """Number of columns."""
        return len(self.summed) + len(self.others)


def row_columns(
    links: Sequence[Link], coordinates: Integers, points: Integers, tables: Mapping[str, Integers]
) -> list[frozenset[int]]:
    """Return the degrees of freedom (places in v) that each row of A can involve.

    coordinates (nc × 2: kind, joint or point) and points (np: link); `tables` are those of the constraints.
    """
    return list(_row_columns(links, coordinates, points, tables))


def _row_columns(
    links: Sequence[Link], coordinates: Integers, points: Integers, tables: Mapping[str, Integers]
) -> Iterator[frozenset[int]]:
    terms, programs, factors = tables["term"], tables["program"], tables["factors"]

    def carried(link: int) -> set[int]:
        found = set()
        while link >= 0:
            found.add(links[link].place)
            link = links[link].parent
        return found

    def of_coordinate(index: int) -> set[int]:
        kind, of = coordinates[index].tolist()
        return {of} if kind == layout.ON_JOINT else carried(int(points[of]))

    rows = np.column_stack([tables[name] for name in ("row_kind", "row_first", "row_second")])
    spans = np.column_stack([tables[name] for name in ("first_row", "row_count", "link_a", "link_b")])
    for first, count, link_a, link_b in spans.tolist():
        for kind, start, length in rows[first : first + count].tolist():
            if kind == layout.LINEAR_ROW:
                used = [int(index) for index in terms[start : start + length]]
            elif kind == layout.EXPRESSION:
                used = [
                    a
                    for operation, a, _ in programs[start : start + length].tolist()
                    if operation == COORDINATE
                ]
            elif kind == layout.VELOCITY:
                used = [index for index, _, _ in factors[start : start + length].tolist() if index >= 0]
            else:
                yield frozenset(carried(link_a) ^ carried(link_b))
                continue
            yield frozenset().union(*(of_coordinate(index) for index in used))


def fronts(patterns: Sequence[frozenset[int]], nv: int) -> list[Front]:
    """Return the fronts in the order of elimination: each comes after those whose rows it takes over."""
    touching: dict[int, set[int]] = {column: set() for column in range(nv)}
    pieces: dict[int, set[int]] = {}
    for piece, columns in enumerate(patterns):
        pieces[piece] = set(columns)
        for column in columns:
            touching[column].add(piece)
    made: list[Front] = []
    front_of: dict[int, int] = {}
    remaining = {column for column in range(nv) if touching[column]}
    size = {column: len(set().union(*(pieces[k] for k in touching[column]))) for column in remaining}
    while remaining:
        column = min(remaining, key=lambda each: (size[each], each))
        joined = sorted(touching[column])
        union = set().union(*(pieces[k] for k in joined))
        summed = sorted(each for each in union if touching[each] <= set(joined))
        others = sorted(union - set(summed))
        front = Front([k for k in joined if k < len(patterns)], summed, others)
        front.before = [front_of[k] for k in joined if k in front_of]
        front.left = max(0, len(front.rows) + sum(made[k].left for k in front.before) - len(summed))
        index = len(patterns) + len(made)
        made.append(front)
        for k in joined:
            for each in pieces.pop(k):
                touching[each].discard(k)
        remaining -= set(summed)
        if others:
            pieces[index], front_of[index] = set(others), len(made) - 1
            for each in others:
                touching[each].add(index)
                size[each] = len(set().union(*(pieces[k] for k in touching[each])))
    return made


def operations(front: Front, made: Sequence[Front]) -> float:
    """Return multiplications of a front's QR, roughly."""
    rows = len(front.rows) + sum(made[k].left for k in front.before)
    return 2.0 * rows * front.columns * min(rows, len(front.summed))


@dataclass(frozen=True)
class EliminationPlan:
    """Tables of a `Model` for elimination.py, and their sizes."""

    tables: dict[str, Integers]
    counts: dict[str, int]


def clustered(made: Sequence[Front], links: Sequence[Link]) -> list[Front]:
    """Return the fronts cluster by cluster, with fronts of no rows for the columns in no other one.

    No link carries an earlier one, so that clusters come in the reverse order of their first links.
    """
    last = list(range(len(made)))  # front of each one's cluster
    for k in reversed(range(len(made))):
        for earlier in made[k].before:
            last[earlier] = last[k]
    members = dict[int, list[int]]()
    for k, of in enumerate(last):
        members.setdefault(of, []).append(k)
    link_of = {link.place: index for index, link in enumerate(links)}
    clusters = [([made[k] for k in own], own) for own in members.values()]
    free = link_of.keys() - {column for front in made for column in front.summed}
    clusters += [([Front([], [column], [])], []) for column in free]
    clusters.sort(key=lambda each: -min(link_of[k] for front in each[0] for k in front.summed))

    found, place = list[Front](), dict[int, int]()
    for fronts_of, own in clusters:
        if not own and found and not found[-1].rows and not found[-1].before:
            found[-1].summed += fronts_of[0].summed
            continue
        place |= {k: len(found) + index for index, k in enumerate(own)}
        found += [
            replace(front, before=[place[k] for k in front.before], cluster=len(found)) for front in fronts_of
        ]
    return found


def planned(patterns: Sequence[frozenset[int]], links: Sequence[Link]) -> EliminationPlan:
    """Return the plan for rows with these patterns (places in v): one front where one piece is faster."""
    nv = len(links)
    everything = Front(list(range(len(patterns))), list(range(nv)), [])
    if nv < FEWEST_COLUMNS or not patterns:
        return _plan([everything])
    made = fronts(patterns, nv)
    if sum(operations(front, made) for front in made) > WORTH * operations(everything, []):
        return _plan([everything])
    made = clustered(made, links)
    alone = [row for row, columns in enumerate(patterns) if not columns]
    return _plan([*made, Front(alone, [], [], cluster=len(made))] if alone else made)


def factorisation(model: Model) -> dict[str, Any]:
    """Return a mechanism's plan for people: number of fronts, the largest one, and why."""
    table, nv = model.fronts, model.nv
    columns = table[:, 2] - table[:, 0]
    largest = int(np.argmax(columns))
    if len(table) > 1:
        why = "the rows of each loop involve few degrees of freedom"
    elif nv < FEWEST_COLUMNS:
        why = f"fewer than {FEWEST_COLUMNS} degrees of freedom of the joints"
    else:
        why = f"fronts would need more than {WORTH:.0%} of the operations"
    return {"fronts": len(table), "columns_of_the_largest": int(columns[largest]), "why": why}


def _plan(made: Sequence[Front]) -> EliminationPlan:
    rows: list[int] = []
    columns: list[int] = []
    before: list[int] = []
    table = []
    taken = {k for front in made for k in front.before}
    for k, front in enumerate(made):
        first_column, first_row, first_before = len(columns), len(rows), len(before)
        columns += front.summed + front.others
        rows += front.rows
        before += front.before
        of_columns = first_column, first_column + len(front.summed), len(columns)
        of_rows = first_row, len(rows), first_before, len(before)
        table.append([*of_columns, *of_rows, k in taken, front.cluster])
    several = len(made) > 1
    return EliminationPlan(
        {
            "fronts": np.array(table, dtype=np.int64),
            "front_columns": np.array(columns, dtype=np.int64),
            "front_rows": np.array(rows, dtype=np.int64),
            "fronts_before": np.array(before, dtype=np.int64),
        },
        {
            "n_fronts": len(made),
            "n_front_columns": len(columns),
            "n_front_rows": len(rows),
            "n_fronts_before": len(before),
            "n_column_list": ROOM * len(columns) if several else 0,
            "n_row_list": ROOM * (len(rows) + sum(front.left for front in made)) if several else 0,
        },
    )
