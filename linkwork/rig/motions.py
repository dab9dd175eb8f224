"""Small motions for any machine, derived from its description and checked by its controller.

Each goes out from home and back, at rest at both ends, in quintics. The controller's `check` decides: a
motion that is not feasible is tried slower, in the opposite direction, or smaller.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

from linkwork.machine import Limits, Machine
from linkwork.protocol.errors import RequestError
from linkwork.protocol.results import Checked

Trajectory = dict[str, Any]
SLOW, FAST = 0.4, 0.9
"""Shares of the fastest feasible speed."""
_AMPLITUDE = {True: 0.3, False: 0.05}
"""rad, m: how far a motion goes if it may."""
_LONGEST_S, _SHORTEST_S = 6.0, 0.3
_TRIES = 7


class NoMotion(RuntimeError):
    """No feasible motion was found; the text names the violation of the smallest one."""


class Motions:
    """The standard motions of one machine. home: where every coordinate is at home (rad or m), by name.

    check: the controller's answer to whether a trajectory is feasible.
    """

    def __init__(
        self, machine: Machine, home: Mapping[str, float], check: Callable[[Trajectory], Checked]
    ) -> None:
        self._machine, self._home, self._check = machine, dict(home), check
        self._limits = {limits.name: limits for limits in machine.coordinates}
        self._fastest: dict[tuple[tuple[str, ...], tuple[str, ...]], Trajectory] = {}

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The coordinates in which the file controls motion."""
        return self._machine.goal_coordinates

    @property
    def home(self) -> dict[str, float]:
        """Return the goal coordinates at home, rad or m."""
        return {name: self._home[name] for name in self.coordinates}

    @property
    def slow(self) -> Trajectory:
        """All goal coordinates at once, well below every limit."""
        return self.at_speed(SLOW)

    @property
    def fast(self) -> Trajectory:
        """All goal coordinates at once, near the first limit that is met."""
        return self.at_speed(FAST)

    def at_speed(self, share: float, moving: Sequence[str] | None = None) -> Trajectory:
        """These goal coordinates (None: all), at a share of the fastest feasible speed. Raises NoMotion."""
        names = tuple(moving) if moving is not None else self.coordinates
        return slower(self._found(self.coordinates, names), share)

    def of(self, coordinate: str, share: float = 0.5) -> Trajectory:
        """One goal coordinate, the others held. Raises NoMotion."""
        return self.at_speed(share, (coordinate,))

    @property
    def fast_s(self) -> float:
        """Length of the fast motion, s."""
        return duration_s(self.fast)

    @property
    def turning_point(self) -> dict[str, float]:
        """Return the turning point of the motion of all goal coordinates, by name, rad or m."""
        return dict(zip(self.coordinates, self.slow["points"][1]["positions"], strict=True))

    def jog_speed(self, name: str) -> float:
        """A speed at which this coordinate may be jogged (rad/s or m/s), towards the turning point."""
        limit = min(self._limits[name].velocity, 1.0 if self._limits[name].is_angle else 0.1)
        return math.copysign(0.2 * limit, self.turning_point[name] - self._home[name])

    @property
    def beyond_a_limit(self) -> tuple[str, float]:
        """Return a goal coordinate, and a position 0.1 rad or m beyond its limit.

        Raises NoMotion where no coordinate has limits.
        """
        for name in self.coordinates:
            low, high = self._limits[name].position
            if math.isfinite(high) or math.isfinite(low):
                return name, high + 0.1 if math.isfinite(high) else low - 0.1
        raise NoMotion("no goal coordinate has limits of position")

    @cached_property
    def task(self) -> Trajectory | None:
        """A motion in task coordinates, None where no set of them moves the machine."""
        joints = set(self._machine.mechanism.joint_names)
        names = [name for name in self._limits if name not in joints and "." not in name]
        for chosen in combinations(names, self._machine.dof):
            try:
                return slower(self._found(chosen, chosen), 0.5)
            except (NoMotion, RequestError):
                continue
        return None

    def _found(self, coordinates: tuple[str, ...], moving: tuple[str, ...]) -> Trajectory:
        key = (coordinates, moving)
        if key not in self._fastest:
            self._fastest[key] = self._search(coordinates, moving)
        return self._fastest[key]

    def _search(self, coordinates: tuple[str, ...], moving: tuple[str, ...]) -> Trajectory:
        """The largest feasible motion, at its fastest."""
        why = ""
        for size in _sizes():
            ways = {name: size * self._amplitude(name) for name in moving}
            trajectory = self._out_and_back(coordinates, ways, self._seconds(ways))
            answer = self._check(trajectory)
            if not answer["feasible"] and answer["min_time_stretch"] is not None:
                trajectory = slower(trajectory, 1.0 / answer["min_time_stretch"])
                answer = self._check(trajectory)
            if answer["feasible"] and duration_s(trajectory) <= _LONGEST_S:
                return self._hurried(trajectory, answer["largest_speed"])
            if answer["violations"]:
                why = answer["violations"][0]["text"]
        raise NoMotion(f"no motion of {', '.join(moving)} was found that {self._machine.name} can do: {why}")

    def _hurried(self, trajectory: Trajectory, largest: float) -> Trajectory:
        """The feasible trajectory at its largest feasible speed, no shorter than _SHORTEST_S."""
        for _ in range(_TRIES):
            fits = duration_s(trajectory) / _SHORTEST_S
            faster = slower(trajectory, min(0.98 * largest, fits))
            answer = self._check(faster) if faster != trajectory else None
            if answer is None or not answer["feasible"]:
                return trajectory
            trajectory, before = faster, largest
            largest = answer["largest_speed"]
            if before < 2.0 or largest < 1.05 or fits < 1.05:
                return trajectory
        return trajectory

    def _amplitude(self, name: str) -> float:
        """Return the largest way of this coordinate, to the side with more room."""
        limits, here = self._limits[name], self._home[name]
        low, high = limits.position
        below, above = here - low, high - here
        way = 1.0 if above >= below else -1.0
        return way * min(_AMPLITUDE[limits.is_angle], 0.4 * max(above, below))

    def _seconds(self, ways: Mapping[str, float]) -> float:
        """A length at which every coordinate is at half its limits at most."""
        needed = [_needed_s(self._limits[name], abs(way)) for name, way in ways.items()]
        return 2.0 * min(max(_SHORTEST_S / 2.0, *needed), _LONGEST_S / 2.0)

    def _out_and_back(
        self, coordinates: Sequence[str], ways: Mapping[str, float], seconds: float
    ) -> Trajectory:
        at_home = [self._home[name] for name in coordinates]
        out = [here + ways.get(name, 0.0) for name, here in zip(coordinates, at_home, strict=True)]
        rest = [0.0] * len(coordinates)
        points = [
            {"time_from_start_s": time_s, "positions": place, "velocities": rest, "accelerations": rest}
            for time_s, place in ((0.0, at_home), (seconds / 2.0, out), (seconds, at_home))
        ]
        return {"coordinates": list(coordinates), "points": points}


