"""The immutable maximal model: rigid bodies and connections, and the arrays of them that a step reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats, Integers
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import WORLD, Body, Joint, ModelError, _frozen, _number, _rotation
from linkwork.multibody.tree.joint_dof import onto_z
from linkwork.multibody.tree.link_tree import check_names

Bools: TypeAlias = npt.NDArray[np.bool_]
_ROWS = (3, 2, 2, 1)
"""Rows of the closures of expansion.py: the points coincide, on axis, parallel, perpendicular."""
_CLOSED = {
    "spherical": (True, False, False, False),
    "revolute": (True, False, True, False),
    "cylindrical": (False, True, True, False),
    "prismatic": (False, True, True, True),
    "pin": (False, True, False, False),
}
_SLIDES = {"revolute": (False,), "cylindrical": (False, True), "prismatic": (True,)}
KINDS = ("spherical", "revolute", "cylindrical", "prismatic", "pin", "fixed")


@dataclass(frozen=True, eq=False)
class JointFrame:
    """A frame fixed in a body (or the world): origin (3, m) and axes (columns of a rotation) in its axes."""

    body: str = WORLD
    at_m: npt.ArrayLike = (0.0, 0.0, 0.0)
    rotation: npt.ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "at_m", _frozen(self.at_m, (3,), ("at_m",)))
        object.__setattr__(self, "rotation", _rotation(self.rotation, ("rotation",)))

    @staticmethod
    def along(body: str, at_m: npt.ArrayLike, axis: npt.ArrayLike) -> JointFrame:
        """A frame whose z axis, the axis of the joint, has the direction `axis` (3, of any length)."""
        z = _frozen(axis, (3,), ("axis",))
        length = float(np.linalg.norm(z))
        if length < 1e-9:
            raise ModelError("an axis needs a direction, found a zero vector", ("axis",))
        return JointFrame(body, at_m, onto_z(z / length))


@dataclass(frozen=True, eq=False)
class Connection:
    """A joint between the bodies of frames `a` and `b`, whose axis is the z axis of both frames.

    `kind`: spherical (the origins coincide), revolute (z axes too), cylindrical (the z axes are one line),
    prismatic (and the bodies do not turn against each other: x axes parallel), pin (the origin of b lies on
    the z axis of a, of a planar loop the normal) or fixed (all axes parallel).
    Motion, efforts and reactions are those of b relative to a. Armature and friction as in `Joint`; a
    cylindrical joint has them for its turn and its slide alike, in their units.
    """

    name: str
    kind: str
    a: JointFrame
    b: JointFrame
    armature: float = 0.0
    viscous: float = 0.0
    coulomb: float = 0.0
    coulomb_speed: float = 1e-3

    def __post_init__(self) -> None:
        """Check the kind, the ends and the numbers."""
        where = ("joints", self.name)
        if self.kind not in KINDS:
            known = f"{', '.join(KINDS[:-1])} and {KINDS[-1]}"
            text = f"the Taylor stepper has no {self.kind} joints, only {known} ones: use another formulation"
            raise ModelError(text, (*where, "kind"))
        if self.a.body == self.b.body:
            raise ModelError(f"both frames are on {self.a.body!r}", where)
        for key in ("armature", "viscous", "coulomb"):
            value = _number(getattr(self, key), (*where, key), least=0.0)
            if value > 0.0 and self.kind in ("spherical", "pin", "fixed"):
                raise ModelError(f"a {self.kind} joint has no axis that could have it", (*where, key))
            object.__setattr__(self, key, value)
        if not _number(self.coulomb_speed, (*where, "coulomb_speed")) > 0.0:
            raise ModelError(f"expected more than 0, found {self.coulomb_speed:g}", (*where, "coulomb_speed"))

    @staticmethod
    def from_joint(joint: Joint) -> Connection:
        """Return a joint as a connection: frame a on the parent, frame b on the child.

        Angle and slide are the joint's coordinate. Raises ModelError for kinds that this stepper lacks.
        """
        axes = onto_z(np.asarray(joint.axis))
        return Connection(
            joint.name,
            joint.kind,
            JointFrame(joint.parent, joint.at_m, np.asarray(joint.rotation) @ axes),
            JointFrame(joint.child, (0.0, 0.0, 0.0), axes),
            joint.armature,
            joint.viscous,
            joint.coulomb,
            joint.coulomb_speed,
        )


@dataclass(frozen=True)
class RigidPlacement:
    """Place of a body: rigid body (-1: the world); in its axes, the axes, and origin from its centre."""

    rigid: int
    axes: Floats
    origin: Floats


@dataclass(frozen=True)
class Rigid:
    """A rigid body: its members, mass (kg), inertia about its centre (kg m²); axes are the first member's."""

    members: tuple[str, ...]
    mass: float
    inertia: Floats


