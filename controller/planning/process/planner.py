"""From a request to a goal's block, or, for `check`, to a verdict."""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_block import CUBIC, QUINTIC, block_words, check_block
from linkwork.controller.exchange.goal_frame_part import FramePart
from linkwork.controller.exchange.goal_task_part import ONE_LEVEL
from linkwork.controller.exchange.orders import After, Fresh, GoalBegin, Retime, Splice
from linkwork.controller.exchange.shared_memory import SLOT_BYTES
from linkwork.controller.planning.checks.stopping import MOST_WINDOWS
from linkwork.controller.planning.goals.admission import Admitted, admit, joined
from linkwork.controller.planning.goals.appending import appended_start
from linkwork.controller.planning.goals.combined_rows import with_rows
from linkwork.controller.planning.goals.corridors import Corridor
from linkwork.controller.planning.goals.cycles import check_cycle
from linkwork.controller.planning.goals.fastest_goals import (
    check_timed,
    in_fastest_time,
    report_of_timing,
    stands_still,
)
from linkwork.controller.planning.goals.force_goals import (
    complete_pressed,
    force_alone,
    forces_of,
    guard_of,
    refuse_to_take_over,
)
from linkwork.controller.planning.goals.frame_goals import (
    admit_in_frame,
    frame_motions,
    in_world,
    path_with,
    refuse_behind_waiting,
    with_frame,
)
from linkwork.controller.planning.goals.goal_in_motion import GoalInMotion
from linkwork.controller.planning.goals.goal_set import index_of
from linkwork.controller.planning.goals.goal_tasks import GoalTask, missed_by, refuse_beside, rows_of
from linkwork.controller.planning.goals.path_actions import Actions, PlannedActions
from linkwork.controller.planning.goals.path_switches import switching_events, with_switches
from linkwork.controller.planning.goals.retiming import Retimed, retime, rewalk
from linkwork.controller.planning.goals.verdict import verdict
from linkwork.controller.planning.messages.planner_messages import PlannedGoal
from linkwork.controller.planning.messages.planner_start import Present, Start
from linkwork.controller.planning.paths.corners import CornerMetric, path_with_corners
from linkwork.controller.planning.paths.curves import path_along
from linkwork.controller.planning.paths.moves import path_to
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.paths.splines import long_turns, path_through
from linkwork.controller.planning.timing.fastest import FastestTiming
from linkwork.controller.planning.walk.path_poses import GOAL_POSES, poses_along
from linkwork.controller.planning.walk.walk import Walk
from linkwork.machine import Machine
from linkwork.multibody.coordinate_scales import scales
from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.requests import (
    AppendParams,
    CheckParams,
    MoveParams,
    SendParams,
    SpeedParams,
    check_params,
)
from linkwork.protocol.trajectory import TaskParams, Trajectory

CAPACITY = SLOT_BYTES // 8
"""Most words a block may have."""
_MOST_TRIES, _LEAST_STEP = 12, 1.05
_GENTLER = (1.0, 1.3, 2.0)
"""Factors of time for the path of a move in motion, which leaves the present direction the more slowly."""
_SAME_PLACE_S = 1e-9
_ROOM = CAPACITY - 3 * MOST_WINDOWS


@dataclass(frozen=True)
class Plan:
    """An accepted goal: its block, and what people want to know. `coordinates`: names, held ones too.

    `begin`: how it takes over from the goal before it. `q`: the machine's pose where it begins. `limited`:
    why a retimed goal does not get the speed that was asked for. `actions`: see `PlannedActions.as_map`.
    `poses`: see `poses_along`.
    """

    words: Floats
    duration_s: float
    coordinates: tuple[str, ...]
    full_speed: tuple[float, float]
    report: dict[str, Any]
    begin: GoalBegin = field(default_factory=Fresh)
    q: Floats | None = None
    limited: dict[str, Any] | None = None
    actions: dict[str, Any] | None = None
    poses: Floats | None = None

    @property
    def checksum(self) -> int:
        """CRC-32 of the words' bytes."""
        return zlib.crc32(self.words.data.cast("B"))

    def in_slot(self, slot: int) -> PlannedGoal:
        """The plan without its words, which are in this slot."""
        return PlannedGoal(
            slot,
            len(self.words),
            self.checksum,
            self.duration_s,
            self.coordinates,
            self.full_speed,
            self.report,
            self.begin,
            None if self.q is None else tuple(self.q.tolist()),
            self.limited,
            self.actions,
            b"" if self.poses is None else self.poses.tobytes(),
        )


