"""The task part of a goal, as words behind its path: priorities of its rows, and what they leave free.

word 0            version
word 1            what happens to motions that the rows leave free: `HOLD`, `LEAST` or `DAMP`
word 2            metric of these motions: `MASS`, `MOTORS` or `FULL`
word 3            rate at which they are damped (1/s)
word 4            number of joint velocities n of the full metric, 0 without one
words 5, 6        combinations r, and coordinates c that they have coefficients for
word 7            number of joint velocities p of the posture, 0 without one
word 8            number of constraint sets s along the path, 0 where one holds all along
word 9            coordinates b that are kept between bounds
word 10           number of rows, the last ones, that only hold as far as the others allow
word 11           1 where free motions lead away from singular poses, else 0
k                 level of each row, from 0 on and not decreasing; lower levels go first
n × n             the full metric
r × c             coefficients of the combinations, the coordinates behind the machine's c
2 × p             posture that free motions prefer (rad or m), and the largest speed of each joint toward it
s × 2             path parameter from which a set of constraints holds, and that set (a bit mask); first 0
5 × b             these coordinates' numbers, bounds (rad or m), rates (1/s) and braking (see kept_rows.py)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.protocol.trajectory import MOST_COMBINATIONS, MOST_KEPT

HOLD, LEAST, DAMP = range(3)
"""What free motions do: rows hold them; the motors do not drive them; their speed decays."""
MASS, MOTORS, FULL = range(3)
"""The metric of least constraint: of the kinetic energy, of the efforts, or a full matrix."""
DAMPING_PER_S = 10.0
"""Rate at which speeds of free motions decay where the goal does not say another."""
VERSION = 6
_HEADER = 12


@dataclass(frozen=True, eq=False)
class TaskPart:
    """Priorities of the rows of a goal, and what they leave free; see above.

    `levels` (k): none where all rows are of one level.
    `full` (nv × nv; empty without): a metric by joint velocities. `combinations` (r × coordinates; empty
    without): coefficients of the goal's further coordinates. `posture` (2 × nv; 2 × 0 without): positions
    that free motions prefer, and largest speeds toward them, 0 where a joint has no such position.
    `switches` (s × 2; 0 × 2 without): the constraint sets that the goal's events switch to. `keep` (5 × b):
    coordinates that stay between bounds: index, lower and upper bound, rate, braking. `held`: how many rows,
    the last ones, hold what the others leave free. `avoids`: the posture follows from the pose, away from
    singular ones.
    """

    rest: int = HOLD
    metric: int = MASS
    damping_per_s: float = DAMPING_PER_S
    levels: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    full: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    combinations: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    posture: Floats = field(default_factory=lambda: np.zeros((2, 0)))
    switches: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    keep: Floats = field(default_factory=lambda: np.zeros((5, 0)))
    held: int = 0
    avoids: bool = False

    def words(self) -> Floats:
        """Return the part as a flat array, to be read by `from_words`."""
        head = (VERSION, self.rest, self.metric, self.damping_per_s, len(self.full))
        sizes = [*self.combinations.shape, self.posture.shape[1], len(self.switches)]
        sizes += [self.keep.shape[1], self.held, self.avoids]
        tables = (self.full, self.combinations, self.posture, self.switches, self.keep)
        matrices = [table.ravel() for table in tables]
        return np.concatenate([head, sizes, self.levels, *matrices])

    @classmethod
    def from_words(cls, words: Floats) -> TaskPart:
        """Read a flat array. Raises ValueError for one that is no task part of this version."""
        if len(words) < _HEADER or words[0] != VERSION:
            raise ValueError("the words are no task part of this version")
        rest, metric, size, rows, columns, joints, sets, kept, held = (
            int(words[i]) for i in (1, 2, 4, 5, 6, 7, 8, 9, 10)
        )
        shapes = ((size, size), (rows, columns), (2, joints), (sets, 2), (5, kept))
        lengths = [first * second for first, second in shapes]
        count = len(words) - _HEADER - sum(lengths)
        if rest not in (HOLD, LEAST, DAMP) or metric not in (MASS, MOTORS, FULL) or count < 0:
            raise ValueError(f"rest {rest}, metric {metric}, {len(words)} words")
        levels = words[_HEADER : _HEADER + count].astype(np.int64)
        if np.any(np.diff(levels) < 0) or (metric == FULL) != (size > 0):
            raise ValueError("the levels decrease, or the full metric is missing")
        if not (0 <= rows <= MOST_COMBINATIONS and 0 <= kept <= MOST_KEPT):
            most = f"at most {MOST_COMBINATIONS} and {MOST_KEPT} are possible"
            raise ValueError(f"{rows} combinations and {kept} bounds, {most}")
        ends = _HEADER + count + np.cumsum([0, *lengths])
        full, combinations, posture, switches, keep = (
            words[first:last].reshape(shape).copy()
            for first, last, shape in zip(ends[:-1], ends[1:], shapes, strict=True)
        )
        avoids, damping = bool(words[11]), float(words[3])
        return cls(rest, metric, damping, levels, full, combinations, posture, switches, keep, held, avoids)


ONE_LEVEL = TaskPart()
"""The rows of a goal that determine the motion."""
