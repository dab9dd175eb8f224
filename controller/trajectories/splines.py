"""Way-points to a path: C2 spline, cubic or quintic pieces, by what the way-points give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from controller.trajectories.block import SHORTEST_PIECE_S
from controller.trajectories.path import Path
from controller.trajectories.start import Present
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


def path_through(points: Sequence[Point], columns: Sequence[int], present: Present) -> Path:
    """The path through the way-points, from where the machine is.

    columns: place in `present` of each of the way-points' numbers; the other coordinates hold. Raises
    RequestError (INVALID_GOAL): a first way-point at time 0 that is not where the machine is, unequal
    way-points, times too close, a last way-point in motion.
    """
    times = np.array([point.time_from_start_s for point in points])
    values = np.zeros((len(points), _rows(points), len(present.theta)))
    values[:, 0] = present.theta
    values[:, 0, list(columns)] = [point.positions for point in points]
    for row, name in ((1, "velocities"), (2, "accelerations")):
        if row < values.shape[1]:
            values[:, row, list(columns)] = [getattr(point, name) for point in points]
    values[:, 0] += present.nearest(values[0, 0])
    if times[0] == 0.0:
        _check_start(values[0], present, columns)
        values[0, 0] = present.theta
    else:
        here = np.zeros((1, *values.shape[1:]))
        here[0, 0], here[0, 1:2] = present.theta, present.rate
        values, times = np.concatenate([here, values]), np.concatenate([[0.0], times])
    _check_times(times, len(times) - len(points))
    if values.shape[1] > 1:
        _check_end(values[-1, 1], present, len(points) - 1, columns)
        values[-1, 1] = 0.0
    else:
        values = spline(times, values[:, 0], present.rate)
    return Path(present.coordinates, times, values, (0.0, float(times[-1])))


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


def _check_start(first: Floats, present: Present, columns: Sequence[int]) -> None:
    for place, column in enumerate(columns):
        name, limit = present.names[column], float(present.tolerance[column])
        value, here = float(first[0, column]), float(present.theta[column])
        if abs(value - here) > limit:
            _refuse(
                f"the goal begins at {name} = {value:.6g}, {abs(value - here):.3g} away from where the"
                f" machine is ({here:.6g}); at most {limit:.3g} is allowed. Move there, or let the first time"
                " be above 0",
                0, "positions", place, coordinate=name, value=value, present=here, limit=limit,
            )  # fmt: skip
        if len(first) > 1:
            value, here = float(first[1, column]), float(present.rate[column])
            if abs(value - here) > limit:
                _refuse(
                    f"the goal begins with {name} at {value:.6g} per s, the machine has {here:.6g}",
                    0, "velocities", place, coordinate=name, value=value, present=here, limit=limit,
                )  # fmt: skip


def _check_times(times: Floats, added: int) -> None:
    gaps = np.diff(times)
    shortest = int(np.argmin(gaps))
    if gaps[shortest] < SHORTEST_PIECE_S:
        index = shortest + 1 - added
        _refuse(
            f"only {gaps[shortest]:.3g} s before point {index}; at least {SHORTEST_PIECE_S:g} s are needed",
            index, "time_from_start_s", value=float(gaps[shortest]), limit=SHORTEST_PIECE_S,
        )  # fmt: skip


def _check_end(rate: Floats, present: Present, last: int, columns: Sequence[int]) -> None:
    for place, column in enumerate(columns):
        value, limit = float(rate[column]), float(present.tolerance[column])
        if abs(value) > limit:
            name = present.names[column]
            _refuse(
                f"the last way-point has {name} at {value:.6g} per s; a goal ends at rest",
                last, "velocities", place, coordinate=name, value=value, limit=limit,
            )  # fmt: skip
