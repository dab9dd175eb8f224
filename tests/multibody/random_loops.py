"""Random mechanisms of many loops: trees of rods of very different lengths, closed where they stand."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.constraints import Closure, Frame, PinClosure, PointClosure
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import Body, Joint, Point
from linkwork.multibody.tree.kinematics import kinematics

NORMAL = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Axes of a frame whose z axis is normal to the plane of planar mechanisms."""
GRAVITY = (0.0, 0.0, -9.81)


def random_loops(seed: int) -> tuple[Mechanism, Floats]:
    """A mechanism of 14 to 44 joints, planar or not, with 2 or more closures, and a pose q that meets them.

    Some rods are hundreds of times as short or dozens of times as long as others; rows may be redundant.
    """
    rng = np.random.default_rng(seed)
    count, planar = int(rng.integers(14, 45)), rng.random() < 0.5
    lengths = 10.0 ** rng.uniform(-1.0, 0.0, count)
    lengths[rng.integers(0, count, 3)] *= 10.0 ** rng.uniform(-2.5, 1.5, 3)
    bodies, joints = list[Body](), list[Joint]()
    for i, length in enumerate(lengths):
        before = -1 if i == 0 or rng.random() < 0.3 else int(rng.integers(max(0, i - 4), i))
        mass, slides = 0.5 + length, rng.random() < 0.1
        across = mass * length**2 / 12.0 + 1e-6
        moments = np.diag([across, across, 0.1 * across])
        bodies.append(Body(f"{i}", mass, (0.0, 0.0, 0.5 * length), moments))
        axis = np.linalg.qr(rng.normal(size=(3, 3)))[0][0]
        if planar:
            axis = np.array([1.0, 0.0, 0.0]) if slides else np.array([0.0, 1.0, 0.0])
        place = (rng.uniform(-2.0, 2.0), 0.0, 0.0)
        if before >= 0:
            place = (0.0, 0.0, lengths[before] * rng.choice([0.5, 1.0]))
        kind, parent = "prismatic" if slides else "revolute", f"{before}" if before >= 0 else "world"
        joints.append(Joint(f"{i}", kind, parent, f"{i}", axis=tuple(axis), at_m=place))
    q = rng.uniform(-2.0, 2.0, count)
    origins, axes = _frames(bodies, joints, q)
    closures = list[Closure]()
    for k in range(int(rng.integers(2, (count - 2) // (2 if planar else 3)))):
        i = int(rng.integers(0, count))
        other = int(np.clip(i + rng.integers(-6, 7), -1, count - 1))
        if i == other:
            continue
        end = origins[i] + axes[i] @ np.array([0.0, 0.0, lengths[i]])
        normal = NORMAL if planar else np.eye(3)
        ends = [Frame(f"{i}", tuple(axes[i].T @ (end - origins[i])), axes[i].T @ normal)]
        if other < 0:
            ends.append(Frame("world", tuple(end), normal))
        else:
            ends.append(
                Frame(f"{other}", tuple(axes[other].T @ (end - origins[other])), axes[other].T @ normal)
            )
        closures.append((PinClosure if planar else PointClosure)(f"close {k}", a=ends[0], b=ends[1]))
    return Mechanism.build(bodies, joints, GRAVITY, constraints=closures), q


def _frames(bodies: list[Body], joints: list[Joint], q: Floats) -> tuple[Floats, Floats]:
    """Origins (n × 3) and axes (n × 3 × 3, columns) of all bodies in the world, without closures."""
    units = np.vstack([np.zeros(3), np.eye(3)])
    points = [Point(f"{b.name} {k}", b.name, tuple(units[k])) for b in bodies for k in range(4)]
    w = Mechanism.build(bodies, joints, GRAVITY, points=points).workspace()
    w.q[:] = q
    kinematics(*w.arguments)
    places = w.point_position.reshape(len(bodies), 4, 3)
    return places[:, 0], np.swapaxes(places[:, 1:] - places[:, :1], 1, 2)
