"""A machine as body frames, lines and surfaces at any pose."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.drawing.member_lines import member_lines, wheel_shapes
from linkwork.machine import Machine
from linkwork.machine.visuals import VisualShape
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import WORLD, Point
from linkwork.multibody.tree.kinematics import kinematics


class Skeleton:
    """The lines and shapes of a machine, placed in the world at any pose."""

    def __init__(self, machine: Machine) -> None:
        """Collect the lines, and the shapes that are no meshes."""
        mechanism = machine.mechanism
        self.lines = member_lines(mechanism)
        shaped = {shape.body for shape in machine.visuals}
        shapes = [*machine.visuals, *wheel_shapes(mechanism, shaped)]
        self._shapes = [shape for shape in shapes if shape.kind != "mesh"]
        self._frames = BodyFrames(mechanism)
        self._places = [[(self._index(body), at) for body, at in line.ends] for line in self.lines]

    def _index(self, body: str) -> int:
        """Return the place of a body in the frames; the world comes last."""
        bodies = self._frames.bodies
        return len(bodies) if body == WORLD else bodies.index(body)

    def frames_at(self, q: Floats) -> Floats:
        """Return the frames (bodies + 1 × 4 × 3) as `BodyFrames`, then that of the world."""
        world = np.vstack([np.eye(3), np.zeros(3)])[None]
        return np.concatenate([self._frames.frames_at(q), world])

    def lines_at(self, q: Floats) -> Floats:
        """Return both ends of all `lines` in the world (lines × 2 × 3, m)."""
        frames = self.frames_at(q)
        return np.array([[at @ frames[k, :3] + frames[k, 3] for k, at in ends] for ends in self._places])

    def surfaces_at(self, q: Floats) -> list[tuple[VisualShape, Floats]]:
        """Return each shape (all but meshes) with a grid (m × n × 3) of places on it in the world."""
        frames = self.frames_at(q)
        found = []
        for shape in self._shapes:
            frame = frames[self._index(shape.body)]
            grid = surface_of(shape) @ shape.rotation.T + shape.at_m
            found.append((shape, grid @ frame[:3] + frame[3]))
        return found


def surface_of(shape: VisualShape) -> Floats:
    """Return a grid (m × n × 3, m) of places on a box, cylinder, capsule or sphere, in its own axes."""
    if shape.kind == "box":
        x, y, z = 0.5 * np.array(shape.sizes)
        ring = np.array([(-x, -y), (x, -y), (x, y), (-x, y), (-x, -y)])
        heights = [(0.0, -z), (1.0, -z), (1.0, z), (0.0, z)]
        return np.array([[(s * a, s * b, h) for a, b in ring] for s, h in heights])
    radius, length = shape.sizes[0], shape.sizes[1] if shape.kind != "sphere" else 0.0
    around = np.linspace(0.0, 2.0 * np.pi, 17)
    if shape.kind == "cylinder":
        profile = [(0.0, -0.5), (1.0, -0.5), (1.0, 0.5), (0.0, 0.5)]
        rings = [(radius * r, length * h) for r, h in profile]
    else:
        rise = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 10)
        ends = np.where(rise < 0.0, -0.5, 0.5) * length
        rings = list(zip(radius * np.cos(rise), radius * np.sin(rise) + ends, strict=True))
    return np.array([[(r * np.cos(a), r * np.sin(a), h) for a in around] for r, h in rings])


class BodyFrames:
    """Forward kinematics of a mechanism, as one frame for each body."""

    def __init__(self, mechanism: Mechanism) -> None:
        """Build the tree with four points on each body: its origin and the ends of its axes."""
        self.bodies = tuple(body.name for body in mechanism.bodies)
        corners = np.vstack([np.zeros(3), np.eye(3)])
        points = [Point(f"{body} {k}", body, at) for body in self.bodies for k, at in enumerate(corners)]
        self._work = mechanism.bare(points).workspace()

    @property
    def positions(self) -> int:
        """Number of entries of q."""
        return len(self._work.q)

    def frames_at(self, q: Floats) -> Floats:
        """Return the frames (bodies × 4 × 3) in the world at q (nq): x, y, z axis, then the origin (m)."""
        self._work.q[:] = q
        kinematics(*self._work.arguments)
        corners = self._work.point_position.reshape(-1, 4, 3)
        frames = np.empty_like(corners)
        frames[:, 3] = corners[:, 0]
        frames[:, :3] = corners[:, 1:] - corners[:, :1]
        return frames
