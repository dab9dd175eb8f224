"""Way-points captured from the machine, led by hand or jogged; written as a trajectory for `send`."""

from __future__ import annotations

import copy
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwork.client.robot import Robot


SAME_PLACE = 1e-6
"""rad or m between two captures below which the second one is none."""
LEAST_LEG_S = 0.5
_LEAD_S = 1.0


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
