"""The efforts that a walked path asks of the motors, at its own speed and at any lower one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from linkwork.arrays import Flags, Floats
from linkwork.controller.limit_tolerance import exceeds, with_rounding
from linkwork.controller.planning.checks.kinematic_check import SLOWEST, LimitCheck, beyond
from linkwork.controller.planning.checks.stopping import AT_LEAST, stopping_tables
from linkwork.controller.planning.checks.zonotope import ZonotopeEfforts, facet_names, shares
from linkwork.controller.planning.walk.walk import Walk
from linkwork.machine import Machine

if TYPE_CHECKING:
    from linkwork.controller.planning.checks.zonotope import ZonotopeEfforts

TOGETHER = "of the combined effort limits"
"""The unit of what redundant motors share."""
_UNDRIVEN = 1e-6
"""Effort that counts as the limit of a joint without a motor, N or N m."""
MOST_SOLVED = 2000
"""Samples for which efforts of redundant motors are found exactly, where they are for the report alone."""


class Efforts:
    """Efforts along a walk; of the motors on a closed-chain machine.

    `least` (n × nv): the smallest efforts that make the motion. `shared`: the bounded quantities, `limit` by
    column; each motor's effort or, where motors are redundant, the shares of the combined effort limits
    (zonotope.py). `rate_limit` (nv): of the motors at each joint, 0 without one. Rates are
    those of the efforts that the loop gives: it knows bounds of efforts when it chooses among those of
    redundant motors, and bounds of their rates only afterwards.
    """

    def __init__(self, machine: Machine, walk: Walk) -> None:
        self._machine, self._walk = machine, walk
        nv = machine.mechanism.nv
        self.limit, self.rate_limit = np.zeros(nv), np.zeros(nv)
        for motor in machine.motors:
            self.limit[motor.index] += motor.max_effort
            self.rate_limit[motor.index] += motor.max_effort_rate
        driven = [motor.index for motor in machine.motors]
        self.least = self.shared = ForceTerms(machine, walk, walk.motors, driven)
        self._columns = [(joint.name, joint.effort_unit) for joint in machine.joints]
        self._units = [unit for _, unit in self._columns]
        choice = len(machine.motors) > machine.dof and not walk.determined
        self._given: ZonotopeEfforts | None = None
        self._given_at: tuple[float, Floats] | None = None
        if walk.motors is not None and choice:
            self._given = ZonotopeEfforts(machine, walk.motors)
            self._columns = [(names, TOGETHER) for names in facet_names(machine)]
            self.shared = ForceTerms(machine, walk, shares(machine, walk.motors))
            self.limit = np.ones(len(self._columns))
        self._gaps = np.where(walk.joined, np.diff(walk.s), np.inf)

    def rates(self, j: int, slower: float = 1.0) -> Floats:
        """Return the change of joint j's effort per second, from one sample to the next of the same piece
        (samples - 1).
        """
        efforts = self.least.efforts(slower, j) if self._given is None else self.given(slower)[:, j]
        return np.asarray(np.abs(np.diff(efforts)) / (self._gaps * slower))

    @property
    def redundant(self) -> bool:
        """Whether motors have a choice, so that `given` are not the least efforts."""
        return self._given is not None

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Name and unit of every column of `shared`."""
        return self._columns

    def terms(self, j: int) -> tuple[Floats, Floats, Floats]:
        """Inertia, motion and rest (n each) of column j of `shared`."""
        shared = self.shared
        return shared.inertia[:, j], shared.motion[:, j], shared.rest[:, j]

    def given(self, slower: float = 1.0) -> Floats:
        """n × nv: the efforts that the loop gives, the path followed `slower` times as slow."""
        if self._given is None:
            return self.least.efforts(slower)
        if self._given_at is None or self._given_at[0] != slower:
            self._given_at = slower, self._given(self.least.efforts(slower))
        return self._given_at[1]

    def demands(self) -> Iterator[LimitCheck]:
        """Effort, with room to stop, of every driven column, and the rate of effort of joints with motors."""
        for j, (name, unit) in enumerate(self._columns):
            demand = self._effort(j, name, unit)
            if self.limit[j] or demand.stretch > 1.0:  # a passive joint has no limit to report
                yield demand
        for j in self._rated:
            yield self._rate(j, self._machine.joints[j].name, f"{self._units[j]}/s")

    @property
    def _rated(self) -> list[int]:
        """Joints whose motors' efforts have a limit of rate."""
        return [j for j, most in enumerate(self.rate_limit) if np.isfinite(most) and most > 0.0]

    def peaks(self) -> dict[str, dict[str, float | int | str]]:
        """Motor → its largest effort at the path's own speed: value, limit, unit, used, sample, time_s."""
        found: dict[str, dict[str, float | int | str]] = {}
        efforts = self.least.efforts()
        if self._given is not None:
            efforts = self._given(efforts, MOST_SOLVED)
        for motor in self._machine.motors:
            values = efforts[:, motor.index]
            sample = int(np.argmax(np.abs(values)))
            found[motor.joint] = {
                "value": float(values[sample]),
                "limit": motor.max_effort,
                "unit": motor.effort_unit,
                "used": abs(float(values[sample])) / motor.max_effort,
                "sample": sample,
                "time_s": float(self._walk.s[sample]),
            }
        return found

    def _effort(self, j: int, name: str, unit: str) -> LimitCheck:
        actual = np.abs(self.shared.efforts(1.0, j))
        limit = float(self.limit[j]) or _UNDRIVEN
        allowed = with_rounding(limit)
        reserve = self.shared.with_reserve(1.0, j)
        stretch = 1.0
        if reserve.max() > allowed:
            stretch = smallest(partial(self._within, j, limit))
        only_reserve = stretch > 1.0 and actual.max() <= allowed
        values = reserve if only_reserve else actual
        sample = int(np.argmax(values))
        value = float(values[sample])
        kind = "effort with room to stop" if only_reserve else "effort"
        over = beyond(values > allowed) if stretch > 1.0 else (0, 0, 0)
        return LimitCheck(kind, name, unit, value, limit, sample, value / limit, stretch, over)

    def _rate(self, j: int, name: str, unit: str) -> LimitCheck:
        rates, limit = self.rates(j), float(self.rate_limit[j])
        sample = int(np.argmax(rates))
        value, stretch, over = float(rates[sample]), 1.0, (0, 0, 0)
        if exceeds(value, limit):
            stretch = smallest(partial(self._within_rate, j, limit))
            over = beyond(exceeds(rates, limit))
        return LimitCheck("effort rate", name, unit, value, limit, sample, value / limit, stretch, over)

    def _within(self, j: int, limit: float, slower: float) -> bool:
        return not exceeds(self.shared.with_reserve(slower, j).max(), limit)

    def _within_rate(self, j: int, limit: float, slower: float) -> bool:
        return not exceeds(self.rates(j, slower).max(), limit)

    def fastest(self, most: float) -> float:
        """The largest speed, up to `most` times the path's own, at which every motor keeps its limits.

        0 where no speed does.
        """
        speed = most
        for j in range(len(self.limit)):
            limit = with_rounding(float(self.limit[j]) or _UNDRIVEN)
            speed = largest(speed, partial(self._within, j, limit))
        for j in self._rated:
            limit = with_rounding(float(self.rate_limit[j]))
            speed = largest(speed, partial(self._within_rate, j, limit))
        return speed

    def stopping(self, duration_s: float) -> Floats:
        """Return the block's table of stopping limits (3 × windows; 1/s, 1/s, 1/s²), see `stopping_tables`.

        duration_s: of the path. The limits are those of efforts and the joints' own acceleration and jerk
        limits. A stop adds at most the acceleration limit of each joint to the path's own demand.
        """
        walk, joints = self._walk, self._machine.joints
        speed = np.maximum(np.abs(walk.q1), 1e-12)
        steepest = np.min(np.array([joint.acceleration for joint in joints]) / speed, axis=1)
        jerk = float(np.min(np.array([joint.jerk for joint in joints]) / speed))
        inertia = np.maximum(np.abs(self.least.inertia), 1e-12)
        rate = np.where(self.rate_limit > 0.0, self.rate_limit, np.inf)
        jerk = min(jerk, 0.5 * float(np.min(rate / inertia)))
        limit, shared = np.where(self.limit > 0.0, self.limit, np.inf), self.shared
        return stopping_tables(
            walk.s, duration_s, shared.inertia, shared.rest, shared.motion, shared.friction(), limit,
            steepest, jerk,
        )  # fmt: skip