def plan(
    method: str, params: object, machine: Machine, start: Start, running: GoalInMotion | None = None
) -> Plan:
    """Plan a `move`, or the trajectory of `send` or `append`, from `start`, or from the path of the goal
    before it; another `speed` of that goal; or `rewalk`: its rest, as the machine is now.

    params: plain data, or the method's validated model. Raises RequestError: INVALID_PARAMS, INVALID_GOAL,
    INVALID_COORDINATES or INFEASIBLE.
    """
    if running is not None and running.framed and method != "append":
        text = "the active goal is in a moving frame: append behind it, wait until it has ended, or cancel it"
        raise RequestError(RequestCode.BUSY, text)
    if running is not None and len(running.path.task.switches) and method != "append":
        text = "the active goal's events switch constraints: wait until it has ended, or cancel it"
        raise RequestError(RequestCode.BUSY, text)
    if running is not None and len(running.path.task.combinations):
        rows = {f".{i}": row for i, row in enumerate(running.path.task.combinations)}
        machine = machine.combining(rows, [False] * len(rows))
    if method == "rewalk" and running is not None:
        return _retimed(machine, rewalk(machine, running), running.goal, keep_speed=True)
    known = isinstance(params, MoveParams | SendParams | AppendParams | SpeedParams)
    model = params if known else check_params(method, params, machine.aliases)
    begin: GoalBegin = Fresh()
    if isinstance(model, SpeedParams):
        if running is None:
            raise RequestError(RequestCode.WRONG_STATE, "there is no active goal to speed up")
        return _retimed(machine, retime(model, machine, running), running.goal, keep_speed=False)
    if running is not None and running.path.task is not ONE_LEVEL:
        text = "the active goal's motion does not follow from its path alone: wait until it has ended, or"
        raise RequestError(RequestCode.BUSY, f"{text} cancel it")
    machine, start = with_rows(model, machine, start)
    if running is not None:
        start, begin = _junction(machine, model, running)
    if isinstance(model, MoveParams):
        admitted, given = _move(model, machine, start), Trajectory()
    elif isinstance(model, SendParams | AppendParams):
        given = model.trajectory
        admitted = _followed(given, machine, start)
    else:
        raise RequestError(RequestCode.UNSUPPORTED, f"{method} is not a plannable motion")
    path, acting = admitted.path, None
    report = joined(admitted.report, _warnings(machine, given, path))
    if given.acts:
        planned = actions_of(machine, given, path, admitted.walk, begin)
        path, acting = replace(path, actions=planned.part), planned.as_map(path.duration_s)
        report = report | {"events": planned.events}
    path = path.followed()
    missed = missed_by(path, admitted.walk)
    if path.yields:
        names = [machine.mechanism.coordinate_names[i] for i in path.coordinates]
        shown = len(names) - path.held
        report |= {"given_up": dict(zip(names[:shown], missed[:shown].tolist(), strict=True))}
    words = path.pack(machine, admitted.stopping, given.tolerances, given.goal_time_s, missed)
    poses = poses_along(admitted.walk, GOAL_POSES)
    return _plan(machine, words, path, report, begin=begin, q=start.q, actions=acting, poses=poses)


def _warnings(machine: Machine, given: Trajectory, path: Path) -> dict[str, list[str]]:
    """The report's `warnings`, where a trajectory gives cause for some."""
    wraps = machine.mechanism.coordinate_wraps
    found = [*path.notes]
    found += [
        text
        for column, name in enumerate(given.coordinates if given.points else ())
        if wraps[index_of(machine, name, ("trajectory", "coordinates", column))]
        for text in long_turns(given.points or [], name, column)
    ]
    return {"warnings": found} if found else {}


def actions_of(
    machine: Machine, given: Trajectory, path: Path, walk: Walk, begin: GoalBegin
) -> PlannedActions:
    """Plan what a trajectory does beside moving: events, followers, condition, captures. Raises RequestError.

    given: the trajectory as requested; path, walk: as admitted; begin: where the goal begins.
    """
    points = given.points
    marks = path.way_points_s
    times = np.zeros(0) if points is None else marks[len(marks) - len(points) :]
    return Actions(machine, given, walk, times).planned(begin)


