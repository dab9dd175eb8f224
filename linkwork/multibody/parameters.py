"""The arrays of a `Model` (workspace.py), from links and constraints."""

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.multibody.constraints import (
    Closure,
    Constraint,
    CoordinateConstraint,
    CouplingConstraint,
    DistanceClosure,
    ExpressionConstraint,
    Frame,
)
from linkwork.multibody.constraints.expression_fields import ExpressionPrograms, subtracted_from
from linkwork.multibody.kernels import layout
from linkwork.multibody.model import ModelError, Point
from linkwork.multibody.tree.link_tree import FOLLOWS, BodyPlacement, Link, check_names


def columns(rows: Sequence[Sequence[int]], *names: str) -> dict[str, Integers]:
    """Return the columns of a table, by name."""
    table = np.array(rows, dtype=np.int64).reshape(-1, len(names))
    return dict(zip(names, table.T, strict=True))


def dof_with_coordinates(links: Sequence[Link]) -> list[int]:
    """Place in v of the degrees of freedom whose coordinate is theirs alone: all but those of
    quaternions."""
    return sorted(link.place for link in links if link.scalar < 0 and link.scalar != FOLLOWS)


def tree_parameters(
    links: Sequence[Link], points: Sequence[Point], seats: dict[str, BodyPlacement], gravity: Floats
) -> dict[str, Floats]:
    """Return the parameters of the tree and its points; gravity (3, m/s², world)."""
    by_velocity = [link.joint for link in sorted(links, key=lambda link: link.place)]
    sitting = [seats[point.body] for point in points]
    return {
        "gravity": gravity,
        "fixed_axes": np.array([link.axes.T for link in links]),
        "fixed_origin": np.array([link.origin for link in links]),
        "turn": np.array([link.turn for link in links]),
        "travel": np.array([link.travel for link in links]),
        **inertial_parameters(links),
        "armature": np.array([joint.armature for joint in by_velocity]),
        "viscous": np.array([joint.viscous for joint in by_velocity]),
        "coulomb": np.array([joint.coulomb for joint in by_velocity]),
        "coulomb_speed": np.array([joint.coulomb_speed for joint in by_velocity]),
        "point_at": np.array(
            [s.origin + s.axes @ np.asarray(p.at_m) for s, p in zip(sitting, points, strict=True)]
        ),
        "point_axes": np.array([s.axes.T for s in sitting]),
    }


def inertial_parameters(links: Sequence[Link]) -> dict[str, Floats]:
    """Return the fields of p that depend on the bodies' masses: mass, its centre and the inertia about it."""
    com = np.array([link.first / link.mass if link.mass > 0.0 else np.zeros(3) for link in links])
    central = [
        link.second - link.mass * (float(c @ c) * np.eye(3) - np.outer(c, c))
        for link, c in zip(links, com, strict=True)
    ]
    upper = np.triu_indices(3)
    return {
        "mass": np.array([link.mass for link in links]),
        "com": com,
        "inertia": np.array([inertia[upper] for inertia in central]),
    }


@dataclass(frozen=True)
class ConstraintParameters:
    """The constraints' part of a `Model`."""

    parameters: dict[str, Floats]
    tables: dict[str, Integers]
    counts: dict[str, int]
    target_names: tuple[str, ...]
    programs: ExpressionPrograms


def constraint_fields(
    constraints: Sequence[Constraint],
    seats: dict[str, BodyPlacement],
    coordinate_names: Sequence[str],
    turning: Set[str],
    programs: ExpressionPrograms,
) -> ConstraintParameters:
    """Look up frames and coordinates; `turning` are the coordinates that are angles in space.

    `programs` takes up the expressions, after those of the forces. Raises ModelError for what does not exist.
    """
    check_names("constraints", [c.name for c in constraints])
    frames: list[BodyPlacement] = []
    spans: list[list[int]] = []
    rows: list[list[int]] = []
    offsets: list[float] = []
    terms: list[tuple[int, float]] = []
    targets: dict[str, float] = {}
    for constraint in constraints:
        pair = _frames(constraint, seats)
        frames.extend(pair)
        spans.append([len(rows), len(constraint.rows), pair[0].link, pair[1].link])
        own = _terms(constraint, coordinate_names)
        for row in constraint.rows:
            target = -1
            if row.kind in (layout.LINEAR_ROW, layout.DISTANCE):
                target = len(targets)
                targets[constraint.name] = _first_value(constraint)
            i, j = row.i, row.j
            if row.kind == layout.LINEAR_ROW:
                i, j = len(terms), len(own)
            elif row.kind in (layout.EXPRESSION, layout.VELOCITY):
                i, j = programs.span(constraint, row.name)
                if isinstance(constraint, ExpressionConstraint):
                    alone = subtracted_from(constraint.expressions[row.name])
                    target = layout.WRAPS if alone in turning else -1
            rows.append([row.kind, i, j, target])
            offsets.append(row.offset)
        terms.extend(own)
    baumgarte = [c.baumgarte for c in constraints for _ in c.rows]
    return ConstraintParameters(
        {
            "frame_at": np.array([seat.origin for seat in frames]),
            "frame_axes": np.array([seat.axes.T for seat in frames]),
            "row_offset": np.array(offsets),
            "term_factor": np.array([factor for _, factor in terms]),
            "target_given": np.array(list(targets.values())),
            "baumgarte_given": np.array(baumgarte),
            "on_given": np.array([float(c.on) for c in constraints]),
        }
        | programs.parameters(),
        {
            **columns(spans, "first_row", "row_count", "link_a", "link_b"),
            **columns(rows, "row_kind", "row_first", "row_second", "row_target"),
            "term": np.array([index for index, _ in terms], dtype=np.int64),
        }
        | programs.tables(),
        {
            "n_constraints": len(constraints),
            "n_rows": len(rows),
            "n_targets": len(targets),
            "n_terms": len(terms),
            "n_tape": programs.longest,
            **programs.counts(),
        },
        tuple(targets),
        programs,
    )


