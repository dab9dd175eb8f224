"""Answer to `check`: whether the machine can follow this trajectory, with all violations.

The walk is that of admission, but it does not end at the first violation: all of them are reported.
"""

import math
from collections.abc import Callable
from typing import Any

from linkwork.controller.planning.checks.kinematic_check import LimitCheck
from linkwork.controller.planning.goals.admission import SAFELY, Walked, joined, judge_walk, report_of
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.walk.path_poses import poses_along, poses_map
from linkwork.controller.planning.walk.walk import Walk, walk
from linkwork.machine import Machine
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError

FASTEST = 2.0
"""Largest speed factor of a goal."""


def verdict(
    machine: Machine,
    path: Path,
    start: Start,
    points: int | None,
    more: Callable[[Walk], dict[str, Any]] = lambda _: {},
    poses: int = 0,
) -> dict[str, Any]:
    """The answer of `check` for a path, as plain data (protocol.results.Checked).

    points: how many way-points the path has, None where it has none or is timed. more: further parts of the
    report, from the walk. poses: number of poses along the path in the answer. Raises RequestError for
    anything but INFEASIBLE.
    """
    names = [machine.mechanism.coordinate_names[index] for index in path.coordinates]
    answer: dict[str, Any] = {
        "feasible": False,
        "duration_s": path.duration_s,
        "coordinates": names,
        "full_speed_s": list(path.full_speed),
        "violations": [],
        "min_time_stretch": None,
        "largest_speed": 0.0,
        "report": {},
    }
    walked = walk(machine, path, start.q, start.time_s)
    try:
        found = judge_walk(machine, path, walked, start.temperatures)
    except RequestError as error:
        if error.code != ResultCode.INFEASIBLE:
            raise
        answer["violations"] = [_placed(dict(error.data) | {"text": error.message}, path, points)]
        return answer | _drawn(walked, poses, answer["violations"])
    violations = sorted(
        (demand for demand in found.demands if demand.stretch > 1.0),
        key=lambda demand: (-demand.stretch, -demand.used),
    )
    answer["violations"] = [_placed(_violation(found, demand), path, points) for demand in violations]
    answer["feasible"] = not violations
    stretch = violations[0].stretch * SAFELY if violations else 1.0
    answer["min_time_stretch"] = stretch if math.isfinite(stretch) else None
    answer["largest_speed"] = largest_speed(found)
    answer["report"] = report_of(found, found.efforts.stopping(path.duration_s), 1.0)
    answer["report"] = joined(answer["report"], more(found.walk))
    return answer | _drawn(found.walk, poses, answer["violations"])


def _drawn(walked: Walk, poses: int, violations: list[dict[str, Any]]) -> dict[str, Any]:
    """The poses along the walk, with that of the worst violation."""
    if poses == 0:
        return {}
    worst = violations[0] if violations else None
    found = poses_along(walked, poses, None if worst is None else worst["sample"])
    return {"poses": poses_map(found, None if worst is None else worst["time_s"])}


def largest_speed(found: Walked) -> float:
    """The largest speed, up to FASTEST times the path's own, within every limit; 0: none is."""
    speed = FASTEST
    for demand in found.demands:
        if math.isinf(demand.stretch):
            return 0.0
        if demand.power and demand.used > 0.0:
            speed = min(speed, demand.used ** (-1.0 / demand.power))
    speed = found.efforts.fastest(speed)
    return speed if found.heat is None else found.heat.fastest(speed)


def _violation(found: Walked, demand: LimitCheck) -> dict[str, Any]:
    walk, time_s = found.walk, float(found.walk.s[demand.sample])
    first, last, count = demand.over
    return {
        "quantity": demand.quantity,
        "coordinate": demand.name,
        "value": demand.value,
        "limit": demand.limit,
        "unit": demand.unit,
        "sample": demand.sample,
        "time_s": time_s,
        "piece": int(walk.piece[demand.sample]),
        "from_s": float(walk.s[first]),
        "to_s": float(walk.s[last]),
        "samples": count,
        "min_time_stretch": demand.stretch * SAFELY if math.isfinite(demand.stretch) else None,
        "text": f"{demand.text} at {time_s:.3f} s (sample {demand.sample}), {demand.limit:.6g}"
        f" {demand.unit} is allowed",
    }


def _placed(violation: dict[str, Any], path: Path, points: int | None) -> dict[str, Any]:
    """With the way-point that the machine is on its way to, where there are any."""
    piece = violation.pop("piece", None)
    if points is None or piece is None:
        return violation | {"point": None}
    return violation | {"point": path.way_point_behind(piece, points)}
