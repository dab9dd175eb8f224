"""The immutable model of a mechanism, and how it is built from its description."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats, Integers
from linkwork.brief import Brief
from linkwork.multibody.closure.elimination_plan import planned, row_columns
from linkwork.multibody.constraints import Constraint
from linkwork.multibody.constraints.expression_fields import ExpressionPrograms
from linkwork.multibody.contact.compliance import Contact, JointStop, compliance_fields
from linkwork.multibody.forces.elements import ForceElement, element_fields
from linkwork.multibody.kernels import layout
from linkwork.multibody.model import ANGLES, Body, Coordinate, Joint, ModelError, Point, _frozen
from linkwork.multibody.parameters import (
    ConstraintParameters,
    columns,
    constraint_fields,
    dof_with_coordinates,
    inertial_parameters,
    scaling,
    tree_parameters,
)
from linkwork.multibody.tree.link_tree import Link, Places, check_names, links_of, refuse_massless
from linkwork.multibody.workspace import Model, Workspace

_PARTS: Final = (
    "bodies",
    "joints",
    "gravity_m_s2",
    "points",
    "coordinates",
    "constraints",
    "stops",
    "contacts",
    "rank_tolerance",
    "elements",
)
"""Arguments of `Mechanism.build`."""


@dataclass(frozen=True, eq=False, repr=False)
class Mechanism(Brief):
    """A tree of rigid bodies under constraints; v follows the joints in the order in which they were given.

    `joint_names` (nv) lists their degrees of freedom: a joint with one has the joint's name, for others see
    tree/joint_dof.py. q (nq, `position_names`) follows v, then come the scalar parts of quaternions.
    `coordinate_names` lists the degrees of freedom with a separate coordinate (all but those of quaternions),
    then the named coordinates. `row_names` and `target_names`: rows of the constraints, and those with a
    prescribed value.

    `model` is what kernels read of it; the state is in a `Workspace`.
    """

    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    points: tuple[Point, ...]
    coordinates: tuple[Coordinate, ...]
    constraints: tuple[Constraint, ...]
    stops: tuple[JointStop, ...]
    contacts: tuple[Contact, ...]
    elements: tuple[ForceElement, ...]
    gravity_m_s2: Floats
    nq: int
    nv: int
    joint_names: tuple[str, ...]
    position_names: tuple[str, ...]
    joint_is_angle: tuple[bool, ...]
    body_names: tuple[str, ...]
    point_names: tuple[str, ...]
    coordinate_names: tuple[str, ...]
    coordinate_is_angle: tuple[bool, ...]
    coordinate_wraps: tuple[bool, ...]
    constraint_names: tuple[str, ...]
    row_names: tuple[str, ...]
    target_names: tuple[str, ...]
    model: Model

    @staticmethod
    def build(
        bodies: Sequence[Body],
        joints: Sequence[Joint],
        gravity_m_s2: npt.ArrayLike,
        points: Sequence[Point] = (),
        coordinates: Sequence[Coordinate] = (),
        constraints: Sequence[Constraint] = (),
        stops: Sequence[JointStop] = (),
        contacts: Sequence[Contact] = (),
        rank_tolerance: float = layout.ROUNDING,
        elements: Sequence[ForceElement] = (),
    ) -> "Mechanism":
        """Check the description and make the model.

        `joints` may come in any order; `gravity_m_s2` is a vector in the world, (0, 0, -9.81). Directions of
        the scaled constraint rows shorter than `rank_tolerance` count as round-off (see rank.py). Raises
        ModelError, whose `where` names the culprit.
        """
        given = (
            bodies, joints, gravity_m_s2, points, coordinates, constraints, stops, contacts,
            rank_tolerance, elements,
        )  # fmt: skip
        mechanism, links = Mechanism._laid_out(dict(zip(_PARTS, given, strict=True)))
        refuse_massless(links)
        return mechanism

    @staticmethod
    def _laid_out(parts: Mapping[str, Any]) -> tuple["Mechanism", Sequence[Link]]:
        """Do as `build`, and return the links, which are not checked for motions without mass."""
        tolerance = parts["rank_tolerance"]
        if not 0.0 < tolerance < 1.0:
            raise ModelError(
                f"the tolerance of the rank must lie between 0 and 1, found {tolerance}",
                ("rank_tolerance",),
            )
        fields = _fields(**parts)
        places, everything = fields.places, fields.coordinates
        bodies, points, constraints = (tuple(parts[name]) for name in ("bodies", "points", "constraints"))
        mechanism = Mechanism(
            bodies=bodies,
            joints=tuple(parts["joints"]),
            points=points,
            coordinates=tuple(parts["coordinates"]),
            constraints=constraints,
            stops=tuple(parts["stops"]),
            contacts=tuple(parts["contacts"]),
            elements=tuple(parts["elements"]),
            gravity_m_s2=fields.parameters["gravity"],
            nq=places.nq,
            nv=places.nv,
            joint_names=fields.names,
            position_names=(*fields.names, *(f"{name}.quaternion" for name in places.scalar)),
            joint_is_angle=fields.is_angle,
            body_names=tuple(body.name for body in bodies),
            point_names=tuple(point.name for point in points),
            coordinate_names=tuple(c.name for c in everything),
            coordinate_is_angle=fields.coordinate_is_angle,
            coordinate_wraps=tuple(c.kind in ANGLES for c in everything),
            constraint_names=tuple(c.name for c in constraints),
            row_names=tuple(f"{c.name}.{row.name}" for c in constraints for row in c.rows),
            target_names=fields.demanded.target_names,
            model=fields.model(),
        )
        return mechanism, fields.links

    def changed(self, **parts: Any) -> "Mechanism":
        """Return the mechanism with other parts: arguments of `build`, whose other ones stay as they are.

        Raises ModelError.
        """
        given = {name: getattr(self, name) for name in _PARTS} | parts
        if "bodies" in parts or "joints" in parts:
            return Mechanism.build(**given)
        return Mechanism._laid_out(given)[0]

    def model_with(self, **parts: Any) -> Model:
        """Return `model` as `changed(**parts)` has it, in less time, where its topology stays the same.

        Not checked: that every motion of the joints moves mass. Raises ModelError, and ValueError for another
        topology.
        """
        if parts.keys() == {"bodies"}:
            return self.model.changed(inertial_parameters(links_of(parts["bodies"], self.joints)[0]))
        model = _fields(**({name: getattr(self, name) for name in _PARTS} | parts)).model()
        if not model.alike(self.model):
            raise ValueError("these parts change the topology of the mechanism")
        return model

    def combining(
        self, rows: Mapping[str, Floats], angles: Sequence[bool], *, writable: bool = False
    ) -> "Mechanism":
        """Return the mechanism with further coordinates: linear combinations of the others.

        rows: the coefficients of each (n, of all present coordinates). angles: whether each is one.
        writable: whether the coefficients may be changed later. `changed` leaves combinations out.
        """
        many, known, model = len(rows), len(self.coordinate_names), self.model
        values = {name: value for name, value in vars(model).items() if isinstance(value, np.ndarray)}
        for whole in ("buffer", "integers", "words"):
            values.pop(whole, None)
        coefficients = np.zeros((many, known + many))
        coefficients[:, :known] = np.reshape(list(rows.values()), (many, known))
        coefficients[:, known:] = np.diag(coefficients.any(axis=1))
        values["combination"] = coefficients
        for name in ("directions", "coordinate_kind", "coordinate_of"):
            values[name] = np.concatenate([values[name], np.zeros((many, *values[name].shape[1:]))])
        counts = {**model.counts, "n_coordinates": known + many, "n_combinations": many}
        made = Model(counts, values)
        return replace(
            self,
            coordinate_names=(*self.coordinate_names, *rows),
            coordinate_is_angle=(*self.coordinate_is_angle, *angles),
            coordinate_wraps=(*self.coordinate_wraps, *[False] * many),
            model=made.with_parameters(writable=True) if writable else made,
        )

    def bare(self, points: Sequence[Point]) -> "Mechanism":
        """Return the tree alone with these points, for its kinematics."""
        none = dict.fromkeys(("coordinates", "constraints", "stops", "contacts", "elements"), ())
        return self.changed(points=points, rank_tolerance=layout.ROUNDING, **none)

    @property
    def rank_tolerance(self) -> float:
        """Length of a direction of the scaled rows (1: ordinary) below which it counts as round-off."""
        return float(self.model.rank_tolerance[0])

    def workspace(self, q: Floats | None = None, v: Floats | None = None) -> Workspace:
        """A fresh state and scratch memory for the kernels, at q (nq; none: 0) and v (nv; none: at rest)."""
        work = Workspace(self.model)
        if q is not None:
            work.q[:] = q
        if v is not None:
            work.v[:] = v
        return work

    def joint_index(self, name: str) -> int:
        """Place of a degree of freedom in v and of its coordinate in q. Raises ModelError."""
        return _index("joint", name, self.joint_names)

    def point_index(self, name: str) -> int:
        """Place of a point. Raises ModelError with the known names."""
        return _index("point", name, self.point_names)

    def coordinate_index(self, name: str) -> int:
        """Place of a coordinate in θ. Raises ModelError with the known names."""
        return _index("coordinate", name, self.coordinate_names)

    def constraint_index(self, name: str) -> int:
        """Place of a constraint. Raises ModelError with the known names."""
        return _index("constraint", name, self.constraint_names)

    def target_index(self, name: str) -> int:
        """Place of a constraint's prescribed value in `target`. Raises ModelError with the known names."""
        return _index("prescribed value", name, self.target_names)


