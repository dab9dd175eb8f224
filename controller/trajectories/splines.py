"""Way-points to a path: C2 spline, cubic or quintic pieces, by what the way-points give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from controller.trajectories.block import SHORTEST_PIECE_S
from controller.trajectories.path import Path
from protocol.codes import ResultCode
from protocol.errors import RequestError
from protocol.trajectory import Point

Floats = NDArray[np.float64]


def spline(knots: Floats, theta: Floats, first_rate: Floats) -> Floats:
    """Values (n + 1) × 2 × k of the C2 cubic spline through theta ((n + 1) × k), at rest in the end.

    first_rate: θ' at the beginning (k).
    """
    through = CubicSpline(knots, theta, bc_type=((1, first_rate), (1, np.zeros(theta.shape[1]))))
    rate = through(knots, 1)
    rate[0], rate[-1] = first_rate, 0.0
    return np.stack([theta, rate], axis=1)


def path_through(
    points: Sequence[Point],
    columns: Sequence[int],
    coordinates: Sequence[int],
    present: Floats,
    present_rate: Floats,
    wraps: Sequence[bool],
    tolerance: Floats,
) -> Path:
    """The path through the way-points, from where the machine is.

    columns: place in `coordinates` of each of the way-points' numbers; the other coordinates hold. present,
    present_rate, wraps, tolerance (start tolerances): one for each of `coordinates`. Raises RequestError
    (INVALID_GOAL): a first way-point at time 0 that is not where the machine is, unequal way-points, times too close, a
    last way-point in motion.
    """
    times = np.array([point.time_from_start_s for point in points])
    rows = _rows(points)
    given = np.array([point.positions for point in points])
    if rows > 1:
        given = np.stack([given, np.array([point.velocities for point in points])], axis=1)
        if rows > 2:
            given = np.concatenate([given, np.array([[point.accelerations] for point in points])], axis=1)
    else:
        given = given[:, None, :]
    values = np.zeros((len(points), rows, len(coordinates)))
    values[:, 0] = present
    values[:, :, list(columns)] = given
    whole_turns = np.round((present - values[0, 0]) / (2.0 * np.pi)) * np.where(wraps, 2.0 * np.pi, 0.0)
    if times[0] == 0.0:
        values[:, 0] += whole_turns
        _check_start(values[0], present, present_rate, tolerance, columns)
        values[0, 0] = present
    else:
        values[:, 0] += whole_turns
        here = np.zeros((1, rows, len(coordinates)))
        here[0, 0] = present
        if rows > 1:
            here[0, 1] = present_rate
        values = np.concatenate([here, values])
        times = np.concatenate([[0.0], times])
    _check_times(times, len(times) - len(points))
    if rows > 1:
        _check_end(values[-1, 1], tolerance, len(points) - 1, columns)
        values[-1, 1] = 0.0
    else:
        values = spline(times, values[:, 0], present_rate)
    return Path(tuple(coordinates), times, values, (0.0, float(times[-1])))


def _refuse(text: str, *path: str | int, **data: object) -> NoReturn:
    raise RequestError(ResultCode.INVALID_GOAL, text, ("trajectory", "points", *path), data)


def _rows(points: Sequence[Point]) -> int:
    def rows(point: Point) -> int:
        return 1 + (point.velocities is not None) + (point.accelerations is not None)

    first = rows(points[0])
    for index, point in enumerate(points):
        if rows(point) != first:
            what = "velocities" if min(first, rows(point)) == 1 else "accelerations"
            _refuse(f"give {what} for every way-point or for none; points 0 and {index} differ", index, what)
    return first


def _check_start(
    first: Floats, present: Floats, rate: Floats, tolerance: Floats, columns: Sequence[int]
) -> None:
    for place, column in enumerate(columns):
        away = abs(first[0, column] - present[column])
        if away > tolerance[column]:
            _refuse(
                f"the goal begins at {first[0, column]:.6g}, {away:.3g} away from where the machine is"
                f" ({present[column]:.6g}); at most {tolerance[column]:.3g} is allowed. Move there first, or let the"
                " first time be above 0",
                0, "positions", place,
                value=float(first[0, column]), present=float(present[column]), limit=float(tolerance[column]),
            )  # fmt: skip
        if len(first) > 1 and abs(first[1, column] - rate[column]) > tolerance[column]:
            _refuse(
                f"the goal begins at a velocity of {first[1, column]:.6g}, the machine moves at {rate[column]:.6g}",
                0, "velocities", place,
                value=float(first[1, column]), present=float(rate[column]), limit=float(tolerance[column]),
            )  # fmt: skip


def _check_times(times: Floats, added: int) -> None:
    gaps = np.diff(times)
    shortest = int(np.argmin(gaps))
    if gaps[shortest] < SHORTEST_PIECE_S:
        index = shortest + 1 - added
        _refuse(
            f"only {gaps[shortest]:.3g} s lie before point {index}; at least {SHORTEST_PIECE_S:g} s are needed",
            index, "time_from_start_s", value=float(gaps[shortest]), limit=SHORTEST_PIECE_S,
        )  # fmt: skip


def _check_end(rate: Floats, tolerance: Floats, last: int, columns: Sequence[int]) -> None:
    for place, column in enumerate(columns):
        if abs(rate[column]) > tolerance[column]:
            _refuse(
                f"the last way-point has a velocity of {rate[column]:.6g}; a goal ends at rest",
                last, "velocities", place, value=float(rate[column]), limit=0.0,
            )  # fmt: skip
