"""From bodies and joints to links: sorted depth first, fixed joints merged, every axis turned onto z.

A link is what one freedom carries: one or several bodies that are fixed to each other. Its frame's z axis is
the joint's axis, so that the recursion need not know other axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from multibody.model import WORLD, Array, Body, Joint, ModelError


@dataclass
class Link:
    """A joint with freedom and the bodies it carries rigidly, in the link's own frame."""

    joint: Joint
    parent: int
    axes: Array  # 3 × 3, columns: axes of the joint's frame at zero, in the parent link's axes
    origin: Array  # 3, its origin there
    mass: float = 0.0
    first: Array = field(default_factory=lambda: np.zeros(3))  # mass times centre of mass
    second: Array = field(default_factory=lambda: np.zeros((3, 3)))  # inertia about the link's origin


@dataclass(frozen=True)
class Seat:
    """Where a body sits: link (-1: the world), axes in link axes (columns), origin in the link."""

    link: int
    axes: Array
    origin: Array


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


def _onto_z(axis: Array) -> Array:
    """A rotation whose third column is the unit vector `axis`; the identity where that is z already."""
    if axis[2] == 1.0:
        return np.eye(3)
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def _carry(link: Link, body: Body, seat: Seat) -> None:
    """Add a body's mass to its link."""
    c = seat.origin + seat.axes @ np.asarray(body.com_m)
    inertia = seat.axes @ np.asarray(body.inertia_kg_m2) @ seat.axes.T
    link.mass += body.mass_kg
    link.first += body.mass_kg * c
    link.second += inertia + body.mass_kg * (float(c @ c) * np.eye(3) - np.outer(c, c))


def links_of(bodies: Sequence[Body], joints: Sequence[Joint]) -> tuple[list[Link], dict[str, Seat]]:
    """The links, each after its parent, depth first, and where each body sits. Raises ModelError."""
    check_names("bodies", [body.name for body in bodies])
    check_names("joints", [joint.name for joint in joints])
    carrier = _carriers(bodies, joints)
    _refuse_rings([body.name for body in bodies], carrier)

    by_name = {body.name: body for body in bodies}
    carried: dict[str, list[Joint]] = {}
    for joint in joints:
        carried.setdefault(joint.parent, []).append(joint)
    seats = {WORLD: Seat(-1, np.eye(3), np.zeros(3))}
    links: list[Link] = []
    waiting = list(reversed(carried.get(WORLD, [])))
    while waiting:
        joint = waiting.pop()
        on = seats[joint.parent]
        origin = on.origin + on.axes @ np.asarray(joint.at_m)
        axes = on.axes @ np.asarray(joint.rotation)
        if joint.kind == "fixed":
            seat = Seat(on.link, axes, origin)
        else:
            turned = _onto_z(np.asarray(joint.axis))
            links.append(Link(joint, on.link, axes @ turned, origin))
            seat = Seat(len(links) - 1, turned.T.copy(), np.zeros(3))
        seats[joint.child] = seat
        if seat.link >= 0:
            _carry(links[seat.link], by_name[joint.child], seat)
        waiting.extend(reversed(carried.get(joint.child, [])))
    return links, seats


def refuse_massless(links: Sequence[Link]) -> None:
    """Raise ModelError where some motion of the joints moves no mass at all, whatever the pose.

    The mass matrix is formed here in its plainest way, from Jacobians, at two poses without special symmetry.
    """
    n = len(links)
    singular_everywhere = np.ones(n, dtype=bool)
    for phase in (0.4, 1.7):
        matrix = _mass_matrix(links, np.array([np.sin(phase * (k + 1)) for k in range(n)]))
        diagonal = np.diag(matrix)
        for k in np.flatnonzero(diagonal <= 0.0).tolist():
            joint = links[k].joint
            text = (
                "this joint moves neither mass nor inertia: give the bodies it carries mass, or it armature"
            )
            raise ModelError(text, ("joints", joint.name))
        scaled = matrix / np.sqrt(np.outer(diagonal, diagonal))
        values, vectors = np.linalg.eigh(scaled)
        lost = np.zeros(n, dtype=bool)
        if values[0] < 1e-13 * n:
            lost = np.abs(vectors[:, 0]) > 0.1
        singular_everywhere &= lost
    if singular_everywhere.any():
        names = [links[k].joint.name for k in np.flatnonzero(singular_everywhere).tolist()]
        raise ModelError(
            f"joints {', '.join(names)} can move against each other without moving any mass: "
            "give a body between them mass, or a joint armature",
            ("joints", names[-1]),
        )


def _mass_matrix(links: Sequence[Link], q: Array) -> Array:
    n = len(links)
    matrix = np.diag([link.joint.armature for link in links]).astype(np.float64)
    axes: list[Array] = []
    origins: list[Array] = []
    jacobians: list[tuple[Array, Array]] = []  # angular and linear (at the link's origin), 3 × n each
    for i, link in enumerate(links):
        base, place = np.eye(3), np.zeros(3)
        angular, linear = np.zeros((3, n)), np.zeros((3, n))
        if link.parent >= 0:
            base, place = axes[link.parent], origins[link.parent]
            angular, linear = (part.copy() for part in jacobians[link.parent])
        turn, travel = screw_of(link.joint)
        c, s = np.cos(turn * q[i]), np.sin(turn * q[i])
        fixed = base @ link.axes
        origin = place + base @ link.origin + travel * q[i] * fixed[:, 2]
        linear += np.cross(angular, origin - place, axisa=0, axisb=0, axisc=0)
        angular[:, i], linear[:, i] = turn * fixed[:, 2], travel * fixed[:, 2]
        rotation = fixed @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        first, second = rotation @ link.first, rotation @ link.second @ rotation.T
        coupling = angular.T @ np.cross(first, linear, axisa=0, axisb=0, axisc=0)
        matrix += angular.T @ second @ angular + link.mass * linear.T @ linear + coupling + coupling.T
        axes.append(rotation)
        origins.append(origin)
        jacobians.append((angular, linear))
    return matrix


def screw_of(joint: Joint) -> tuple[float, float]:
    """Rotation about and travel along the axis per unit of the joint's coordinate (rad and m)."""
    if joint.kind == "prismatic":
        return 0.0, 1.0
    return 1.0, float(joint.pitch_m_per_rad)