def _plan(machine: Machine, words: Floats, path: Path, report: dict[str, Any], **more: Any) -> Plan:
    if len(words) > CAPACITY:
        text = f"the goal needs {len(words)} words, at most {CAPACITY} fit: fewer way-points or followers"
        raise RequestError(ResultCode.INVALID_GOAL, text, ("trajectory",))
    wrong = check_block(words)
    if wrong:
        raise RequestError(RequestCode.INTERNAL, f"the planned goal is damaged: {wrong}")
    names = tuple(machine.mechanism.coordinate_names[index] for index in path.coordinates)
    return Plan(words, path.duration_s, names, path.full_speed, report, **more)


def _retimed(machine: Machine, made: Retimed, goal: int, *, keep_speed: bool) -> Plan:
    begin = Retime(goal, made.fraction, keep_speed)
    return _plan(machine, made.words, made.path, made.report, begin=begin, limited=made.limited)


def _junction(machine: Machine, params: object, running: GoalInMotion) -> tuple[Start, GoalBegin]:
    """Return the point at which the new goal takes over: that of the gateway, or of an appended goal."""
    end = running.path.duration_s
    before, force, guard = running.path.forces, dict[str, Any](), dict[str, float]()
    where: tuple[str, ...] = ("trajectory",)
    if isinstance(params, SendParams | AppendParams):
        force, guard = dict(params.trajectory.force), params.trajectory.guard
        if not running.begun:
            refuse_behind_waiting(params.trajectory)
    elif isinstance(params, MoveParams):
        guard, where = params.until_force, ()
    if isinstance(params, AppendParams):
        if before is not None and before.guard:
            text = (
                "a guarded move ends at contact, at a position that is not known in advance: send this"
                " goal after it has ended"
            )
            raise RequestError(ResultCode.INVALID_GOAL, text, where)
        if running.framed:
            start, s = running.start(machine, end), end
        else:
            start, s = appended_start(machine, params.trajectory, running)
        done = s >= running.path.full_speed[1] - _SAME_PLACE_S
        code = ResultCode.SUCCESSFUL if done else ResultCode.REPLACED
    else:
        s, code = running.s, ResultCode.REPLACED
        start = running.start(machine)
    if s >= end:
        return start, After(running.goal)
    if guard:
        text = "a guarded move takes what it feels at rest for nothing: it cannot replace a goal under way"
        raise RequestError(ResultCode.INVALID_GOAL, text, (*where, "guard" if where else "until_force"))
    refuse_to_take_over(machine, before, force, where)
    return start, Splice(running.goal, s, running.rate, code)


def judge(params: object, machine: Machine, start: Start) -> dict[str, Any]:
    """Answer `check`: walk along the trajectory, or the move, and report all violations.

    Raises RequestError where there is no path to walk: INVALID_PARAMS, INVALID_GOAL, INVALID_COORDINATES.
    """
    model = params if isinstance(params, CheckParams) else check_params("check", params, machine.aliases)
    machine, start = with_rows(model, machine, start)
    given, shown = model.trajectory, model.poses
    if given is None:
        return verdict(machine, _move_to_check(model, machine, start), start, None, poses=shown)
    path, points = _trajectory(given, machine, start), given.points
    more: dict[str, Any] = {}

    def acting(walk: Walk) -> dict[str, Any]:
        events = actions_of(machine, given, path, walk, Fresh()).events if given.acts else None
        return _warnings(machine, given, path) | ({} if events is None else {"events": events}) | more

    count = None if points is None else len(points)
    if given.timing == "fastest" and not stands_still(path):
        try:
            timing, path, saved = _timed(given, machine, start, path)
        except RequestError as error:
            if error.code != ResultCode.INFEASIBLE:
                raise
        else:
            more = {"timing": report_of_timing(machine, timing, path, full=True) | saved}
            path, count = timing.path, None
    if path.frame is not None:
        return _judged_in_frame(machine, path, path.frame, start, acting, shown)
    return verdict(machine, path, start, count, acting, shown)


def _move_to_check(params: CheckParams, machine: Machine, start: Start) -> Path:
    """The path of a move as it would be admitted, or as it would have been refused."""
    share = {name: getattr(params, name) for name in TaskParams.model_fields}
    asked = MoveParams(target=params.target, speed=params.speed).model_copy(update=share)
    try:
        return _move(asked, machine, start).path
    except RequestError as error:
        if error.code != ResultCode.INFEASIBLE:
            raise
    present, target, rows = _ends_of_move(asked, machine, start)
    return rows.shared(path_to(machine, present, target, 1.0 / params.speed))


