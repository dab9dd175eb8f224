"""The immutable maximal model: rigid bodies and connections, in the arrays that the kernels read."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats, Integers
from linkwork.multibody.forces import Spring
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import (
    Body,
    ModelError,
    _frozen,
)
from linkwork.multibody.taylor import taylor_layout as layout
from linkwork.multibody.taylor.connections import Connection, JointFrame
from linkwork.multibody.taylor.rigid import Rigid, RigidPlacement, rigid_bodies
from linkwork.multibody.tree.link_tree import check_names

_KINDS = {
    "spherical": layout.SPHERICAL,
    "revolute": layout.REVOLUTE,
    "cylindrical": layout.CYLINDRICAL,
    "prismatic": layout.PRISMATIC,
    "pin": layout.PIN,
}
_ROWS = {"spherical": 3, "revolute": 5, "cylindrical": 4, "prismatic": 5, "pin": 2}
_DOF = {
    "spherical": (),
    "revolute": (layout.TURN,),
    "cylindrical": (layout.TURN, layout.SLIDE),
    "prismatic": (layout.SLIDE,),
    "pin": (),
}


@dataclass(frozen=True, eq=False)
class MaximalModel:
    """Maximal model: every rigid body with six degrees of freedom, and the connections that constrain them.

    `joint_names`: the connections that are not fixed, in their order. `dof_names`: the turns and slides
    along their axes, for which there are coordinates, rates and efforts; a cylindrical joint has
    "name.turn" and "name.slide", the others have the joint's name. `unknowns`: the size of the system.
    """

    bodies: tuple[Body, ...]
    connections: tuple[Connection, ...]
    gravity_m_s2: Floats
    rigids: tuple[Rigid, ...]
    seats: dict[str, RigidPlacement]
    joint_names: tuple[str, ...]
    dof_names: tuple[str, ...]
    unknowns: int
    parameters: Floats
    topology: Integers
    size: int

    @staticmethod
    def build(
        bodies: Sequence[Body], connections: Sequence[Connection], gravity_m_s2: npt.ArrayLike
    ) -> "MaximalModel":
        """Check the description and make the model; connections may form loops. Raises ModelError.

        `gravity_m_s2` (3): in world axes.
        """
        check_names("bodies", [body.name for body in bodies])
        check_names("joints", [connection.name for connection in connections])
        known = ["world", *(body.name for body in bodies)]
        for c in connections:
            for end, frame in (("a", c.a), ("b", c.b)):
                if frame.body not in known:
                    text = f"there is no body {frame.body!r}; known: {', '.join(known)}"
                    raise ModelError(text, ("joints", c.name, end))
        gravity = _frozen(gravity_m_s2, (3,), ("gravity_m_s2",))
        rigids, seats = rigid_bodies(bodies, connections)
        if not rigids:
            raise ModelError("every body is fixed to the world, so nothing can move", ("joints",))
        joined = [c for c in connections if c.kind != "fixed"]
        for c in joined:
            if seats[c.a.body].rigid == seats[c.b.body].rigid:
                text = f"{c.a.body!r} and {c.b.body!r} are fixed to each other, so they cannot have a joint"
                raise ModelError(text, ("joints", c.name))
        dofs = [(j, kind) for j, c in enumerate(joined) for kind in _DOF[c.kind]]
        tables = _tables(joined, seats, dofs)
        parameters, topology, size = _lay_out(
            _parameters(rigids, joined, seats, dofs, gravity),
            tables,
            (len(rigids), len(joined), len(dofs), len(tables[layout.ROW_BODIES])),
        )
        return MaximalModel(
            bodies=tuple(bodies),
            connections=tuple(connections),
            gravity_m_s2=gravity,
            rigids=tuple(rigids),
            seats=seats,
            joint_names=tuple(c.name for c in joined),
            dof_names=tuple(_dof_name(joined[j], kind) for j, kind in dofs),
            unknowns=len(tables[layout.ROW_BODIES]),
            parameters=parameters,
            topology=topology,
            size=size,
        )

    @staticmethod
    def from_mechanism(mechanism: Mechanism, closures: Sequence[Connection] = ()) -> "MaximalModel":
        """The bodies and joints of a tree, and connections that close its loops. Raises ModelError.

        Stops and contacts are refused: this stepper has none.
        """
        refuse_forces(mechanism)
        connections = [*(Connection.from_joint(joint) for joint in mechanism.joints), *closures]
        return MaximalModel.build(mechanism.bodies, connections, mechanism.gravity_m_s2)

    def joint_index(self, name: str) -> int:
        """Place of a joint among `joint_names`. Raises ModelError with the known names."""
        return _index("joint", name, self.joint_names)

    def dof_index(self, name: str) -> int:
        """Place of a degree of freedom in coordinates, rates and efforts. Raises ModelError."""
        return _index("degree of freedom", name, self.dof_names)

    def seat(self, body: str) -> RigidPlacement:
        """Return the place of a body. Raises ModelError with the known names."""
        return self.seats[tuple(self.seats)[_index("body", body, tuple(self.seats))]]


def _index(kind: str, name: str, names: tuple[str, ...]) -> int:
    if name not in names:
        raise ModelError(f"there is no {kind} {name!r}; known: {', '.join(names) or 'none'}")
    return names.index(name)


def _dof_name(connection: Connection, kind: int) -> str:
    if connection.kind != "cylindrical":
        return connection.name
    return f"{connection.name}.{'turn' if kind == layout.TURN else 'slide'}"


def _tables(
    joined: Sequence[Connection], seats: dict[str, RigidPlacement], dofs: Sequence[tuple[int, int]]
) -> dict[int, Integers]:
    """The tables of t. Rows of armatures follow after all others."""
    joints: list[tuple[int, ...]] = []
    pairs: list[tuple[int, int]] = []
    for c in joined:
        pair = seats[c.b.body].rigid, seats[c.a.body].rigid
        count = _ROWS[c.kind]
        joints.append((_KINDS[c.kind], *pair, len(pairs), len(pairs) + count))
        pairs += [pair] * count
    rows = []
    for j, kind in dofs:
        has_rotor = joined[j].armature > 0.0
        rows.append((j, kind, len(pairs) if has_rotor else -1))
        if has_rotor:
            pairs.append((joints[j][1], joints[j][2]))
    return {
        layout.JOINTS: np.array(joints, dtype=np.int64).reshape(-1, 5),
        layout.DOF: np.array(rows, dtype=np.int64).reshape(-1, 3),
        layout.ROW_BODIES: np.array(pairs, dtype=np.int64).reshape(-1, 2),
    }


def _on_rigid(frame: JointFrame, seat: RigidPlacement) -> tuple[Floats, Floats]:
    """Origin of a frame from the centre of its rigid body, and its axes as rows, both in that body's axes."""
    axes = seat.axes @ np.asarray(frame.rotation)
    return seat.origin + seat.axes @ np.asarray(frame.at_m), axes.T


