"""Heat of the motors as a limit of the time law: the mean square of an effort over a cycle that is repeated.

With the effort y = p₀ x₀ + p₁ x₁ + c in the middle of an interval, in shares of the continuous one, and the
interval's time h(x₀, x₁), a motor stays cool if

    Σ y² h ≤ κ Σ h

y² h is convex: a square over the sum of two roots. Σ h on the other side is convex too; its curvature counts
only as far as that of the aim, which is Σ h as well, outweighs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.planning.timing.stations import PARTS, Factors, Stations

_MIDDLE = PARTS // 2


@dataclass(frozen=True)
class CycleHeat:
    """Efforts of m motors in n intervals: `first`, `last` (p₀, p₁), `rest` (m × n each); `share` (m): κ."""

    first: Floats
    last: Floats
    rest: Floats
    share: Floats

    @classmethod
    def of(cls, stations: Stations, about: Floats, shares: Floats, factors: Factors) -> CycleHeat:
        """Return the heat about a profile (samples). shares (m): κ of each of the stations' `heated`."""
        grid, middle = stations.grid, slice(_MIDDLE, None, PARTS + 1)
        a, b, c = (part[:, middle] for part in stations.heating(about))
        steep = 0.5 * a / grid.width
        grown = np.array([factors.get(limit, 1.0) for limit in stations.heated])
        return cls(0.5 * b - steep, 0.5 * b + steep, c, shares * grown**2)

    def _efforts(self, x: Floats) -> Floats:
        return np.asarray(self.first * x[:-1] + self.last * x[1:] + self.rest)

    def slack(self, x: Floats, times: Floats) -> Floats:
        """Time (m) by which κ Σ h is above Σ y² h. times: of the intervals (n)."""
        return np.asarray((self.share[:, None] - self._efforts(x) ** 2) @ times)

    def at_rest(self, times: Floats) -> Floats:
        """Mean square (m) of the efforts that hold the machine. times: of the intervals (n)."""
        return np.asarray(np.average(self.rest**2, axis=1, weights=times))

    def derivatives(
        self, x: Floats, times: Floats, before: Floats, behind: Floats, curve: Sequence[Floats]
    ) -> tuple[Floats, Floats, float]:
        """Gradients of the slack over it (m × (n + 1)); the sum of the matrices of Σ y² h over the slack
        (2 × (n + 1), beside the diagonal and on it); the sum of κ over the slack.

        times, before, behind (n): of the intervals, and their derivatives by x at both ends; curve (3
        of n): their second derivatives, by the x before, both, and behind.
        """
        y, over = self._efforts(x), 1.0 / self.slack(x, times)
        gain = self.share[:, None] - y**2
        pull = np.zeros((len(over), len(x)))
        pull[:, :-1] = gain * before - 2.0 * y * times * self.first
        pull[:, 1:] += gain * behind - 2.0 * y * times * self.last
        bends = (
            2.0 * times * self.first**2 + 4.0 * y * self.first * before + y**2 * curve[0],
            2.0 * times * self.first * self.last
            + 2.0 * y * (self.first * behind + self.last * before)
            + y**2 * curve[1],
            2.0 * times * self.last**2 + 4.0 * y * self.last * behind + y**2 * curve[2],
        )
        own, beside, next_own = (over @ bend for bend in bends)
        band = np.zeros((2, len(x)))
        band[0, 1:] = beside
        band[1, :-1] += own
        band[1, 1:] += next_own
        return pull * over[:, None], band, float(self.share @ over)
