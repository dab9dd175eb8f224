"""The efforts that a walked path asks of the motors, at its own speed and at any lower one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from controller.trajectories.demands import ROUND_OFF, SLOWEST, Demand, beyond
from controller.trajectories.stopping import AT_LEAST, stopping_tables
from controller.trajectories.walk import Walk
from machine import Machine
from multibody import layout

Floats = NDArray[np.float64]
ALL = slice(None)


class Efforts:
    """Efforts along a walk. `limit`, `rate_limit` (nv): of the motors at each joint, 0 without one.

    `rest`, `inertia`, `motion` (n × nv): as in the walk, but by the motors where joints close on each other.
    """

    def __init__(self, machine: Machine, walk: Walk) -> None:
        self._machine, self._walk = machine, walk
        nv = machine.mechanism.nv
        self.limit, self.rate_limit = np.zeros(nv), np.zeros(nv)
        for motor in machine.motors:
            self.limit[motor.index] += motor.max_effort
            self.rate_limit[motor.index] += motor.max_effort_rate
        p, t = machine.mechanism.parameters, machine.mechanism.topology
        self._viscous, self._coulomb, self._coulomb_speed = (
            p[t[field] : t[field + 1]] for field in (layout.VISCOUS, layout.COULOMB, layout.COULOMB_SPEED)
        )
        self._map = walk.motors
        self.rest, self.inertia, self.motion = (
            self._by_motors(part) for part in (walk.rest, walk.inertia, walk.motion)
        )
        self._gaps = np.where(walk.joined, np.diff(walk.s), np.inf)

    def _by_motors(self, force: Floats) -> Floats:
        """Forces on all joints (n × nv), as the motors provide them."""
        if self._map is None:
            return force
        return np.asarray(np.einsum("nij,nj->ni", self._map, force))

    def joint_friction(self) -> Floats:
        """n × nv: forces against friction on all joints, those without motors too, at full speed."""
        v = self._walk.q1
        return np.asarray(self._viscous * v + self._coulomb * np.tanh(v / self._coulomb_speed))

    def friction(self, slower: float = 1.0, j: int | slice = ALL) -> Floats:
        """n × nv (of joint j: n): effort against friction, the path followed `slower` times as slow."""
        own = j if self._map is None else ALL
        v = self._walk.q1[:, own] / slower
        viscous, coulomb = self._viscous[own], self._coulomb[own]
        force = np.asarray(viscous * v)
        if np.any(coulomb):
            force = np.asarray(force + coulomb * np.tanh(v / self._coulomb_speed[own]))
        return force if self._map is None else self._by_motors(force)[:, j]

    def at(self, slower: float = 1.0, j: int | slice = ALL) -> Floats:
        """n × nv (of joint j: n): efforts when the path is followed `slower` times as slow."""
        moving = self.motion[:, j] / slower**2
        return np.asarray(self.rest[:, j] + moving + self.friction(slower, j))

    def with_reserve(self, slower: float = 1.0, j: int | slice = ALL) -> Floats:
        """As `at`: largest magnitudes at that speed and below, with room to change the rate by AT_LEAST."""
        rest, friction = self.rest[:, j], self.friction(slower, j)
        moving = rest + friction + self.motion[:, j] / slower**2
        largest = np.maximum(np.maximum(np.abs(rest), np.abs(rest + friction)), np.abs(moving))
        return np.asarray(largest + np.abs(self.inertia[:, j]) * (AT_LEAST / slower))

    def rates(self, j: int, slower: float = 1.0) -> Floats:
        """n - 1: change of joint j's effort per second, from one sample to the next of the same piece."""
        return np.asarray(np.abs(np.diff(self.at(slower, j))) / (self._gaps * slower))

    def demands(self) -> Iterator[Demand]:
        """Effort, with room to stop, of every joint, and the rate of effort of those with motors."""
        for j, joint in enumerate(self._machine.joints):
            unit = "N m" if joint.is_angle else "N"
            yield self._effort(j, joint.name, unit)
            if np.isfinite(self.rate_limit[j]) and self.rate_limit[j] > 0.0:
                yield self._rate(j, joint.name, f"{unit}/s")

    def peaks(self) -> dict[str, dict[str, float | int | str]]:
        """Motor → its largest effort at the path's own speed: value, limit, unit, used, sample, time_s."""
        found: dict[str, dict[str, float | int | str]] = {}
        for motor in self._machine.motors:
            values = self.at(1.0, motor.index)
            sample = int(np.argmax(np.abs(values)))
            found[motor.joint] = {
                "value": float(values[sample]),
                "limit": motor.max_effort,
                "unit": "N m" if motor.is_angle else "N",
                "used": abs(float(values[sample])) / motor.max_effort,
                "sample": sample,
                "time_s": float(self._walk.s[sample]),
            }
        return found

    def _effort(self, j: int, name: str, unit: str) -> Demand:
        actual = np.abs(self.at(1.0, j))
        limit = float(self.limit[j]) or ROUND_OFF
        allowed = limit * (1.0 + ROUND_OFF)
        reserve = self.with_reserve(1.0, j)
        stretch = 1.0
        if reserve.max() > allowed:
            stretch = smallest(partial(self._within, j, limit))
        only_reserve = stretch > 1.0 and actual.max() <= allowed
        values = reserve if only_reserve else actual
        sample = int(np.argmax(values))
        value = float(values[sample])
        kind = "effort with room to stop" if only_reserve else "effort"
        over = beyond(values > allowed) if stretch > 1.0 else (0, 0, 0)
        return Demand(kind, name, unit, value, limit, sample, value / limit, stretch, over)

    def _rate(self, j: int, name: str, unit: str) -> Demand:
        rates, limit = self.rates(j), float(self.rate_limit[j])
        sample = int(np.argmax(rates))
        value, stretch, over = float(rates[sample]), 1.0, (0, 0, 0)
        if value > limit * (1.0 + ROUND_OFF):
            stretch = smallest(partial(self._within_rate, j, limit))
            over = beyond(rates > limit * (1.0 + ROUND_OFF))
        return Demand("effort rate", name, unit, value, limit, sample, value / limit, stretch, over)

    def _within(self, j: int, limit: float, slower: float) -> bool:
        return bool(self.with_reserve(slower, j).max() <= limit)

    def _within_rate(self, j: int, limit: float, slower: float) -> bool:
        return bool(self.rates(j, slower).max() <= limit)

    def fastest(self, most: float) -> float:
        """The largest speed, up to `most` times the path's own, at which every motor keeps its limits.

        0 where no speed does.
        """
        speed = most
        for j in range(len(self.limit)):
            limit = (float(self.limit[j]) or ROUND_OFF) * (1.0 + ROUND_OFF)
            speed = _largest(speed, partial(self._within, j, limit))
            if np.isfinite(self.rate_limit[j]) and self.rate_limit[j] > 0.0:
                limit = float(self.rate_limit[j]) * (1.0 + ROUND_OFF)
                speed = _largest(speed, partial(self._within_rate, j, limit))
        return speed

    def stopping(self, duration_s: float) -> Floats:
        """The block's table of stopping limits (3 × w): efforts, and the joints' own acceleration and jerk
        limits.

        A stop adds at most the acceleration limit of each joint to what the path asks for by itself.
        """
        walk, joints = self._walk, self._machine.joints
        speed = np.maximum(np.abs(walk.q1), 1e-12)
        steepest = np.min(np.array([joint.acceleration for joint in joints]) / speed, axis=1)
        jerk = float(np.min(np.array([joint.jerk for joint in joints]) / speed))
        inertia = np.maximum(np.abs(self.inertia), 1e-12)
        rate = np.where(self.rate_limit > 0.0, self.rate_limit, np.inf)
        jerk = min(jerk, 0.5 * float(np.min(rate / inertia)))
        limit = np.where(self.limit > 0.0, self.limit, np.inf)
        return stopping_tables(
            walk.s, duration_s, self.inertia, self.rest, self.motion, self.friction(), limit, steepest, jerk
        )


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


def _largest(most: float, within: Callable[[float], bool]) -> float:
    """The largest speed up to `most` at which this holds of its inverse; 0 when it never does."""
    if most <= 0.0 or within(1.0 / most):
        return most
    slower = 1.0 / most
    found = smallest(lambda factor: within(slower * factor))
    return most / found if np.isfinite(found) else 0.0
