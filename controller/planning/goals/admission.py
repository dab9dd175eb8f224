"""Whether the machine can follow a path: the whole of it is walked before the goal is accepted.

Looked at: can every sample be reached, and how far is it from a singular pose; positions, velocities,
accelerations and jerks of joints and goal coordinates; efforts, their rates, and room to stop anywhere. A
refusal says which sample, which coordinate, by how much, and the smallest stretch of time that would make the
goal feasible.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_force_part import ForcePart
from linkwork.controller.exchange.goal_task_part import LEAST, ONE_LEVEL
from linkwork.controller.planning.checks.effort_check import Efforts
from linkwork.controller.planning.checks.heat_check import Heat, heat_of
from linkwork.controller.planning.checks.kinematic_check import SLOWEST, LimitCheck, demands, rate
from linkwork.controller.planning.checks.load_check import bearing_demands, touched
from linkwork.controller.planning.checks.singularity import (
    LARGEST_KEPT_ROW,
    Closest,
    light_joints,
    singularities,
    smallest_singular_value,
    what_is_stretched,
)
from linkwork.controller.planning.checks.workspace_check import region_demands
from linkwork.controller.planning.goals.force_goals import approach_limit
from linkwork.controller.planning.goals.goal_tasks import check_agreement
from linkwork.controller.planning.goals.kept_bounds import kept_demands, kept_row_lengths
from linkwork.controller.planning.goals.path_switches import check_crossings
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.walk.walk import Walk, opened, walk
from linkwork.machine import Machine
from linkwork.machine.checks.controllability import LEAST_LEVERAGE
from linkwork.multibody.constraints import ExpressionConstraint
from linkwork.multibody.coordinate_scales import SINGULAR_BELOW
from linkwork.multibody.dynamics.reduced_mass import LEAST_INERTIA
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError

SAFELY = 1.005
"""On top of a stretch: samples of the stretched path lie elsewhere and may see slightly more."""


UNDRIVEN = "motions that the coordinates leave free are not driven: damp them by `rest: damp`"
MOST_TRIES = 4
"""Times that a goal is slowed down where speed has other causes than the path: motions that are left free, or
constraints that move."""


@dataclass(frozen=True)
class Admitted:
    """A path that the machine can follow, its table of stopping limits, the findings as plain data, and the
    walk along it.

    `report` has
    `duration_s`, `samples`, `time_stretch`;
    `stop`: `slowest_s`, `time_s`;
    `limits`: quantity → name → {value, limit, unit, used, time_s}, the most of everything that has a limit;
    `effort_peaks`: motor → {value (signed), limit, unit, used, sample, time_s} at the path's own speed;
    `heat`, where motors have a continuous effort: see `Heat.report`; `warnings`: texts, where there are some;
    `singularities`: `goal`, `closures`, `motors` → {smallest, sample, time_s[, limit]} or None, see
    `singularities`; `singularity`: the same as its `goal`.
    """

    path: Path
    stopping: Floats
    report: dict[str, Any]
    walk: Walk


def admit(
    machine: Machine,
    path: Path,
    start: Start,
    *,
    may_stretch: bool = False,
    since: float = 0.0,
    where: Sequence[str | int] = (),
) -> Admitted:
    """Walk the path and admit or refuse it. With `may_stretch` a path that is too fast is slowed down
    instead. What lies before the path parameter `since` is over, and not judged.

    Raises RequestError (INFEASIBLE) with data `quantity`, `sample`, `time_s`, `coordinate`, `value`, `limit`,
    `unit` and `min_time_stretch` (nil when no stretch helps). `where` is the path of the refused parameter.
    """
    try:
        return _admit(machine, path, start, may_stretch, since)
    except RequestError as error:
        raise RequestError(error.code, error.message, where, error.data) from None


@dataclass(frozen=True)
class Walked:
    """A reachable path away from singular poses, with its demands at every sample."""

    path: Path
    walk: Walk
    singularity: Closest
    efforts: Efforts
    demands: tuple[LimitCheck, ...]
    heat: Heat | None = None

    @property
    def worst(self) -> LimitCheck:
        """The demand that needs the largest stretch of time."""
        return max(self.demands, key=lambda demand: (demand.stretch, demand.used))


def walk_through(machine: Machine, path: Path, start: Start, since: float = 0.0) -> Walked:
    """Walk the whole path, and judge it from `since` on. Raises RequestError (INFEASIBLE): out of reach,
    singular, or at rest at a branch.
    """
    walked = walk(machine, path, start.q, start.time_s)
    if walked.reached == len(walked.s):
        walked = walked.since(since)
    return judge_walk(machine, path, walked, start.temperatures)


def judge_walk(machine: Machine, path: Path, walked: Walk, temperatures: Sequence[float] = ()) -> Walked:
    """Judge the walk along a path, see `walk_through`. temperatures: of the motors, see `Heat`."""
    singular = _check_poses(machine, path, walked)
    more: tuple[LimitCheck, ...] = ()
    if path.forces is not None:
        walked, more = with_forces(machine, walked, path.forces)
    efforts = Efforts(machine, walked)
    heat = heat_of(machine, walked, efforts, temperatures, path.cycle)
    found = (
        *demands(machine, walked, path.coordinates),
        *efforts.demands(),
        *bearing_demands(machine, walked, efforts),
        *_regions(machine, walked),
        *(() if heat is None else heat.demands()),
        *kept_demands(machine, path, walked),
        *more,
    )
    return Walked(path, walked, singular, efforts, found, heat)


def with_forces(machine: Machine, walked: Walk, part: ForcePart) -> tuple[Walk, tuple[LimitCheck, ...]]:
    """The walk with what its contacts ask of the motors, and the demand on a guard's speed of approach."""
    efforts, approach = touched(machine, walked, part)
    if len(part.pressed):
        walked = replace(walked, rest=walked.rest + efforts)
        walked = opened(machine, walked, part)
    if not part.guard:
        return walked, ()
    name = machine.force_rows[int(part.rows[0])].name
    nearing = np.minimum(approach, 0.0)
    return walked, (rate("approach speed", name, "m/s", nearing, approach_limit(machine, part), 1),)


