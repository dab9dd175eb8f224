"""The immutable model of a mechanism, and how it is built from its description."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from multibody import layout
from multibody.model import (
    ANGLES,
    Array,
    Body,
    Coordinate,
    Integers,
    Joint,
    ModelError,
    Point,
    _frozen,
)
from multibody.tree import Link, Seat, check_names, links_of, refuse_massless, screw_of
from multibody.workspace import Workspace, lay_out


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A tree of rigid bodies; q and v follow the joints with freedom in the order in which they were given.

    `parameters` and `topology` are the read-only arrays p and t of every kernel (see layout.py); the state
    lives in a `Workspace`. `coordinate_names` lists all joints with freedom, then the named coordinates.
    Lengths: `nq`, `nv`.
    """

    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    points: tuple[Point, ...]
    coordinates: tuple[Coordinate, ...]
    gravity_m_s2: Array
    nq: int
    nv: int
    joint_names: tuple[str, ...]
    joint_is_angle: tuple[bool, ...]
    body_names: tuple[str, ...]
    point_names: tuple[str, ...]
    coordinate_names: tuple[str, ...]
    coordinate_is_angle: tuple[bool, ...]
    coordinate_wraps: tuple[bool, ...]
    parameters: Array
    topology: Integers

    @staticmethod
    def build(
        bodies: Sequence[Body],
        joints: Sequence[Joint],
        gravity_m_s2: npt.ArrayLike,
        points: Sequence[Point] = (),
        coordinates: Sequence[Coordinate] = (),
    ) -> "Mechanism":
        """Check the description and make the model.

        `joints` may come in any order; `gravity_m_s2` is a vector in the world, (0, 0, -9.81). Raises
        ModelError, whose `where` names the culprit.
        """
        gravity = _frozen(gravity_m_s2, (3,), ("gravity_m_s2",))
        links, seats = links_of(bodies, joints)
        if not links:
            raise ModelError("no joint has any freedom, so nothing can move", ("joints",))
        refuse_massless(links)
        free = [joint for joint in joints if joint.kind != "fixed"]
        rank = {joint.name: k for k, joint in enumerate(free)}
        check_names("points", [point.name for point in points])
        check_names("coordinates", [*rank, *(c.name for c in coordinates)])
        for point in points:
            if point.body not in seats:
                raise ModelError(
                    f"there is no body {point.body!r}; known: {', '.join(seats)}",
                    ("points", point.name, "body"),
                )
        everything = (*(Coordinate(joint.name, "joint", joint.name) for joint in free), *coordinates)
        rows = _coordinate_rows(everything, rank, [point.name for point in points])
        n = len(free)
        parameters, topology = lay_out(
            _parameters(links, rank, points, seats, gravity),
            {
                layout.LINKS: np.array([[k.parent, rank[k.joint.name], rank[k.joint.name]] for k in links]),
                layout.POINTS: np.array([seats[point.body].link for point in points], dtype=np.int64),
                layout.COORDINATES: rows,
            },
            counts=(n, n, len(links), len(points), len(everything)),
        )
        angles = [
            free[index].is_angle if kind == layout.ON_JOINT else c.kind in ANGLES
            for c, (kind, index) in zip(everything, rows.tolist(), strict=True)
        ]
        return Mechanism(
            bodies=tuple(bodies),
            joints=tuple(joints),
            points=tuple(points),
            coordinates=tuple(coordinates),
            gravity_m_s2=gravity,
            nq=n,
            nv=n,
            joint_names=tuple(rank),
            joint_is_angle=tuple(joint.is_angle for joint in free),
            body_names=tuple(body.name for body in bodies),
            point_names=tuple(point.name for point in points),
            coordinate_names=tuple(c.name for c in everything),
            coordinate_is_angle=tuple(angles),
            coordinate_wraps=tuple(c.kind in ANGLES for c in everything),
            parameters=parameters,
            topology=topology,
        )

    def workspace(self) -> Workspace:
        """A fresh state and scratch memory for the kernels, at q = 0 and at rest."""
        return Workspace(self.parameters, self.topology)

    def joint_index(self, name: str) -> int:
        """Place of a joint's coordinate in q and v. Raises ModelError with the known names."""
        return _index("joint", name, self.joint_names)

    def point_index(self, name: str) -> int:
        """Place of a point. Raises ModelError with the known names."""
        return _index("point", name, self.point_names)

    def coordinate_index(self, name: str) -> int:
        """Place of a coordinate in θ. Raises ModelError with the known names."""
        return _index("coordinate", name, self.coordinate_names)


def _index(kind: str, name: str, names: tuple[str, ...]) -> int:
    if name not in names:
        raise ModelError(f"there is no {kind} {name!r}; known: {', '.join(names)}")
    return names.index(name)


def _coordinate_rows(
    coordinates: Sequence[Coordinate], rank: dict[str, int], point_names: Sequence[str]
) -> Integers:
    rows = np.empty((len(coordinates), 2), dtype=np.int64)
    for row, c in zip(rows, coordinates, strict=True):
        known = list(rank) if c.kind == "joint" else list(point_names)
        if c.of not in known:
            what = "joint with freedom" if c.kind == "joint" else "point"
            text = f"there is no {what} {c.of!r}; known: {', '.join(known) or 'none'}"
            raise ModelError(text, ("coordinates", c.name, "of"))
        row[:] = layout.COORDINATE_KINDS[c.kind], known.index(c.of)
    return rows


def _parameters(
    links: Sequence[Link],
    rank: dict[str, int],
    points: Sequence[Point],
    seats: dict[str, Seat],
    gravity: Array,
) -> dict[int, Array]:
    """The fields of p."""
    by_velocity = sorted((link.joint for link in links), key=lambda joint: rank[joint.name])
    screws = np.array([screw_of(link.joint) for link in links])
    com = np.array([link.first / link.mass if link.mass > 0.0 else np.zeros(3) for link in links])
    central = [
        link.second - link.mass * (float(c @ c) * np.eye(3) - np.outer(c, c))
        for link, c in zip(links, com, strict=True)
    ]
    upper = np.triu_indices(3)
    sitting = [seats[point.body] for point in points]
    return {
        layout.GRAVITY: gravity,
        layout.FIXED_AXES: np.array([link.axes.T for link in links]),
        layout.FIXED_ORIGIN: np.array([link.origin for link in links]),
        layout.TURN: screws[:, 0],
        layout.TRAVEL: screws[:, 1],
        layout.MASS: np.array([link.mass for link in links]),
        layout.COM: com,
        layout.INERTIA: np.array([inertia[upper] for inertia in central]),
        layout.ARMATURE: np.array([joint.armature for joint in by_velocity]),
        layout.VISCOUS: np.array([joint.viscous for joint in by_velocity]),
        layout.COULOMB: np.array([joint.coulomb for joint in by_velocity]),
        layout.COULOMB_SPEED: np.array([joint.coulomb_speed for joint in by_velocity]),
        layout.POINT_AT: np.array(
            [s.origin + s.axes @ np.asarray(p.at_m) for s, p in zip(sitting, points, strict=True)]
        ),
        layout.POINT_AXES: np.array([s.axes.T for s in sitting]),
    }
