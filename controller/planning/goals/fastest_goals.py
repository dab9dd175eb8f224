"""Goals with `timing: fastest`: what they may have beside it, and the refusals of their paths."""

import math
from typing import Any

import numpy as np

from linkwork.controller.exchange.goal_task_part import ONE_LEVEL
from linkwork.controller.planning.goals.admission import judge_walk, refuse_demand, walk_through
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.paths.splines import refuse_doubled
from linkwork.controller.planning.timing.fastest import MORE, FastestTiming, along, fastest
from linkwork.controller.planning.timing.profile import NoProfile
from linkwork.controller.planning.timing.stations import Stations
from linkwork.machine import Machine
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import Trajectory

_STILL = 1e-9
_TRIES = 4
_SHARES, _BEGINNING = (1.0, 0.99, 0.95), 0.01
"""Of every limit, tried in turn for a path that begins in motion, and so cannot be slowed down as a whole.
They do not help in the share of the time behind its beginning.
"""
_SHOWN = 200
Where = tuple[str | int, ...]


def in_fastest_time(
    machine: Machine, path: Path, start: Start, margin: float, where: Where = ("trajectory",)
) -> FastestTiming:
    """Return the path with the fastest time law that the machine's limits admit.

    margin: share of every limit that may be used. where: the goal's place, for errors. Raises RequestError:
    INVALID_GOAL for a goal that cannot be timed, INFEASIBLE as admission.
    """
    part = "a force" if path.forces is not None else "a moving frame" if path.frame is not None else None
    if part is None and len(path.task.switches):
        part = "events that switch constraints"
    if part is None and path.task is not ONE_LEVEL:
        part = "motions that its coordinates leave free"
    if part is not None:
        text = f"`timing: fastest` times the path alone, and this goal has {part}: leave `timing` out"
        field = ("timing",) if where == ("target",) else (*where, "timing")
        raise RequestError(ResultCode.INVALID_GOAL, text, field)
    try:
        return _timed(machine, path, start, margin)
    except RequestError as error:
        field = (*where, "timing") if start.moving and where != ("target",) else where
        raise RequestError(error.code, error.message, field, error.data) from None


def _timed(machine: Machine, path: Path, start: Start, margin: float) -> FastestTiming:
    stations = along(machine, path, start.q, start.time_s, margin, start.moving)
    if stations.plain.reached < len(stations.plain.s):
        walk_through(machine, path, start)
    found = judge_walk(machine, path, stations.plain)
    for demand in found.demands:
        if math.isinf(demand.stretch):
            refuse_demand(found, demand)
    refused: NoProfile | None = None
    for share in _SHARES if start.moving else (1.0,):
        try:
            timing = fastest(machine, stations, start.time_s, margin, share)
        except NoProfile as failed:
            refused = failed
            continue
        if not start.moving:
            return timing.admitted(lambda timed: walk_through(machine, timed, start).worst.stretch, _TRIES)
        judged = walk_through(machine, timing.path, start)
        if judged.worst.stretch == 1.0:
            return timing
        if judged.walk.s[judged.worst.sample] < _BEGINNING * timing.path.duration_s:
            break
    if refused is None:
        refuse_demand(judged, judged.worst)
    raise _refusal(stations, refused, start)


def _refusal(stations: Stations, refused: NoProfile, start: Start) -> RequestError:
    sample = refused.sample
    at = {"sample": sample, "time_s": float(stations.plain.s[sample])}
    text = f"there is no fastest timing from {at['time_s']:.3f} s of the path on: {refused.cause}"
    data: dict[str, Any] = {**at, "min_time_stretch": None}
    if start.moving:
        text += ". It begins in motion: leave `timing` out, or append it, so that it begins at rest"
    else:
        data["piece"] = int(stations.plain.piece[sample])
    return RequestError(ResultCode.INFEASIBLE, text, (), data)


def stands_still(path: Path) -> bool:
    """Whether a path goes nowhere, so that there is nothing to time."""
    return bool(np.abs(np.diff(path.values[:, 0], axis=0)).max() <= _STILL)


def check_timed(trajectory: Trajectory, path: Path) -> None:
    """Refuse way-points at which a path with `timing: fastest` would stand still. Raises RequestError."""
    points = trajectory.points or []
    added = len(path.knots) - len(points)
    still = np.abs(np.diff(path.values[:, 0], axis=0)).max(axis=1) <= _STILL
    for piece in np.flatnonzero(still if points else ()).tolist():
        refuse_doubled(max(piece + 1 - added, 0))
    for index, point in enumerate(points):
        stops = point.velocities is not None and not np.any(np.abs(point.velocities) > _STILL)
        if stops and 0 < index + added < len(path.knots) - 1:
            text = (
                f"the path stops at way-point {index}: with `timing: fastest` leave its velocities out,"
                " or send two goals to rest there"
            )
            raise RequestError(ResultCode.INVALID_GOAL, text, ("trajectory", "points", index, "velocities"))


def report_of_timing(machine: Machine, timing: FastestTiming, given: Path, *, full: bool) -> dict[str, Any]:
    """Return the part `timing` of a goal's report.

    full: also the coordinates along the path, and, solved again, what larger limits would save.
    """
    path = timing.path
    report: dict[str, Any] = {
        "given_s": given.duration_s,
        "duration_s": path.duration_s,
        "limits": timing.table(),
        "stretches": timing.stretches(),
    }
    if not full:
        return report
    at = np.unique(np.linspace(0, len(path.knots) - 1, _SHOWN).round().astype(np.int64))
    names = [machine.mechanism.coordinate_names[index] for index in path.coordinates]
    shown = {
        "time_s": path.knots[at].tolist(),
        "positions": dict(zip(names, path.values[at, 0].T.tolist(), strict=True)),
        "units": {name: machine.coordinates[i].unit for name, i in zip(names, path.coordinates, strict=True)},
    }
    return report | {"savings": timing.savings(), "factor": MORE, "path": shown}
