"""Faults of sensors: what they make of a reading, in place. Positions rad or m, forces N, SI throughout."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plant.faults.effects import Site
from plant.faults.sensor_entries import (
    Bias,
    Drift,
    Freeze,
    Noise,
    NotANumber,
    Quantise,
    Scale,
    SensorEntry,
    Swap,
)

Floats = NDArray[np.float64]
_SCALES: Final = {"rad": 1.0, "deg": math.pi / 180.0, "m": 1.0, "N": 1.0}


class SensorEffect:
    """A fault of one sensor: `x` is a view of its positions (one number), or of its force (three, or one
    component); `v` of its velocity, empty where it measures none.
    """

    def __init__(self, entry: SensorEntry, site: Site, random: np.random.Generator) -> None:
        self.entry, self.site, self.random = entry, site, random
        self.machinery = site.machinery
        self.x, self.v = views(site, entry.of, entry.axis)
        self.first = 0
        self.amount = 0.0
        for unit, scale in _SCALES.items():
            given = getattr(entry, f"{entry.quantity}_{unit}{entry.suffix}", None)
            if given is not None:
                self.amount = given * scale

    def begin(self, tick: int) -> str:
        """Changes readings from this tick on."""
        self.first = tick
        self.machinery.sensing.append(self)
        return ""

    def tick(self, tick: int) -> None:
        """Nothing is left to do."""

    def end(self) -> str:
        """Changes readings no more."""
        self.machinery.sensing.remove(self)
        return ""

    def falsify(self) -> None:
        """Changes the reading of this tick, in place."""


class Biased(SensorEffect):
    """x + b."""

    def falsify(self) -> None:
        """Adds."""
        self.x += self.amount


class Drifting(SensorEffect):
    """x + r (t - t0), v + r."""

    def falsify(self) -> None:
        """Adds."""
        self.x += self.amount * (self.machinery.tick - self.first) * self.site.period_s
        self.v += self.amount


class Frozen(SensorEffect):
    """What was read last."""

    def begin(self, tick: int) -> str:
        """Keeps what was told last."""
        self._x, self._v = self.x.copy(), self.v.copy()
        return super().begin(tick)

    def falsify(self) -> None:
        """Puts it in place of the reading."""
        self.x[:], self.v[:] = self._x, self._v


class Noisy(SensorEffect):
    """x + s n, v + s' n'; n, n' standard normal."""

    entry: Noise

    def falsify(self) -> None:
        """Adds; as many numbers are drawn each tick, whatever is measured."""
        entry = self.entry
        drawn = self.random.standard_normal(len(self.x) + 1)
        self.x += self.amount * drawn[:-1]
        self.v += (entry.velocity_std_rad_s or entry.velocity_std_m_s or 0.0) * drawn[-1]


class Quantised(SensorEffect):
    """s round(x / s)."""

    def falsify(self) -> None:
        """Rounds."""
        np.round(self.x / self.amount, out=self.x)
        self.x *= self.amount


class NoNumber(SensorEffect):
    """Not a number."""

    def falsify(self) -> None:
        """In place of the position, and of a velocity."""
        self.x[:] = self.v[:] = np.nan


class Swapped(SensorEffect):
    """Each of two sensors says what the other reads."""

    entry: Swap

    def __init__(self, entry: Swap, site: Site, random: np.random.Generator) -> None:
        super().__init__(entry, site, random)
        self._other = views(site, entry.other, entry.axis)

    def falsify(self) -> None:
        """Exchanges, velocities where both measure one."""
        x, v = self._other
        pairs = [(self.x, x)] + ([(self.v, v)] if len(self.v) == len(v) else [])
        for mine, other in pairs:
            kept = mine.copy()
            mine[:], other[:] = other, kept


class Scaled(SensorEffect):
    """c x, c v."""

    entry: Scale

    def falsify(self) -> None:
        """Multiplies."""
        self.x *= self.entry.factor
        self.v *= self.entry.factor


def views(site: Site, name: str, axis: str | None) -> tuple[Floats, Floats]:
    """The readings of a sensor in the machinery: positions or forces, and velocities where it has them."""
    machinery, nothing = site.machinery, np.zeros(0)
    place = site.sensor(name)
    if place >= 0:
        measures = site.machine.sensors[place].velocity
        velocity = machinery.measured_v[place : place + 1] if measures else nothing
        return machinery.measured_q[place : place + 1], velocity
    first = 3 * site.force_sensor(name)
    components = slice(first, first + 3) if axis is None else slice(first + "xyz".index(axis), None)
    force = machinery.measured_force[components]
    return (force if axis is None else force[:1]), nothing


SENSOR_EFFECTS: dict[str, type[SensorEffect]] = {
    Bias.kind: Biased,
    Drift.kind: Drifting,
    Freeze.kind: Frozen,
    Noise.kind: Noisy,
    Quantise.kind: Quantised,
    NotANumber.kind: NoNumber,
    Swap.kind: Swapped,
    Scale.kind: Scaled,
}
