"""An axis of a chart: conversion of values to positions, and its ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.reports.quantities import raised


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high` lie from `begin` to `end` on the paper."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def places_of(self, values: Floats | float) -> Floats:
        """Return the places of values (n; or one). On a logarithmic axis values below `low` are at its
        beginning.
        """
        given = np.asarray(values, dtype=np.float64)
        if self.log:
            part = np.log(np.maximum(given, self.low) / self.low) / math.log(self.high / self.low)
        else:
            part = (given - self.low) / (self.high - self.low)
        placed: Floats = self.begin + part * (self.end - self.begin)
        return placed

    def ticks(self, most: int = 5) -> list[tuple[float, str]]:
        """Positions and labels of the ticks."""
        if self.log:
            return self._decades(most)
        step = _nice((self.high - self.low) / most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        places = max(0, -math.floor(math.log10(step) + 1e-9))
        return [
            (number * step, f"{number * step:.{places}f}".replace("-", "−"))
            for number in range(first, last + 1)
        ]

    def _decades(self, most: int) -> list[tuple[float, str]]:
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        step = max(1, math.ceil((last - first) / most))
        return [(10.0**power, _power(power)) for power in range(first, last + 1, step)]


def linear(values: Floats, begin: float, end: float, *, tight: bool = False) -> Axis:
    """Return an axis that shows all these values (n), with a margin unless `tight`."""
    low, high = _ends(values)
    air = 0.0 if tight else 0.06 * (high - low)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        air = 0.5 * abs(high) or 1.0
    return Axis(low - air, high + air, begin, end)


def logarithmic(values: Floats, begin: float, end: float, decades: int) -> Axis:
    """Return an axis over whole decades up to the largest of these values (n), at most `decades` down."""
    positive = values[np.isfinite(values) & (values > 0.0)]
    low, high = _ends(positive) if len(positive) else (0.1, 1.0)
    top = math.ceil(math.log10(high) + 0.1)
    bottom = max(math.floor(math.log10(low)), top - decades)
    return Axis(10.0 ** min(bottom, top - 1), 10.0**top, begin, end, log=True)


def _ends(values: Floats) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)


def _nice(step: float) -> float:
    """The next of 1, 2, 5, 10 … at or above."""
    power = 10.0 ** math.floor(math.log10(step))
    return power * next(each for each in (1.0, 2.0, 5.0, 10.0) if each * power >= step * (1 - 1e-9))


def _power(power: int) -> str:
    return f"{10.0**power:g}" if -2 <= power <= 3 else "10" + raised(power)