def _judged_in_frame(
    machine: Machine,
    path: Path,
    part: FramePart,
    start: Start,
    acting: Callable[[Walk], dict[str, Any]],
    poses: int,
) -> dict[str, Any]:
    """The answer for the first motion of the frame that is not feasible, or for the last one."""
    found: dict[str, Any] = {}
    for motion in frame_motions(machine.frames[part.frame], part):
        found = verdict(machine, path_with(path, motion), start, None, acting, poses)
        if not found["feasible"]:
            return {**found, "frame_motion": motion.about}
    admit_in_frame(machine, path, start)
    return found


def _move(params: MoveParams, machine: Machine, start: Start) -> Admitted:
    """The quickest move that is admitted, then as much slower as was asked for.

    A move that begins in motion cannot be stretched as a whole: its limits are lowered until it is admitted.
    """
    present, target, rows = _ends_of_move(params, machine, start)
    if params.timing == "fastest":
        others = {"until_force": params.until_force, "speed": params.speed < 1.0}
        _refuse_with_fastest(others, ())
        ways = _GENTLER if present.moving else (1.0,)
        for factor in ways:
            path = rows.shared(path_to(machine, present, target, factor))
            if stands_still(path):
                return admit(machine, path, start, where=("target",))
            try:
                timing = in_fastest_time(machine, path, start, params.margin, ("target",))
                return _fastest(machine, start, (timing, path, {}), ("target",))
            except RequestError as error:
                if factor == ways[-1] or error.code != ResultCode.INFEASIBLE:
                    raise
    if present.moving:
        return _move_on(machine, present, target, 1.0 / params.speed, start)
    path = rows.shared(path_to(machine, present, target))
    guard = guard_of(machine, params.until_force, path.coordinates, start, ("until_force",))
    admitted = admit(machine, replace(path, forces=guard), start, may_stretch=True, where=("target",))
    if params.speed == 1.0:
        return admitted
    slower = admitted.path.stretched(1.0 / params.speed)
    return admit(machine, slower, start, may_stretch=True, where=("target",))


def _ends_of_move(params: MoveParams, machine: Machine, start: Start) -> tuple[Present, Floats, GoalTask]:
    """Begin of a move, its target (k), and how its coordinates share the motion."""
    named = [index_of(machine, name, ("target", name)) for name in params.target]
    rows = rows_of(params, machine, named, start, ("target",))
    refuse_beside(rows, {"until_force": params.until_force}, ())
    present = start.present(machine, rows.chosen)
    return present, _with(present, named, params.target.values()), rows


def _move_on(machine: Machine, present: Present, target: Floats, slower: float, start: Start) -> Admitted:
    for _ in range(_MOST_TRIES):
        path = path_to(machine, present, target, slower)
        try:
            return admit(machine, path, start, where=("target",))
        except RequestError as error:
            stretch = error.data.get("min_time_stretch")
            if stretch is None:
                raise
            refused = error
            slower *= max(float(stretch), _LEAST_STEP)
    raise refused


def _followed(trajectory: Trajectory, machine: Machine, start: Start) -> Admitted:
    """The trajectory as it is, or a refusal that leads to the way-point behind the offending sample."""
    path = _trajectory(trajectory, machine, start)
    try:
        if trajectory.timing == "fastest" and not stands_still(path):
            return _fastest(machine, start, _timed(trajectory, machine, start, path))
        return admit(machine, path, start) if path.frame is None else admit_in_frame(machine, path, start)
    except RequestError as error:
        where = error.path or ("trajectory",)
        piece = error.data.get("piece")
        if trajectory.points is not None and piece is not None:
            where = ("trajectory", "points", path.way_point_behind(piece, len(trajectory.points)))
        raise RequestError(error.code, error.message, where, error.data) from None


Timed = tuple[FastestTiming, Path, dict[str, Any]]
"""A timing, its path as it was before, and further parts of the timing's report."""


def _timed(trajectory: Trajectory, machine: Machine, start: Start, path: Path) -> Timed:
    """The fastest timing of a trajectory's path, or of a faster path within its corridors."""
    corridor = Corridor(machine, trajectory, start, lambda given: _trajectory(given, machine, start))
    timing = in_fastest_time(machine, path, start, trajectory.margin)
    return corridor.bent(timing, path) if trajectory.bends else (timing, path, {})


def _fastest(
    machine: Machine, start: Start, timed: Timed, where: tuple[str, ...] = ("trajectory",)
) -> Admitted:
    timing, path, saved = timed
    try:
        admitted = admit(machine, timing.path, start, where=where)
    except RequestError as error:  # its pieces are not those between way-points
        data = {key: value for key, value in error.data.items() if key != "piece"}
        raise RequestError(error.code, error.message, where, data) from None
    report = admitted.report | {"timing": report_of_timing(machine, timing, path, full=False) | saved}
    return replace(admitted, report=report)


