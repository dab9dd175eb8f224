"""The fastest time law of a path, within every limit of the machine, and what limits it where.

Reachability gives the fastest profile of second order; where jerks or rates of efforts have limits, a profile
of third order replaces it. The timed path is then walked at samples of its own stations. Where it exceeds a
limit, that limit is lowered, and the profile is computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.timing.profile import second_order
from linkwork.controller.planning.timing.smoothing import AllowedShares, smoothed
from linkwork.controller.planning.timing.stations import (
    PARTS,
    Factors,
    StationGrid,
    Stations,
    TimingLimit,
    grid_of,
)
from linkwork.controller.planning.timing.timed_path import timed
from linkwork.machine import Machine

_CORRECTIONS = 6
_SMALL = 1e-3
"""Excess of a limit that a slower motion of the whole path corrects as well."""
_ROUNDING = 2e-7
_BESIDE = 0.01
_STEEP = 0.02
"""Excess of a rate, where dry friction begins to act, that a share of the limit does not correct in time."""
_BEGIN = 0.1
"""Share of the intervals within which a path that begins in motion comes down to a share of the limits."""
_COOLEST = 0.1
"""Least share of the heat by which it is corrected."""
_WARM = 0.98
"""Share of the heat of a cycle from which on it limits the motion, where magnitudes are below this share."""
_MOST_SAVINGS = 8
MORE = 1.1
"""Factor of a limit of which the report says what it would save."""


@dataclass(frozen=True)
class FastestTiming:
    """A timed path, its stations along the path as given, and the limits that determine its time.

    `allowed`: shares of the limits that x uses. `limiting` (n): the limit that is used most in each interval,
    `used` its share.
    """

    path: Path
    stations: Stations
    x: Floats
    order: int
    allowed: AllowedShares
    limiting: tuple[TimingLimit, ...]
    used: Floats

    def admitted(self, stretch: Callable[[Path], float], tries: int) -> FastestTiming:
        """The timing, slower by the little that admission's own samples ask for. One that begins in motion
        stays as it is.
        """
        path = self.path
        for _ in range(0 if self.stations.grid.in_motion else tries):
            slower = stretch(path)
            if slower == 1.0 or not np.isfinite(slower):
                break
            path = path.stretched(slower * (1.0 + _ROUNDING))
        return replace(self, path=path)

    def table(self) -> list[dict[str, Any]]:
        """The limits by their share of the time, the largest first: quantity, name, unit, time_s, share."""
        spent: dict[TimingLimit, float] = {}
        for limit, time_s in zip(self.limiting, np.diff(self.path.knots).tolist(), strict=True):
            spent[limit] = spent.get(limit, 0.0) + time_s
        return [
            {**_plain(limit), "time_s": time_s, "share": time_s / self.path.duration_s}
            for limit, time_s in sorted(spent.items(), key=lambda entry: -entry[1])
        ]

    def stretches(self) -> list[dict[str, Any]]:
        """The path's stretches with one limit each: from_s, to_s, quantity, name, unit."""
        found: list[dict[str, Any]] = []
        for i, limit in enumerate(self.limiting):
            if i and limit == self.limiting[i - 1]:
                found[-1]["to_s"] = float(self.path.knots[i + 1])
            else:
                begin, end = self.path.knots[i : i + 2].tolist()
                found.append({"from_s": begin, "to_s": end, **_plain(limit)})
        return found

    def savings(self) -> list[dict[str, Any]]:
        """Return what a limit larger by the factor MORE saves, of the limits with the largest shares."""
        base = self._duration({})
        order = list(dict.fromkeys(self.limiting))
        order.sort(key=lambda limit: -sum(each == limit for each in self.limiting))
        return [
            {**_plain(limit), "factor": MORE, "saves_s": base - self._duration({limit: MORE})}
            for limit in order[:_MOST_SAVINGS]
        ]

    def _duration(self, factors: Factors) -> float:
        return _duration_of(self.stations, _profile(self.stations, self.order, factors, self.x, self.allowed))


