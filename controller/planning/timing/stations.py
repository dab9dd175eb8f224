"""Stations of a path for its time law, and every limit there as rows in x = ṙ² and u = r¨.

The parameter r, from 0 to 1, is chosen so that a motion from and to rest has a finite ṙ at both ends: where
the path's own parameter σ leaves an end as σ^(k+1), r is proportional to σ^((k+1)/m), with m = 2, or 3 where
jerks are limited. Each interval between two stations has `PARTS` + 1 samples, both ends among them; they are
those of a walk along the path, with derivatives turned to r. A row

    a u + b x + c ≤ 1

is one side of one limit, in shares of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import beta, betainc, betaincinv

from linkwork.arrays import Floats, Integers
from linkwork.controller.planning.checks.effort_check import Efforts
from linkwork.controller.planning.checks.stopping import AT_LEAST
from linkwork.controller.planning.checks.workspace_check import points_along
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.walk.walk import Walk, walk
from linkwork.machine import Limits, Machine
from linkwork.multibody.coordinate_scales import scales

PARTS = 4
"""Parts of an interval between whose ends the limits are checked."""
INTERVALS = {2: 500, 3: 240}
"""Of a path, by the order of its time law; at least two for each of its pieces."""
END = 1e-3
"""Share of an interval at a path's end that is left out where r would be singular there."""
_PROBE = 1e-3
_STILL = 1e-9
"""Share of the path's largest rate that counts as none."""
SLOW = 1e-4
"""Share of the largest x below which √x is linear about this share."""
_HEAVY = 0.3
"""Share of a limit from which on an effort at rest gets rows of its own."""
_NEARBY = 1e-3
"""Step of x for the slope of friction over x, relative."""


@dataclass(frozen=True)
class TimingLimit:
    """One limit of the machine: quantity ("effort", "velocity", …), whose it is, and the limit's unit."""

    quantity: str
    name: str
    unit: str


class StationParameter:
    """The parameter r of a path of duration `end` (of σ), see above. order: m; in_motion: begins so."""

    def __init__(self, machine: Machine, path: Path, order: int, in_motion: bool) -> None:
        self.end = path.duration_s
        size = scales(machine.mechanism, path.coordinates)[0]

        def leaving(length: float, side: float) -> float:
            at = 0.0 if side > 0.0 else self.end
            rates = [
                float(np.linalg.norm(size * path.evaluate(at + side * share * _PROBE * length)[1]))
                for share in (0.0, 1.0, 2.0)
            ]
            largest = float(np.abs(size * path.values[:, 1]).max())
            if rates[0] > _STILL * largest or not rates[1] > 0.0:
                return 0.0
            return float(round(math.log2(rates[2] / rates[1])))

        lengths = np.diff(path.knots)
        powers = leaving(float(lengths[0]), 1.0), leaving(float(lengths[-1]), -1.0)
        self._a, self._b = (order / (power + 1.0) for power in powers)
        if in_motion:
            self._a = 1.0

    def at(self, sigma: Floats) -> Floats:
        """Return r at these σ (n)."""
        return np.asarray(betaincinv(self._a, self._b, sigma / self.end))

    def sigma(self, r: Floats) -> tuple[Floats, Floats, Floats]:
        """Return σ, dσ/dr and d²σ/dr² at r (n), inside 0 … 1."""
        a, b = self._a, self._b
        first = self.end * r ** (a - 1.0) * (1.0 - r) ** (b - 1.0) / beta(a, b)
        with np.errstate(divide="ignore", invalid="ignore"):
            bend = (0.0 if a == 1.0 else (a - 1.0) / r) - (0.0 if b == 1.0 else (b - 1.0) / (1.0 - r))
        return self.end * betainc(a, b, r), first, first * bend


@dataclass(frozen=True)
class StationGrid:
    """Stations `r` (n + 1) of a path's parameter, the piece (n) of each interval, and its samples.

    `at`: samples (n × (PARTS + 1)) of r; `piece`, `offset`: where they are on the path; `first`, `second`:
    dσ/dr and d²σ/dr² there.
    """

    r: Floats
    at: Floats
    piece: Integers
    offset: Floats
    first: Floats
    second: Floats
    in_motion: bool

    @cached_property
    def width(self) -> Floats:
        """Lengths of the intervals (n)."""
        return np.diff(self.r)