def smallest(within: Callable[[float], bool]) -> float:
    """The smallest factor of time from which on this holds, infinite when it never does."""
    low, high = 1.0, 2.0
    while not within(high):
        low, high = high, 2.0 * high
        if high > SLOWEST:
            return np.inf
    while high - low > 1e-6 * low:
        middle = 0.5 * (low + high)
        if within(middle):
            high = middle
        else:
            low = middle
    return high


def largest(most: float, within: Callable[[float], bool]) -> float:
    """The largest speed up to `most` at which this holds of its inverse; 0 when it never does."""
    if most <= 0.0 or within(1.0 / most):
        return most
    slower = 1.0 / most
    found = smallest(lambda factor: within(slower * factor))
    return most / found if np.isfinite(found) else 0.0


ALL = slice(None)


class ForceTerms:
    """`rest`, `inertia`, `motion` (n × k), as in the walk, and friction and drag beside them.

    through (n × m × nv): what takes the forces on all joints (n × nv) to m of the columns; None: each joint
    provides its own. places (m): these columns among the joints, all others are zero; None: there are no
    others.
    """

    def __init__(
        self, machine: Machine, walk: Walk, through: Floats | None, places: Sequence[int] | None = None
    ) -> None:
        self._walk, self._through, self._places = walk, through, places
        model = machine.mechanism.model
        self._viscous, self._coulomb, self._coulomb_speed = model.viscous, model.coulomb, model.coulomb_speed
        self.rest, self.inertia, self.motion = (
            self._taken(part) for part in (walk.rest, walk.inertia, walk.motion)
        )

    def _taken(self, force: Floats, j: int | slice = ALL) -> Floats:
        """Return the columns (n × k; of column j: n) for forces on all joints (n × nv)."""
        if self._through is None:
            return force
        if isinstance(j, int):
            if self._places is not None and j not in self._places:
                return np.zeros(len(force))
            row = j if self._places is None else self._places.index(j)
            return np.asarray(np.einsum("nj,nj->n", self._through[:, row], force))
        taken = np.matmul(self._through, force[:, :, None])[:, :, 0]
        if self._places is None:
            return np.asarray(taken)
        columns = np.zeros_like(force)
        columns[:, self._places] = taken
        return columns

    def joint_friction(self, slower: float | Floats = 1.0, j: int | slice = ALL) -> Floats:
        """n × nv (of joint j: n): forces against friction and drag on the joints, `slower` times as slow."""
        v, coulomb = self._walk.q1[:, j] / slower, self._coulomb[j]
        force = np.asarray(self._viscous[j] * v)
        if np.any(coulomb):
            force = np.asarray(force + coulomb * np.tanh(v / self._coulomb_speed[j]))
        return force if self._walk.drag is None else force + self._walk.drag[:, j] / slower

    def friction(self, slower: float | Floats = 1.0, j: int | slice = ALL) -> Floats:
        """Return the effort (n × k; of column j: n) against friction and drag, `slower` times as slow."""
        if self._through is None:
            return self.joint_friction(slower, j)
        return self._taken(self.joint_friction(slower), j)

    @property
    def rubs(self) -> bool:
        """Whether there is any friction or drag."""
        return self._walk.drag is not None or bool(np.any(self._viscous) or np.any(self._coulomb))

    def friction_about(self, x: Floats, turning: Flags) -> tuple[Floats, Floats, Floats]:
        """Return the tangent to `friction`, slope over the squared speed x (n), level at x = 0, and what
        it misses (n × k each): dry friction of joints where they are `turning` (n × nv), of both signs.
        """
        root = np.sqrt(x)[:, None]
        rolled = self._walk.q1 * (root / self._coulomb_speed)
        dry = self._coulomb * np.tanh(rolled)
        steepening = np.where(turning, 0.0, self._coulomb * rolled * (1.0 - np.tanh(rolled) ** 2) - dry)
        force = self.friction(1.0 / root)
        if not turning.any():
            half = 0.5 * (force + self._taken(steepening))
            return half / x[:, None], force - half, np.zeros_like(force)
        force = force - self._taken(np.where(turning, dry, 0.0))
        half = 0.5 * (force + self._taken(steepening))
        missed = np.zeros_like(force)
        for j in np.flatnonzero(self._coulomb * turning.any(axis=0)):
            one = np.zeros_like(self._walk.q1)
            one[:, j] = self._coulomb[j] * turning[:, j]
            missed += np.abs(self._taken(one))
        return half / x[:, None], force - half, missed

    def efforts(self, slower: float = 1.0, j: int | slice = ALL) -> Floats:
        """Return the efforts (n × k; of column j: n) when the path is followed `slower` times as slow."""
        moving = self.motion[:, j] / slower**2
        return np.asarray(self.rest[:, j] + moving + self.friction(slower, j))

    def with_reserve(self, slower: float = 1.0, j: int | slice = ALL) -> Floats:
        """Return the largest magnitudes (n × quantities) up to a speed, as `efforts` does.

        They leave room to change the rate by AT_LEAST.
        """
        rest, friction = self.rest[:, j], self.friction(slower, j)
        moving = rest + friction + self.motion[:, j] / slower**2
        largest = np.maximum(np.maximum(np.abs(rest), np.abs(rest + friction)), np.abs(moving))
        return np.asarray(largest + np.abs(self.inertia[:, j]) * (AT_LEAST / slower))
