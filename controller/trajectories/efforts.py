"""The efforts that a walked path asks of the motors, at its own speed and at any lower one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from controller.trajectories.demands import ROUND_OFF, SLOWEST, Demand
from controller.trajectories.stopping import AT_LEAST, stopping_tables
from controller.trajectories.walk import Walk
from machine import Machine
from multibody import layout

Floats = NDArray[np.float64]


class Efforts:
    """Efforts along a walk. `limit`, `rate_limit` (nv): what the motors of each joint give together, 0 without one."""

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
        self._gaps = np.where(walk.joined, np.diff(walk.s), np.inf)[:, None]

    def friction(self, slower: float = 1.0) -> Floats:
        """n × nv: effort that overcomes friction when the path is followed `slower` times as slow."""
        v = self._walk.q1 / slower
        sliding = np.divide(v, self._coulomb_speed, out=np.zeros_like(v), where=self._coulomb != 0.0)
        return np.asarray(self._viscous * v + self._coulomb * np.tanh(sliding))

    def at(self, slower: float = 1.0) -> Floats:
        """n × nv: efforts when the path is followed `slower` times as slow."""
        return np.asarray(self._walk.rest + self._walk.motion / slower**2 + self.friction(slower))

    def with_reserve(self, slower: float = 1.0) -> Floats:
        """n × nv: largest magnitudes at that and any lower speed, with room to change the path rate by AT_LEAST."""
        rest, friction = self._walk.rest, self.friction(slower)
        moving = rest + friction + self._walk.motion / slower**2
        largest = np.maximum(np.maximum(np.abs(rest), np.abs(rest + friction)), np.abs(moving))
        return np.asarray(largest + np.abs(self._walk.inertia) * (AT_LEAST / slower))

    def rates(self, slower: float = 1.0) -> Floats:
        """(n - 1) × nv: change of effort per second, from one sample to the next of the same piece."""
        return np.asarray(np.abs(np.diff(self.at(slower), axis=0)) / (self._gaps * slower))

    def demands(self) -> Iterator[Demand]:
        """Effort, effort with room to stop, and rate of effort, of every joint that has a motor or needs one."""
        actual, reserve, rates = np.abs(self.at()), self.with_reserve(), self.rates()
        for j, joint in enumerate(self._machine.joints):
            limit = float(self.limit[j]) or ROUND_OFF
            unit = "N m" if joint.is_angle else "N"
            worst = reserve if actual[:, j].max() <= limit * (1.0 + ROUND_OFF) else actual
            sample = int(np.argmax(worst[:, j]))
            value = float(worst[sample, j])
            stretch = 1.0 if value <= limit * (1.0 + ROUND_OFF) else self._stretch(j, limit)
            kind = "effort with room to stop" if worst is reserve and stretch > 1.0 else "effort"
            if kind == "effort":
                sample = int(np.argmax(actual[:, j]))
                value = float(actual[sample, j])
            yield Demand(kind, joint.name, unit, value, limit, sample, value / limit, stretch)
            if np.isfinite(self.rate_limit[j]) and self.rate_limit[j] and len(rates):
                sample = int(np.argmax(rates[:, j]))
                value, limit = float(rates[sample, j]), float(self.rate_limit[j])
                stretch = 1.0 if value <= limit * (1.0 + ROUND_OFF) else self._rate_stretch(j, limit)
                yield Demand(
                    "effort rate", joint.name, f"{unit}/s", value, limit, sample, value / limit, stretch
                )

    def _stretch(self, j: int, limit: float) -> float:
        return _smallest(lambda slower: float(self.with_reserve(slower)[:, j].max()) <= limit)

    def _rate_stretch(self, j: int, limit: float) -> float:
        return _smallest(lambda slower: float(self.rates(slower)[:, j].max()) <= limit)

    def stopping(self, duration_s: float) -> Floats:
        """The block's table of stopping limits (3 × w): efforts, and the joints' own acceleration and jerk limits.

        A stop adds at most the acceleration limit of each joint to what the path asks for by itself.
        """
        walk, joints = self._walk, self._machine.joints
        speed = np.maximum(np.abs(walk.q1), 1e-12)
        steepest = np.min(np.array([joint.acceleration for joint in joints]) / speed, axis=1)
        jerk = float(np.min(np.array([joint.jerk for joint in joints]) / speed))
        inertia = np.maximum(np.abs(walk.inertia), 1e-12)
        rate = np.where(self.rate_limit > 0.0, self.rate_limit, np.inf)
        jerk = min(jerk, 0.5 * float(np.min(rate / inertia)))
        limit = np.where(self.limit > 0.0, self.limit, np.inf)
        return stopping_tables(
            walk.s, duration_s, walk.inertia, walk.rest, walk.motion, self.friction(), limit, steepest, jerk
        )


def _smallest(within: Callable[[float], bool]) -> float:
    """The smallest factor of time for which this holds, infinite when it never does; it holds for larger ones."""
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
