"""The fastest profile of third order: with limits of jerks and of the efforts' rates.

The unknowns are x = ṙ² at the stations; r¨ in an interval is half the slope of x. Magnitudes are limited in
the middle of every interval. From one middle to the next, accelerations and efforts may change by their
largest rate times the time between, half the sum of the intervals' times

    h = 2 Δr / (√x₀ + √x₁)

h is convex in x: the feasible set is not convex, but every tangent of h is on its safe side. An interior
point method follows the centres of the barrier to the fastest profile; its matrix has two bands beside the
diagonal, and the curvature of h on the side of the limits is left out of it (Gauss-Newton). Heat adds a term
of rank one for each motor (cycle_heat.py).

A profile of second order with limits of heat is found in the same way: r¨ may jump at a station, and
magnitudes are limited at both ends of every interval in place of its middle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from linkwork.arrays import Floats
from linkwork.controller.planning.timing.cycle_heat import CycleHeat
from linkwork.controller.planning.timing.limit_rows import LimitRows
from linkwork.controller.planning.timing.profile import NoProfile, refuse_at_rest, rows_about
from linkwork.controller.planning.timing.stations import PARTS, Factors, Stations

WITHIN = 2e-4
"""Share of the time by which a profile may be slower than the fastest one of its rows."""
_STEPS, _FIRST_STEPS = 60, 12
"""Of Newton for each weight of the time; for the first weights, while no centre is found."""
_STEP_COSTS = 1.0
_APPROACHES, _LEAST_ADDED = 60, 1e-5
"""Tries to get from a profile in motion to one within the limits, and the least share added to these."""
_GROWTH = 10.0
_AGAIN = 1e-2
"""Weight of the time, as a share of the last one, with which a further pass begins."""
_PASSES = 2
"""About which friction is linear, from no given profile; one from a given one."""
_SLOWER = 0.98
_MIDDLE = PARTS // 2
_LIMITED_AT = {2: (0, PARTS), 3: (_MIDDLE,)}
"""Samples of an interval at which magnitudes are limited, by the order of the profile."""


@dataclass(frozen=True)
class AllowedShares:
    """Shares that may be used: of magnitudes in n intervals, of rates at n + 1 stations, of motors' heat."""

    magnitudes: Floats
    rates: Floats
    heat: Floats

    @classmethod
    def whole(cls, stations: Stations) -> AllowedShares:
        """All of every limit."""
        n = len(stations.grid.width)
        return cls(np.ones(n), np.ones(n + 1), np.ones(len(stations.heated)))


def _around(x: Floats) -> Floats:
    """Return for every station the x before, at and behind it ((n + 1) × 3); 0 beyond the ends."""
    return sliding_window_view(np.concatenate([[0.0], x, [0.0]]), 3)


def _inside(a: Floats, b: Floats, width: Floats, share: float = 0.5) -> Floats:
    """Return coefficients (n × rows × 2) of x at both ends of n intervals, for a u + b x inside them."""
    steep = 0.5 * a / width[:, None]
    return np.stack([(1.0 - share) * b - steep, share * b + steep], axis=2)


def _at_rest(width: float, b: Floats) -> float:
    """Largest x at rest at an end of the path, for changes of b x (rows) in the interval there."""
    largest = float(np.abs(b).max())
    return (width / largest) ** (2.0 / 3.0) if largest > 0.0 else math.inf


