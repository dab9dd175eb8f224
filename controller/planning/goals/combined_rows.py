"""Linear combinations of the machine's coordinates, as further coordinates of one goal."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.planning.goals.goal_set import index_of
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.machine import Machine
from linkwork.multibody.kernels.layout import ON_ROLL, ON_YAW
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.requests import AppendParams, CheckParams, MoveParams, SendParams
from linkwork.protocol.trajectory import TaskParams, Trajectory

Where = tuple[str | int, ...]


def with_rows(params: object, machine: Machine, start: Start) -> tuple[Machine, Start]:
    """Return machine and start with the combinations that a request names behind the other coordinates.

    Raises RequestError: INVALID_COORDINATES for one that is none, INVALID_GOAL beside forces or a
    moving frame.
    """
    given, where = _given(params)
    if given is None or not given.rows:
        return machine, start
    if isinstance(params, AppendParams):
        text = "a goal with `rows` is not appended: send it after the goal before has ended"
        raise RequestError(ResultCode.INVALID_GOAL, text, where)
    if isinstance(given, Trajectory):
        framed = any(point.frame is not None for point in given.points or ())
        if given.force or framed:
            beside = "force" if given.force else "in"
            text = f"a goal with `{beside}` has no `rows`: name the machine's own coordinates"
            raise RequestError(ResultCode.INVALID_GOAL, text, where)
    read = {name: _read(machine, name, row, (*where, name)) for name, row in given.rows.items()}
    rows = {name: row for name, (row, _) in read.items()}
    combined = machine.combining(rows, [is_angle for _, is_angle in read.values()])
    matrix = np.array(list(rows.values()))
    theta, rate = (np.concatenate([part, matrix @ part]) for part in (start.theta, start.rate))
    change = start.acceleration
    if change is not None:
        change = np.concatenate([change, matrix @ change])
    return combined, replace(start, theta=theta, rate=rate, acceleration=change)


def coefficients_of(machine: Machine) -> Floats:
    """Return the coefficients (r × coordinates) of a machine's combinations."""
    model = machine.mechanism.model
    return model.combination[:, : model.n_coordinates - model.n_combinations].copy()


def _given(params: object) -> tuple[TaskParams | None, Where]:
    """Return the part of a request that names rows, and the place of its rows."""
    if isinstance(params, (SendParams, AppendParams)) or (
        isinstance(params, CheckParams) and params.trajectory is not None
    ):
        trajectory: Trajectory | None = params.trajectory
        return trajectory, ("trajectory", "rows")
    return (params if isinstance(params, (MoveParams, CheckParams)) else None), ("rows",)


def _read(machine: Machine, name: str, given: Mapping[str, float | str], where: Where) -> tuple[Floats, bool]:
    """Return the coefficients of a combination by coordinate, and whether it is an angle."""
    if machine.coordinate_index(name) is not None:
        _refuse(f"{name} is a coordinate of the machine: give the combination another name", where)
    row, unit = np.zeros(len(machine.coordinates)), None
    for part, factor in given.items():
        if isinstance(factor, str):
            if part != "unit":
                _refuse(
                    f"{name}: the coefficient of {part} must be a number, found {factor!r}", (*where, part)
                )
            if factor not in ("rad", "m"):
                _refuse(f"{name}: its unit must be 'rad' or 'm', found {factor!r}", (*where, part))
            unit = factor
            continue
        index = index_of(machine, part, (*where, part))
        if machine.mechanism.model.coordinate_kind[index] in (ON_ROLL, ON_YAW):
            text = (
                f"{name}: {part} jumps by a whole turn and cannot be combined; name it beside the combination"
            )
            _refuse(text, (*where, part))
        row[index] = factor
    used = [machine.coordinates[index] for index in np.flatnonzero(row)]
    if not used:
        _refuse(f"{name} combines no coordinates: give at least one coefficient that is not 0", where)
    first = {limits.is_angle: limits for limits in reversed(used)}
    if unit is None and len(first) > 1:
        both = " and ".join(f"{one.name} in {one.unit}" for one in first.values())
        _refuse(f"{name} combines {both}: add its own `unit: rad` or `unit: m`, which they convert to", where)
    return row, used[0].is_angle if unit is None else unit == "rad"


def _refuse(text: str, where: Sequence[str | int]) -> None:
    raise RequestError(ResultCode.INVALID_COORDINATES, text, where)
