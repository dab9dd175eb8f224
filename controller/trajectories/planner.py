"""From a request to a goal's block: `move`, `send` and `check`."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from controller.shared import SLOT_BYTES
from controller.trajectories.admission import admit
from controller.trajectories.block import block_words, check_block
from controller.trajectories.curves import path_along
from controller.trajectories.goal_set import complete, index_of
from controller.trajectories.moves import path_to
from controller.trajectories.path import Path
from controller.trajectories.splines import path_through
from controller.trajectories.start import Start
from machine import Machine
from protocol.codes import RequestCode, ResultCode
from protocol.errors import RequestError
from protocol.requests import CheckParams, MoveParams, SendParams, check_params
from protocol.trajectory import Trajectory

Floats = NDArray[np.float64]

CAPACITY = SLOT_BYTES // 8
"""Most words a block may have."""


@dataclass(frozen=True)
class Plan:
    """An accepted goal: its block and what people want to know of it. `coordinates`: names, those held included."""

    words: Floats
    duration_s: float
    coordinates: tuple[str, ...]
    full_speed: tuple[float, float]
    report: dict[str, Any]

    @property
    def checksum(self) -> int:
        """CRC-32 of the words' bytes."""
        return zlib.crc32(self.words.data.cast("B"))

    def as_map(self) -> dict[str, Any]:
        """The plan without its words, as it travels."""
        return {
            "length": len(self.words),
            "checksum": self.checksum,
            "duration_s": self.duration_s,
            "coordinates": list(self.coordinates),
            "full_speed_s": list(self.full_speed),
            "report": self.report,
        }


def plan(method: str, params: object, machine: Machine, start: Start) -> Plan:
    """Plans a `move`, or the trajectory of `send` or `check`, from `start`.

    params: plain data, or the method's validated model. Raises RequestError: INVALID_PARAMS, INVALID_GOAL,
    INVALID_COORDINATES or INFEASIBLE.
    """
    model = (
        params if isinstance(params, MoveParams | SendParams | CheckParams) else check_params(method, params)
    )
    if isinstance(model, MoveParams):
        path, given = _move(model, machine, start), Trajectory()
    elif isinstance(model, SendParams | CheckParams):
        path, given = _trajectory(model.trajectory, machine, start), model.trajectory
    else:
        raise RequestError(RequestCode.UNSUPPORTED, f"{method} is not a motion that can be planned")
    admitted = admit(machine, path, start, may_stretch=isinstance(model, MoveParams))
    path = admitted.path
    _check_size(path, admitted.stopping.shape[1])
    words = path.pack(machine, admitted.stopping, given.tolerances, given.goal_time_s)
    wrong = check_block(words)
    if wrong:
        raise RequestError(RequestCode.INTERNAL, f"the planned goal is damaged: {wrong}")
    names = tuple(machine.mechanism.coordinate_names[index] for index in path.coordinates)
    return Plan(words, path.duration_s, names, path.full_speed, admitted.report)


def _move(params: MoveParams, machine: Machine, start: Start) -> Path:
    named = [index_of(machine, name, ("target", name)) for name in params.target]
    chosen = complete(machine, named, start, ("target",))
    present = start.of(chosen)
    target = present.copy()
    for index, value in zip(named, params.target.values(), strict=True):
        place = chosen.index(index)
        target[place] = value
        if machine.mechanism.coordinate_wraps[index]:
            target[place] += _whole_turns(present[place] - value)
    path = path_to(machine, chosen, present, start.rates(chosen, machine), target)
    return path if params.speed == 1.0 else path.stretched(1.0 / params.speed)


