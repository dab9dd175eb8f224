"""Motions of a moving frame, and the path of a goal in the world for one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from linkwork.controller.exchange.goal_block import evaluate
from linkwork.controller.exchange.goal_frame_part import FramePart
from linkwork.controller.planning.paths.path import Path
from linkwork.machine import Machine

STEP_S = 0.01
"""Length of the pieces by which the path with the frame's motion is approximated."""


@dataclass(frozen=True)
class FrameMotion:
    """A motion of the frame (`unit`: m or rad) from where it was at planning: speed `first`, later `last`.

    The speed changes between `begin_s` and `end_s` as 10 x³ - 15 x⁴ + 6 x⁵. `moved`: before the goal
    began. `late`: the goal begins as late as it may.
    """

    first: float
    last: float
    begin_s: float
    end_s: float
    moved: float
    late: bool = False
    unit: str = "m"

    @property
    def about(self) -> str:
        """The motion in words."""
        late = " and a late begin" if self.late else ""
        if self.first == self.last:
            return f"at {self.first:g} {self.unit}/s of the frame{late}"
        return f"while the frame changes from {self.first:g} to {self.last:g} {self.unit}/s"

    def at(self, t: float) -> tuple[float, float, float]:
        """Return displacement, speed and acceleration at the time t (s) of the goal."""
        length, change = self.end_s - self.begin_s, self.last - self.first
        way = self.moved + self.first * t
        if t <= self.begin_s:
            return way, self.first, 0.0
        x = min((t - self.begin_s) / length, 1.0)
        way += change * length * x**4 * (2.5 - 3.0 * x + x * x)
        if t >= self.end_s:
            return way + change * (t - self.end_s), self.last, 0.0
        speed = x**3 * (10.0 - 15.0 * x + 6.0 * x * x)
        slope = 30.0 * x * x * (1.0 - x) ** 2 / length
        return way, self.first + change * speed, change * slope


def path_with(path: Path, motion: FrameMotion) -> Path:
    """Return the path in the world for this motion of its frame, in short pieces of the same order."""
    part = path.frame
    assert part is not None, "the path has a frame"
    begin, end = part.enters_s[0], part.leaves_s[1]
    count = max(2, int(np.ceil((end - begin) / STEP_S)) + 1)
    marks = [*part.enters_s, *part.leaves_s, *np.linspace(begin, end, count)]
    knots = np.unique(np.concatenate([path.knots, [mark for mark in marks if mark < path.duration_s]]))
    kept = np.concatenate([[True], np.diff(knots) > 1e-4])
    kept[np.isin(knots, path.knots)] = True
    near = np.flatnonzero(np.diff(knots) <= 1e-4)
    kept[[index for index in near if not np.isin(knots[index], path.knots)]] = False
    knots = knots[kept]
    values, words = np.empty((len(knots), 3, len(path.coordinates))), path.packed()
    for place, s in enumerate(knots):
        evaluate(words, min(s, path.duration_s), *values[place])
        w, w1, w2 = part.weight(s)
        d, v, a = motion.at(s)
        part.carry((w * d, w1 * d + w * v, w2 * d + 2.0 * w1 * v + w * a), *values[place])
    rows = path.values.shape[1]  # cubics keep the steps of their acceleration between pieces
    return replace(path, knots=knots, values=np.ascontiguousarray(values[:, :rows]), frame=None)


def expected(machine: Machine, path: Path, part: FramePart, at_s: float, inputs: tuple[float, ...]) -> Path:
    """Return the path in the world for the middle of the speeds of its frame, from where the frame is now.

    at_s: path parameter now; inputs: values of the input signals, empty before the goal has begun.
    """
    frame, speed = machine.frames[part.frame], 0.5 * sum(part.speed)
    moved = speed * 0.5 * sum(part.begins_s)
    if inputs:
        moved = frame.nearest(inputs[frame.input] * frame.per_unit - part.origin - speed * at_s)
    end = path.duration_s
    return path_with(path, FrameMotion(speed, speed, end, end + 1.0, moved))
