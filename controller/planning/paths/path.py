"""A path while it is planned: knots of the path parameter and the goal coordinates' derivatives there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats, Integers
from linkwork.controller.exchange.goal_action_part import ActionPart
from linkwork.controller.exchange.goal_block import SHORTEST_PIECE_S, GoalBlock, evaluate, pack_block, places
from linkwork.controller.exchange.goal_force_part import ForcePart
from linkwork.controller.exchange.goal_frame_part import FramePart
from linkwork.controller.exchange.goal_task_part import ONE_LEVEL, TaskPart
from linkwork.machine import Machine
from linkwork.protocol.trajectory import ToleranceParams


@dataclass(frozen=True)
class Path:
    """Goal coordinates over the path parameter s (seconds at the goal's own speed).

    `coordinates`: indices into the mechanism's coordinates (k). `knots`: n + 1 values from 0 to the duration.
    `values`: (n + 1) × rows × k; rows are θ, θ' (cubic pieces), or θ, θ', θ'' (quintic pieces). `full_speed`:
    where the path runs without lead-in and lead-out.
    """

    coordinates: tuple[int, ...]
    knots: Floats
    values: Floats
    full_speed: tuple[float, float]
    forces: ForcePart | None = None
    gaps: int = 0
    """How many of the coordinates, the last ones, are gaps of pressed contacts: the loop leaves them out."""
    actions: ActionPart | None = None
    frame: FramePart | None = None
    """The moving frame in which a part of the path is."""
    task: TaskPart = ONE_LEVEL
    """How the coordinates share the motion, and what they leave free."""
    held: int = 0
    """How many of the coordinates, the last ones, only hold as far as the others allow."""
    yields: bool = False
    """Whether coordinates that contradict each other may be missed."""
    allowed: Floats = field(default_factory=lambda: np.zeros(0))
    """Path tolerances (k; rad or m) that an impulse on the path must leave; empty without switches."""
    cycle: bool = False
    """Whether it will be repeated without a pause and without end."""
    marks: Floats | None = None
    """Values of s at the way-points, and at the beginning, once the path is timed; None before."""
    marked: Integers | None = None
    """Before it is timed: which knots these are; None: all of them."""
    notes: tuple[str, ...] = ()
    """Warnings about the path for the goal's report."""

    @property
    def way_points_s(self) -> Floats:
        """Values of s at the way-points (n), the first one at the beginning of the path."""
        if self.marks is not None:
            return self.marks
        return self.knots if self.marked is None else self.knots[self.marked]

    def way_point_behind(self, piece: int, count: int) -> int:
        """Return which of `count` way-points, from 0, a piece leads to, before the path is timed."""
        marked = np.arange(len(self.knots)) if self.marked is None else self.marked
        return max(int(np.searchsorted(marked, piece, "right")) - (len(marked) - count), 0)

    @property
    def duration_s(self) -> float:
        """The path parameter at the end."""
        return float(self.knots[-1])

    def stretched(self, factor: float) -> Path:
        """Return this path, `factor` times as slow everywhere."""
        scale = factor ** -np.arange(self.values.shape[1], dtype=np.float64)
        first, last = self.full_speed
        return replace(
            self,
            knots=self.knots * factor,
            marks=None if self.marks is None else self.marks * factor,
            values=self.values * scale[None, :, None],
            full_speed=(first * factor, last * factor),
            forces=None if self.forces is None else self.forces.stretched(factor),
            actions=None if self.actions is None else self.actions.stretched(factor),
            frame=None if self.frame is None else self.frame.stretched(factor),
        )

    def followed(self) -> Path:
        """The path as the loop follows it: without the gaps."""
        if not self.gaps:
            return self
        motion = len(self.coordinates) - self.gaps
        values = np.ascontiguousarray(self.values[:, :, :motion])
        return replace(self, coordinates=self.coordinates[:motion], values=values, gaps=0)

    @classmethod
    def of_block(cls, words: Floats) -> Path:
        """Return the path in a goal's block, a flat array. Raises BlockError."""
        block = GoalBlock(words)
        k, rows, pieces, knots, values = places(words)
        return cls(
            tuple(block.coordinates.tolist()),
            words[knots : knots + pieces + 1].copy(),
            words[values : values + (pieces + 1) * rows * k].reshape(pieces + 1, rows, k).copy(),
            block.full_speed,
            block.forces,
            actions=block.actions,
            frame=block.frame,
            task=block.task,
        )

    def evaluate(self, s: float) -> Floats:
        """3 × k: θ, θ' and θ'' at s, those of the piece that begins there where s is a knot."""
        words = self.packed()
        out = np.empty((3, len(self.coordinates)))
        evaluate(words, min(max(s, 0.0), self.duration_s), out[0], out[1], out[2])
        return out

    def part(self, first: float, last: float) -> Path:
        """The path between two values of s, counted from the first one."""
        words, rows = self.packed(), self.values.shape[1]
        gap = SHORTEST_PIECE_S
        inner = self.knots[(self.knots > first + gap) & (self.knots < last - gap)]
        knots = np.concatenate([[first], inner, [last]])
        values = np.empty((len(knots), 3, len(self.coordinates)))
        for place, s in enumerate(knots):
            evaluate(words, min(max(s, 0.0), self.duration_s), *values[place])
        return replace(self, knots=knots - first, values=values[:, :rows], full_speed=(0.0, last - first))

    def with_knot(self, s: float) -> tuple[Path, float]:
        """Return the same path with a knot at s, or at the knot next to it, and the knot's s."""
        near = int(np.argmin(np.abs(self.knots - s)))
        if abs(self.knots[near] - s) < SHORTEST_PIECE_S:
            return self, float(self.knots[near])
        at = int(np.searchsorted(self.knots, s))
        values = np.insert(self.values, at, self.evaluate(s)[: self.values.shape[1]], axis=0)
        return replace(self, knots=np.insert(self.knots, at, s), values=values), s

    def resting_in(self, columns: NDArray[np.int64], theta: Floats) -> Path:
        """Return the path on which some coordinates stay. columns: their places (n); theta (n; rad or m)."""
        values = self.values.copy()
        values[:, :, columns] = 0.0
        values[:, 0, columns] = theta
        return replace(self, values=values)

    def backwards(self) -> Path:
        """Return this path in the opposite direction."""
        signs = (-1.0) ** np.arange(self.values.shape[1])
        knots = self.duration_s - self.knots[::-1]
        first, last = self.full_speed
        full_speed = (self.duration_s - last, self.duration_s - first)
        return replace(
            self, knots=knots, values=self.values[::-1] * signs[None, :, None], full_speed=full_speed
        )

    def packed(self) -> Floats:
        """Return the path as a separate block, a flat array, for evaluation only."""
        ones = [1.0] * len(self.coordinates)
        return pack_block(
            self.coordinates, self.knots, self.values, path_tolerance=ones, goal_tolerance=ones,
            goal_time_s=0.0, stopping=np.ones((3, 1)), full_speed=self.full_speed,
        )  # fmt: skip

    def pack(
        self,
        machine: Machine,
        stopping: Floats,
        given: dict[str, ToleranceParams],
        goal_time_s: float | None,
        missed: Floats | float = 0.0,
    ) -> Floats:
        """Return the block, a flat array; tolerances not given are the machine file's.

        stopping (3 × windows): see `stopping_tables`. missed (k; rad or m): how far coordinates are given up,
        which the tolerances are wider by.
        """
        names = [machine.mechanism.coordinate_names[i] for i in self.coordinates]
        own = [machine.tolerances[i] for i in self.coordinates]
        asked = [given.get(name, ToleranceParams()) for name in names]
        return pack_block(
            self.coordinates,
            self.knots,
            self.values,
            path_tolerance=missed + np.array([w.path or h.path for w, h in zip(asked, own, strict=True)]),
            goal_tolerance=missed + np.array([w.goal or h.goal for w, h in zip(asked, own, strict=True)]),
            goal_time_s=machine.controller.tolerances.goal_time_s if goal_time_s is None else goal_time_s,
            stopping=stopping,
            full_speed=self.full_speed,
            forces=self.forces,
            actions=self.actions,
            frame=self.frame,
            task=self.task,
        )
