"""Closed mechanisms that the tests share: slider-crank, four-bar, parallelogram, bead on a circle."""

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody import Body, Coordinate, Joint, Mechanism, Point
from linkwork.multibody.constraints import (
    Constraint,
    CoordinateConstraint,
    DistanceClosure,
    Frame,
    PointClosure,
    RevoluteClosure,
)
from tests.multibody.machines import G

BACK = (0.0, -1.0, 0.0)  # turns x towards z


def slider_crank(length: float = 1.0, mass: float = 1.0, closures: int = 1) -> Mechanism:
    """Two equal links with point masses at their ends, the outer end on the x axis: Aghili 2005."""
    bob = (length, 0.0, 0.0)
    return Mechanism.build(
        [Body("crank", mass, bob), Body("rod", mass, bob)],
        [
            Joint("q1", "revolute", "world", "crank", axis=BACK),
            Joint("q2", "revolute", "crank", "rod", at_m=bob, axis=BACK),
        ],
        (0.0, 0.0, -G),
        [Point("tip", "rod", bob)],
        [Coordinate("z", "z", "tip")],
        [CoordinateConstraint(f"guide{k}", of="z") for k in range(closures)],
    )


def on_branch(q1: float, speed: float) -> tuple[Floats, Floats]:
    """State of the slider-crank with q2 = 2π - 2 q1."""
    return np.array([q1, 2.0 * np.pi - 2.0 * q1]), np.array([speed, -2.0 * speed])


def bar(name: str, length: float, mass: float = 1.0) -> Body:
    """A slender bar along x from its own origin."""
    moment = mass * length**2 / 12.0
    return Body(name, mass, (0.5 * length, 0.0, 0.0), np.diag([1e-3 * mass, moment, moment]))


def four_bar(
    ground: float = 1.0,
    links: tuple[float, float, float] = (0.4, 0.9, 0.7),
    closure: type[Constraint] = PointClosure,
    gravity: float = G,
    copies: int = 1,
) -> Mechanism:
    """A planar four-bar in the x-z plane as a chain of three bars, closed at the end of the last."""
    lengths = dict(zip("abc", links, strict=True))
    up = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # z along the hinge
    closures = [
        closure(f"pin{k}", a=Frame("world", (ground, 0.0, 0.0), up), b=Frame("c", (links[2], 0.0, 0.0), up))
        for k in range(copies)
    ]
    return Mechanism.build(
        [bar(name, length) for name, length in lengths.items()],
        [
            Joint("q1", "revolute", "world", "a", axis=BACK),
            Joint("q2", "revolute", "a", "b", at_m=(links[0], 0.0, 0.0), axis=BACK),
            Joint("q3", "revolute", "b", "c", at_m=(links[1], 0.0, 0.0), axis=BACK),
        ],
        (0.0, 0.0, -gravity),
        constraints=closures,
    )


def bead(radius: float = 0.8, mass: float = 1.7) -> Mechanism:
    """A point mass in the x-z plane that keeps its distance from the origin."""
    return Mechanism.build(
        [Body("carriage"), Body("bead", mass)],
        [
            Joint("x", "prismatic", "world", "carriage", axis=(1, 0, 0)),
            Joint("z", "prismatic", "carriage", "bead"),
        ],
        (0.0, 0.0, -G),
        constraints=[DistanceClosure("wire", b=Frame("bead"), distance_m=radius)],
    )


__all__ = ["RevoluteClosure", "bar", "bead", "four_bar", "on_branch", "slider_crank"]