def grid_of(
    machine: Machine, path: Path, order: int, in_motion: bool, intervals: int | None = None
) -> StationGrid:
    """Lay stations along a path: on every knot, and evenly between them."""
    parameter = StationParameter(machine, path, order, in_motion)
    knots = parameter.at(path.knots)
    parts = np.maximum(np.ceil(np.diff(knots) * (intervals or INTERVALS[order]) - 1e-9).astype(np.int64), 2)
    inner = [np.linspace(a, b, n + 1)[:-1] for a, b, n in zip(knots, knots[1:], parts, strict=False)]
    r = np.append(np.concatenate(inner), 1.0)
    piece = np.repeat(np.arange(len(parts)), parts)
    shares = np.linspace(0.0, 1.0, PARTS + 1)
    at = r[:-1, None] + np.diff(r)[:, None] * shares
    if not in_motion:
        at[0, 0] += END * (r[1] - r[0])
    at[-1, -1] -= END * (r[-1] - r[-2])
    sigma, first, second = parameter.sigma(at)
    begin = path.knots[piece][:, None]
    offset = np.clip(sigma - begin, 0.0, np.diff(path.knots)[piece][:, None])
    return StationGrid(r, at, piece, offset, first, second, in_motion)


class LimitedQuantity(NamedTuple):
    """A quantity a u + b x + c (n each) with a limit of its magnitude, or of its change per s.

    `motor`: the column of the efforts, for friction; None of others.
    """

    limit: TimingLimit
    a: Floats
    b: Floats
    c: Floats
    most: float
    motor: int | None = None


@dataclass(frozen=True)
class StationRows:
    """StationRows a u + b x + c ≤ 1 at the samples (n × rows each) and their limits.

    The last row is the speed's; `fastest` (n) is the place of its limit among the stations' `speeds`.
    """

    a: Floats
    b: Floats
    c: Floats
    limits: tuple[TimingLimit, ...]
    fastest: Integers


Factors = Mapping[TimingLimit, float]
"""Limits that count as larger by a factor."""