def _frames(constraint: Constraint, seats: dict[str, BodyPlacement]) -> tuple[BodyPlacement, BodyPlacement]:
    if not isinstance(constraint, Closure):
        nowhere = BodyPlacement(-1, np.eye(3), np.zeros(3))
        return nowhere, nowhere
    a, b = (_seat(constraint.name, which, getattr(constraint, which), seats) for which in ("a", "b"))
    if a.link == b.link:
        text = "both frames move with the same body, so that nothing is constrained"
        raise ModelError(text, ("constraints", constraint.name, "b"))
    return a, b


def _seat(name: str, which: str, frame: Frame, seats: dict[str, BodyPlacement]) -> BodyPlacement:
    if frame.body not in seats:
        raise ModelError(
            f"there is no body {frame.body!r}; known: {', '.join(seats)}",
            ("constraints", name, which, "body"),
        )
    on = seats[frame.body]
    return BodyPlacement(
        on.link, on.axes @ np.asarray(frame.rotation), on.origin + on.axes @ np.asarray(frame.at_m)
    )


def _terms(constraint: Constraint, coordinate_names: Sequence[str]) -> list[tuple[int, float]]:
    if isinstance(constraint, CoordinateConstraint):
        factors, key = {constraint.of: 1.0}, "of"
    elif isinstance(constraint, CouplingConstraint):
        factors, key = dict(constraint.factors), "factors"
    else:
        return []
    for name in factors:
        if name not in coordinate_names:
            raise ModelError(
                f"there is no coordinate {name!r}; known: {', '.join(coordinate_names)}",
                ("constraints", constraint.name, key),
            )
    return [(coordinate_names.index(name), float(factor)) for name, factor in factors.items()]


def _first_value(constraint: Constraint) -> float:
    if isinstance(constraint, DistanceClosure):
        return float(constraint.distance_m)
    if isinstance(constraint, (CoordinateConstraint, CouplingConstraint)):
        return float(constraint.value)
    return 0.0


def scaling(
    links: Sequence[Link],
    constraints: Sequence[Constraint],
    demanded: ConstraintParameters,
    is_angle: Sequence[bool],
    coordinate_is_angle: dict[str, bool],
    rank_tolerance: float,
) -> dict[str, Floats]:
    """Scale factors that make rows and columns of A comparable: a typical length ℓ equals one radian.

    Velocities in m/s are measured in ℓ/s, rows in metres are divided by ℓ, couplings by their factors. In
    ordinary poses the singular values of such rows are of the size of 1, the reference of the rank decision.
    """
    frames = demanded.parameters["frame_at"].reshape(-1, 3)
    distances = np.linalg.norm(np.vstack([*(link.origin for link in links), frames]), axis=1)
    length = float(distances[distances > 0.0].mean()) if (distances > 0.0).any() else 1.0
    scales: list[float] = []
    for constraint in constraints:
        factors: dict[str, float] = {}
        if isinstance(constraint, CoordinateConstraint):
            factors = {constraint.of: 1.0}
        elif isinstance(constraint, CouplingConstraint):
            factors = dict(constraint.factors)
        size = sum(
            abs(factor) * (1.0 if coordinate_is_angle[name] else length) for name, factor in factors.items()
        )
        for row in constraint.rows:
            own = demanded.programs.size(constraint.name, row.name, coordinate_is_angle, length)
            scales.append(1.0 / (own or size or (length if row.is_length else 1.0)))
    return {
        "row_scale": np.array(scales),
        "column_scale": np.array([1.0 if a else length for a in is_angle]),
        "reference_size": np.ones(1),
        "rank_tolerance": np.array([rank_tolerance]),
    }
