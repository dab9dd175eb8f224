"""The tree of links in symbols: rotations between links, and poses and motions of links in the world.

The links are those of the recursion (tree/link_tree.py): each turns about, and slides along, the z axis of
its own frame. Between neighbours, in the child's axes,

    x_child = Rz(turn e)' E' x_parent,      p = r + travel e E z      (origin of the child, in the parent)

with E and r fixed. A ball is three links; the first takes its pose from a unit quaternion (s; u),

    R = (s² - u'u) 1 + 2 u u' + 2 s û,

the others only turn the axes. Everything that is asked for is named on one tape.
"""

from dataclasses import dataclass

import sympy as sp

from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.tree.link_tree import FOLLOWS, SCREW, BodyPlacement, Link, links_of
from linkwork.symbolic.operation_tape import (
    NOWHERE,
    ONE,
    ZERO,
    Expression,
    Tape,
    Triple,
    exact,
    exact_triple,
)

Rotation = tuple[Triple, Triple, Triple]
"""The columns: axes of the turned frame in the fixed one."""
STRAIGHT: Rotation = ((ONE, ZERO, ZERO), (ZERO, ONE, ZERO), (ZERO, ZERO, ONE))
VERTICAL: Triple = STRAIGHT[2]


@dataclass(frozen=True)
class WorldMotion:
    """Motion of a frame: angular velocity, its rate for v̇ = 0; origin, its velocity, its acceleration for v̇
    = 0.
    """

    turning: Triple = NOWHERE
    turning_rate: Triple = NOWHERE
    origin: Triple = NOWHERE
    velocity: Triple = NOWHERE
    acceleration: Triple = NOWHERE


