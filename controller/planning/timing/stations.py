"""Stations of a path for its time law, and every limit there as rows in x = ṙ² and u = r¨.

The parameter r, from 0 to 1, is chosen so that a motion from and to rest has a finite ṙ at both ends: where
the path's own parameter σ leaves an end as σ^(k+1), r is proportional to σ^((k+1)/m), with m = 2, or 3 where
jerks are limited. Each interval between two stations has `PARTS` + 1 samples, both ends among them; they are
those of a walk along the path, with derivatives turned to r. A limited quantity is there

    a u + b x + c

in shares of its limit; limit_rows.py says what of it is within.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from linkwork.arrays import Flags, Floats, Integers
from linkwork.controller.planning.checks.effort_check import Efforts
from linkwork.controller.planning.checks.heat_check import Heat
from linkwork.controller.planning.checks.load_check import multipliers_along
from linkwork.controller.planning.checks.stopping import AT_LEAST
from linkwork.controller.planning.checks.workspace_check import points_along
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.timing.limit_rows import LimitRows
from linkwork.controller.planning.walk.walk import Walk, walk
from linkwork.machine import Limits, Machine
from linkwork.multibody.coordinate_scales import scales

PARTS = 4
"""Parts of an interval between whose ends the limits are checked."""
INTERVALS = {2: 500, 3: 240}
"""Of a path, by the order of its time law; at least two for each of its pieces."""
END = 1e-3
"""Share of an interval at a path's end that is left out where r would be singular there."""
_CLOSER = np.array([0.0625, 0.125, 0.25, 0.5])
"""Further stations in the first interval of a path that begins in motion, so that its acceleration hardly
jumps there.
"""
_PROBE = 1e-3
_STILL = 1e-9
"""Share of the path's largest rate that counts as none."""
SLOW = 1e-4
"""Share of the largest x below which √x is linear about this share."""
_HEAVY = 0.3
"""Share of its limit above which an effort at rest has separate rows."""


@dataclass(frozen=True)
class TimingLimit:
    """One limit of the machine: quantity ("effort", "velocity", …), whose it is, and the limit's unit."""

    quantity: str
    name: str
    unit: str


class StationParameter:
    """The parameter r of a path of duration `end` (of σ), see above. order: m; in_motion: begins so."""

    def __init__(self, machine: Machine, path: Path, order: int, in_motion: bool) -> None:
        from scipy import special  # a planner starts without it

        self._special = special
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
        return np.asarray(self._special.betaincinv(self._a, self._b, sigma / self.end))

    def sigma(self, r: Floats) -> tuple[Floats, Floats, Floats]:
        """Return σ, dσ/dr and d²σ/dr² at r (n), inside 0 … 1."""
        a, b = self._a, self._b
        first = self.end * r ** (a - 1.0) * (1.0 - r) ** (b - 1.0) / self._special.beta(a, b)
        with np.errstate(divide="ignore", invalid="ignore"):
            bend = (0.0 if a == 1.0 else (a - 1.0) / r) - (0.0 if b == 1.0 else (b - 1.0) / (1.0 - r))
        return self.end * self._special.betainc(a, b, r), first, first * bend


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
    if in_motion:
        inner[0] = np.insert(inner[0], 1, inner[0][0] + (inner[0][1] - inner[0][0]) * _CLOSER)
        parts[0] += len(_CLOSER)
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

    `motor`: the column of the efforts, for friction; None of others. `moves`: False of an effort at rest.
    """

    limit: TimingLimit
    a: Floats
    b: Floats
    c: Floats
    most: float
    motor: int | None = None
    moves: bool = True


class LimitedLoad(NamedTuple):
    """A closure's load inertia u + motion x + rest (n × rows each) with a limit of its norm."""

    limit: TimingLimit
    inertia: Floats
    motion: Floats
    rest: Floats
    most: float