def slower(trajectory: Trajectory, speed: float) -> Trajectory:
    """Return a trajectory along the same path at `speed` (0 to 1) times its speed, velocities included."""
    points = []
    for point in trajectory["points"]:
        scaled = dict(point) | {"time_from_start_s": point["time_from_start_s"] / speed}
        for key, power in (("velocities", 1), ("accelerations", 2)):
            if point.get(key) is not None:
                scaled[key] = [value * speed**power for value in point[key]]
        points.append(scaled)
    return dict(trajectory) | {"points": points}


def duration_s(trajectory: Trajectory) -> float:
    """When its last way-point is reached, s."""
    return float(trajectory["points"][-1]["time_from_start_s"])


def _sizes() -> Iterator[float]:
    """Whole, half … of the amplitude, each both ways."""
    for halvings in range(_TRIES):
        yield 0.5**halvings
        yield -(0.5**halvings)


def _needed_s(limits: Limits, way: float) -> float:
    """Time for a rest-to-rest quintic of this way at half the limits: peaks 1.875, 5.774 and 60 times."""
    needed = 0.0
    for limit, peak, order in (
        (limits.velocity, 1.875, 1), (limits.acceleration, 5.774, 2), (limits.jerk, 60.0, 3),
    ):  # fmt: skip
        if math.isfinite(limit) and limit > 0.0:
            needed = max(needed, (peak * way / (0.5 * limit)) ** (1.0 / order))
    return needed