@dataclass
class SmoothingRows:
    """Limits at the n + 1 stations: `coefficients` ((n + 1) × rows × 3) on x before, at and behind each,
    their `room` ((n + 1) × rows), and how many rows, the last ones, have the time between two middles added
    to it, of which `share` (n + 1) may be used. `most` (n + 1): largest x, of stations at rest alone, where
    the acceleration begins with 0.
    """

    width: Floats
    coefficients: Floats
    room: Floats
    timed: int
    share: Floats
    most: Floats
    heat: CycleHeat | None

    @classmethod
    def of(
        cls,
        stations: Stations,
        rows: LimitRows,
        about: Floats,
        order: int,
        allowed: AllowedShares,
        factors: Factors,
    ) -> SmoothingRows:
        """Return the limits about a profile (samples)."""
        grid, parts, rooms = stations.grid, [], []
        n, count = grid.at.shape
        for place in _LIMITED_AT[order]:
            a, b, c = rows.sides(slice(place, None, count))
            inside = np.zeros((n + 1, a.shape[1], 3))
            inside[:-1, :, 1:] = _inside(a, b, grid.width, place / PARTS)
            parts.append(inside)
            rooms.append(np.concatenate([allowed.magnitudes[:, None] - c, np.ones((1, a.shape[1]))]))
        changing, most = stations.changes(about, factors), np.full(n + 1, np.inf)
        if changing is not None:
            a, b, c = (part.reshape(n, count, -1) for part in changing)
            inside = _inside(a[:, _MIDDLE], b[:, _MIDDLE], grid.width)
            change = np.zeros((n + 1, a.shape[2], 3))
            change[:-1, :, 1:] += inside
            change[1:, :, :-1] -= inside
            change[1:-1, :, 1] -= b[1:, 0] - b[:-1, -1]  # of the path's own second derivative
            between = c[:, _MIDDLE]
            begin = c[:1, 0]
            if grid.in_motion:  # with σ¨ = 0
                change[0, :, 1] -= b[0, 0]
                begin = begin - a[:1, 0] * (grid.second[0, 0] / grid.first[0, 0] ** 3)
            else:
                most[0] = _at_rest(grid.width[0], b[0, -1])
            rest = np.concatenate([between, c[-1:, -1]]) - np.concatenate([begin, between])
            most[-1] = _at_rest(grid.width[-1], b[-1, 0])
            parts += [change, -change]
            rooms += [-rest, rest]
        timed = 0 if changing is None else 2 * changing[0].shape[1]
        heat = CycleHeat.of(stations, about, allowed.heat, factors) if stations.heated else None
        coefficients, room = np.concatenate(parts, axis=1), np.concatenate(rooms, axis=1)
        return cls(grid.width, coefficients, room, timed, allowed.rates, most, heat)

    @property
    def count(self) -> int:
        """Number of the limits."""
        return self.room.size + (0 if self.heat is None else len(self.heat.share))

    def times(self, x: Floats) -> Floats:
        """Times of the intervals (n)."""
        return np.asarray(2.0 * self.width / (np.sqrt(x[:-1]) + np.sqrt(x[1:])))

    def slack(self, x: Floats) -> Floats:
        """Room that is left ((n + 1) × rows)."""
        left = self.room - np.einsum("nrk,nk->nr", self.coefficients, _around(x))
        if self.timed:
            half = 0.5 * self.times(x)
            between = np.append(half, 0.0) + np.append(0.0, half)
            left[:, -self.timed :] += (self.share * between)[:, None]
        return np.asarray(left)

    def value(self, x: Floats, weight: float) -> float:
        """The weighted time of x (n + 1) less the logarithms of all room left; infinite without any."""
        ends = np.isfinite(self.most)
        room = np.concatenate([x, self.most[ends] - x[ends]])
        if not room.min() > 0.0:
            return np.inf
        slack = self.slack(x)
        if not slack.min() > 0.0:
            return np.inf
        times, cool = self.times(x), np.ones(1)
        if self.heat is not None:
            cool = self.heat.slack(x, times)
            if not cool.min() > 0.0:
                return np.inf
        aim = float(times.sum()) + self.bent(x)[0]
        return weight * aim - sum(float(np.log(left).sum()) for left in (slack, room, cool))

    def bent(self, x: Floats) -> tuple[float, Floats, Floats]:
        """Cost of steps of x beside the ends at rest, where no row sees them; its first and second
        derivatives by each step (2 each).
        """
        heavy = np.where(np.isfinite(self.most[[0, -1]]), self.most[[0, -1]], np.inf) ** -2.0 * _STEP_COSTS
        step = np.array([x[1] - x[0], x[-2] - x[-1]])
        return float(heavy @ step**2), 2.0 * heavy * step, 2.0 * heavy