def _trajectory(trajectory: Trajectory, machine: Machine, start: Start) -> Path:
    named = [
        index_of(machine, name, ("trajectory", "coordinates", place))
        for place, name in enumerate(trajectory.coordinates)
    ]
    chosen = complete(machine, named, start, ("trajectory", "coordinates"))
    present, rates = start.of(chosen), start.rates(chosen, machine)
    tolerance = np.array([machine.controller.tolerances[index].start for index in chosen])
    if trajectory.points is not None:
        _check_count(len(trajectory.points), len(chosen))
        columns = [chosen.index(index) for index in named]
        wraps = [machine.mechanism.coordinate_wraps[index] for index in chosen]
        return path_through(trajectory.points, columns, chosen, present, rates, wraps, tolerance)
    assert trajectory.curve is not None, "read_trajectory has made sure"
    held = present.copy()
    for name, value in trajectory.hold.items():
        index = index_of(machine, name, ("trajectory", "hold", name))
        place = chosen.index(index)
        wrapped = machine.mechanism.coordinate_wraps[index]
        held[place] = value + (_whole_turns(present[place] - value) if wrapped else 0.0)
    columns = [
        chosen.index(index_of(machine, name, ("trajectory", "curve", "of"))) for name in trajectory.curve.of
    ]
    ramp_s = trajectory.entry.ramp_s if trajectory.entry else 0.0
    path = path_along(trajectory.curve, ramp_s, columns, chosen, held, CAPACITY)
    _check_entry(path, machine, present, rates, tolerance)
    return path


def _whole_turns(difference: float) -> float:
    return float(2.0 * np.pi * np.round(difference / (2.0 * np.pi)))


def _check_entry(path: Path, machine: Machine, present: Floats, rates: Floats, tolerance: Floats) -> None:
    """A curve must begin where the machine is, as fast as it is, and end at rest."""
    names = [machine.mechanism.coordinate_names[index] for index in path.coordinates]
    begin = dict(zip(names, path.values[0, 0].tolist(), strict=True))
    where = ("trajectory", "curve")
    for place, name in enumerate(names):
        for row, here, what in ((0, present, "where"), (1, rates, "as fast as")):
            value, limit = float(path.values[0, row, place]), float(tolerance[place])
            if abs(value - here[place]) > limit:
                data = {"coordinate": name, "value": value, "present": float(here[place]), "limit": limit}
                unit = "rad" if machine.mechanism.coordinate_is_angle[path.coordinates[place]] else "m"
                remedy = (
                    "; move there first: " + ", ".join(f"{key} = {place:.6g}" for key, place in begin.items())
                    if row == 0
                    else "; ask for a lead-in: entry: {ramp_s: 1}"
                )
                text = (
                    f"the curve does not begin {what} the machine is: {name} {value:.6g} instead of"
                    f" {here[place]:.6g} {unit}{'/s' * row}, at most {limit:.3g} apart is allowed{remedy}"
                )
                raise RequestError(ResultCode.INVALID_GOAL, text, where, {**data, "begin": begin})
        speed = float(path.values[-1, 1, place])
        if abs(speed) > tolerance[place]:
            text = f"the curve ends in motion ({name} at {speed:.6g} per s); ask for a lead-out: entry: {{ramp_s: 1}}"
            raise RequestError(
                ResultCode.INVALID_GOAL, text, where, {"coordinate": name, "value": speed, "limit": 0.0}
            )


def _check_count(count: int, coordinates: int) -> None:
    """Before any work: so many way-points must fit into a block of the smaller kind."""
    most = CAPACITY // (1 + 2 * coordinates) - 4096
    if count > most:
        text = f"{count} way-points in {coordinates} coordinates do not fit; at most about {most} do"
        raise RequestError(
            ResultCode.INVALID_GOAL, text, ("trajectory", "points"), {"value": count, "limit": most}
        )


def _check_size(path: Path, windows: int) -> None:
    knots, rows, count = path.values.shape
    needed = block_words(count, rows, knots - 1, windows)
    if needed > CAPACITY:
        most = (CAPACITY - block_words(count, rows, 0, windows)) // (1 + rows * count)
        text = f"{knots} way-points with {rows} numbers a coordinate do not fit; at most {most} do"
        data = {"value": knots, "limit": most}
        raise RequestError(ResultCode.INVALID_GOAL, text, ("trajectory", "points"), data)
