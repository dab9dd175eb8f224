"""A goal under way at another speed, or with another payload: the same path, walked through again."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_block import GoalBlock, pack_block
from linkwork.controller.planning.goals.admission import Admitted, admit, walk_through
from linkwork.controller.planning.goals.goal_in_motion import GoalInMotion
from linkwork.controller.planning.goals.path_actions import check_retimed
from linkwork.controller.planning.goals.verdict import largest_speed
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.walk.walk import walk
from linkwork.machine import Machine
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.requests import SpeedParams

_WITHIN = 0.999
"""Of the largest speed, so that the samples of the faster path are within the limits too."""
_LEAST_WAY_S = 1e-3
_SLOWEST = 20.0
"""How much longer a goal may take with another load: slower it would not be the same motion any more."""


@dataclass(frozen=True)
class Retimed:
    """The block for another speed of a goal's path, and why it is not the speed that was asked for."""

    words: Floats
    path: Path
    fraction: float
    limited: dict[str, Any] | None
    report: dict[str, Any]


def retime(params: SpeedParams, machine: Machine, running: GoalInMotion) -> Retimed:
    """Admit the whole path at params.fraction times the goal's own speed.

    With `params.limit`, at the largest speed that is feasible if that is less. Raises RequestError
    (INFEASIBLE) with data as of admission and `largest_speed`.
    """
    own = running.path.stretched(running.own)
    began_s = running.time_s - running.at_s
    start = Start.at_pose(machine, _first_pose(machine, running), time_s=began_s)
    fraction, limited = params.fraction, None
    try:
        admitted = admit(machine, own.stretched(1.0 / fraction), start, where=("fraction",))
    except RequestError as error:
        most = _WITHIN * largest_speed(walk_through(machine, own, start))
        data = {**error.data, "largest_speed": most}
        if not params.limit or most <= running.own:
            text = f"at {fraction:g} times its speed {error.message}; at most {most:.4g} times it is feasible"
            raise RequestError(error.code, text, ("fraction",), data) from None
        fraction, limited = most, data
        admitted = admit(machine, own.stretched(1.0 / fraction), start, where=("fraction",))
    return _retimed(machine, running, admitted, fraction, limited)


def rewalk(machine: Machine, running: GoalInMotion) -> Retimed:
    """Admit the rest of the path as the machine is now, which carries something else than at admission.

    At the speed that the goal's block is for, or else at the largest that is feasible. Raises RequestError
    (INFEASIBLE) where none is that is worth its name, with data as of admission.
    """
    since = running.at_s
    start = Start.at_pose(machine, _first_pose(machine, running), time_s=running.time_s - since)
    try:
        return _retimed(machine, running, admit(machine, running.path, start, since=since), running.own, None)
    except RequestError as error:
        refused = error
    admitted = admit(machine, running.path, start, may_stretch=True, since=since)
    slower = float(admitted.report["time_stretch"])
    if slower > _SLOWEST:
        raise refused
    why = {**refused.data, "text": refused.message}
    return _retimed(machine, running, admitted, running.own / slower, why)


def _retimed(
    machine: Machine,
    running: GoalInMotion,
    admitted: Admitted,
    fraction: float,
    limited: dict[str, Any] | None,
) -> Retimed:
    path, old = admitted.path.followed(), GoalBlock(running.words)
    if path.actions is not None:
        check_retimed(machine, path.actions)
    words = pack_block(
        path.coordinates,
        path.knots,
        path.values,
        path_tolerance=old.path_tolerance.tolist(),
        goal_tolerance=old.goal_tolerance.tolist(),
        goal_time_s=old.goal_time_s,
        stopping=admitted.stopping,
        full_speed=path.full_speed,
        forces=path.forces,
        actions=path.actions,
        task=path.task,
    )
    return Retimed(words, path, fraction, limited, admitted.report)


def _first_pose(machine: Machine, running: GoalInMotion) -> Floats:
    """The joints at the path's beginning, found backwards along it."""
    back = running.path.part(0.0, max(running.at_s, _LEAST_WAY_S)).backwards()
    found = walk(machine, back, running.q)
    if found.reached < len(found.s):
        text = "the active goal cannot be followed back to its start; try again"
        raise RequestError(RequestCode.INTERNAL, text)
    return np.asarray(found.q[-1])
