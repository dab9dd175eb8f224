"""Goals whose rows leave motions free: what is done with these, and what such a goal cannot be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_task_part import (
    DAMP,
    FULL,
    LEAST,
    MASS,
    MOTORS,
    ONE_LEVEL,
    TaskPart,
)
from linkwork.controller.planning.checks.singularity import independent
from linkwork.controller.planning.goals.goal_set import complete
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.machine import Machine
from linkwork.machine.nearest_name import MOST_LISTED, listed, nearest
from linkwork.multibody.coordinate_scales import scales
from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.laws import LawKind
from linkwork.protocol.trajectory import FreeMotionParams

Where = Sequence[str | int]


def rows_of(
    given: FreeMotionParams, machine: Machine, named: Sequence[int], start: Start, where: Where
) -> tuple[tuple[int, ...], TaskPart]:
    """The coordinates of a goal, and what is done with motions that they leave free.

    where: place of the coordinates' names. Raises RequestError: INVALID_COORDINATES as `complete`,
    INVALID_GOAL for a metric that is none, UNSUPPORTED with another law than `pidc`.
    """
    part_of = tuple(where[:-1])
    if given.rest == "hold":
        if given.metric != "mass":
            text = "`metric` chooses among free motions, and `rest: hold` leaves none: give `rest: least`"
            raise RequestError(ResultCode.INVALID_GOAL, text, (*part_of, "metric"))
        return complete(machine, named, start, where), ONE_LEVEL
    chosen = tuple(named)
    if len(chosen) == machine.dof and independent(machine.mechanism, chosen, start.q):
        return complete(machine, named, start, where), ONE_LEVEL
    if len(chosen) > machine.dof or not independent(machine.mechanism, chosen, start.q):
        complete(machine, named, start, where)  # refuses them
    if machine.controller.law != LawKind.PIDC.label:
        text = f"rest: {given.rest} takes the law pidc, this machine's is {machine.controller.law}"
        raise RequestError(RequestCode.UNSUPPORTED, text, (*part_of, "rest"))
    rest = LEAST if given.rest == "least" else DAMP
    if isinstance(given.metric, str):
        return chosen, TaskPart(rest, MASS if given.metric == "mass" else MOTORS)
    full = _full_metric(machine, given.metric, (*part_of, "metric"))
    return chosen, TaskPart(rest, FULL, full=full)


def _full_metric(machine: Machine, given: Mapping[str, Mapping[str, float]], where: Where) -> Floats:
    """Return the matrix (nv × nv) by joint velocities. Raises RequestError (INVALID_GOAL)."""
    names = list(machine.mechanism.joint_names)
    full = np.full((len(names), len(names)), np.nan)
    for first, row in given.items():
        for second, value in row.items():
            for name in (first, second):
                if name not in names:
                    meant = nearest(name, names)
                    hint = f", did you mean {meant!r}?" if meant else ";"
                    text = f"there is no joint {name!r}{hint} this machine has {listed(names, MOST_LISTED)}"
                    raise RequestError(ResultCode.INVALID_GOAL, text, (*where, first))
            i, j = names.index(first), names.index(second)
            if full[i, j] not in (value,) and not np.isnan(full[i, j]):
                text = f"the metric is not symmetric: {first}, {second} is {full[i, j]:g} and {value:g}"
                raise RequestError(ResultCode.INVALID_GOAL, text, (*where, first, second))
            full[i, j] = full[j, i] = value
    missing = [names[i] for i in range(len(names)) if np.isnan(full[i, i])]
    if missing:
        text = f"the metric needs an entry for each joint with itself: {listed(missing, MOST_LISTED)}"
        raise RequestError(ResultCode.INVALID_GOAL, text, where, {"missing": missing})
    full = np.asarray(np.nan_to_num(full))
    columns = scales(machine.mechanism, [])[1]
    smallest = float(np.linalg.eigvalsh(full * np.outer(columns, columns))[0])
    if not smallest > 0.0:
        text = f"the metric must be positive definite; its smallest eigenvalue is {smallest:.3g}"
        raise RequestError(ResultCode.INVALID_GOAL, text, where, {"value": smallest})
    return full


def refuse_with_free_motions(task: TaskPart, others: Mapping[str, Any], where: Where) -> None:
    """Raise RequestError (INVALID_GOAL) where a goal that leaves motions free has one of these parts."""
    given = [name for name, part in others.items() if part]
    if task is not ONE_LEVEL and given:
        text = f"`{given[0]}` needs a goal that determines all motions: leave `rest` out"
        raise RequestError(ResultCode.INVALID_GOAL, text, (*where, "rest"))