def _plain(limit: TimingLimit) -> dict[str, str]:
    return {"quantity": limit.quantity, "name": limit.name, "unit": limit.unit}


def order_of(machine: Machine, path: Path) -> int:
    """3 where a jerk or the rate of an effort has a limit along the path, else 2."""
    own = machine.joint_coordinates
    named = [machine.coordinates[index] for index in path.coordinates if index >= own]
    rates = [motor.max_effort_rate for motor in machine.motors]
    finite = np.isfinite([*(each.jerk for each in (*machine.joints, *named)), *rates])
    return 3 if finite.any() else 2


def along(
    machine: Machine,
    path: Path,
    q: Floats,
    time_s: float,
    margin: float,
    in_motion: bool,
    intervals: int | None = None,
) -> Stations:
    """Lay stations along a path, from the joints q (nq), and collect the limits there."""
    grid = grid_of(machine, path, order_of(machine, path), in_motion, intervals)
    return Stations.along(machine, path, q, time_s, grid, margin)


def uncorrected_duration(machine: Machine, stations: Stations) -> float:
    """Time in which limits are kept at the stations alone: to compare similar paths. Raises NoProfile."""
    x = _profile(stations, order_of(machine, stations.path), {}, None, AllowedShares.whole(stations))
    return _duration_of(stations, x)


def _duration_of(stations: Stations, x: Floats) -> float:
    return float((2.0 * stations.grid.width / (np.sqrt(x[:-1]) + np.sqrt(x[1:]))).sum())


def fastest(
    machine: Machine, stations: Stations, time_s: float, margin: float, share: float = 1.0
) -> FastestTiming:
    """Time a path as fast as its limits admit. Raises NoProfile.

    share: of every limit that may be used, except where a path begins in motion. A path that begins at rest
    is slowed down by the little that limits are exceeded by between stations.
    """
    order, in_motion = order_of(machine, stations.path), stations.grid.in_motion
    n = len(stations.grid.width)
    allowed = AllowedShares.whole(stations)
    if share < 1.0:
        less = 1.0 - (1.0 - share) * np.minimum(np.arange(n + 1) / (_BEGIN * n), 1.0)
        allowed = replace(allowed, magnitudes=less[:-1], rates=less)
    x: Floats | None = None
    for tried in range(_CORRECTIONS + 1):
        x = _profile(stations, order, {}, x, allowed)
        found, r = timed(stations, x, order)
        judged = _judged(machine, found, stations.walk.q[0], time_s, margin)
        over, rate, heat = judged.over, judged.rate, judged.heat
        excess = max(over.max(), rate.max(), heat.max(initial=0.0) - 1.0)
        if excess <= (0.0 if in_motion else _SMALL) or tried == _CORRECTIONS:
            break
        inside = stations.grid.r
        lowered, slowed = np.zeros(n), np.zeros(n + 1)
        for place in (r[:-1] + _BESIDE * np.diff(r), r[1:] - _BESIDE * np.diff(r)):
            interval = np.searchsorted(inside, place, "right") - 1
            np.maximum.at(lowered, interval, over)
            for station in (interval, interval + 1):
                np.maximum.at(slowed, station, np.where(rate > 0.0, rate, 0.0))
        allowed = AllowedShares(
            allowed.magnitudes / (1.0 + lowered),
            allowed.rates / (1.0 + slowed) ** np.where(slowed > _STEEP, 2.5, 1.0),
            np.minimum(allowed.heat / np.maximum(heat, _COOLEST), 1.0),
        )
    slower = max((1.0 + max(over.max(), 0.0)) ** 0.5, (1.0 + max(rate.max(), 0.0)) ** (1.0 / 3.0))
    assert x is not None, "there was at least one try"
    path = found if in_motion else found.stretched(slower + _ROUNDING)
    return FastestTiming(path, stations, x, order, allowed, judged.limiting, judged.used)


