"""Goals of fewer, more or dependent coordinates: their levels, and motions that they leave free."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_task_part import (
    DAMP,
    FULL,
    HOLD,
    LEAST,
    MASS,
    MOTORS,
    ONE_LEVEL,
    TaskPart,
)
from linkwork.controller.planning.checks.singularity import dependent, rank_of
from linkwork.controller.planning.goals.combined_rows import coefficients_of
from linkwork.controller.planning.goals.goal_set import complete, index_of
from linkwork.controller.planning.goals.kept_bounds import binding_at, bounds_of
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.moves import limits_of
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.walk.walk import Walk
from linkwork.machine import Machine
from linkwork.machine.gains import asymmetry, write_rows
from linkwork.machine.nearest_name import MOST_LISTED, listed, no_such
from linkwork.multibody.coordinate_scales import scales
from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.laws import LawKind
from linkwork.protocol.trajectory import Priority, TaskParams

Where = Sequence[str | int]
RESTS: Final = {"hold": HOLD, "least": LEAST, "damp": DAMP}
NOT_BOUNDED: Final = 1e6
"""Tolerance of coordinates that only hold as far as others allow, rad or m."""


@dataclass(frozen=True)
class GoalTask:
    """The coordinates of a goal, those of a higher priority first, and how they share the motion.

    `held`: how many, the last ones, only hold as far as the others allow. `yields`: whether coordinates that
    contradict each other may be missed.
    """

    chosen: tuple[int, ...]
    task: TaskPart = ONE_LEVEL
    held: int = 0
    yields: bool = False

    def shared(self, path: Path) -> Path:
        """The path with these rows' share."""
        return replace(path, task=self.task, held=self.held, yields=self.yields)


def rows_of(
    given: TaskParams,
    machine: Machine,
    named: Sequence[int],
    start: Start,
    where: Where,
    *,
    crosses: bool = False,
) -> GoalTask:
    """The rows of a goal that names these coordinates.

    where: place of the coordinates' names. crosses: whether constraints open or close under the goal. Raises
    RequestError: INVALID_COORDINATES as `complete`, and for levels that do not name each coordinate once;
    INVALID_GOAL for a metric or a preference that is none; UNSUPPORTED with another law than `pidc`; BUSY in
    motion.
    """
    mechanism, part_of = machine.mechanism, tuple(where[:-1])
    if given.rest == "hold" and given.metric != "mass":
        text = "`metric` chooses among free motions, and `rest: hold` leaves none: give `rest: least`"
        raise RequestError(ResultCode.INVALID_GOAL, text, (*part_of, "metric"))
    if given.prefer is not None and given.rest != "damp":
        text = f"`prefer` chooses among damped free motions, and there are none with `rest: {given.rest}`"
        raise RequestError(ResultCode.INVALID_GOAL, f"{text}: give `rest: damp`", (*part_of, "prefer"))
    levels = _levels(given.conflict, machine, named, (*part_of, "conflict"))
    rank, combinations = rank_of(mechanism, named, start.q), coefficients_of(machine)
    shared = given.rest != "hold" and rank < machine.dof
    if rank == len(named) and not (shared or crosses or len(combinations) or given.keep):
        return GoalTask(complete(machine, named, start, where))
    if crosses and given.keep:
        text = "a goal whose events switch constraints has no `keep`: send its parts one after another"
        raise RequestError(ResultCode.INVALID_GOAL, text, (*part_of, "keep"))
    if machine.controller.law != LawKind.PIDC.label:
        text = f"such a goal takes the law pidc, this machine's is {machine.controller.law}"
        raise RequestError(RequestCode.UNSUPPORTED, text, (*part_of, "rest"))
    if start.moving:
        text = "such a goal begins at rest: send it after the goal under way has ended, or cancel that one"
        raise RequestError(RequestCode.BUSY, text, (*part_of, "rest"))
    order = sorted(range(len(named)), key=lambda i: (levels[i], i))
    chosen, held = [named[i] for i in order], []
    numbers = [levels[i] for i in order]
    metric, full = MASS, np.zeros((0, 0))
    if given.rest == "hold":
        most, home = machine.dof, machine.home_coordinates
        if crosses:
            most, home = mechanism.nv, tuple(range(machine.joint_coordinates))
        held = [i for i in home if i not in chosen] if rank < most else []
        numbers += [numbers[-1] + 1] * len(held)
    elif isinstance(given.metric, str):
        metric = MASS if given.metric == "mass" else MOTORS
    else:
        metric, full = FULL, _full_metric(machine, given.metric, (*part_of, "metric"))
    task = TaskPart(RESTS[given.rest], metric, levels=np.array(numbers, np.int64), full=full)
    keep = bounds_of(given.keep, machine, start, (*part_of, "keep"))
    task = replace(task, combinations=combinations, keep=keep, held=len(held))
    if given.prefer is not None:
        names, avoids = list(mechanism.joint_names), isinstance(given.prefer, str)
        if isinstance(given.prefer, str):
            posture = np.zeros((2, len(names)))
            posture[1] = [_speed_to_posture(machine, task, name) for name in names]
        else:
            posture = _posture(machine, given.prefer.posture, task, (*part_of, "prefer", "posture"))
        for index, low, high in keep[:3].T:  # free motions come to a bound as they come to a posture
            if (name := mechanism.coordinate_names[int(index)]) in names:
                joint = names.index(name)
                posture[0, joint] = min(max(posture[0, joint], low), high)
        task = replace(task, posture=posture, avoids=avoids)
    return GoalTask((*chosen, *held), task, len(held), given.conflict != "refuse")