def _refuse_with_fastest(others: Mapping[str, Any], where: tuple[str, ...]) -> None:
    """Raise RequestError (INVALID_GOAL) where a goal with `timing: fastest` has these parts."""
    for name, part in others.items():
        if part:
            text = f"`{name}` changes the motion of a goal with `timing: fastest`: leave one of them out"
            raise RequestError(ResultCode.INVALID_GOAL, text, (*where, name))


def _trajectory(trajectory: Trajectory, machine: Machine, start: Start) -> Path:
    where = ("trajectory", "coordinates")
    named = [index_of(machine, name, (*where, at)) for at, name in enumerate(trajectory.coordinates)]
    forces = forces_of(trajectory, machine)
    gaps: tuple[int, ...] = ()
    rows = GoalTask(())
    events = switching_events(machine, trajectory)
    if events and forces is not None:
        text = "a goal with `force` keeps the constraints that hold: set the outputs that they follow before"
        raise RequestError(ResultCode.INVALID_GOAL, text, ("trajectory", "events", events[0][0]))
    if forces is None:
        rows = rows_of(trajectory, machine, named, start, where, crosses=bool(events))
        refuse_beside(rows, {"guard": trajectory.guard}, where[:1])
        chosen = rows.chosen
    else:
        chosen, gaps = complete_pressed(machine, named, forces, start, where)
    forces = guard_of(machine, trajectory.guard, chosen, start, ("trajectory", "guard"), forces)
    present = start.present(machine, (*chosen, *gaps))
    if trajectory.force_alone and forces is not None:
        return replace(force_alone(machine, forces, present), forces=forces, gaps=len(gaps))
    trajectory, frame = in_world(machine, trajectory, named, start)
    path = _through(trajectory, machine, present, named)
    if trajectory.timing == "fastest" and not trajectory.cornered:
        check_timed(trajectory, path)
    if frame is not None:
        refuse_beside(rows, {"in": frame}, where[:1])
        path = with_frame(path, frame, named)
    if trajectory.cycle:
        check_cycle(machine, path, present)
    path = replace(rows.shared(path), forces=forces, gaps=len(gaps), cycle=trajectory.cycle)
    return with_switches(machine, trajectory, path, start) if events else path


def _through(trajectory: Trajectory, machine: Machine, present: Present, named: Sequence[int]) -> Path:
    """The path of way-points or of the curve, in all of the present coordinates."""
    if trajectory.points is not None:
        _check_count(trajectory, len(present.theta))
        columns = [present.coordinates.index(one) for one in named]
        if not trajectory.cornered:
            return path_through(trajectory.points, columns, present)
        is_angle = np.array([machine.coordinates[index].is_angle for index in present.coordinates])
        metric = CornerMetric(is_angle, scales(machine.mechanism, present.coordinates)[0])
        return path_with_corners(trajectory, columns, present, metric)
    assert trajectory.curve is not None, "read_trajectory has made sure"
    kept = [index_of(machine, name, ("trajectory", "hold", name)) for name in trajectory.hold]
    held = _with(present, kept, trajectory.hold.values())
    columns = [present.names.index(name) for name in trajectory.curve.of]
    ramp_s = trajectory.entry.ramp_s if trajectory.entry else 0.0
    return path_along(trajectory.curve, ramp_s, columns, present, held, _ROOM)


def _with(present: Present, indices: Sequence[int], values: Iterable[float]) -> Floats:
    """The present coordinates with some replaced, whole turns off where that is nearer."""
    changed = present.theta.copy()
    for index, value in zip(indices, values, strict=True):
        changed[present.coordinates.index(index)] = value
    return np.asarray(changed + present.nearest(changed))


def _check_count(trajectory: Trajectory, coordinates: int) -> None:
    """Check before any work that this many way-points fit into a block."""
    points, cornered = trajectory.points or [], trajectory.cornered
    rows = QUINTIC if cornered or points[0].accelerations is not None else CUBIC
    words = (3 if cornered else 1) * (1 + rows * coordinates)
    most = (_ROOM - block_words(coordinates, rows, 0, 0)) // words
    if len(points) > most:
        text = f"{len(points)} way-points in {coordinates} coordinates do not fit; at most {most} do"
        data = {"value": len(points), "limit": most}
        raise RequestError(ResultCode.INVALID_GOAL, text, ("trajectory", "points"), data)
