"""Straight lines between way-points, whose corners are blended within a radius.

On a line every coordinate has a constant rate. About the way-point at the time t the rate v of the line
before turns into the rate w of the line behind:

    θ' = v + (w - v) (3 τ² - 2 τ³),   τ from 0 at t - T/2 to 1 at t + T/2

a quartic whose acceleration is zero at both ends, as that of the lines. It stays in the triangle of its ends
and the way-point, and the ends are |v| T / 2 and |w| T / 2 away from the way-point. The path leaves its
beginning, and comes to rest at its end, by ramps of the same form over half of the first and of the last
line.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Flags, Floats
from linkwork.controller.exchange.goal_block import QUINTIC, SHORTEST_PIECE_S
from linkwork.controller.planning.messages.planner_start import Present
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.paths.splines import check_start, check_times, refuse, refuse_doubled
from linkwork.protocol.trajectory import Trajectory

_RAMP = 0.5
"""Share of the first and of the last line in which the path gets in motion, and comes to rest."""
_STILL = 1e-9
_SAME = 1e-6
"""Share of the path's time below which no line is left between two blends."""


@dataclass(frozen=True)
class CornerMetric:
    """Measures of a path's lines, for the k goal coordinates: which are angles, and their scales."""

    is_angle: Flags
    scale: Floats

    def lengths(self, lines: Floats) -> dict[str, Floats]:
        """Return by the key of a radius how long lines (n × k) are in its unit (n)."""
        parts = {"radius_m": ~self.is_angle, "radius_rad": self.is_angle}
        return {key: np.linalg.norm(lines[:, part], axis=1) for key, part in parts.items()}


def path_with_corners(
    trajectory: Trajectory, columns: Sequence[int], present: Present, metric: CornerMetric
) -> Path:
    """The path along the lines between way-points, from where the machine is.

    columns: place in `present` of each of the way-points' numbers; the other coordinates hold. With `timing:
    fastest` the distances of the way-points replace their times, so that a blend begins and ends at the same
    distance. Raises RequestError (INVALID_GOAL): as `path_through`, and for a corner whose radius bounds
    nothing.
    """
    points = trajectory.points or []
    theta = np.tile(present.theta, (len(points) + 1, 1))
    theta[1:, list(columns)] = [point.positions for point in points]
    theta[1:] += present.nearest(theta[1])
    times = np.array([0.0, *(point.time_from_start_s for point in points)])
    added = 1
    if times[1] == 0.0:
        check_start(np.stack([theta[1], np.full(len(theta[1]), np.nan)]), present, columns)
        theta, times, added = np.delete(theta, 1, axis=0), times[1:], 0
    check_times(times, added)
    lines = np.diff(theta, axis=0)
    still = np.flatnonzero(np.abs(lines).max(axis=1) <= _STILL)
    if len(still):
        refuse_doubled(int(still[0]) + 1 - added)
    shares = np.ones(len(lines))
    shares[0] -= 0.5 * _RAMP
    shares[-1] -= 0.5 * _RAMP
    if trajectory.timing == "fastest":
        apart = np.linalg.norm(lines * metric.scale, axis=1) / shares
        moving = float(np.linalg.norm(present.rate * metric.scale)) if present.moving else 0.0
        whole = float(times[-1]) if moving <= _STILL else float(apart.sum()) / moving
        times = np.concatenate([[0.0], np.cumsum(apart)]) * (whole / float(apart.sum()))
        short = np.flatnonzero(shares * np.diff(times) < 2.0 * SHORTEST_PIECE_S)
        if len(short):
            refuse_doubled(int(short[0]) + 1 - added)
    rates = lines / (shares * np.diff(times))[:, None]
    blends, notes = _blends(trajectory, 1 - added, lines, rates, metric)
    return _assembled(present, times, theta, rates, blends, notes)


def _blends(
    trajectory: Trajectory, first: int, lines: Floats, rates: Floats, metric: CornerMetric
) -> tuple[Floats, tuple[str, ...]]:
    """Times T of the blends (m), and notes about radii that the lines beside them cut.

    first: number of the first way-point with a corner. lines, rates ((m + 1) × k): of the lines.
    """
    points, notes = trajectory.points or [], []
    speeds, ways = metric.lengths(rates), metric.lengths(lines)
    most = np.linalg.norm(lines, axis=1) / np.linalg.norm(rates, axis=1)
    times = np.zeros(len(lines) - 1)
    for i in range(len(times)):
        own = points[first + i].corner
        corner = own or trajectory.corner
        assert corner is not None, "read_trajectory has made sure"
        where: tuple[str | int, ...] = ("points", first + i, "corner") if own else ("corner",)
        radii = corner.model_dump(exclude_none=True)
        for line, side in ((i, "before"), (i + 1, "behind")):
            if not any(ways[key][line] > _STILL for key in radii):
                other, moved = ("radius_rad", "angles") if "radius_m" in radii else ("radius_m", "lengths")
                text = f"on the line {side} way-point {first + i} {moved} alone change: give {other} too"
                refuse(text, *where)
        asked = {key: 2.0 * radius / max(speeds[key][i : i + 2]) for key, radius in radii.items()}
        key = min(asked, key=asked.__getitem__)
        times[i] = min(asked[key], *most[i : i + 2])
        if times[i] < 2.0 * SHORTEST_PIECE_S:
            text = f"the corner of way-point {first + i} would be blended in {times[i]:.3g} s,"
            refuse(f"{text} {2.0 * SHORTEST_PIECE_S:g} s are needed: give a larger radius", *where, key)
        if times[i] < asked[key] * (1.0 - _SAME):
            unit, side = key.removeprefix("radius_"), "behind" if most[i + 1] < most[i] else "before"
            left = radii[key] * times[i] / asked[key]
            notes.append(
                f"the corner of way-point {first + i} is cut from {radii[key]:g} {unit} to {left:.4g} {unit}:"
                f" the line {side} it allows no more, half of it"
            )
    return times, tuple(notes)


def _assembled(
    present: Present, times: Floats, theta: Floats, rates: Floats, blends: Floats, notes: tuple[str, ...]
) -> Path:
    """The path of lines with these rates (n × k) between places ((n + 1) × k), and of blends (n - 1)."""
    ramps = _RAMP * np.diff(times)[[0, -1]]
    rest = np.zeros_like(present.theta)
    rows = [
        (0.0, present.theta, present.rate, present.acceleration),
        (ramps[0], theta[0] + 0.5 * ramps[0] * rates[0], rates[0], rest),
    ]
    for t, place, v, w, length in zip(times[1:], theta[1:], rates, rates[1:], blends, strict=False):
        half, turn = 0.5 * length, w - v
        rows += [
            (t - half, place - half * v, v, rest),
            (t, place + 3.0 / 16.0 * half * turn, 0.5 * (v + w), 1.5 / length * turn),
            (t + half, place + half * w, w, rest),
        ]
    rows += [
        (times[-1] - ramps[1], theta[-1] - 0.5 * ramps[1] * rates[-1], rates[-1], rest),
        (times[-1], theta[-1], rest, rest),
    ]
    knots = np.array([row[0] for row in rows])
    values = np.array([row[1:] for row in rows]).reshape(len(rows), QUINTIC, -1)
    shortest = max(SHORTEST_PIECE_S, _SAME * float(times[-1]))
    kept = np.append(np.diff(knots) > shortest, True)
    knots, values = knots[kept], values[kept]
    marked = np.searchsorted(knots, times)
    return Path(present.coordinates, knots, values, (0.0, float(times[-1])), marked=marked, notes=notes)