class FrameArrays(NamedTuple):
    """Frames a or b of all joints: rigid body (nj; -1: the world), origin (nj × 3) from its centre, axes."""

    body: Integers
    at: Floats
    axes: Floats

    @staticmethod
    def of(frames: Sequence[JointFrame], seats: dict[str, RigidPlacement]) -> FrameArrays:
        """Return frames on their rigid bodies, in the axes of these; axes (nj × 3 × 3) are columns."""
        places = [seats[frame.body] for frame in frames]
        at = [s.origin + s.axes @ np.asarray(f.at_m) for s, f in zip(places, frames, strict=True)]
        axes = [s.axes @ np.asarray(f.rotation) for s, f in zip(places, frames, strict=True)]
        body = np.array([seat.rigid for seat in places], dtype=np.int64)
        return FrameArrays(body, np.reshape(at, (-1, 3)), np.reshape(axes, (-1, 3, 3)))


@dataclass(frozen=True, eq=False)
class MaximalModel:
    """Maximal model: every rigid body with six degrees of freedom, and the connections that constrain them.

    `joint_names`: the connections that are not fixed, in their order. `dof_names`: the turns and slides
    along their axes, for which there are coordinates, rates and efforts; a cylindrical joint has
    "name.turn" and "name.slide", the others have the joint's name.

    `closed` (nj × 8): which rows each joint has. `dof_joint`, `slides` (nf): the joint of a degree of freedom
    and whether it slides. `rotors`: those with an armature. `axis_values` (4 × nf): armature, viscous and
    Coulomb friction, and the latter's speed.
    """

    bodies: tuple[Body, ...]
    connections: tuple[Connection, ...]
    gravity_m_s2: Floats
    rigids: tuple[Rigid, ...]
    seats: dict[str, RigidPlacement]
    joint_names: tuple[str, ...]
    dof_names: tuple[str, ...]
    a: FrameArrays
    b: FrameArrays
    closed: Bools
    dof_joint: Integers
    slides: Bools
    rotors: Integers
    axis_values: Floats

    @staticmethod
    def build(
        bodies: Sequence[Body], connections: Sequence[Connection], gravity_m_s2: npt.ArrayLike
    ) -> MaximalModel:
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
        rigids, seats = _rigid_bodies(bodies, connections)
        if not rigids:
            raise ModelError("every body is fixed to the world, so nothing can move", ("joints",))
        joined = [c for c in connections if c.kind != "fixed"]
        for c in joined:
            if seats[c.a.body].rigid == seats[c.b.body].rigid:
                text = f"{c.a.body!r} and {c.b.body!r} are fixed to each other, so they cannot have a joint"
                raise ModelError(text, ("joints", c.name))
        dofs = [(j, slides) for j, c in enumerate(joined) for slides in _SLIDES.get(c.kind, ())]
        closed = np.array([_CLOSED[c.kind] for c in joined], dtype=np.bool_).reshape(-1, len(_ROWS))
        values = [(c.armature, c.viscous, c.coulomb, c.coulomb_speed) for c in (joined[j] for j, _ in dofs)]
        axis_values = np.reshape(values, (-1, 4)).T
        return MaximalModel(
            bodies=tuple(bodies),
            connections=tuple(connections),
            gravity_m_s2=gravity,
            rigids=tuple(rigids),
            seats=seats,
            joint_names=tuple(c.name for c in joined),
            dof_names=tuple(_dof_name(joined[j], slides) for j, slides in dofs),
            a=FrameArrays.of([c.a for c in joined], seats),
            b=FrameArrays.of([c.b for c in joined], seats),
            closed=np.repeat(closed, _ROWS, axis=1),
            dof_joint=np.array([j for j, _ in dofs], dtype=np.int64),
            slides=np.array([slides for _, slides in dofs], dtype=np.bool_),
            rotors=np.flatnonzero(axis_values[0] > 0.0),
            axis_values=axis_values,
        )

    @staticmethod
    def from_mechanism(mechanism: Mechanism, closures: Sequence[Connection] = ()) -> MaximalModel:
        """The bodies and joints of a tree, and connections that close its loops. Raises ModelError.

        Stops and contacts are refused: this stepper has none. Springs and applied forces are left out:
        `TreeConversion.push` gives them to a stepper.
        """
        refuse_touch(mechanism)
        connections = [*(Connection.from_joint(joint) for joint in mechanism.joints), *closures]
        return MaximalModel.build(mechanism.bodies, connections, mechanism.gravity_m_s2)

    @property
    def unknowns(self) -> int:
        """Size of the system: rows of closures, then one for each rotor."""
        return int(self.closed.sum()) + len(self.rotors)

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


