"""Moving frames, such as conveyor belts: translations that a signal measures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats


@dataclass(frozen=True)
class MovingFrame:
    """A frame that moves along a straight line of the world, as an analog input measures.

    Its displacement is the value of the input number `input` times `m_per_unit` (m), along the unit vector
    `along` (world). Goals rely on a speed (m/s) within `speed_m_s` and an acceleration (m/s²) of at most
    `acceleration_m_s2`. `window_m`: positions along the direction in which goals may be in the frame.
    `bandwidth_rad_s`: of the filter for its motion. `gains` (one per coordinate of the mechanism): change of
    the coordinate per metre that the frame moves; NaN where a goal cannot name the coordinate in the frame.
    """

    name: str
    input: int
    m_per_unit: float
    along: tuple[float, float, float]
    speed_m_s: tuple[float, float]
    acceleration_m_s2: float
    window_m: tuple[float, float]
    bandwidth_rad_s: float
    gains: tuple[float, ...]

    def gains_of(self, coordinates: tuple[int, ...]) -> Floats:
        """Return the gains of these coordinates of the mechanism (k)."""
        return np.array([self.gains[index] for index in coordinates])