class Stations:
    """The limits of a machine along a path, at the samples of a grid.

    margin: the share of every limit that may be used. `bounded`, `speeds`, `changing`: limits of magnitudes,
    of what grows with the speed alone (its share at ṙ = 1), and of changes per s. Efforts count with room to
    stop, as in admission.
    """

    def __init__(self, machine: Machine, path: Path, grid: StationGrid, walked: Walk, margin: float) -> None:
        self.grid, self.path, self.plain, self._machine = grid, path, walked, machine
        self.walk = walked.over(grid.first.ravel(), grid.second.ravel())
        self._efforts = efforts = Efforts(machine, self.walk)
        self.speeds = [
            (limit, np.abs(values) / (margin * most)) for limit, values, most in self._all_speeds()
        ]
        accelerations = list(self._kinematic("acceleration", "s²", margin))
        driven = [
            LimitedQuantity(
                TimingLimit("effort", name, unit), *efforts.terms(j), margin * float(efforts.limit[j]), j
            )
            for j, (name, unit) in enumerate(efforts.columns)
            if efforts.limit[j] > 0.0
        ]
        self.bounded = [*accelerations, *driven]
        self.changing = list(self._kinematic("jerk", "s³", margin))
        if not efforts.redundant:
            self.changing += [
                each._replace(
                    limit=TimingLimit("effort rate", each.limit.name, f"{each.limit.unit}/s"),
                    most=margin * float(efforts.rate_limit[each.motor]),
                )
                for each in driven
                if each.motor is not None and np.isfinite(efforts.rate_limit[each.motor])
            ]

    @classmethod
    def along(
        cls, machine: Machine, path: Path, q: Floats, time_s: float, grid: StationGrid, margin: float
    ) -> Stations:
        """Walk along a path, from the joints q (nq), and collect the limits."""
        places = np.repeat(grid.piece, grid.at.shape[1]), grid.offset.ravel()
        return cls(machine, path, grid, walk(machine, path, q, time_s, places), margin)

    def _coordinates(self) -> Iterator[tuple[Limits, Floats, Floats]]:
        """Limits and the first two derivatives (n) of joints and goal coordinates."""
        walked, machine = self.walk, self._machine
        for j, limits in enumerate(machine.joints):
            yield limits, walked.q1[:, j], walked.q2[:, j]
        for place, index in enumerate(self.path.coordinates):
            if index >= machine.joint_coordinates:
                yield machine.coordinates[index], walked.d1[:, place], walked.d2[:, place]

    def _kinematic(self, quantity: str, per: str, margin: float) -> Iterator[LimitedQuantity]:
        for limits, first, second in self._coordinates():
            most = getattr(limits, quantity)
            if math.isfinite(most):
                limit = TimingLimit(quantity, limits.name, f"{limits.unit}/{per}")
                yield LimitedQuantity(limit, first, second, np.zeros(len(first)), margin * most)

    def _all_speeds(self) -> Iterator[tuple[TimingLimit, Floats, float]]:
        """TimingLimit, values (n) at ṙ = 1 and the largest."""
        machine = self._machine
        for limits, first, _ in self._coordinates():
            if math.isfinite(limits.velocity):
                yield TimingLimit("velocity", limits.name, f"{limits.unit}/s"), first, limits.velocity
        for motor in machine.motors:
            limit = TimingLimit("motor speed", motor.joint, f"{motor.unit}/s")
            yield limit, self.walk.q1[:, motor.index], motor.max_speed
        regions = [region for region in machine.regions if math.isfinite(region.speed)]
        if regions:
            out = np.zeros((len(self.walk.s), 6 * len(regions)))
            index = np.array([region.index for region in regions], np.int64)
            work = machine.workspace()
            points_along(*work.arguments, self.walk.q, self.walk.q1, index, out)
            for m, region in enumerate(regions):
                speed = np.linalg.norm(out[:, 6 * m + 3 : 6 * m + 6], axis=1)
                yield TimingLimit("tool speed", region.name, "m/s"), speed, region.speed

    @cached_property
    def fastest(self) -> Floats:
        """The largest x (n) that the speeds' limits allow at the samples."""
        none = np.full(len(self.walk.s), 1.0)
        share = np.max([share for _, share in self.speeds] or [none], axis=0)
        return np.asarray(1.0 / np.maximum(share, _STILL * share.max()) ** 2)

    def at_samples(self, x: Floats) -> tuple[Floats, Floats]:
        """Return x and u at the samples (n each) for x at the stations, with constant u in every interval."""
        grid = self.grid
        u = 0.5 * np.diff(x) / grid.width
        inside = x[:-1, None] + 2.0 * u[:, None] * (grid.at - grid.r[:-1, None])
        return np.maximum(inside, 0.0).ravel(), np.repeat(u, grid.at.shape[1])

    def _with_speed(self, about: Floats) -> tuple[Floats, Floats]:
        """Friction and the room to stop (n × columns) at x = about (n × 1)."""
        shared, root = self._efforts.shared, np.sqrt(about)
        return shared.friction(1.0 / root), np.abs(shared.inertia) * (AT_LEAST * root)

    def _linear(self, about: Floats | None) -> tuple[Floats, Floats, Floats, Floats]:
        """Slope and level over x of friction and of the room to stop about a profile (n × columns); None:
        without these.
        """
        if about is None:
            none = np.zeros((len(self.walk.s), len(self._efforts.columns)))
            return none, none, none, none
        about = np.maximum(about, SLOW * self.fastest)[:, None]
        friction, reserve = self._with_speed(about)
        nearby, reserved = self._with_speed(about * (1.0 + _NEARBY))
        slope, more = (nearby - friction) / (_NEARBY * about), (reserved - reserve) / (_NEARBY * about)
        return slope, friction - slope * about, more, reserve - more * about

    def rows(self, about: Floats | None, factors: Factors | None = None) -> StationRows:
        """Return the limits as rows; what depends on √x is linear about the profile `about` (n)."""
        grow, count = factors or {}, len(self.walk.s)
        slopes, levels, mores, rooms = self._linear(about)
        none = np.zeros(count)
        columns: list[tuple[Floats, Floats, Floats]] = []
        limits: list[TimingLimit] = []
        for each in self.bounded:
            most = each.most * grow.get(each.limit, 1.0)
            slope, level, more, room = (np.zeros(count) for _ in range(4))
            if each.motor is not None:
                slope, level, more, room = (part[:, each.motor] for part in (slopes, levels, mores, rooms))
            for sign in (1.0, -1.0):
                columns.append(
                    (
                        sign * each.a / most,
                        (sign * (each.b + slope) + more) / most,
                        (sign * (each.c + level) + room) / most,
                    )
                )
                limits.append(each.limit)
            if np.abs(each.c).max() > _HEAVY * most:  # admission asks for room to stop from rest too
                for sign in (1.0, -1.0):
                    columns.append((none, more / most, (sign * each.c + room) / most))
                    limits.append(each.limit)
        shares = np.stack([share / grow.get(limit, 1.0) for limit, share in self.speeds] or [none])
        fastest = np.argmax(shares, axis=0)
        columns.append((none, shares.max(axis=0) ** 2, none))
        limits.append(TimingLimit("speed", "", ""))
        a, b, c = (np.stack(part, axis=1) for part in zip(*columns, strict=True))
        return StationRows(a, b, c, tuple(limits), fastest)

    def changes(self, about: Floats, factors: Factors | None = None) -> tuple[Floats, Floats, Floats] | None:
        """Return a, b and c (n × quantities each) of what has a limit of its change, in shares of that per s.

        About a profile, as `rows`. None where nothing has such a limit.
        """
        if not self.changing:
            return None
        slopes, levels, _, _ = self._linear(about)
        columns = []
        for each in self.changing:
            most, j = each.most * (factors or {}).get(each.limit, 1.0), each.motor
            b, c = (each.b, each.c) if j is None else (each.b + slopes[:, j], each.c + levels[:, j])
            columns.append((each.a / most, b / most, c / most))
        a, b, c = (np.stack(part, axis=1) for part in zip(*columns, strict=True))
        return a, b, c