def _levels(conflict: str | Priority, machine: Machine, named: Sequence[int], where: Where) -> list[int]:
    """Return the level of each named coordinate. Raises RequestError (INVALID_COORDINATES)."""
    if isinstance(conflict, str):
        return [0] * len(named)
    names = [machine.mechanism.coordinate_names[i] for i in named]
    found: dict[str, int] = {}
    for level, group in enumerate(conflict.priority):
        for name in group:
            if name not in names or name in found:
                wrong = "is in two levels" if name in found else f"is not among {', '.join(names)}"
                text = f"{name} {wrong}: each coordinate of the goal belongs to one level"
                raise RequestError(ResultCode.INVALID_COORDINATES, text, (*where, "priority", level))
            found[name] = level
    missing = [name for name in names if name not in found]
    if missing:
        text = f"{', '.join(missing)} belong to no level: name each coordinate of the goal in one"
        raise RequestError(ResultCode.INVALID_COORDINATES, text, (*where, "priority"))
    return [found[name] for name in names]


def check_agreement(machine: Machine, path: Path, walked: Walk) -> None:
    """Refuse coordinates that contradict each other. Raises RequestError (INFEASIBLE) with the worst one."""
    if path.task is ONE_LEVEL or path.yields:
        return
    count = len(path.coordinates) - path.held
    allowed = np.array([machine.tolerances[i].start for i in path.coordinates[:count]])
    over = np.abs(walked.missed[:, :count]) / allowed
    sample, place = np.unravel_index(int(np.argmax(over)), over.shape)
    if over[sample, place] <= 1.0:
        return
    names = [machine.mechanism.coordinate_names[i] for i in path.coordinates[:count]]
    here = walked.under(machine, int(sample)).mechanism
    tied = dependent(here, path.coordinates[:count], walked.q[sample])
    said = [machine.mechanism.coordinate_names[i] for i in tied] or names
    kept = binding_at(machine, path, walked, int(sample))
    value, unit = float(walked.missed[sample, place]), machine.coordinates[path.coordinates[place]].unit
    who = f"{', '.join(said)} contradict each other" if len(said) > 1 else f"the constraints hold {said[0]}"
    if kept:
        who = f"{', '.join(said)} cannot be followed while `keep` holds {', '.join(kept)}"
    text = (
        f"{who} at {walked.s[sample]:.3f} s (sample {sample}):"
        f" {names[place]} is missed by {value:.4g} {unit}, {allowed[place]:g} {unit} is allowed. Leave one of"
        " them out, or say by `conflict` which of them yield"
    )
    data = {"quantity": "contradiction", "coordinate": names[place], "value": value, "unit": unit}
    more = {"limit": float(allowed[place]), "contradict": said, "keep": kept, "min_time_stretch": None}
    place_of = {"sample": int(sample), "time_s": float(walked.s[sample]), "piece": int(walked.piece[sample])}
    raise RequestError(ResultCode.INFEASIBLE, text, (), {**data, **more, **place_of})


