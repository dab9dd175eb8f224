"""From bodies and joints to links: sorted depth first, fixed joints merged, every axis turned onto z.

A link is moved by one degree of freedom: one or several bodies that are fixed to each other, or none between
two degrees of freedom of one joint. Its frame's z axis is the joint axis, so that the recursion needs no
other axes.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.model import WORLD, Body, Joint, ModelError
from linkwork.multibody.tree.joint_dof import BALL, ChainMember, JointDof, dof_of, onto_z
from linkwork.multibody.tree.joint_map import elementary, screw_of
from linkwork.multibody.tree.orientations import hat

SCREW, FOLLOWS = -1, -2
"""Source of a link's pose, where it is not a quaternion: its screw, or only the link before."""


@dataclass
class Link:
    """One degree of freedom and the bodies it carries rigidly, in the link's own frame."""

    joint: Joint
    parent: int
    place: int  # of its velocity in v
    axes: Floats  # 3 × 3, columns: axes of the joint's frame at zero, in the parent link's axes
    origin: Floats  # 3, its origin there
    turn: float  # rotation about the frame's z axis for unit velocity, rad
    travel: float  # translation along it, m
    base: int  # link that carries the joint axis (-1: the world)
    coordinate: int  # place of its coordinate in q, of a ball's first link: of the quaternion's vector part
    scalar: int = SCREW  # of a ball's first link: place of the quaternion's scalar part in q
    mass: float = 0.0
    first: Floats = field(default_factory=lambda: np.zeros(3))  # mass times centre of mass
    second: Floats = field(default_factory=lambda: np.zeros((3, 3)))  # inertia about the link's origin


@dataclass(frozen=True)
class BodyPlacement:
    """Place of a body: link (-1: the world); in the link, axes (3 × 3, columns), origin (3, m)."""

    link: int
    axes: Floats
    origin: Floats


def check_names(kind: str, names: Sequence[str]) -> None:
    """Names must be there, differ, and not be "world"."""
    seen: set[str] = set()
    for name in names:
        if not name:
            raise ModelError("a name is missing", (kind,))
        if name in seen:
            raise ModelError("this name is used twice", (kind, name))
        if name == WORLD:
            raise ModelError('"world" is the fixed frame and cannot be used as a name', (kind, name))
        seen.add(name)


def _carriers(bodies: Sequence[Body], joints: Sequence[Joint]) -> dict[str, Joint]:
    """The one joint that carries each body."""
    names = [body.name for body in bodies]
    known = ", ".join([*names, WORLD])
    carrier: dict[str, Joint] = {}
    for joint in joints:
        if joint.parent not in names and joint.parent != WORLD:
            raise ModelError(
                f"there is no body {joint.parent!r}; known: {known}", ("joints", joint.name, "parent")
            )
        if joint.child not in names:
            raise ModelError(
                f"there is no body {joint.child!r}; known: {known}", ("joints", joint.name, "child")
            )
        if joint.child in carrier:
            raise ModelError(
                f"body {joint.child!r} is already carried by joint {carrier[joint.child].name!r}; "
                "joints form a tree, a loop is closed by a closure",
                ("joints", joint.name, "child"),
            )
        carrier[joint.child] = joint
    for name in names:
        if name not in carrier:
            raise ModelError("no joint carries this body", ("bodies", name))
    return carrier


def _refuse_rings(names: Sequence[str], carrier: dict[str, Joint]) -> None:
    """Every body must hang on the world at last."""
    grounded: set[str] = {WORLD}
    for name in names:
        path: list[str] = []
        while name not in grounded:
            if name in path:
                ring = path[path.index(name) :]
                bodies = " → ".join([*reversed(ring), ring[-1]])
                raise ModelError(
                    f"the joints of {bodies} form a ring that hangs on nothing; "
                    "one of these bodies must be carried by the world or by a body outside",
                    ("joints", carrier[name].name, "parent"),
                )
            path.append(name)
            name = carrier[name].parent
        grounded.update(path)


def _carry(link: Link, body: Body, seat: BodyPlacement) -> None:
    """Add a body's mass to its link."""
    c = seat.origin + seat.axes @ np.asarray(body.com_m)
    inertia = seat.axes @ np.asarray(body.inertia_kg_m2) @ seat.axes.T
    link.mass += body.mass_kg
    link.first += body.mass_kg * c
    link.second += inertia + body.mass_kg * (float(c @ c) * np.eye(3) - np.outer(c, c))


