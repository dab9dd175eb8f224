"""Sensor faults: change a reading in place. Positions in rad or m, forces in N."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.plant.faults.effects import Site
from linkwork.plant.faults.sensor_entries import (
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

_SCALES: Final = {"rad": 1.0, "deg": math.pi / 180.0, "m": 1.0, "N": 1.0, "N_m": 1.0}


class SensorEffect:
    """A fault of one sensor: `x` is a view of its positions (one number), or of its force (all components, or
    one); `v` of its velocity, empty where it measures none.
    """

    def __init__(self, entry: SensorEntry, site: Site, random: np.random.Generator) -> None:
        self.entry, self.site, self.random = entry, site, random
        self.machinery = site.machinery
        self._of_force = entry.is_of_force([sensor.joint for sensor in site.machine.sensors])
        self.x, self.v = self.views(entry.of)
        self.first = 0
        self.amount = 0.0
        for unit, scale in _SCALES.items():
            given = getattr(entry, f"{entry.quantity}_{unit}{entry.suffix}", None)
            if given is not None:
                self.amount = given * scale

    def views(self, name: str) -> tuple[Floats, Floats]:
        """Return views of a sensor's readings: position or force, and velocity where it measures one (n each,
        or 0).
        """
        site, machinery, nothing = self.site, self.machinery, np.zeros(0)
        if not self._of_force:
            at = slice(site.sensor(name), site.sensor(name) + 1)
            measures = site.machine.sensors[at.start].velocity
            return machinery.measured.q[at], machinery.measured.v[at] if measures else nothing
        sensor, axis = site.machine.force_sensors[site.force_sensor(name)], self.entry.axis
        if axis is None:
            return machinery.measured.force[sensor.numbers], nothing
        first = sensor.first + sensor.components.index(axis)
        return machinery.measured.force[first : first + 1], nothing

    def begin(self, tick: int) -> str:
        """Change readings from this tick on."""
        self.first = tick
        self.machinery.sensing.append(self)
        return ""

    def tick(self, tick: int) -> None:
        """Update at a tick; without effect."""

    def end(self) -> str:
        """Stop changing readings."""
        self.machinery.sensing.remove(self)
        return ""

    def falsify(self) -> None:
        """Change the reading of this tick, in place."""


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
    """Freeze the last reading."""

    def begin(self, tick: int) -> str:
        """Keep the last reading."""
        self._x, self._v = self.x.copy(), self.v.copy()
        return super().begin(tick)

    def falsify(self) -> None:
        """Put it in place of the reading."""
        self.x[:], self.v[:] = self._x, self._v


class Noisy(SensorEffect):
    """x + s n, v + s' n'; n, n' standard normal."""

    entry: Noise

    def falsify(self) -> None:
        """Add noise; the number of random draws in a tick is constant."""
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
    """Swap the readings of two sensors."""

    entry: Swap

    def __init__(self, entry: Swap, site: Site, random: np.random.Generator) -> None:
        super().__init__(entry, site, random)
        self._other = self.views(entry.other)

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