def missed_by(path: Path, walked: Walk) -> Floats:
    """Return how far each coordinate (k; rad or m) is given up along the walk; held ones without a bound."""
    if path.task is ONE_LEVEL:
        return np.zeros(len(path.coordinates))
    most = np.asarray(np.abs(walked.missed).max(axis=0))
    most[len(most) - path.held :] = NOT_BOUNDED
    return most


def _speed_to_posture(machine: Machine, task: TaskPart, joint: str) -> float:
    """Return the speed of a joint toward a posture (rad/s or m/s).

    Half of the joint's velocity limit, or less where its acceleration or jerk limit requires that.
    """
    index = machine.coordinate_index(joint)
    d = task.damping_per_s
    velocity, acceleration, jerk = (
        limits_of(machine, index) if index is not None else (1.0, math.inf, math.inf)
    )
    return 0.5 * min(velocity, acceleration / d, jerk / d**2)


def _posture(machine: Machine, given: Mapping[str, float], task: TaskPart, where: Where) -> Floats:
    """Return positions and largest speeds (2 × nv). Raises RequestError: INVALID_COORDINATES for a name that
    is no joint, INVALID_GOAL for a position beyond a joint's limits.
    """
    names = list(machine.mechanism.joint_names)
    posture = np.zeros((2, len(names)))
    for name, value in given.items():
        index = index_of(machine, name, (*where, name))
        if index >= machine.joint_coordinates:
            text = f"{name} is no joint; a posture has positions of {listed(names, MOST_LISTED)}"
            raise RequestError(ResultCode.INVALID_COORDINATES, text, (*where, name), {"coordinate": name})
        limits, joint = machine.coordinates[index], names.index(name)
        low, high = limits.position
        if not low <= value <= high:
            text = f"{name}: {value:g} {limits.unit} is beyond its limits, {low:g} to {high:g} {limits.unit}"
            raise RequestError(ResultCode.INVALID_GOAL, text, (*where, name))
        posture[:, joint] = value, _speed_to_posture(machine, task, names[joint])
    return posture


def _full_metric(machine: Machine, given: Mapping[str, Mapping[str, float]], where: Where) -> Floats:
    """Return the matrix (nv × nv) by joint velocities. Raises RequestError (INVALID_GOAL)."""
    names = list(machine.mechanism.joint_names)
    for first, row in given.items():
        for name in (first, *row):
            if name not in names:
                text = no_such("joint", name, names, MOST_LISTED)
                raise RequestError(ResultCode.INVALID_GOAL, text, (*where, first))
    if (problem := asymmetry("metric", given)) is not None:
        text = f"the metric is not symmetric: {', '.join(problem.rows)} is {problem.found}"
        raise RequestError(ResultCode.INVALID_GOAL, text, (*where, *problem.rows))
    full = np.zeros((len(names), len(names)))
    write_rows(full, given, names)
    missing = [name for name in names if name not in given.get(name, {})]
    if missing:
        text = f"the metric needs an entry for each joint with itself: {listed(missing, MOST_LISTED)}"
        raise RequestError(ResultCode.INVALID_GOAL, text, where, {"missing": missing})
    columns = scales(machine.mechanism, [])[1]
    smallest = float(np.linalg.eigvalsh(full * np.outer(columns, columns))[0])
    if not smallest > 0.0:
        text = f"the metric must be positive definite; its smallest eigenvalue is {smallest:.3g}"
        raise RequestError(ResultCode.INVALID_GOAL, text, where, {"value": smallest})
    return full


def refuse_beside(rows: GoalTask, others: Mapping[str, Any], where: Where) -> None:
    """Raise RequestError (INVALID_GOAL) where a goal has these parts and shares its motion among rows."""
    given = [name for name, part in others.items() if part]
    if rows.task is not ONE_LEVEL and given:
        text = f"`{given[0]}` needs a goal of as many independent coordinates as degrees of freedom"
        raise RequestError(ResultCode.INVALID_GOAL, text, (*where, given[0]))