def fastest_within(problem: SmoothingRows, x: Floats, fixed: int, first: float) -> Floats:
    """The fastest profile, from one (n + 1) that is strictly within all limits.

    fixed: number of stations, the first ones, that keep their x. first: weight of the time to begin with, as
    a share of the last one.
    """
    final = problem.count / (WITHIN * float(problem.times(x).sum()))
    weight, lowest, centred = min(first, 1.0) * final, WITHIN * final, False
    while True:
        for _ in range(_STEPS if centred or weight <= lowest else _FIRST_STEPS):
            x, gain = _newton(problem, x, weight, fixed)
            if gain < 1e-3 * len(x) ** 0.5:
                centred = True
                break
        if not centred and weight > lowest:  # far from the centre Newton's steps are short
            weight = max(weight / _GROWTH**2, lowest)
            continue
        if problem.count < weight * WITHIN * float(problem.times(x).sum()):
            return x
        weight, centred = weight * _GROWTH, True


def _newton(problem: SmoothingRows, x: Floats, weight: float, fixed: int) -> tuple[Floats, float]:
    """Return x after a step toward the centre for this weight of the time, and the decrease that the step
    promised.
    """
    from scipy.linalg import solveh_banded  # a planner starts without it

    gradient, band, pull = _derivatives(problem, x, weight)
    if not (np.isfinite(gradient).all() and np.isfinite(band).all()):
        raise np.linalg.LinAlgError
    kept = slice(0, fixed)
    gradient[kept] = pull[:, kept] = 0.0
    band[2, kept] = 1.0
    for offset in (1, 2):
        band[2 - offset, offset : offset + fixed] = 0.0
    scale = 1.0 / np.sqrt(band[2])
    for offset in range(3):
        band[2 - offset, offset:] *= scale[offset:] * scale[: len(x) - offset]
    solved = scale * solveh_banded(band, (scale * np.vstack([gradient, pull])).T).T
    step, away = -solved[0], solved[1:]
    if len(pull):  # Woodbury
        step -= np.linalg.solve(np.eye(len(pull)) + pull @ away.T, pull @ step) @ away
    gain = float(-gradient @ step)
    value, share = problem.value(x, weight), 1.0
    while share > 1e-12:
        moved = x + share * step
        if problem.value(moved, weight) <= value - 1e-4 * share * gain:
            return moved, gain
        share *= 0.5
    return x, 0.0


def _derivatives(problem: SmoothingRows, x: Floats, weight: float) -> tuple[Floats, Floats, Floats]:
    """Gradient (n + 1) and matrix of `SmoothingRows.value`: 3 × (n + 1), the diagonal last, and the rows
    (motors × (n + 1)) whose squares it has too.
    """
    n, root, time = len(problem.width), np.sqrt(x), problem.times(x)
    first, last = root[:-1], root[1:]
    both = first + last
    before, behind = -time / (2.0 * both * first), -time / (2.0 * both * last)
    pull = problem.coefficients.copy()
    if problem.timed:
        slope = np.zeros((n + 1, 3))
        slope[1:, 0], slope[:-1, 2] = before, behind
        slope[1:, 1] += behind
        slope[:-1, 1] += before
        pull[:, -problem.timed :] -= (0.5 * problem.share[:, None] * slope)[:, None]
    pull /= problem.slack(x)[:, :, None]
    along, square = pull.sum(axis=1), np.matmul(pull.transpose(0, 2, 1), pull)
    over = 1.0 / (problem.most - x)
    gradient, band = over - 1.0 / x, np.zeros((3, n + 1))
    band[2] = over**2 + 1.0 / x**2
    for i in range(3):  # of three neighbours: the stations i - 1 behind the row's own
        rows = slice(max(0, 1 - i), n + 1 - max(0, i - 1))
        gradient[max(0, i - 1) : n + 1 - max(0, 1 - i)] += along[rows, i]
        for j in range(i, 3):
            rows = slice(max(0, 1 - i), n + 1 - max(0, j - 1))
            at = np.arange(n + 1)[rows] + j - 1
            band[2 - (j - i), at] += square[rows, i, j]
    gradient[:-1] += weight * before
    gradient[1:] += weight * behind
    bend = time / (2.0 * both)
    curve = (
        bend * (1.0 / both + 0.5 / first) / first**2,
        bend / (both * first * last),
        bend * (1.0 / both + 0.5 / last) / last**2,
    )
    squares, bent_by = np.zeros((0, n + 1)), weight
    if problem.heat is not None:
        squares, more, less = problem.heat.derivatives(x, time, before, behind, curve)
        gradient -= squares.sum(axis=0)
        band[1:] += more
        bent_by = max(weight - less, 0.0)
    band[2, :-1] += bent_by * curve[0]
    band[1, 1:] += bent_by * curve[1]
    band[2, 1:] += bent_by * curve[2]
    _, pull_of, bent = problem.bent(x)
    for end, beside, sign in ((0, 1, 0), (-1, -2, 1)):
        gradient[beside] += weight * pull_of[sign]
        gradient[end] -= weight * pull_of[sign]
        band[2, [end, beside]] += weight * bent[sign]
        band[1, max(end, beside)] -= weight * bent[sign]
    return gradient, band, squares


