"""Coordinates that stay between bounds while a goal is followed: `keep`."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.planning.checks.kinematic_check import LimitCheck
from linkwork.controller.planning.checks.workspace_check import within
from linkwork.controller.planning.goals.goal_set import index_of
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.walk.walk import STEP_S, Walk
from linkwork.machine import Machine
from linkwork.multibody.coordinate_scales import scales
from linkwork.multibody.functions import coordinate_history
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import read_bounds

Where = Sequence[str | int]
NO_BOUND: Final = 1e9
"""Bound where there is none, rad or m."""
MARGIN: Final = 2e-5
"""How far inside the bounds coordinates are kept, rad or lengths of the machine: an error of tracking."""
NEAR: Final = 0.01
"""Distance from a bound, rad or m, at which a coordinate is named beside what yields to it."""


def bounds_of(
    given: Mapping[str, Sequence[float] | str], machine: Machine, start: Start, where: Where
) -> Floats:
    """Return index, bounds, rate and braking (5 × k) of the coordinates to keep, see `TaskPart`.

    where: place of `keep` in the request.

    A coordinate comes to its bound with the bandwidth of the controller, or less where a step of the walk or
    a period asks for it; it brakes with twice its largest acceleration at most: paths brake more gently.
    Raises RequestError: INVALID_COORDINATES for a name that is none, INVALID_GOAL for bounds that are none,
    INFEASIBLE where the machine is not between them.
    """
    keep, scale = np.zeros((5, len(given))), scales(machine.mechanism, range(len(machine.coordinates)))[0]
    rate = min(machine.controller.bandwidth_rad_s, 0.25 / machine.period_s, 0.25 / STEP_S)
    for column, (name, bounds) in enumerate(given.items()):
        index = index_of(machine, name, (*where, name))
        limits, here = machine.coordinates[index], float(start.theta[index])
        low, high = _read(name, bounds, (*where, name))
        if machine.mechanism.coordinate_wraps[index] and not -math.pi <= low <= high <= math.pi:
            text = f"{name} jumps by a whole turn at pi: give both of its bounds, between -pi and pi"
            raise RequestError(ResultCode.INVALID_GOAL, text, (*where, name))
        if not low <= here <= high:
            text = (
                f"{name} is at {here:.6g} {limits.unit}, and `keep` allows {_told(low, high)} {limits.unit}:"
                " move there first, or allow more"
            )
            data = {"quantity": "keep", "coordinate": name, "value": here, "unit": limits.unit}
            raise RequestError(ResultCode.INFEASIBLE, text, (*where, name), data)
        braking = min(2.0 * limits.acceleration, NO_BOUND)
        margin = min(MARGIN / scale[index], 0.25 * (high - low))
        keep[:, column] = index, low + margin, high - margin, rate, braking
    return keep


def _read(name: str, bounds: Sequence[float] | str, where: Where) -> tuple[float, float]:
    """Return the bounds (rad or m) in a text or a pair. Raises RequestError (INVALID_GOAL)."""
    try:
        low, high = read_bounds(bounds)
    except ValueError as error:
        raise RequestError(ResultCode.INVALID_GOAL, f"{name}: {error}, in rad or m", where) from None
    return max(low, -NO_BOUND), min(high, NO_BOUND)


def _told(low: float, high: float) -> str:
    if high == NO_BOUND:
        return f"more than {low:g}"
    return f"less than {high:g}" if low == -NO_BOUND else f"{low:g} to {high:g}"


def kept_demands(machine: Machine, path: Path, walked: Walk) -> Iterator[LimitCheck]:
    """Demands of a walk on the coordinates that are kept between bounds."""
    for name, unit, low, high, values in _kept(machine, path, walked):
        yield from within("keep", name, unit, values, low, high)


def kept_row_lengths(machine: Machine, path: Path, walked: Walk) -> Floats:
    """Return how far a motion of unit length changes each kept coordinate, (samples, kept), without units.

    Not a number where the coordinate is not defined.
    """
    indices = path.task.keep[0].astype(np.int64)
    found = np.zeros((len(walked.q), len(indices)))
    if not indices.size:
        return found
    rows, columns = scales(machine.mechanism, indices)
    work = machine.workspace()
    for lengths, q in zip(found, walked.q, strict=True):
        work.q[:] = q
        kinematics(*work.arguments)
        coordinates(*work.arguments)
        lengths[:] = np.linalg.norm(work.J[indices] * rows[:, None] * columns, axis=1)
    return found


def binding_at(machine: Machine, path: Path, walked: Walk, sample: int) -> list[str]:
    """Names of the coordinates that are nearest to a bound at a sample of a walk, and of others as near."""
    found = {
        name: min(values[sample] - low, high - values[sample])
        for name, _, low, high, values in _kept(machine, path, walked)
    }
    return [name for name, room in found.items() if room <= max(NEAR, min(found.values()))]


def _kept(machine: Machine, path: Path, walked: Walk) -> Iterator[tuple[str, str, float, float, Floats]]:
    """Name, unit, bounds (infinite where there is none) and values (n) of each coordinate that is kept."""
    indices, lows, highs = path.task.keep[:3].tolist()
    if not indices:
        return
    values = coordinate_history(machine.mechanism, walked.q)
    for index, low, high in zip(map(int, indices), lows, highs, strict=True):
        limits = machine.coordinates[index]
        ends = (-math.inf if low < -0.5 * NO_BOUND else low), (math.inf if high > 0.5 * NO_BOUND else high)
        yield limits.name, limits.unit, *ends, values[:, index]