def _parameters(
    rigids: Sequence[Rigid],
    joined: Sequence[Connection],
    seats: dict[str, RigidPlacement],
    dofs: Sequence[tuple[int, int]],
    gravity: Floats,
) -> dict[int, Floats]:
    """The fields of p."""
    upper = np.triu_indices(3)
    on_a = [_on_rigid(c.a, seats[c.a.body]) for c in joined]
    on_b = [_on_rigid(c.b, seats[c.b.body]) for c in joined]
    moving = [joined[j] for j, _ in dofs]
    return {
        layout.GRAVITY: gravity,
        layout.MASS: np.array([rigid.mass for rigid in rigids]),
        layout.INERTIA: np.array([rigid.inertia[upper] for rigid in rigids]),
        layout.INVERSE_INERTIA: np.array([np.linalg.inv(rigid.inertia)[upper] for rigid in rigids]),
        layout.A_AT: np.array([at for at, _ in on_a]),
        layout.A_AXES: np.array([axes for _, axes in on_a]),
        layout.B_AT: np.array([at for at, _ in on_b]),
        layout.B_AXES: np.array([axes for _, axes in on_b]),
        layout.ARMATURE: np.array([c.armature for c in moving]),
        layout.VISCOUS: np.array([c.viscous for c in moving]),
        layout.COULOMB: np.array([c.coulomb for c in moving]),
        layout.COULOMB_SPEED: np.array([c.coulomb_speed for c in moving]),
    }


def _lay_out(
    parameters: dict[int, Floats], tables: dict[int, Integers], counts: tuple[int, int, int, int]
) -> tuple[Floats, Integers, int]:
    """The read-only arrays p and t, and the length of w."""
    header = np.zeros(layout.END_OF_HEADER, dtype=np.int64)
    header[: len(counts)] = counts

    def place(sizes: dict[int, int], start: int) -> int:
        for field, size in sizes.items():
            header[field : field + 2] = start, start + size
            start += size
        return start

    size = place(layout.sizes(*counts), 0)
    place({field: values.size for field, values in parameters.items()}, 0)
    place({field: values.size for field, values in tables.items()}, layout.END_OF_HEADER)
    p = np.concatenate([values.ravel() for values in parameters.values()]).astype(np.float64)
    t = np.concatenate([header, *(values.ravel() for values in tables.values())]).astype(np.int64)
    p.flags.writeable = False
    t.flags.writeable = False
    return p, t, size


def refuse_forces(mechanism: Mechanism) -> None:
    """Raise ModelError for a mechanism with stops, contacts, springs or applied forces."""
    if mechanism.stops or mechanism.contacts:
        stops, contacts = mechanism.stops, mechanism.contacts
        where = ("stops", stops[0].dof) if stops else ("contacts", contacts[0].name)
        raise ModelError("the Taylor stepper has no stops and contacts: use projected", where)
    if mechanism.elements:
        element = mechanism.elements[0]
        where = ("springs" if isinstance(element, Spring) else "forces", element.name)
        raise ModelError("the Taylor stepper has no springs and applied forces: use projected", where)
