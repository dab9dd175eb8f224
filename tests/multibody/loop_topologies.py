"""Planar mechanisms of many loops, in several arrangements, each in a pose in which all loops are closed.

All hinges turn about y. A cell is a parallelogram: two rods, hinged to a body at a distance, and a bar
between their ends, whose far end is closed by a `PinClosure` or another kind.
"""

from collections.abc import Callable

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.constraints import (
    Closure,
    Constraint,
    Frame,
    PinClosure,
    PointClosure,
    RevoluteClosure,
)
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import Body, Joint

HEIGHT_M, SPACING_M = 0.5, 0.4
NORMAL = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Axes of a frame whose z axis is normal to the plane."""
Kind = type[PinClosure] | type[PointClosure] | type[RevoluteClosure]
At = tuple[float, float, float]


class Builder:
    """Collects parts, and the pose as absolute angles (rad) about y of all bodies."""

    def __init__(self, kind: Kind = PinClosure) -> None:
        self.kind = kind
        self.bodies: list[Body] = []
        self.joints: list[Joint] = []
        self.closures: list[Constraint] = []
        self.angle = {"world": 0.0}
        self.q: list[float] = []

    def hinge(self, name: str, parent: str, at_m: At, angle: float, length_m: float, *, flat: bool) -> None:
        """Add a rod along z, or along x where it is flat, with its absolute angle."""
        centre = (0.5 * length_m, 0.0, 0.0) if flat else (0.0, 0.0, 0.5 * length_m)
        self.bodies.append(Body(name, 0.5, centre, np.diag([0.011, 0.012, 0.011])))
        self.joints.append(Joint(name, "revolute", parent, name, axis=(0, 1, 0), at_m=at_m))
        self.angle[name] = angle
        self.q.append(angle - self.angle[parent])

    def close(self, one: str, at_m: At, other: str, other_at_m: At) -> None:
        """Hinge two bodies to each other."""
        ends: tuple[Frame, Frame] = Frame(one, at_m, NORMAL), Frame(other, other_at_m, NORMAL)
        closure: Closure = self.kind(f"close {len(self.closures)}", a=ends[0], b=ends[1])
        self.closures.append(closure)

    def cell(self, name: str, parent: str, at_m: At, angle: float) -> str:
        """Add a parallelogram; return its bar."""
        x, y, z = at_m
        for k in range(2):
            self.hinge(f"rod {name} {k}", parent, (x + SPACING_M * k, y, z), angle, HEIGHT_M, flat=False)
        self.hinge(f"bar {name}", f"rod {name} 0", (0, 0, HEIGHT_M), self.angle[parent], SPACING_M, flat=True)
        self.close(f"bar {name}", (SPACING_M, 0, 0), f"rod {name} 1", (0, 0, HEIGHT_M))
        return f"bar {name}"

    def built(self) -> tuple[Mechanism, Floats]:
        """The mechanism, and its pose q."""
        gravity = (0.0, 0.0, -9.81)
        return Mechanism.build(self.bodies, self.joints, gravity, constraints=self.closures), np.array(self.q)


def row(cells: int, kind: Kind = PinClosure) -> tuple[Mechanism, Floats]:
    """Cells on the ground, which do not touch one another: a degree of freedom each."""
    made = Builder(kind)
    for i in range(cells):
        made.cell(f"{i}", "world", (2.0 * i, 0.0, 0.0), 0.3 + 0.01 * i)
    return made.built()


def on_a_pendulum(cells: int, kind: Kind = PinClosure) -> tuple[Mechanism, Floats]:
    """Cells on one body that swings."""
    made = Builder(kind)
    made.hinge("hull", "world", (0, 0, 0), 0.2, 1.0, flat=True)
    for i in range(cells):
        made.cell(f"{i}", "hull", (0.5 * i, 0.0, 0.0), 0.5 + 0.01 * i)
    return made.built()


def tree(cells: int, kind: Kind = PinClosure) -> tuple[Mechanism, Floats]:
    """A binary tree: two cells on the bar of each."""
    made = Builder(kind)
    bars = [made.cell("0", "world", (0, 0, 0), 0.3)]
    for i in range(1, cells):
        bars.append(made.cell(f"{i}", bars[(i - 1) // 2], (0.5 * (i % 2), 0, 0), 0.3 + 0.02 * (i % 5)))
    return made.built()


def tower(cells: int, kind: Kind = PinClosure) -> tuple[Mechanism, Floats]:
    """Each cell stands on the bar of the one below."""
    made = Builder(kind)
    below = "world"
    for i in range(cells):
        below = made.cell(f"{i}", below, (0, 0, 0), 0.3 * (-1) ** i)
    return made.built()


def grid(columns: int, rows: int, kind: Kind = PinClosure) -> tuple[Mechanism, Floats]:
    """Columns × rows of cells that share their rods: a degree of freedom for each row of cells."""
    made = Builder(kind)
    for j in range(rows):
        for i in range(columns + 1):
            below, at = (f"rod {i} {j - 1}", (0.0, 0.0, HEIGHT_M)) if j else ("world", (SPACING_M * i, 0, 0))
            made.hinge(f"rod {i} {j}", below, at, 0.3 * (-1) ** j, HEIGHT_M, flat=False)
        for i in range(columns):
            made.hinge(f"bar {i} {j}", f"rod {i} {j}", (0, 0, HEIGHT_M), 0.0, SPACING_M, flat=True)
            made.close(f"bar {i} {j}", (SPACING_M, 0, 0), f"rod {i + 1} {j}", (0, 0, HEIGHT_M))
    return made.built()


def ring(bars: int, kind: Kind = PinClosure) -> tuple[Mechanism, Floats]:
    """One loop: a regular polygon, of which one corner is hinged to the ground."""
    made = Builder(kind)
    before, at = "world", (0.0, 0.0, 0.0)
    for i in range(bars):
        made.hinge(f"{i}", before, at, 2.0 * np.pi * i / bars, 0.3, flat=True)
        before, at = f"{i}", (0.3, 0.0, 0.0)
    made.close(before, at, "world", (0.0, 0.0, 0.0))
    return made.built()


def platforms(count: int, kind: Kind = PinClosure) -> tuple[Mechanism, Floats]:
    """Planar platforms on three legs of two rods, on the ground: three degrees of freedom each."""
    made = Builder(kind)
    for i in range(count):
        for k in range(3):
            made.hinge(f"lower {i} {k}", "world", (3.0 * i + 0.6 * k, 0, 0), -0.5, 0.5, flat=False)
            made.hinge(f"upper {i} {k}", f"lower {i} {k}", (0, 0, 0.5), 0.4, 0.6, flat=False)
        made.hinge(f"plate {i}", f"upper {i} 0", (0, 0, 0.6), 0.0, 1.2, flat=True)
        for k in (1, 2):
            made.close(f"plate {i}", (0.6 * k, 0, 0), f"upper {i} {k}", (0, 0, 0.6))
    return made.built()


def legs(count: int, kind: Kind = PinClosure) -> tuple[Mechanism, Floats]:
    """One long plate on legs of two rods: it has three degrees of freedom, and far legs turn fast with it."""
    made = Builder(kind)
    for k in range(count):
        low, high = 0.4 + 0.2 * np.sin(1.7 * k), 1.1 + 0.2 * np.sin(1.7 * k)
        x, z = 0.5 * (np.sin(low) + np.sin(high)), 0.5 * (np.cos(low) + np.cos(high))
        made.hinge(f"low {k}", "world", (SPACING_M * k - x, 0.0, 1.0 - z), low, 0.5, flat=False)
        made.hinge(f"high {k}", f"low {k}", (0.0, 0.0, 0.5), high, 0.5, flat=False)
        if k == 0:
            made.hinge("plate", "high 0", (0.0, 0.0, 0.5), 0.0, SPACING_M * count, flat=True)
        else:
            made.close(f"high {k}", (0.0, 0.0, 0.5), "plate", (SPACING_M * k, 0.0, 0.0))
    return made.built()


def beam(rods: int, kind: Kind = PinClosure) -> tuple[Mechanism, Floats]:
    """One beam on parallel rods, of which two would do: each further one has a row that depends on others."""
    made = Builder(kind)
    for k in range(rods):
        made.hinge(f"rod {k}", "world", (SPACING_M * k, 0.0, 0.0), 0.4, HEIGHT_M, flat=False)
        if k == 0:
            made.hinge("beam", "rod 0", (0.0, 0.0, HEIGHT_M), 0.0, SPACING_M * rods, flat=True)
        else:
            made.close(f"rod {k}", (0.0, 0.0, HEIGHT_M), "beam", (SPACING_M * k, 0.0, 0.0))
    return made.built()


ARRANGEMENTS: dict[str, Callable[[int, Kind], tuple[Mechanism, Floats]]] = {
    "row": row,
    "on_a_pendulum": on_a_pendulum,
    "tree": tree,
    "tower": tower,
    "grid": lambda size, kind: grid(size, max(1, size // 2), kind),
    "ring": ring,
    "platforms": platforms,
    "legs": legs,
    "beam": beam,
}