def _regions(machine: Machine, walked: Walk) -> Iterable[LimitCheck]:
    """Demands from the file's workspace section, where there is one."""
    if not machine.regions:
        return ()

    return region_demands(machine, walked)


def _admit(machine: Machine, path: Path, start: Start, may_stretch: bool, since: float) -> Admitted:
    stretched, tries = 1.0, 0
    moving = any(
        isinstance(each, ExpressionConstraint) and each.moves_with_time
        for each in machine.mechanism.constraints
    )
    scales = path.task is ONE_LEVEL and not moving
    """Whether velocities of all joints are those of the path, and so fall as it is slowed down."""
    while True:
        found = walk_through(machine, path, start, since)
        worst = found.worst
        if worst.stretch == 1.0:
            break
        tries += 1
        slower_helps = scales or tries <= MOST_TRIES
        if not (may_stretch and slower_helps) or stretched * worst.stretch > SLOWEST:
            refuse_demand(found, worst)
        stretched *= worst.stretch * SAFELY
        since *= worst.stretch * SAFELY
        path = path.stretched(worst.stretch * SAFELY)
    stopping = found.efforts.stopping(path.duration_s)
    return Admitted(path, stopping, report_of(found, stopping, stretched), found.walk)


def report_of(found: Walked, stopping: Floats, stretched: float) -> dict[str, Any]:
    """Return the findings as plain data; stopping (3 × windows): see `stopping_tables`."""
    crossed = [crossing.as_map() for crossing in found.walk.crossings]
    report: dict[str, Any] = ({"switches": crossed} if crossed else {}) | {
        "duration_s": found.path.duration_s,
        "samples": len(found.walk.s),
        "time_stretch": stretched,
        "stop": _stop_report(stopping, found.path.duration_s),
        "singularity": found.singularity,
        "singularities": singularities(found.walk, found.singularity),
        "effort_peaks": found.efforts.peaks(),
        "limits": _limit_report(found.walk, found.demands),
    }
    if found.heat is not None:
        report["heat"] = heat = found.heat.report()
        if warnings := found.heat.warnings(heat):
            report["warnings"] = warnings
    return report


