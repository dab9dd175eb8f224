"""Way-points that may lie anywhere in a box: the places for which the fastest timing is shortest.

A search without derivatives (COBYLA) compares the times of second or third order on few stations, from the
path as given. The path that it finds is then timed and admitted as any other, and followed if it is faster.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.planning.goals.admission import judge_walk
from linkwork.controller.planning.goals.fastest_goals import in_fastest_time
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.timing.fastest import FastestTiming, along, uncorrected_duration
from linkwork.controller.planning.timing.profile import NoProfile
from linkwork.machine import Machine
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import Trajectory

_INTERVALS = 40
_SOLVES, _MOST_SOLVES = 12, 80
"""Of the search: for each free number and one more, and in all."""
_FIRST_STEP, _LAST_STEP = 0.25, 0.01
"""Of the search, in shares of a box."""
_REFUSED = 2.0
"""Time that a path counts with that cannot be followed, in shares of that of the path as given."""


@dataclass(frozen=True)
class Corridor:
    """A trajectory with boxes for some of its way-points, and how to make its path from their places."""

    machine: Machine
    trajectory: Trajectory
    start: Start
    path_of: Callable[[Trajectory], Path]

    def __post_init__(self) -> None:
        boxes = [index for index, point in enumerate(self.trajectory.points or ()) if point.between]
        if boxes and self.start.moving:
            text = (
                "a goal that takes over in motion cannot wait for a search: leave `between` out, or append it"
            )
            where = ("trajectory", "points", boxes[0], "between")
            raise RequestError(ResultCode.INVALID_GOAL, text, where)

    def bent(self, timing: FastestTiming, path: Path) -> tuple[FastestTiming, Path, dict[str, Any]]:
        """Return the faster one of the path as given, with its timing, and of the best path that is found,
        and what the report of the timing says about it.
        """
        straight_s, best = timing.path.duration_s, self.trajectory
        solves, found = self._searched(straight_s)
        if found is not None:
            try:
                other = self.path_of(found)
                faster = in_fastest_time(self.machine, other, self.start, found.margin)
            except RequestError:  # it was compared without corrections
                faster = timing
            if faster.path.duration_s < straight_s:
                timing, path, best = faster, other, found
        chosen = [
            {"point": index, "positions": point.positions}
            for index, point in enumerate(best.points or [])
            if point.between
        ]
        saved = {"straight_s": straight_s, "saves_s": straight_s - timing.path.duration_s}
        return timing, path, {"corridor": saved | {"solves": solves, "points": chosen}}

    def _searched(self, straight_s: float) -> tuple[int, Trajectory | None]:
        """Number of paths that were compared, and the quickest of them if it is not the one as given."""
        from scipy.optimize import minimize  # a planner starts without it

        points = self.trajectory.points or []
        boxes = {index: np.sort(point.between, axis=0) for index, point in enumerate(points) if point.between}
        low, high = (np.concatenate([box[side] for box in boxes.values()]) for side in (0, 1))
        place = np.concatenate([points[index].positions for index in boxes])
        free = high > low
        width = (high - low)[free]
        times: list[float] = []
        quickest = None

        def share_of_time(shares: Floats) -> float:
            nonlocal quickest
            there = place.copy()
            there[free] = low[free] + np.clip(shares, 0.0, 1.0) * width
            rows = dict(zip(boxes, there.reshape(len(boxes), -1).tolist(), strict=True))
            moved = [
                point.model_copy(update={"positions": rows[index]}) if index in rows else point
                for index, point in enumerate(points)
            ]
            tried = self.trajectory.model_copy(update={"points": moved})
            time_s = self._uncorrected_s(tried)
            if times and time_s < min(times):
                quickest = tried
            times.append(time_s)
            return min(time_s / straight_s, _REFUSED)

        minimize(
            share_of_time, (place - low)[free] / width, method="COBYLA", bounds=[(0.0, 1.0)] * len(width),
            tol=_LAST_STEP,
            options={"maxiter": min(_SOLVES * (len(width) + 1), _MOST_SOLVES), "rhobeg": _FIRST_STEP},
        )  # fmt: skip
        return len(times), quickest

    def _uncorrected_s(self, trajectory: Trajectory) -> float:
        """Time of the trajectory's path on few stations; infinite where it cannot be followed."""
        try:
            path = self.path_of(trajectory)
            stations = along(
                self.machine, path, self.start.q, self.start.time_s, trajectory.margin, False, _INTERVALS
            )
            if stations.plain.reached < len(stations.plain.s):
                return math.inf
            judged = judge_walk(self.machine, path, stations.plain)
            if any(math.isinf(demand.stretch) for demand in judged.demands):
                return math.inf
            return uncorrected_duration(self.machine, stations)
        except (NoProfile, RequestError):
            return math.inf