@dataclass(frozen=True, eq=False)
class _Fields:
    """The arrays of a `Model` without the elimination plan, and the parts that they come from."""

    counts: dict[str, int]
    parameters: dict[str, Floats]
    tables: dict[str, Integers]
    links: list[Link]
    places: Places
    demanded: ConstraintParameters
    coordinates: tuple[Coordinate, ...]
    names: tuple[str, ...]
    is_angle: tuple[bool, ...]
    coordinate_is_angle: tuple[bool, ...]

    def model(self) -> Model:
        """Lay out the arrays, with the elimination plan."""
        tables = self.tables
        coordinates = np.column_stack([tables["coordinate_kind"], tables["coordinate_of"]])
        plan = planned(row_columns(self.links, coordinates, tables["point_link"], tables), self.links)
        return Model(self.counts | plan.counts, {**self.parameters, **tables, **plan.tables})


def _check_points(points: Sequence[Point], bodies: Collection[str]) -> None:
    """Raise ModelError for two points of one name and for a body that there is not."""
    check_names("points", [point.name for point in points])
    for point in points:
        if point.body not in bodies:
            raise ModelError(
                f"there is no body {point.body!r}; known: {', '.join(bodies)}",
                ("points", point.name, "body"),
            )


def _fields(
    bodies: Sequence[Body],
    joints: Sequence[Joint],
    gravity_m_s2: npt.ArrayLike,
    points: Sequence[Point],
    coordinates: Sequence[Coordinate],
    constraints: Sequence[Constraint],
    stops: Sequence[JointStop],
    contacts: Sequence[Contact],
    rank_tolerance: float,
    elements: Sequence[ForceElement],
) -> _Fields:
    """Look up everything that the parts name; arguments as `Mechanism.build`. Raises ModelError."""
    gravity = _frozen(gravity_m_s2, (3,), ("gravity_m_s2",))
    links, seats, places = links_of(bodies, joints)
    if not links:
        raise ModelError(
            "no joint has any degree of freedom, so nothing can move",
            ("joints",),
            "make one of them movable",
        )
    names = [name for each in places.dof.values() for name in each.names]
    angles = [angle for each in places.dof.values() for angle in each.is_angle]
    _check_points(points, seats)
    own = {names[k]: k for k in dof_with_coordinates(links)}
    everything = (*(Coordinate(name, "joint", name) for name in own), *coordinates)
    check_names("coordinates", [c.name for c in everything])
    rows = _coordinate_rows(everything, own, [point.name for point in points])
    turning = {c.name for c in everything if c.kind in ANGLES}
    programs = ExpressionPrograms([c.name for c in everything])
    forces = element_fields(elements, names, own, points, seats, programs)
    demanded = constraint_fields(constraints, seats, [c.name for c in everything], turning, programs)
    coordinate_angles = {
        c.name: angles[index] if kind == layout.ON_JOINT else c.kind in ANGLES
        for c, (kind, index) in zip(everything, rows.tolist(), strict=True)
    }
    compliant = compliance_fields(stops, contacts, own, [point.name for point in points])
    return _Fields(
        {
            "nq": places.nq,
            "nv": places.nv,
            "n_links": len(links),
            "n_points": len(points),
            "n_coordinates": len(everything),
            "n_combinations": 0,
            "n_balls": sum(link.scalar >= 0 for link in links),
            "n_stops": len(stops),
            "n_contacts": len(contacts),
            "n_elements": len(elements),
            **demanded.counts,
        },
        tree_parameters(links, points, seats, gravity)
        | {"directions": np.array([_direction(c) for c in everything])}
        | demanded.parameters
        | scaling(links, constraints, demanded, angles, coordinate_angles, rank_tolerance)
        | forces.parameters
        | compliant.parameters,
        {
            **columns([[k.parent, k.coordinate, k.place] for k in links], "parent", "in_q", "in_v"),
            **columns([[k.scalar, k.base] for k in links], "scalar", "base"),
            **columns(
                [[k.coordinate, k.scalar] for k in links if k.scalar >= 0], "ball_vector", "ball_scalar"
            ),
            "point_link": np.array([seats[point.body].link for point in points], dtype=np.int64),
            **columns(rows.tolist(), "coordinate_kind", "coordinate_of"),
        }
        | demanded.tables
        | forces.tables
        | compliant.tables,
        links,
        places,
        demanded,
        everything,
        tuple(names),
        tuple(angles),
        tuple(coordinate_angles.values()),
    )


def _index(kind: str, name: str, names: tuple[str, ...]) -> int:
    if name not in names:
        raise ModelError(f"there is no {kind} {name!r}; known: {', '.join(names)}")
    return names.index(name)


def _direction(c: Coordinate) -> list[float]:
    if c.kind == "along":
        return [*c.direction, float(np.dot(c.direction, c.from_m))]
    return [*c.from_m, c.less_m] if c.kind == "distance" else [0.0] * 4


def _coordinate_rows(
    coordinates: Sequence[Coordinate], own: dict[str, int], point_names: Sequence[str]
) -> Integers:
    rows = np.empty((len(coordinates), 2), dtype=np.int64)
    for row, c in zip(rows, coordinates, strict=True):
        known = list(own) if c.kind == "joint" else list(point_names)
        if c.of not in known:
            what = "joint with a coordinate" if c.kind == "joint" else "point"
            text = f"there is no {what} {c.of!r}; known: {', '.join(known) or 'none'}"
            raise ModelError(text, ("coordinates", c.name, "of"))
        index = own[c.of] if c.kind == "joint" else known.index(c.of)
        row[:] = layout.COORDINATE_KINDS[c.kind], index
    return rows
