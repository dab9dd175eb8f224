"""Named way-points in the order in which they are to be passed, and the trajectory through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from linkwork.trajectories.teach import TeachList, lesson_text, stretched

MOST_POINTS = 1000
_LONGEST_NAME = 64


@dataclass(frozen=True)
class TaughtPoint:
    """A named position: as many numbers (rad or m) as the machine has goal coordinates.

    task: the task coordinates there (rad or m); none of a point that was read from a file.
    """

    name: str
    positions: tuple[float, ...]
    task: Mapping[str, float] = field(default_factory=dict)


@dataclass
class TaughtPoints:
    """Way-points of one machine, without times. `changes` counts all changes.

    lesson: the machine's goal coordinates with their limits, without points.
    """

    lesson: TeachList
    points: list[TaughtPoint] = field(default_factory=list)
    changes: int = 0

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> TaughtPoints:
        """No points yet, for the machine of this description."""
        return cls(TeachList.from_description(described))

    @property
    def coordinates(self) -> Sequence[str]:
        """Names of the coordinates in which the points are given."""
        return self.lesson.coordinates

    def teach(self, name: str, state: Mapping[str, Any]) -> TaughtPoint:
        """Append the machine's position. An empty name becomes the point's number. Raises ValueError."""
        if len(self.points) >= MOST_POINTS:
            raise ValueError(f"there are {MOST_POINTS} points, which is the most: delete some")
        free = self._free(name or f"P{len(self.points) + 1}")
        point = TaughtPoint(free, self.position(state), dict(state["coordinates"]))
        self.points.append(point)
        self.changes += 1
        return point

    def position(self, state: Mapping[str, Any]) -> tuple[float, ...]:
        """Return the goal coordinates (rad, m) in an answer of `state`."""
        places = {**state["q"], **state["coordinates"]}
        return tuple(float(places[name]) for name in self.coordinates)

    def rename(self, index: int, name: str) -> None:
        """Rename a point. Raises ValueError for a name that is taken, empty or too long."""
        if name == self.points[index].name:
            return
        if not name.strip() or self._free(name) != name:
            raise ValueError(
                f"{name!r}: give a name that no other point has, of 1 to {_LONGEST_NAME} letters"
            )
        self.points[index] = replace(self.points[index], name=name)
        self.changes += 1

    def delete(self, index: int) -> None:
        """Remove a point."""
        del self.points[index]
        self.changes += 1

    def shift(self, index: int, by: int) -> None:
        """Move a point towards the beginning (negative) or the end of the order."""
        point = self.points.pop(index)
        self.points.insert(max(0, min(len(self.points), index + by)), point)
        self.changes += 1

    def trajectory(self, start: Sequence[float], *, at_rest: bool, speed: float = 1.0) -> dict[str, Any]:
        """Return a trajectory from `start` (rad, m) through all points, as quick as the limits suggest.

        at_rest: it comes to rest in each of them; else only in the last one. speed: share of that speed.
        """
        lesson = replace(self.lesson, points=[list(point.positions) for point in self.points], times=[])
        made = stretched(lesson.trajectory(as_shown=False, at_rest=at_rest, start=start), 1.0 / speed)
        for place, point in zip(made["points"], self.points, strict=True):
            place["name"] = point.name
        return made

    def text(self, machine: str, *, at_rest: bool) -> str:
        """Return a trajectory file (YAML) through all points, from the last one on."""
        start = self.points[-1].positions
        return lesson_text(self.trajectory(start, at_rest=at_rest), machine)

    def load(self, trajectory: Mapping[str, Any]) -> None:
        """Replace the points by the way-points of a trajectory. Raises ValueError where it has none for this
        machine.
        """
        names, given = trajectory.get("coordinates") or [], trajectory.get("points") or []
        if sorted(names) != sorted(self.coordinates) or not given:
            found = f"way-points in {', '.join(names)}" if given else "no way-points"
            raise ValueError(
                f"the file has {found}; points of this machine are {', '.join(self.coordinates)}"
            )
        if len(given) > MOST_POINTS:
            raise ValueError(f"the file has {len(given)} way-points; at most {MOST_POINTS} can be taught")
        order = [names.index(name) for name in self.coordinates]
        self.points = []
        for place in given:
            name = self._free(place.get("name") or f"P{len(self.points) + 1}")
            self.points.append(TaughtPoint(name, tuple(place["positions"][k] for k in order)))
        self.changes += 1

    def _free(self, name: str) -> str:
        """Return the name, with a number behind it where another point has it."""
        name, taken = name.strip()[:_LONGEST_NAME], {point.name for point in self.points}
        number, free = 2, name
        while free in taken:
            ending = f" {number}"
            free, number = name[: _LONGEST_NAME - len(ending)] + ending, number + 1
        return free