def _directions(count: int) -> Floats:
    """Unit vectors (m × count), up to their sign: a polygon of sixteen sides; in space those of a cube's
    corners, edges and faces.
    """
    if count == 2:
        angle = np.arange(8) * np.pi / 8.0
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if count != 3:
        return np.eye(count)
    grid = np.array([each for each in product((-1.0, 0.0, 1.0), repeat=3) if each > (0.0, 0.0, 0.0)])
    return np.asarray(grid / np.linalg.norm(grid, axis=1, keepdims=True))


_FAR_INSIDE = 2.0
"""Half the range that a bound of one side leaves, over the load that counts as large. A larger one would make
the bound seem reached at rest.
"""
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
        self.loads = list(self._closure_loads(margin))
        none = np.zeros(len(self.walk.s))
        resting = [  # admission asks for room to stop from rest too
            each._replace(a=none, b=none, moves=False)
            for each in driven
            if np.abs(each.c).max() > _HEAVY * each.most
        ]
        self._efforts_bounded = [*driven, *resting]
        self.bounded = [*accelerations, *self._along_directions(), *self._efforts_bounded]
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

    @cached_property
    def heated(self) -> tuple[TimingLimit, ...]:
        """The motors' continuous efforts, where the path is a cycle that is repeated."""
        motors = self._machine.motors if self.path.cycle else ()
        return tuple(TimingLimit("continuous effort", each.joint, each.effort_unit) for each in motors)

    def heating(self, about: Floats) -> tuple[Floats, Floats, Floats]:
        """Return a, b and c (motors × samples) of the efforts, in shares of the continuous ones."""
        least, motors = self._efforts.least, self._machine.motors
        slope, level, _ = least.friction_about(np.maximum(about, SLOW * self.fastest), self._turning)
        most = np.array([each.continuous_effort for each in motors])[:, None]
        index = [each.index for each in motors]
        a, b, c = (part.T[index] / most for part in (least.inertia, least.motion + slope, least.rest + level))
        return a, b, c

    def heat_used(self) -> Floats:
        """Share of the heat that each motor may have in a cycle, of a path in its own time (motors)."""
        heat, motors = Heat(self._machine, self.walk, self._efforts), self._machine.motors
        return np.array([heat.used(motor) for motor in motors if self.heated], np.float64)

    def _closure_loads(self, margin: float) -> Iterator[LimitedLoad]:
        """Loads of the closures, without a choice of the motors, and without friction."""
        if not self._machine.load_limits or self._efforts.redundant:
            return
        least = self._efforts.least
        parts = [getattr(self.walk, name) - getattr(least, name) for name in ("inertia", "motion", "rest")]
        inertia, motion, rest = multipliers_along(self._machine, self.walk.q, parts)
        for limit in self._machine.held_limits():
            rows, what = list(limit.rows), ("force", "N") if limit.is_force else ("torque", "N m")
            label = TimingLimit(f"bearing {what[0]}", limit.name, what[1])
            parts, most = [part[:, rows] for part in (inertia, motion, rest)], margin * limit.most
            if limit.side:  # a bound of one side: a magnitude about a load far inside
                parts, most = [limit.side * part for part in parts], _FAR_INSIDE * limit.scale
                parts[2] += most + (1.0 - margin) * limit.scale - limit.most
            if math.isfinite(most):
                yield LimitedLoad(label, parts[0], parts[1], parts[2], most)

    def _along_directions(self) -> Iterator[LimitedQuantity]:
        """The loads along directions that are close enough together."""
        for load in self.loads:
            for direction in _directions(load.rest.shape[1]):
                yield LimitedQuantity(
                    load.limit, load.inertia @ direction, load.motion @ direction, load.rest @ direction,
                    load.most,
                )  # fmt: skip

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

    def own_speed(self) -> Floats:
        """Return x (n + 1) at the path's own speed."""
        first = self.grid.first
        return np.append(first[:, 0], first[-1, -1]) ** -2.0

    def at_samples(self, x: Floats) -> tuple[Floats, Floats]:
        """Return x at the samples for x at the stations, and u in the intervals (n), constant there."""
        grid = self.grid
        u = 0.5 * np.diff(x) / grid.width
        inside = x[:-1, None] + 2.0 * u[:, None] * (grid.at - grid.r[:-1, None])
        return np.maximum(inside, 0.0).ravel(), u

    @cached_property
    def _turning(self) -> Flags:
        """Samples of the intervals in which a joint reverses (samples × joints' velocities)."""
        rates = self.walk.q1.reshape(*self.grid.at.shape, -1)
        reverses = (rates.min(axis=1, keepdims=True) < 0.0) & (rates.max(axis=1, keepdims=True) > 0.0)
        return np.broadcast_to(reverses, rates.shape).reshape(self.walk.q1.shape)

    @cached_property
    def limits(self) -> tuple[TimingLimit, ...]:
        """The limits of the quantities in `rows`, and the speed's."""
        return (*(each.limit for each in self.bounded), TimingLimit("speed", "", ""))

    @cached_property
    def _terms(self) -> tuple[Floats, Floats, Floats]:
        """a, b and c of `bounded` (quantities × samples), in shares of their limits."""
        most = np.array([each.most for each in self.bounded])[:, None]
        shape = len(self.bounded), len(self.walk.s)
        a, b, c = (
            np.array([each[part] for each in self.bounded]).reshape(shape) / most for part in (1, 2, 3)
        )
        return a, b, c

    def rows(self, about: Floats | None, factors: Factors | None = None) -> LimitRows:
        """Return the limits; what depends on √x is linear about the profile `about` (samples).

        None: without that, as if there were neither friction nor room to stop.
        """
        (a, b, c), shares, efforts = self._terms, self._speed_shares, self._efforts_bounded
        more = np.zeros((len(efforts), len(self.walk.s)))
        room = more.copy()
        first = len(a) - len(efforts)
        if about is not None and efforts:
            about, shared = np.maximum(about, SLOW * self.fastest), self._efforts.shared
            column = [each.motor for each in efforts if each.motor is not None]
            most = np.array([each.most for each in efforts])[:, None]
            room = np.abs(shared.inertia.T[column]) * (0.5 * AT_LEAST * np.sqrt(about) / most)
            more = room / about
            if shared.rubs:
                moving = sum(each.moves for each in efforts)
                tangent = shared.friction_about(about, self._turning)
                slope, level, missed = (part.T[column[:moving]] / most[:moving] for part in tangent)
                room[:moving] += missed
                b, c = b.copy(), c.copy()
                b[first : first + moving] += slope
                c[first : first + moving] += level
        if factors:
            scale = np.array([1.0 / factors.get(limit, 1.0) for limit in self.limits[:-1]])[:, None]
            speeds = np.array([1.0 / factors.get(limit, 1.0) for limit, _ in self.speeds] or [1.0])
            a, b, c, shares = a * scale, b * scale, c * scale, shares * speeds[:, None]
            more, room = more * scale[first:], room * scale[first:]
        return LimitRows(a=a, b=b, c=c, more=more, room=room, speed=shares.max(axis=0) ** 2)

    @cached_property
    def _speed_shares(self) -> Floats:
        return np.stack([share for _, share in self.speeds] or [np.zeros(len(self.walk.s))])

    @property
    def fastest_limits(self) -> Integers:
        """Place among `speeds` of the limit that the speed's row means (n)."""
        return np.asarray(np.argmax(self._speed_shares, axis=0))

    def changes(self, about: Floats, factors: Factors | None = None) -> tuple[Floats, Floats, Floats] | None:
        """Return a, b and c (n × quantities each) of what has a limit of its change, in shares of that per s.

        About a profile, as `rows`. None where nothing has such a limit.
        """
        if not self.changing:
            return None
        about = np.maximum(about, SLOW * self.fastest)
        slopes, levels, _ = self._efforts.shared.friction_about(about, self._turning)
        columns = []
        for each in self.changing:
            most, j = each.most * (factors or {}).get(each.limit, 1.0), each.motor
            b, c = (each.b, each.c) if j is None else (each.b + slopes[:, j], each.c + levels[:, j])
            columns.append((each.a / most, b / most, c / most))
        a, b, c = (np.stack(part, axis=1) for part in zip(*columns, strict=True))
        return a, b, c
