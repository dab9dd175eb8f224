"""Way-points captured from the machine, led by hand or jogged; written as a trajectory for `send`.

Named way-points stand in the order in which they are to be passed.
"""

from __future__ import annotations

import copy
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from linkwork.client.robot import Robot

SAME_PLACE = 1e-6
"""rad or m between two captures below which the second one is none."""
LEAST_LEG_S = 0.5
_LEAD_S = 1.0
MOST_POINTS = 1000
_LONGEST_NAME = 64


@dataclass
class TeachList:
    """Way-points in the machine's goal coordinates, each as many numbers as it has degrees of freedom.

    `limits`: largest velocity, acceleration and jerk of each coordinate, None where there is none.
    """

    coordinates: Sequence[str]
    limits: Sequence[tuple[float | None, float | None, float | None]]
    points: list[list[float]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> TeachList:
        """An empty lesson for the machine of this description."""
        known = {each["name"]: each["limits"] for each in described["coordinates"]}
        names = list(described["goal_coordinates"])
        rates = ("velocity", "acceleration", "jerk")
        return cls(names, [tuple(known[name].get(rate) for rate in rates) for name in names])

    def capture(self, state: Mapping[str, Any], now: float) -> bool:
        """Capture the machine's position at this time (s); return False if it has not moved since the last
        capture.
        """
        places = {**state["q"], **state["coordinates"]}
        point = [float(places[name]) for name in self.coordinates]
        if self.points and max(abs(a - b) for a, b in zip(point, self.points[-1], strict=True)) < SAME_PLACE:
            return False
        self.points.append(point)
        self.times.append(now)
        return True

    def trajectory(
        self, *, as_shown: bool, at_rest: bool = False, start: Sequence[float] | None = None
    ) -> dict[str, Any]:
        """The way-points with times: those at which they were captured, or as quick as the limits suggest.

        The first one is reached after as long as the way from `start` takes; without a start, as long as the
        way from the last one would take. at_rest: the machine comes to rest in each way-point.
        """
        legs = [self._leg(self.points[-1], self.points[0]) + _LEAD_S]
        if start is not None:
            legs = [self._leg(start, self.points[0])]
        pairs = list(zip(self.points, self.points[1:], strict=False))
        if as_shown:
            legs += [after - before for before, after in zip(self.times, self.times[1:], strict=False)]
        else:
            legs += [self._leg(before, after) for before, after in pairs]
        times, at = [], 0.0
        for leg in legs:
            at += leg
            times.append(round(at, 4))
        still = [0.0] * len(self.coordinates)
        rates = {"velocities": still, "accelerations": still} if at_rest else {}
        points = [
            {"time_from_start_s": at, "positions": [round(value, 9) for value in point], **rates}
            for at, point in zip(times, self.points, strict=True)
        ]
        return {"coordinates": list(self.coordinates), "points": points}

    def _leg(self, before: Sequence[float], after: Sequence[float]) -> float:
        """Seconds from one way-point to the next: a spline's peaks stay well within the limits."""
        longest = LEAST_LEG_S
        for start, end, (velocity, acceleration, jerk) in zip(before, after, self.limits, strict=True):
            way = abs(end - start)
            longest = max(longest, 3.0 * way / (velocity or 1.0))
            if acceleration:
                longest = max(longest, math.sqrt(12.0 * way / acceleration))
            if jerk:
                longest = max(longest, (60.0 * way / jerk) ** (1.0 / 3.0))
        return longest


def finished(robot: Robot, lesson: TeachList, *, as_shown: bool) -> tuple[dict[str, Any], float]:
    """The trajectory as the machine can follow it from where it is, and by how much it was slowed down.

    Times as shown that swing a spline out of the limits, however slow, give way to those that the limits
    suggest.
    """
    made = lesson.trajectory(as_shown=as_shown)
    found = robot.check(made)
    stretch = found["min_time_stretch"]
    if found["feasible"]:
        return made, 1.0
    if stretch is None and as_shown:
        calm, slower = finished(robot, lesson, as_shown=False)
        return calm, max(slower, _duration(calm) / _duration(made))
    return stretched(made, float(stretch or 1.0)), float(stretch or 1.0)


def _duration(trajectory: Mapping[str, Any]) -> float:
    return float(trajectory["points"][-1]["time_from_start_s"])


def lesson_text(trajectory: Mapping[str, Any], machine: str) -> str:
    """Return way-points as the text of a trajectory file (YAML) that `linkwork send` takes as it is."""
    lines = [f"# {len(trajectory['points'])} way-points taught on {machine}"]
    lines += [f"coordinates: [{', '.join(trajectory['coordinates'])}]", "points:"]
    for point in trajectory["points"]:
        parts = [f"time_from_start_s: {point['time_from_start_s']:.4f}"]
        for part in ("positions", "velocities", "accelerations"):
            if part in point:
                parts.append(f"{part}: [{', '.join(f'{value:.9g}' for value in point[part])}]")
        if "name" in point:
            parts.append(f"name: {json.dumps(point['name'], ensure_ascii=False)}")
        lines.append(f"  - {{{', '.join(parts)}}}")
    return "\n".join(lines) + "\n"


def capture_every(
    robot: Robot,
    lesson: TeachList,
    every_s: float,
    ended: Callable[[float], bool],
    said: Callable[[str], None],
) -> None:
    """Capture the robot's pose every every_s seconds, until `ended` returns True.

    lesson: receives the poses. ended(s): waits for this time, or until the user ends the lesson. said: shows
    how many points there are.
    """
    begun = time.monotonic()
    while True:
        if lesson.capture(robot.state, time.monotonic() - begun):
            said(f"point {len(lesson.points)}")
        if ended(every_s):
            return


def stretched(trajectory: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Return a trajectory (plain data) that takes `factor` times as long along the same path.

    Times of way-points, curves, lead-ins, events and forces are multiplied, rates divided. Leads of events
    and `goal_time_s` are real time and stay.
    """
    made = copy.deepcopy(dict(trajectory))
    for point in made.get("points") or ():
        point["time_from_start_s"] *= factor
        for rates, power in (("velocities", 1), ("accelerations", 2)):
            if point.get(rates) is not None:
                point[rates] = [rate / factor**power for rate in point[rates]]
    for kind in ("line", "circle", "helix"):
        shape = (made.get("curve") or {}).get(kind)
        if shape:
            shape["duration_s"] *= factor
            for rate in ("rate_rad_s", "pitch_speed_m_s"):
                if rate in shape:
                    shape[rate] /= factor
    if made.get("entry"):
        made["entry"]["ramp_s"] *= factor
    for event in made.get("events") or ():
        if event["at"].get("time_s") is not None:
            event["at"]["time_s"] *= factor
    for force in (made.get("force") or {}).values():
        for place in force if isinstance(force, list) else ():
            place["time_from_start_s"] *= factor
    return made


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
