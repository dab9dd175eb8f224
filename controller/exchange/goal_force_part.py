"""The force part of a goal, as words behind its path: which forces, their profile, their tolerances.

    word 0            version
    word 1            0: press all along the path; 1: the first force is a guard, see below
    words 2, 3, 4     forces g, points m of the profile, coordinates c that are kept at touch
    g                 their numbers among the machine's forces (`Machine.force_rows`)
    g, g              tolerances on the way and at the end (N or N m)
    m                 path parameter of the profile's points (s)
    g × m             forces there (N or N m); straight lines between them
    c                 places (in the goal's coordinates) of those that are kept at touch

A guard watches one contact during a motion, in which the other forces are pressed. Once contact is detected,
the coordinates that are kept come to rest on the path, and the contact is pressed with the profile's first
force. A machine that has no other motion keeps none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats

VERSION = 1
_HEADER = 5


@dataclass(frozen=True)
class ForcePart:
    """The forces of a goal: g rows, a profile of m points; see above. `kept` is empty without `guard`."""

    guard: bool
    rows: NDArray[np.int64]
    path_tolerance: Floats
    goal_tolerance: Floats
    times_s: Floats
    values: Floats
    kept: NDArray[np.int64]

    @classmethod
    def constant(cls, rows: Sequence[int], forces: Sequence[float], tolerance: Sequence[float]) -> ForcePart:
        """Return forces that stay the same along the path.

        rows, forces, tolerance (one entry for each contact or force coordinate): its row, the wanted force,
        and the largest error of the force, N or N m.
        """
        bounds = np.array(tolerance, np.float64)
        values = np.array(forces, np.float64).reshape(-1, 1)
        none = np.zeros(0, np.int64)
        return cls(False, np.array(rows, np.int64), bounds, bounds, np.zeros(1), values, none)

    def guarded(self, row: int, force: float, tolerance: float, kept: Sequence[int]) -> ForcePart:
        """Return these forces, preceded by the guard of a contact that may be touched.

        row: the contact's; force, tolerance: N. kept: coordinates that continue after the touch (dof − 1).
        """
        values = np.vstack([np.full((1, len(self.times_s)), force), self.values])
        return ForcePart(
            True,
            np.append(row, self.rows),
            np.append(tolerance, self.path_tolerance),
            np.append(tolerance, self.goal_tolerance),
            self.times_s,
            values,
            np.array(kept, np.int64),
        )

    @property
    def pressed(self) -> NDArray[np.int64]:
        """The forces that are pressed all along the path (rows): all but that of a guard."""
        return self.rows[int(self.guard) :]

    def stretched(self, factor: float) -> ForcePart:
        """Return the force part along a path that is followed `factor` times as slow."""
        return replace(self, times_s=self.times_s * factor)

    def evaluate(self, s: float, row: int) -> float:
        """The force of the part's row number `row` at a path parameter."""
        return float(np.interp(s, self.times_s, self.values[row]))

    def words(self) -> Floats:
        """Return the part as a flat array, to be read by `from_words`."""
        head = (VERSION, self.guard, len(self.rows), len(self.times_s), len(self.kept))
        parts = (self.rows, self.path_tolerance, self.goal_tolerance, self.times_s, self.values.ravel())
        return np.concatenate([np.array(head, np.float64), *parts, self.kept]).astype(np.float64)

    @classmethod
    def from_words(cls, words: Floats) -> ForcePart:
        """Return the part in a flat array. Raises ValueError when it holds none."""
        if len(words) < _HEADER or words[0] != VERSION:
            raise ValueError("the force part of the goal has another version")
        g, m, c = (int(number) for number in words[2:5])
        if g < 1 or m < 1 or c < 0 or len(words) != _HEADER + 3 * g + m + g * m + c:
            raise ValueError(f"{len(words)} words for {g} forces, {m} points, {c} coordinates kept")
        cuts = np.cumsum([_HEADER, g, g, g, m, g * m])
        _, rows, path, goal, times, values, kept = np.split(words, cuts)
        return cls(
            bool(words[1]), rows.astype(np.int64), path.copy(), goal.copy(), times.copy(),
            values.reshape(g, m).copy(), kept.astype(np.int64),
        )  # fmt: skip
