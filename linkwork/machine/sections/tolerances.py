"""Tolerances of coordinates: on the path, at the goal, at the start, and at any time."""

from __future__ import annotations

from linkwork.machine.sections.constraint_base import CoordinateName
from linkwork.machine.sections.fields import Number, Section, entry

FOLLOWING_PER_PATH = 10.0
"""The largest following error, in path tolerances, where a file gives none."""


class CoordinateTolerances(Section):
    """Tolerances of one coordinate, in its own unit."""

    path: Number | None = entry("Largest error during motion", "rad or m", None, gt=0)
    goal: Number | None = entry("Largest error at the end", "rad or m", None, gt=0)
    start: Number | None = entry(
        "Largest distance of a goal's first sample from the machine's position", "rad or m", None, gt=0
    )
    following: Number | None = entry(
        "Largest error before the machine is braked, in every state", "rad or m", None, gt=0
    )


class Tolerances(Section):
    """Tolerances of goals that give none, for each coordinate in its own unit."""

    path: Number = entry("Largest error during motion", "rad or m", 0.01, gt=0)
    goal: Number = entry("Largest error at the end", "rad or m", 0.001, gt=0)
    start: Number = entry(
        "Largest distance of a goal's first sample from the machine's position", "rad or m", 0.001, gt=0
    )
    following: Number | None = entry(
        "Largest error before the machine is braked, in every state. Default: ten times `path`",
        "rad or m", None, gt=0,
    )  # fmt: skip
    goal_time_s: Number = entry(
        "Time after the end within which the goal tolerances must be met", "s", 1.0, gt=0, le=3600
    )
    coordinates: dict[CoordinateName, CoordinateTolerances] = entry(
        "Values for single coordinates, by name", default={}
    )

    @property
    def following_limit(self) -> float:
        """The largest error before the machine is braked, in every state."""
        return self.following or FOLLOWING_PER_PATH * self.path

    def of(self, name: str) -> Tolerances:
        """Return the tolerances with the coordinate's own in their place."""
        own = self.coordinates.get(name, CoordinateTolerances())
        return self.with_values(**own.model_dump(exclude_none=True))