class SymbolicTree:
    """Links of a mechanism, their coordinates q and velocities v as symbols, and a tape for all that follows.

    `q` has `mechanism.nq` symbols, `v` has `mechanism.nv`: rates, x', and angular velocities where there are
    quaternions, ω(x). With `angles` three angles take the place of every
    quaternion, R = Rz Ry Rx as in the source, and `q` has nv symbols; the velocities remain the same.
    """

    def __init__(self, mechanism: Mechanism, *, angles: bool = False) -> None:
        """Name the inputs, without any derivation yet."""
        self.mechanism = mechanism
        self.angles = angles
        self.links, self.seats, _ = links_of(mechanism.bodies, mechanism.joints)
        self.q = [sp.Symbol(name, real=True) for name in mechanism.position_names]
        if angles:
            self.q = self.q[: mechanism.nv]
        turning = {link.coordinate + k for link in self.links if link.scalar >= 0 for k in range(3)}
        self.v = [
            sp.Symbol(f"ω({name})" if k in turning else f"{name}'", real=True)
            for k, name in enumerate(mechanism.joint_names)
        ]
        self.tape = Tape()
        self.fixed: list[Rotation] = [_columns(link) for link in self.links]
        self._rotations: dict[int, Rotation | None] = {}
        self._poses: dict[int, tuple[Rotation, Triple]] = {}
        self._motions: dict[int, WorldMotion] = {}

    def slides(self, i: int) -> Expression:
        """Return the displacement of link i along its axis."""
        link = self.links[i]
        return exact(link.travel) * self.q[link.coordinate] if link.scalar == SCREW else ZERO

    def speeds(self, i: int) -> tuple[Expression, Expression]:
        """Rates of turning about, and of moving along, the axis of link i."""
        link = self.links[i]
        rate = self.v[link.place]
        return exact(link.turn) * rate, exact(link.travel) * rate

    def origin_in_parent(self, i: int) -> Triple:
        """Return the origin of link i, in the axes of the link before."""
        slide, z = self.slides(i), self.fixed[i][2]
        return self.tape.triple(
            o + slide * k for o, k in zip(exact_triple(self.links[i].origin), z, strict=True)
        )

    def own_rotation(self, i: int) -> Rotation | None:
        """The rotation of link i within its frame at zero; None where it does not turn."""
        if i not in self._rotations:
            self._rotations[i] = self._turned(i)
        return self._rotations[i]

    def _turned(self, i: int) -> Rotation | None:
        link, tape = self.links[i], self.tape
        if link.scalar == FOLLOWS or (link.scalar == SCREW and link.turn == 0.0):
            return None
        if link.scalar == SCREW:
            angle = exact(link.turn) * self.q[link.coordinate]
            c, s = tape.put(sp.cos(angle)), tape.put(sp.sin(angle))
            return (c, s, ZERO), (-s, c, ZERO), VERTICAL
        if self.angles:
            return self._by_angles(link)
        s = self.q[link.scalar]
        x, y, z = self.q[link.coordinate : link.coordinate + 3]
        return (
            tape.triple((1 - 2 * tape.put(y**2 + z**2), 2 * (x * y + s * z), 2 * (x * z - s * y))),
            tape.triple((2 * (x * y - s * z), 1 - 2 * tape.put(x**2 + z**2), 2 * (y * z + s * x))),
            tape.triple((2 * (x * z + s * y), 2 * (y * z - s * x), 1 - 2 * tape.put(x**2 + y**2))),
        )

    def _by_angles(self, link: Link) -> Rotation:
        angles = self.q[link.coordinate : link.coordinate + 3]
        (c1, s1), (c2, s2), (c3, s3) = ((self.tape.put(sp.cos(a)), self.tape.put(sp.sin(a))) for a in angles)
        first = ONE, ZERO, ZERO
        second = ZERO, c1, s1
        third = ZERO, -s1, c1
        about_y = (c2, ZERO, -s2), (ZERO, ONE, ZERO), (s2, ZERO, c2)
        about_z = (c3, s3, ZERO), (-s3, c3, ZERO), (ZERO, ZERO, ONE)
        combine = self.tape.combine
        x, y, z = (combine(*about_z, combine(*about_y, each)) for each in (first, second, third))
        return x, y, z

    def to_child(self, i: int, a: Triple) -> Triple:
        """Components in the parent's axes to components in those of link i."""
        a = self.tape.components(*self.fixed[i], a)
        own = self.own_rotation(i)
        return a if own is None else self.tape.components(*own, a)

    def to_parent(self, i: int, a: Triple) -> Triple:
        """Components in the axes of link i to components in those of its parent."""
        own = self.own_rotation(i)
        if own is not None:
            a = self.tape.combine(*own, a)
        return self.tape.combine(*self.fixed[i], a)

    def pose(self, i: int) -> tuple[Rotation, Triple]:
        """Axes and origin of link i in the world; i = -1 is the world itself."""
        if i < 0:
            return STRAIGHT, NOWHERE
        if i not in self._poses:
            tape, link = self.tape, self.links[i]
            axes, origin = self.pose(link.parent)
            x, y, z = (tape.combine(*axes, column) for column in self.fixed[i])
            place = tape.add(origin, tape.combine(*axes, exact_triple(link.origin)))
            place = tape.add(place, tape.times(self.slides(i), z))
            own = self.own_rotation(i)
            if own is not None:
                x, y, z = (tape.combine(x, y, z, column) for column in own)
            self._poses[i] = (x, y, z), place
        return self._poses[i]

    def motion(self, i: int) -> WorldMotion:
        """Motion of link i in the world, at its origin."""
        if i < 0:
            return WorldMotion()
        if i not in self._motions:
            self._motions[i] = self._moved(i)
        return self._motions[i]

    def _moved(self, i: int) -> WorldMotion:
        tape, link = self.tape, self.links[i]
        before, ((_, _, z), origin) = self.motion(link.parent), self.pose(i)
        turn, slide = self.speeds(i)
        arm = tape.subtract(origin, before.origin)
        base = self.motion(link.base).turning
        spin = tape.times(turn, z)
        drift = tape.times(slide, z)
        carried = tape.cross(before.turning, arm)
        return WorldMotion(
            tape.add(before.turning, spin),
            tape.add(before.turning_rate, tape.cross(base, spin)),
            origin,
            tape.add(tape.add(before.velocity, carried), drift),
            tape.triple(
                a + b + c + 2 * d
                for a, b, c, d in zip(
                    before.acceleration,
                    tape.cross(before.turning_rate, arm),
                    tape.cross(before.turning, carried),
                    tape.cross(before.turning, drift),
                    strict=True,
                )
            ),
        )

    def frame(self, seat: BodyPlacement) -> tuple[Rotation, Triple]:
        """Axes and origin in the world of a frame that sits on a link."""
        axes, origin = self.pose(seat.link)
        tape = self.tape
        own: Rotation = tuple(exact_triple(column) for column in seat.axes.T)  # type: ignore[assignment]
        if seat.link < 0:
            return own, exact_triple(seat.origin)
        x, y, z = (tape.combine(*axes, column) for column in own)
        return (x, y, z), tape.add(origin, tape.combine(*axes, exact_triple(seat.origin)))

    def motion_of(self, seat: BodyPlacement) -> WorldMotion:
        """Motion in the world of a frame that sits on a link, at its origin."""
        tape, carrier = self.tape, self.motion(seat.link)
        _, origin = self.frame(seat)
        if seat.link < 0:
            return WorldMotion(origin=origin)
        arm = tape.subtract(origin, carrier.origin)
        carried = tape.cross(carrier.turning, arm)
        centripetal = tape.add(tape.cross(carrier.turning_rate, arm), tape.cross(carrier.turning, carried))
        return WorldMotion(
            carrier.turning,
            carrier.turning_rate,
            origin,
            tape.add(carrier.velocity, carried),
            tape.add(carrier.acceleration, centripetal),
        )

    def path(self, a: int, b: int) -> list[tuple[int, int]]:
        """Links whose joints lie between a and b, each with its sign in the motion of b against a."""
        found = []
        while a != b:
            if b > a:  # a link comes after its parent, so the later one cannot carry the other
                found.append((b, 1))
                b = self.links[b].parent
            else:
                found.append((a, -1))
                a = self.links[a].parent
        return found

    def share(self, i: int, moment: Triple, force: Triple, at: Triple) -> Expression:
        """Generalized force in the joint of link i of a wrench at a place, all in the world."""
        (_, _, z), origin = self.pose(i)
        link, tape = self.links[i], self.tape
        total = ZERO
        if link.travel != 0.0:
            total += exact(link.travel) * tape.dot(z, force)
        if link.turn != 0.0:
            lever = tape.cross(z, tape.subtract(at, origin))
            total += exact(link.turn) * (tape.dot(z, moment) + tape.dot(lever, force))
        return tape.put(total)


def _columns(link: Link) -> Rotation:
    x, y, z = (exact_triple(column) for column in link.axes.T)
    return x, y, z