def joined(report: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report with further parts; the warnings of both."""
    warnings = [*report.get("warnings", ()), *more.get("warnings", ())]
    return {**report, **more, **({"warnings": warnings} if warnings else {})}


def _check_poses(machine: Machine, path: Path, walked: Walk) -> Closest:
    """Refuse a path out of reach or too close to a singular pose; report how close it comes."""
    check_crossings(machine, path, walked)
    if walked.reached < len(walked.s):
        sample = walked.reached
        where, at = _position(machine, path, walked, sample), _told(machine, path, walked, sample)
        text = f"the machine cannot reach {at} at {walked.s[sample]:.3f} s (sample {sample})"
        text += f": {what_is_stretched(machine.mechanism, path.coordinates, walked.q[max(sample - 1, 0)])}"
        if path.task.rest == LEAST:
            text += f"; {UNDRIVEN}"
        data: dict[str, Any] = {"quantity": "reach", "position": where, "coordinate": next(iter(where))}
        _refuse(text, walked, sample, data)
    if walked.ends_at_branch:
        sample = len(walked.s) - 1
        where, at = _position(machine, path, walked, sample), _told(machine, path, walked, sample)
        text = (
            f"the path ends at {at}, where branches of the closures meet: from rest, no effort could select"
            " the branch. Pass that pose in motion, and end outside it"
        )
        _refuse(
            text, walked, sample, {"quantity": "branch", "position": where, "coordinate": next(iter(where))}
        )
    check_agreement(machine, path, walked)
    _check_leverage(machine, path, walked)
    _check_inertia(machine, path, walked)
    _check_kept(machine, path, walked)
    own = machine.joint_coordinates
    if own == machine.mechanism.nv and set(path.coordinates) == set(range(own)):
        return None
    sample = int(np.argmin(walked.hold))
    value = float(walked.hold[sample])
    if path.task is ONE_LEVEL:
        value = smallest_singular_value(machine.mechanism, path.coordinates, walked.q[sample])
    if value < SINGULAR_BELOW:
        names = ", ".join(machine.mechanism.coordinate_names[index] for index in path.coordinates)
        text = (
            f"{names} are singular at {walked.s[sample]:.3f} s (sample {sample}):"
            f" smallest singular value {value:.3g}, at least {SINGULAR_BELOW:g} is needed. Avoid that pose,"
            " or move in joint coordinates"
        )
        _refuse_pose(machine, path, walked, sample, text, ("singularity", value, SINGULAR_BELOW, names))
    return {
        "smallest": value,
        "sample": sample,
        "time_s": float(walked.s[sample]),
        "limit": SINGULAR_BELOW,
    }


def _check_leverage(machine: Machine, path: Path, walked: Walk) -> None:
    """Refuse a path on which the motors are singular."""
    if walked.leverage is None or walked.leverage.min() >= LEAST_LEVERAGE:
        return
    sample = int(np.argmin(walked.leverage))
    value = float(walked.leverage[sample])
    text = (
        f"the motors cannot control one motion at {walked.s[sample]:.3f} s (sample {sample}):"
        f" smallest singular value {value:.3g}, at least {LEAST_LEVERAGE:g} is needed."
        " Avoid that pose"
    )
    names = ", ".join(motor.joint for motor in machine.motors)
    _refuse_pose(machine, path, walked, sample, text, ("leverage", value, LEAST_LEVERAGE, names))


def _check_inertia(machine: Machine, path: Path, walked: Walk) -> None:
    """Refuse a path on which joints move against each other with hardly any inertia."""
    if walked.shares.min(initial=1.0) >= LEAST_INERTIA:
        return
    sample = int(np.argmin(walked.shares))
    value, names = float(walked.shares[sample]), ", ".join(light_joints(machine, walked, sample))
    text = (
        f"{names} move against each other with hardly any inertia at {walked.s[sample]:.3f} s (sample"
        f" {sample}): {value:.2g} of their inertia, at least {LEAST_INERTIA:g} is required. No effort"
        " controls such a motion. Avoid that pose, or give these joints an armature"
    )
    _refuse_pose(machine, path, walked, sample, text, ("inertia", value, LEAST_INERTIA, names))


def _check_kept(machine: Machine, path: Path, walked: Walk) -> None:
    """Refuse a path on which a kept coordinate is hardly determined, as yaw is near a pitch of 90°."""
    lengths = np.nan_to_num(kept_row_lengths(machine, path, walked), nan=np.inf)
    if lengths.max(initial=0.0) <= LARGEST_KEPT_ROW:
        return
    sample, column = map(int, np.unravel_index(np.argmax(lengths), lengths.shape))
    value, name = float(lengths[sample, column]), machine.coordinates[int(path.task.keep[0, column])].name
    text = (
        f"{name} cannot be kept at {walked.s[sample]:.3f} s (sample {sample}): small motions change it"
        f" {value:.3g} times as much, {LARGEST_KEPT_ROW:g} is allowed. Avoid that pose (for yaw and roll a"
        " pitch of 90°), or keep another coordinate"
    )
    _refuse_pose(machine, path, walked, sample, text, ("keep", value, LARGEST_KEPT_ROW, name))


def _refuse_pose(
    machine: Machine, path: Path, walked: Walk, sample: int, text: str, found: tuple[str, float, float, str]
) -> NoReturn:
    """Refuse a path for the pose at a sample. found: quantity, value, limit, and whose they are."""
    quantity, value, limit, names = found
    data = {"quantity": quantity, "value": value, "limit": limit, "unit": "1", "coordinate": names}
    _refuse(text, walked, sample, {**data, "position": _position(machine, path, walked, sample)})


def _position(machine: Machine, path: Path, walked: Walk, sample: int) -> dict[str, float]:
    names = [machine.mechanism.coordinate_names[index] for index in path.coordinates]
    return dict(zip(names, walked.d0[sample].tolist(), strict=True))


def _told(machine: Machine, path: Path, walked: Walk, sample: int) -> str:
    values = zip(path.coordinates, _position(machine, path, walked, sample).items(), strict=True)
    unit = {True: "rad", False: "m"}
    return ", ".join(f"{name} = {at:.6g} {unit[machine.coordinates[k].is_angle]}" for k, (name, at) in values)


def refuse_demand(found: Walked, worst: LimitCheck) -> NoReturn:
    """Raise RequestError (INFEASIBLE) about one demand of a walked path."""
    walked = found.walk
    smallest = worst.stretch * SAFELY if math.isfinite(worst.stretch) else None
    remedy = f"stretch its time by at least {smallest:.4g}" if smallest else "a slower motion does not help"
    if found.path.task.rest == LEAST:
        remedy += f"; {UNDRIVEN}"
    text = (
        f"{worst.text} at {walked.s[worst.sample]:.3f} s (sample {worst.sample}), {worst.limit:.6g}"
        f" {worst.unit} is allowed; {remedy}"
    )
    data = {
        "quantity": worst.quantity,
        "coordinate": worst.name,
        "value": worst.value,
        "limit": worst.limit,
        "unit": worst.unit,
        "min_time_stretch": smallest,
    }
    _refuse(text, walked, worst.sample, data)


def _refuse(text: str, walked: Walk, sample: int, data: Mapping[str, Any]) -> NoReturn:
    where = {"sample": sample, "time_s": float(walked.s[sample]), "piece": int(walked.piece[sample])}
    raise RequestError(ResultCode.INFEASIBLE, text, (), {"min_time_stretch": None, **where, **data})


def _stop_report(stopping: Floats, duration_s: float) -> dict[str, float]:
    """The slowest stop of this goal, from full speed, and where it begins."""
    deceleration, jerk = stopping[0], stopping[2]
    times = 1.0 / deceleration + deceleration / jerk
    slowest = int(np.argmax(times))
    return {"slowest_s": float(times[slowest]), "time_s": slowest * duration_s / stopping.shape[1]}


def _limit_report(walked: Walk, found: Iterable[LimitCheck]) -> dict[str, dict[str, dict[str, Any]]]:
    """quantity → name → the largest value, its limit, unit, share of the limit and time."""
    report: dict[str, dict[str, dict[str, Any]]] = {}
    for demand in found:
        names = report.setdefault(demand.quantity, {})
        if demand.name not in names or names[demand.name]["used"] < demand.used:
            names[demand.name] = {
                "value": demand.value,
                "limit": demand.limit,
                "unit": demand.unit,
                "used": demand.used,
                "time_s": float(walked.s[demand.sample]),
            }
    return report