def _profile(
    stations: Stations, order: int, factors: Factors, x: Floats | None, allowed: AllowedShares
) -> Floats:
    grid = stations.grid
    if order == 2 and not stations.heated:
        begin = float(grid.first[0, 0] ** -2.0) if grid.in_motion else -1.0
        return second_order(stations, allowed.magnitudes, begin, factors)
    return smoothed(stations, order, allowed, x, factors)


class _Judged(NamedTuple):
    """Excess of magnitudes and of rates in every interval (n) of a timed path, the share of the heat of each
    motor that may be used, if it is a cycle, and the limit used most in each interval, and how much (n).
    """

    over: Floats
    rate: Floats
    heat: Floats
    limiting: tuple[TimingLimit, ...]
    used: Floats


def _between(shares: Floats) -> Floats:
    """Return the largest values (rows × n) of the parabolas through three of the samples each.

    shares: rows × n × samples.
    """
    before, here, behind = shares[:, :, :-2], shares[:, :, 1:-1], shares[:, :, 2:]
    bend, slope = 2.0 * here - before - behind, behind - before
    peaked = np.abs(slope) < 2.0 * bend
    rise = np.where(peaked, slope**2 / (8.0 * np.where(peaked, bend, 1.0)), 0.0)
    return np.asarray((here + rise).max(axis=2))


def _judged(machine: Machine, path: Path, q: Floats, time_s: float, margin: float) -> _Judged:
    knots = path.knots
    n, count = len(knots) - 1, PARTS + 1
    at = knots[:-1, None] + np.diff(knots)[:, None] * np.linspace(0.0, 1.0, count)
    one, none = np.ones((n, count)), np.zeros((n, count))
    grid = StationGrid(knots, at, np.arange(n), at - knots[:-1, None], one, none, False)
    stations = Stations.along(machine, path, q, time_s, grid, margin)
    about = np.ones(n * count)
    rows = stations.rows(about)
    shares = rows.at_rate_one().reshape(-1, n, count)
    for load in stations.loads:  # exact, where the rows have directions
        whole = np.linalg.norm(load.motion + load.rest, axis=1).reshape(n, count) / load.most
        place = stations.limits.index(load.limit)
        shares[place] = np.maximum(shares[place], whole)
    tops = _between(shares)
    tops[-1] = _between(np.sqrt(shares[-1:]))[0] ** 2  # of the speed itself
    over = np.maximum(shares.max(axis=2), tops).max(axis=0) - 1.0
    most = shares.max(axis=2).T
    most[:, -1] = np.sqrt(most[:, -1])
    fastest_at = stations.fastest_limits.reshape(n, count)[np.arange(n), shares[-1].argmax(axis=1)]
    names = [*stations.limits]
    rate = np.full(n, -1.0)
    changing = stations.changes(about)
    if changing is not None:
        _, b, c = (part.reshape(n, count, -1) for part in changing)
        whole = b + c
        rates = np.diff(whole, axis=1) * (PARTS / np.diff(knots))[:, None, None]
        ends = 1.5 * rates[:, [0, -1]] - 0.5 * rates[:, [1, -2]]
        change = np.abs(np.concatenate([rates, ends], axis=1)).max(axis=1)
        rate = change.max(axis=1) - 1.0
        most = np.concatenate([most, change], axis=1)
        names += [each.limit for each in stations.changing]
    chosen, used = most.argmax(axis=1), most.max(axis=1)
    speed = len(stations.limits) - 1
    limiting = [
        stations.speeds[fastest_at[i]][0] if row == speed and stations.speeds else names[row]
        for i, row in enumerate(chosen.tolist())
    ]
    heat = stations.heat_used() / margin**2
    if heat.max(initial=0.0) > _WARM:
        hottest = stations.heated[int(np.argmax(heat))]
        limiting = [limit if share > _WARM else hottest for limit, share in zip(limiting, used, strict=True)]
    return _Judged(over, rate, heat, tuple(limiting), used)