def smoothed(
    stations: Stations,
    order: int,
    allowed: AllowedShares,
    x: Floats | None = None,
    factors: Factors | None = None,
) -> Floats:
    """The fastest x (n + 1) of this order.

    x: a profile to begin from, which is slowed down to be within the limits. Raises NoProfile.
    """
    given, fixed = factors or {}, int(stations.grid.in_motion)
    first, passes = (WITHIN, _PASSES) if x is None else (_AGAIN, 1)
    if x is None:
        x = stations.own_speed() if fixed else np.ones(len(allowed.rates))
    for tried in range(passes):
        about, _ = stations.at_samples(x)
        rows = rows_about(stations, about, given)
        refuse_at_rest(stations, rows)
        problem = SmoothingRows.of(stations, rows, about, order, allowed, given)
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                x = _from_motion(stations, problem, x, fixed) if fixed else _slowed(stations, problem, x)
                x = fastest_within(problem, x, fixed, first if tried == 0 else _AGAIN)
        except np.linalg.LinAlgError:
            cause = "the limits are too far apart in size for a numerical solution"
            cause = "no motion within the limits that continues the present one was found" if fixed else cause
            raise NoProfile(0, cause) from None
    return x


def _slowed(stations: Stations, problem: SmoothingRows, x: Floats) -> Floats:
    """Return the profile x (n + 1), slowed down until it is within all limits. Raises NoProfile."""
    for _ in range(1000):
        if np.isfinite(problem.value(x, 1.0)):
            return x
        x = x * _SLOWER
    raise _never_slow_enough(stations, problem, x)


def _from_motion(stations: Stations, problem: SmoothingRows, x: Floats, fixed: int) -> Floats:
    """Return a profile within all limits that begins as x (n + 1) does. Raises NoProfile.

    What x exceeds a limit by is added to all limits; the centre of these is nearer to what they allow.
    """
    x = np.where(np.isfinite(problem.most), np.minimum(x, 0.5 * problem.most), x)
    size = np.ones_like(problem.room)
    if problem.timed:
        half = 0.5 * problem.times(x)
        between = np.append(half, 0.0) + np.append(0.0, half)
        size[:, -problem.timed :] = (problem.share * between)[:, None]
    for _ in range(_APPROACHES):
        if np.isfinite(problem.value(x, 1.0)):
            return x
        short = -float((problem.slack(x) / size).min())
        relaxed = replace(problem, room=problem.room + (1.5 * short + _LEAST_ADDED) * size)
        for _ in range(_FIRST_STEPS):
            x, gain = _newton(relaxed, x, 0.0, fixed)
            if gain < 1e-3 * len(x) ** 0.5:
                break
    row = int(np.argmin((problem.slack(x) / size).min(axis=0)))
    kinds = [each.limit for each in stations.changing]
    names = [*stations.limits[:-1], *stations.limits] * (
        (size.shape[1] - problem.timed) // (2 * len(stations.limits) - 1)
    )
    limit = [*names, *kinds, *kinds][row]
    raise NoProfile(
        0, f"the {limit.quantity} of {limit.name} does not suffice to continue the present motion"
    )


def _never_slow_enough(stations: Stations, problem: SmoothingRows, x: Floats) -> NoProfile:
    if problem.heat is not None:
        used = problem.heat.at_rest(problem.times(x)) / problem.heat.share
        hottest = int(np.argmax(used))
        if used[hottest] >= 1.0:
            sample = int(np.argmax(np.abs(problem.heat.rest[hottest]))) * stations.grid.at.shape[1]
            cause = (
                f"{stations.heated[hottest].name} would need {100.0 * used[hottest] ** 0.5:.0f} % of the"
                " continuous effort that it may use to hold the machine, however slow the cycle is"
            )
            return NoProfile(sample, cause)
    return NoProfile(0, "no motion is slow enough for the limits")