@dataclass(frozen=True)
class Places:
    """First place of each joint in v and q, and the place of its quaternion's scalar part in q."""

    dof: dict[str, JointDof]
    first: dict[str, int]
    scalar: dict[str, int]
    nv: int

    @property
    def nq(self) -> int:
        """Length of q."""
        return self.nv + len(self.scalar)

    @staticmethod
    def from_joints(joints: Sequence[Joint]) -> "Places":
        """Degrees of freedom in the order of the joints; scalar parts of quaternions after all else."""
        dofs = {joint.name: dof_of(joint) for joint in joints}
        first: dict[str, int] = {}
        nv = 0
        for name, each in dofs.items():
            first[name] = nv
            nv += len(each.names)
        balls = [name for name, each in dofs.items() if each.ball]
        return Places(dofs, first, {name: nv + k for k, name in enumerate(balls)}, nv)


def links_of(
    bodies: Sequence[Body], joints: Sequence[Joint]
) -> tuple[list[Link], dict[str, BodyPlacement], Places]:
    """The links, each after its parent, depth first, and where each body sits. Raises ModelError."""
    check_names("bodies", [body.name for body in bodies])
    check_names("joints", [joint.name for joint in joints])
    carrier = _carriers(bodies, joints)
    _refuse_rings([body.name for body in bodies], carrier)

    places = Places.from_joints(joints)
    by_name = {body.name: body for body in bodies}
    carried: dict[str, list[Joint]] = {}
    for joint in joints:
        carried.setdefault(joint.parent, []).append(joint)
    seats = {WORLD: BodyPlacement(-1, np.eye(3), np.zeros(3))}
    links: list[Link] = []
    waiting = list(reversed(carried.get(WORLD, [])))
    while waiting:
        joint = waiting.pop()
        on = seats[joint.parent]
        seat = BodyPlacement(
            on.link, on.axes @ np.asarray(joint.rotation), on.origin + on.axes @ np.asarray(joint.at_m)
        )
        seat = _grow(links, seat, joint, places)
        seats[joint.child] = seat
        if seat.link >= 0:
            _carry(links[seat.link], by_name[joint.child], seat)
        waiting.extend(reversed(carried.get(joint.child, [])))
    return links, seats, places


def _grow(links: list[Link], seat: BodyPlacement, joint: Joint, places: Places) -> BodyPlacement:
    """Append the links of a joint, whose frame is seated on a link; return the seat of the child."""
    first = places.first[joint.name]
    for step in places.dof[joint.name].chain:
        if step.kind == BALL:
            seat = _grow_ball(links, seat, joint, first, step, places.scalar[joint.name])
            continue
        turned, point, turn, travel = _along_z(np.asarray(step.column, dtype=np.float64).tobytes())
        place = first + step.place
        axes, origin = seat.axes @ turned, seat.origin + seat.axes @ point
        links.append(Link(joint, seat.link, place, axes, origin, turn, travel, seat.link, place))
        seat = BodyPlacement(len(links) - 1, turned.T.copy(), -turned.T @ point)
    return seat


@lru_cache(4096)
def _along_z(column: bytes) -> tuple[Floats, Floats, float, float]:
    """Return a rotation that turns a column's screw axis onto z, a point of it (m), and its turn and travel.

    Many mechanisms share their joints' columns: the same machine with other parameters is built often.
    """
    direction, point, turn, travel = screw_of(np.frombuffer(column))
    return onto_z(direction), point, turn, travel


def _grow_ball(
    links: list[Link], seat: BodyPlacement, joint: Joint, first: int, ball: ChainMember, scalar: int
) -> BodyPlacement:
    """Three links about z, x and y of the ball's frame: the first has the pose, all three go with the child.

    The axes are fixed in the child, whose own motion does not change their rates: V × S v summed over the
    three is (motion of the base) × (their sum). Hence the common base.
    """
    cycle = np.eye(3)[:, [1, 2, 0]]  # columns y, z, x: the axis after z, turned onto z
    base, place, (axes, centre) = seat.link, first + ball.place, ball.ball_frame()
    own, origin = seat.axes @ axes, seat.origin + seat.axes @ centre
    links.append(Link(joint, base, place + 2, own, origin, 1.0, 0.0, base, place, scalar))
    for k in range(2):
        links.append(
            Link(joint, len(links) - 1, place + k, cycle, np.zeros(3), 1.0, 0.0, base, place + k, FOLLOWS)
        )
    back = (axes @ cycle @ cycle).T
    return BodyPlacement(len(links) - 1, back, -back @ centre)


def refuse_massless(links: Sequence[Link]) -> None:
    """Raise ModelError where some motion of the joints moves no mass at any pose.

    The mass matrix is formed here in its plainest way, from Jacobians, at two poses without special symmetry.
    """
    for tree in _trees(links):
        own = [links[k] for k in tree]
        place = {link: k for k, link in enumerate(tree)}
        parents = [place.get(link.parent, -1) for link in own]
        _refuse_massless_tree(own, parents, np.array(tree, dtype=np.float64))


