"""The fields of p and the tables of t, from links and constraints (layout.py says what lies where)."""

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
from linkwork.multibody.expressions.expression_fields import Programs, subtracted_from
from linkwork.multibody.kernels import layout
from linkwork.multibody.model import (
    ModelError,
    Point,
)
from linkwork.multibody.tree.link_tree import FOLLOWS, BodyPlacement, Link, check_names


def dof_with_coordinates(links: Sequence[Link]) -> list[int]:
    """Place in v of the degrees of freedom whose coordinate is theirs alone: all but those of
    quaternions."""
    return sorted(link.place for link in links if link.scalar < 0 and link.scalar != FOLLOWS)


def tree_parameters(
    links: Sequence[Link], points: Sequence[Point], seats: dict[str, BodyPlacement], gravity: Floats
) -> dict[int, Floats]:
    """Return the fields of p that concern the tree and its points; gravity (3, m/s², world)."""
    by_velocity = [link.joint for link in sorted(links, key=lambda link: link.place)]
    sitting = [seats[point.body] for point in points]
    return {
        layout.GRAVITY: gravity,
        layout.FIXED_AXES: np.array([link.axes.T for link in links]),
        layout.FIXED_ORIGIN: np.array([link.origin for link in links]),
        layout.TURN: np.array([link.turn for link in links]),
        layout.TRAVEL: np.array([link.travel for link in links]),
        **inertial_parameters(links),
        layout.ARMATURE: np.array([joint.armature for joint in by_velocity]),
        layout.VISCOUS: np.array([joint.viscous for joint in by_velocity]),
        layout.COULOMB: np.array([joint.coulomb for joint in by_velocity]),
        layout.COULOMB_SPEED: np.array([joint.coulomb_speed for joint in by_velocity]),
        layout.POINT_AT: np.array(
            [s.origin + s.axes @ np.asarray(p.at_m) for s, p in zip(sitting, points, strict=True)]
        ),
        layout.POINT_AXES: np.array([s.axes.T for s in sitting]),
    }


def inertial_parameters(links: Sequence[Link]) -> dict[int, Floats]:
    """Return the fields of p that depend on the bodies' masses: mass, its centre and the inertia about it."""
    com = np.array([link.first / link.mass if link.mass > 0.0 else np.zeros(3) for link in links])
    central = [
        link.second - link.mass * (float(c @ c) * np.eye(3) - np.outer(c, c))
        for link, c in zip(links, com, strict=True)
    ]
    upper = np.triu_indices(3)
    return {
        layout.MASS: np.array([link.mass for link in links]),
        layout.COM: com,
        layout.INERTIA: np.array([inertia[upper] for inertia in central]),
    }


@dataclass(frozen=True)
class Demanded:
    """The constraints' part of p and t; counts: constraints, rows, targets, terms, longest program."""

    parameters: dict[int, Floats]
    tables: dict[int, Integers]
    counts: tuple[int, int, int, int, int]
    target_names: tuple[str, ...]
    programs: Programs


def constraint_fields(
    constraints: Sequence[Constraint],
    seats: dict[str, BodyPlacement],
    coordinate_names: Sequence[str],
    turning: Set[str],
    programs: Programs,
) -> Demanded:
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
    return Demanded(
        {
            layout.FRAME_AT: np.array([seat.origin for seat in frames]),
            layout.FRAME_AXES: np.array([seat.axes.T for seat in frames]),
            layout.ROW_OFFSET: np.array(offsets),
            layout.TERM_FACTOR: np.array([factor for _, factor in terms]),
            layout.TARGET_GIVEN: np.array(list(targets.values())),
            layout.BAUMGARTE_GIVEN: np.array(baumgarte),
            layout.ON_GIVEN: np.array([float(c.on) for c in constraints]),
        }
        | programs.parameters(),
        {
            layout.CONSTRAINTS: np.array(spans, dtype=np.int64),
            layout.ROWS: np.array(rows, dtype=np.int64),
            layout.TERMS: np.array([index for index, _ in terms], dtype=np.int64),
        }
        | programs.tables(),
        (len(constraints), len(rows), len(targets), len(terms), programs.longest),
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
    demanded: Demanded,
    is_angle: Sequence[bool],
    coordinate_is_angle: dict[str, bool],
    rank_tolerance: float,
) -> dict[int, Floats]:
    """Scale factors that make rows and columns of A comparable: a typical length ℓ equals one radian.

    Velocities in m/s are measured in ℓ/s, rows in metres are divided by ℓ, couplings by their factors. In
    ordinary poses the singular values of such rows are of the size of 1, the reference of the rank decision.
    """
    frames = demanded.parameters[layout.FRAME_AT].reshape(-1, 3)
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
        layout.ROW_SCALE: np.array(scales),
        layout.COLUMN_SCALE: np.array([1.0 if a else length for a in is_angle]),
        layout.REFERENCE_SIZE: np.ones(1),
        layout.RANK_TOLERANCE: np.array([rank_tolerance]),
    }
