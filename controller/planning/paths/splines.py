"""Path through way-points: C2 spline, cubic or quintic pieces, depending on the given derivatives."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NoReturn

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_block import CUBIC, QUINTIC, SHORTEST_PIECE_S
from linkwork.controller.limit_tolerance import exceeds
from linkwork.controller.planning.messages.planner_start import Present
from linkwork.controller.planning.paths.path import Path
from linkwork.multibody.linalg.linear import tridiagonal_solve
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import Waypoint

JOINED_S = 0.25
"""Time within which a path that begins beside the machine, within the tolerance, is joined."""


def spline(knots: Floats, theta: Floats, rates: Floats) -> Floats:
    """Values (n + 1) × 2 × k of the cubic pieces through theta ((n + 1) × k) with the given rates.

    rates: θ' at each knot ((n + 1) × k), a row that is not a number where it is left open; the first and the
    last are given. Between two given rates the pieces are one C2 spline.
    """
    filled = rates.copy()
    given = np.flatnonzero(~np.isnan(rates[:, 0]))
    for first, last in pairwise(given):
        if last - first > 1:
            section = slice(first, last + 1)
            inner = _inner_rates(knots[section], theta[section], rates[first], rates[last])
            filled[first + 1 : last] = inner
    return np.stack([theta, filled], axis=1)


def _inner_rates(knots: Floats, theta: Floats, first: Floats, last: Floats) -> Floats:
    """Rates (n - 1) × k at the inner knots, with which the second derivative is continuous there.

    first, last: the rates at the ends. With d the rates, h the lengths of the pieces and s their slopes:
    d_(i-1) / h_i + 2 (1 / h_i + 1 / h_(i+1)) d_i + d_(i+1) / h_(i+1) = 3 (s_i / h_i + s_(i+1) / h_(i+1)).
    """
    inverse = 1.0 / np.diff(knots)
    bend = 3.0 * inverse[:, None] ** 2 * np.diff(theta, axis=0)
    x = bend[:-1] + bend[1:]
    x[0] -= inverse[0] * first
    x[-1] -= inverse[-1] * last
    tridiagonal_solve(2.0 * (inverse[:-1] + inverse[1:]), inverse[1:-1], x)
    return x


def joined(knots: Floats, values: Floats, acceleration: Floats) -> tuple[Floats, Floats]:
    """Knots and values (n + 1) × 2 × k of cubic pieces whose first acceleration is this one (k).

    Only the first piece changes: it becomes three, with continuous acceleration, and the same acceleration at
    its end as before.
    """
    h = float(knots[1] - knots[0])
    (p0, d0), (p1, d1) = values[0], values[1]
    change = acceleration - (6.0 * (p1 - p0) / h - 4.0 * d0 - 2.0 * d1) / h
    x = np.array([1.0, 2.0]) / 3.0
    at, rate = _BUMP
    inner = np.empty((2, 2, values.shape[2]))
    for i in range(2):
        y = x[i]
        inner[i, 0] = (
            (1 + 2 * y) * (1 - y) ** 2 * p0
            + y * (1 - y) ** 2 * h * d0
            + y * y * (3 - 2 * y) * p1
            + y * y * (y - 1) * h * d1
            + h * h * at[i] * change
        )
        inner[i, 1] = (
            6 * y * (1 - y) * (p1 - p0) / h
            + (1 - y) * (1 - 3 * y) * d0
            + y * (3 * y - 2) * d1
            + h * rate[i] * change
        )
    places = knots[0] + h * x
    return np.insert(knots, 1, places), np.concatenate([values[:1], inner, values[1:]])


def _bump() -> tuple[Floats, Floats]:
    """Values and rates at 1/3 and 2/3 of the C2 cubic spline on [0, 1] that is 0 with rate 0 at both ends,
    with second derivative 1 at the beginning and 0 at the end.
    """
    basis = np.eye(4)
    left, right = _bends(np.zeros(4), np.zeros(4), basis[0], basis[1])
    into, out = _bends(basis[0], basis[1], basis[2], basis[3])
    last, end = _bends(basis[2], basis[3], np.zeros(4), np.zeros(4))
    rows = np.array([left, right - into, out - last, end])
    p1, d1, p2, d2 = np.linalg.solve(rows, np.array([1.0, 0.0, 0.0, 0.0]))
    return np.array([p1, p2]), np.array([d1, d2])


def _bends(p0: Floats, d0: Floats, p1: Floats, d1: Floats) -> tuple[Floats, Floats]:
    """Second derivatives at both ends of a cubic over a third."""
    h = 1.0 / 3.0
    slope = (p1 - p0) / h
    return (6.0 * slope - 4.0 * d0 - 2.0 * d1) / h, (2.0 * d0 + 4.0 * d1 - 6.0 * slope) / h


_BUMP = _bump()


def path_through(points: Sequence[Waypoint], columns: Sequence[int], present: Present) -> Path:
    """The path through the way-points, from where the machine is.

    columns: place in `present` of each of the way-points' numbers; the other coordinates hold. A goal that
    begins in motion begins with the accelerations of `present` too. Raises
    RequestError (INVALID_GOAL): a first way-point at time 0 that is not where the machine is, unequal
    way-points, times too close, a last way-point in motion.
    """
    times = np.array([point.time_from_start_s for point in points])
    values = np.zeros((len(points), _rows(points), len(present.theta)))
    values[:, 0] = present.theta
    values[:, 0, list(columns)] = [point.positions for point in points]
    for row, name in ((1, "velocities"), (2, "accelerations"))[: values.shape[1] - 1]:
        for index, point in enumerate(points):
            given = getattr(point, name)
            values[index, row] = np.nan if given is None else 0.0
            if given is not None:
                values[index, row, list(columns)] = given
    values[:, 0] += present.nearest(values[0, 0])
    if times[0] == 0.0:
        check_start(values[0], present, columns)
        _join(values, times, present.theta - values[0, 0])
        values[0, 0] = present.theta
        open_rate = np.isnan(values[0, 1]) | present.moving
        values[0, 1] = np.where(open_rate, present.rate, values[0, 1])
        if present.moving and values.shape[1] == QUINTIC:
            values[0, 2] = present.acceleration
    else:
        here = np.zeros((1, *values.shape[1:]))
        here[0, 0], here[0, 1] = present.theta, present.rate
        here[0, 2:] = present.acceleration
        values, times = np.concatenate([here, values]), np.concatenate([[0.0], times])
    check_times(times, len(times) - len(points))
    _check_end(values[-1, 1], present, len(points) - 1, columns)
    values[-1, 1] = 0.0
    if values.shape[1] == CUBIC:
        values = spline(times, values[:, 0], values[:, 1])
        if present.moving:
            times, values = joined(times, values, present.acceleration)
    return Path(present.coordinates, times, values, (0.0, float(times[-1])))


def _join(values: Floats, times: Floats, offset: Floats) -> None:
    """Let way-points (n × rows × coordinates) begin where the machine is, `offset` beside the first one.

    The offset goes to zero within JOINED_S, without a jump of acceleration: where way-points follow closely,
    one interval would take it back otherwise.
    """
    length = min(JOINED_S, float(times[-1]))
    if length <= 0.0 or not offset.any():
        return
    x = np.minimum(times / length, 1.0)
    falling = (
        1.0 - x**3 * (10.0 - 15.0 * x + 6.0 * x**2),
        -30.0 * (x * (1.0 - x)) ** 2 / length,
        -60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / length**2,
    )
    for row in range(values.shape[1]):
        values[:, row] += falling[row][:, None] * offset


def long_turns(points: Sequence[Waypoint], name: str, column: int) -> list[str]:
    """Warnings for the steps of an angle that turn by more than half a turn: its way-points are followed as
    they are given, and only the first one is taken whole turns off where that is nearer.
    """
    angles = np.array([point.positions[column] for point in points])
    steps = np.diff(angles)
    near = angles[:-1] + steps - 2.0 * np.pi * np.round(steps / (2.0 * np.pi))
    return [
        f"{name} turns by {abs(np.degrees(steps[at])):.4g}° from way-point {at} to {at + 1}, as given; for"
        f" the short way round write {near[at]:.6g} rad ({np.degrees(near[at]):.4g}°) in way-point {at + 1},"
        " and shift the later angles by as much"
        for at in np.flatnonzero(exceeds(np.abs(steps), np.pi)).tolist()
    ]


def refuse(text: str, *path: str | int, **data: object) -> NoReturn:
    """Raise RequestError (INVALID_GOAL) about a part of the trajectory."""
    raise RequestError(ResultCode.INVALID_GOAL, text, ("trajectory", *path), data)


def _rows(points: Sequence[Waypoint]) -> int:
    """CUBIC, or QUINTIC where every way-point has accelerations too."""
    given = [point.accelerations is not None for point in points]
    if not any(given):
        return CUBIC
    if not all(given):
        index = given.index(not given[0])
        text = f"give accelerations for every way-point or for none; points 0 and {index} differ"
        refuse(text, "points", index, "accelerations")
    return QUINTIC


def refuse_doubled(index: int) -> NoReturn:
    """Raise RequestError about a way-point that is the same place as the one before it."""
    before = f"way-point {index - 1} and it" if index else "the beginning and it"
    refuse(
        f"way-point {index} is doubled, {before} are the same place: leave one of them out, or send two"
        " goals to rest there",
        "points", index, "positions",
    )  # fmt: skip


def check_start(first: Floats, present: Present, columns: Sequence[int]) -> None:
    """Refuse a first way-point (rows × k) that is not where the machine is, or not as fast."""
    for place, column in enumerate(columns):
        name, limit = present.names[column], float(present.tolerance[column])
        value, here = float(first[0, column]), float(present.theta[column])
        if exceeds(abs(value - here), limit):
            refuse(
                f"the goal begins at {name} = {value:.6g}, {abs(value - here):.3g} away from where the"
                f" machine is ({here:.6g}); at most {limit:.3g} is allowed. Move there first (`linkwork send"
                " --approach` does), or let the first time be above 0",
                "points", 0, "positions", place, coordinate=name, value=value, present=here, limit=limit,
                begin=dict(zip(present.names, first[0].tolist(), strict=True)),
            )  # fmt: skip
        value, here = float(first[1, column]), float(present.rate[column])
        if exceeds(abs(value - here), limit):  # a rate that is left open is not a number, and passes
            refuse(
                f"the goal begins with {name} at {value:.6g} per s, the machine has {here:.6g}",
                "points", 0, "velocities", place, coordinate=name, value=value, present=here, limit=limit,
            )  # fmt: skip


def check_times(times: Floats, added: int) -> None:
    """Refuse times (n) that follow too closely; added: how many are not of way-points."""
    gaps = np.diff(times)
    shortest = int(np.argmin(gaps))
    if gaps[shortest] < SHORTEST_PIECE_S:
        index = shortest + 1 - added
        refuse(
            f"only {gaps[shortest]:.3g} s before point {index}; at least {SHORTEST_PIECE_S:g} s are needed",
            "points", index, "time_from_start_s", value=float(gaps[shortest]), limit=SHORTEST_PIECE_S,
        )  # fmt: skip


def _check_end(rate: Floats, present: Present, last: int, columns: Sequence[int]) -> None:
    for place, column in enumerate(columns):
        value, limit = float(rate[column]), float(present.tolerance[column])
        if exceeds(abs(value), limit):
            name = present.names[column]
            refuse(
                f"the last way-point has {name} at {value:.6g} per s; a goal must end at rest",
                "points", last, "velocities", place, coordinate=name, value=value, limit=limit,
            )  # fmt: skip