def _dof_name(connection: Connection, slides: bool) -> str:
    if connection.kind != "cylindrical":
        return connection.name
    return f"{connection.name}.{'slide' if slides else 'turn'}"


def refuse_touch(mechanism: Mechanism) -> None:
    """Raise ModelError for a mechanism with stops or contacts."""
    if mechanism.stops or mechanism.contacts:
        stops, contacts = mechanism.stops, mechanism.contacts
        where = ("stops", stops[0].dof) if stops else ("contacts", contacts[0].name)
        raise ModelError("the Taylor stepper has no stops and contacts: use projected", where)


def _rigid_bodies(
    bodies: Sequence[Body], connections: Sequence[Connection]
) -> tuple[list[Rigid], dict[str, RigidPlacement]]:
    """All rigid bodies but the world, and the seat of every body. Raises ModelError."""
    welds = [connection for connection in connections if connection.kind == "fixed"]
    by_name = {body.name: body for body in bodies}
    seats: dict[str, RigidPlacement] = {}
    used: set[str] = set()
    rigids: list[Rigid] = []
    for lead in [WORLD, *by_name]:
        if lead in seats:
            continue
        poses = _cluster(lead, welds, used)
        if lead == WORLD:
            seats |= {name: RigidPlacement(-1, axes, origin) for name, (axes, origin) in poses.items()}
            continue
        mass, centre, inertia = _sum(poses, by_name)
        rigids.append(Rigid(tuple(poses), mass, inertia))
        _refuse_weightless(rigids[-1])
        for name, (axes, origin) in poses.items():
            seats[name] = RigidPlacement(len(rigids) - 1, axes, origin - centre)
    return rigids, seats


def _cluster(lead: str, welds: Sequence[Connection], used: set[str]) -> dict[str, tuple[Floats, Floats]]:
    """Axes and origin, in the lead's frame, of everything that is fixed to it."""
    poses = {lead: (np.eye(3), np.zeros(3))}
    waiting = [lead]
    while waiting:
        name = waiting.pop()
        for weld in welds:
            if weld.name in used or name not in (weld.a.body, weld.b.body):
                continue
            used.add(weld.name)
            here, there = (weld.a, weld.b) if name == weld.a.body else (weld.b, weld.a)
            if there.body in poses:
                raise ModelError("these bodies are fixed to each other already", ("joints", weld.name))
            poses[there.body] = _across(poses[name], here, there)
            waiting.append(there.body)
    return poses


def _across(pose: tuple[Floats, Floats], here: JointFrame, there: JointFrame) -> tuple[Floats, Floats]:
    """Pose of the body of `there`, whose frame coincides with `here` on a body of the given pose."""
    axes = pose[0] @ np.asarray(here.rotation) @ np.asarray(there.rotation).T
    return axes, pose[1] + pose[0] @ np.asarray(here.at_m) - axes @ np.asarray(there.at_m)


def _sum(poses: dict[str, tuple[Floats, Floats]], by_name: dict[str, Body]) -> tuple[float, Floats, Floats]:
    """Mass, centre of mass and inertia about it, in the lead's axes."""
    placed = [(by_name[name], axes, origin + axes @ np.asarray(by_name[name].com_m))
              for name, (axes, origin) in poses.items()]  # fmt: skip
    mass = sum(body.mass_kg for body, _, _ in placed)
    centre = sum((body.mass_kg * c for body, _, c in placed), np.zeros(3)) / (mass if mass > 0.0 else 1.0)
    inertia = np.zeros((3, 3))
    for body, axes, c in placed:
        d = c - centre
        inertia += axes @ np.asarray(body.inertia_kg_m2) @ axes.T
        inertia += body.mass_kg * (float(d @ d) * np.eye(3) - np.outer(d, d))
    return mass, centre, inertia


def _refuse_weightless(rigid: Rigid) -> None:
    moments = np.linalg.eigvalsh(rigid.inertia)
    if rigid.mass > 0.0 and moments[0] > 1e-9 * moments[2]:
        return
    lack = f"no inertia about some axis (least moment {moments[0]:.3g} kg m²)"
    if rigid.mass <= 0.0:
        lack = "no mass"
    raise ModelError(
        f"the Taylor stepper moves every body by its own inertia, and this one has {lack}: "
        "give it some, fix it to another body, or use another formulation",
        ("bodies", rigid.members[0]),
    )