def _trees(links: Sequence[Link]) -> list[list[int]]:
    """Return the links of each tree on the ground, parents first."""
    root, trees = list[int](), dict[int, list[int]]()
    for k, link in enumerate(links):
        root.append(root[link.parent] if link.parent >= 0 else k)
        trees.setdefault(root[k], []).append(k)
    return list(trees.values())


def _refuse_massless_tree(links: Sequence[Link], parents: Sequence[int], numbers: Floats) -> None:
    """Do so for one tree: `parents` by their place in it, `numbers` (n) of the links in the whole machine."""
    singular_everywhere = np.ones(len(links), dtype=bool)
    for phase in (0.4, 1.7):
        matrix = _mass_matrix(links, parents, np.sin(phase * (numbers + 1.0)))
        diagonal = np.diag(matrix)
        for k in np.flatnonzero(diagonal <= 0.0).tolist():
            joint = links[k].joint
            raise ModelError(
                "this joint moves neither mass nor inertia",
                ("joints", joint.name),
                "give the bodies it carries mass (away from its axis), or the joint armature",
            )
        size = np.sqrt(diagonal)
        scaled = matrix / size / size[:, None]
        smallest = 1e-13 * len(links)
        with suppress(np.linalg.LinAlgError):
            np.linalg.cholesky(scaled - smallest * np.eye(len(links)))  # in a fortieth of the time of `eigh`
            return
        values, vectors = np.linalg.eigh(scaled)
        lost = np.zeros(len(links), dtype=bool)
        if values[0] < smallest:
            lost = np.abs(vectors[:, 0]) > 0.1
        singular_everywhere &= lost
        if not singular_everywhere.any():
            return
    names = list(dict.fromkeys(links[k].joint.name for k in np.flatnonzero(singular_everywhere).tolist()))
    whose = f"joints {', '.join(names)} can move against each other"
    if len(names) == 1:
        whose = f"joint {names[0]} can move"
    raise ModelError(
        f"{whose} without moving any mass",
        ("joints", names[-1]),
        "give a body between them mass, or a joint armature",
    )


def _mass_matrix(links: Sequence[Link], parents: Sequence[int], angles: Floats) -> Floats:
    """M in the order of the links; each turns about its z by angles[i], a ball by three of them."""
    matrix = np.diag([link.joint.armature for link in links]).astype(np.float64)
    axes: list[Floats] = []
    origins: list[Floats] = []
    masses, firsts, seconds = list[float](), list[Floats](), list[Floats]()  # about each link's origin
    jacobians: list[tuple[list[int], Floats, Floats]] = []  # by the links that carry each one, itself last:
    # angular and linear (at the link's origin), 3 × these
    for i, (link, parent) in enumerate(zip(links, parents, strict=True)):
        base, place = np.eye(3), np.zeros(3)
        carriers, angular, linear = list[int](), np.zeros((3, 0)), np.zeros((3, 0))
        if parent >= 0:
            base, place = axes[parent], origins[parent]
            carriers, angular, linear = jacobians[parent]
        turn, travel = link.turn, link.travel
        fixed = base @ link.axes
        if link.scalar >= 0:
            for k in range(3):
                fixed = fixed @ elementary(np.eye(6)[k], float(angles[i + k]))[0]
        origin = place + base @ link.origin + travel * angles[i] * fixed[:, 2]
        linear = linear - hat(origin - place) @ angular
        carriers = [*carriers, i]
        angular = np.hstack([angular, turn * fixed[:, 2:]])
        linear = np.hstack([linear, travel * fixed[:, 2:]])
        rotation = fixed
        if link.scalar == SCREW:
            rotation = fixed @ elementary(np.eye(6)[2], float(turn * angles[i]))[0]
        masses.append(link.mass)
        firsts.append(rotation @ link.first)
        seconds.append(rotation @ link.second @ rotation.T)
        axes.append(rotation)
        origins.append(origin)
        jacobians.append((carriers, angular, linear))
    for i, parent in reversed(list(enumerate(parents))):
        (carriers, angular, linear), mass, first = jacobians[i], masses[i], firsts[i]
        spin, speed = angular[:, -1], linear[:, -1]
        momentum = mass * speed + np.cross(spin, first)
        row = (seconds[i] @ spin + np.cross(first, speed)) @ angular + momentum @ linear
        matrix[i, carriers[:-1]] = matrix[carriers[:-1], i] = row[:-1]
        matrix[i, i] += row[-1]
        if parent >= 0:  # which carries it
            arm = hat(origins[i] - origins[parent])
            mixed = arm @ hat(first)
            masses[parent] += mass
            firsts[parent] = firsts[parent] + first + mass * (origins[i] - origins[parent])
            seconds[parent] = seconds[parent] + seconds[i] - mixed - mixed.T - mass * arm @ arm
    return matrix
