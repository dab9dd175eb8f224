"""Light barriers of the scene: straight lines that parts interrupt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.scene import LightBeam
from linkwork.plant.loose_part import LoosePart


class BeamState:
    """The state of one light barrier: `values` (2) are `broken` (0 or 1) and `place`.

    The place is where the centre of the part that broke it last lies along the line (m); 0 before the first.
    """

    def __init__(self, beam: LightBeam) -> None:
        self._beam, self.values = beam, np.zeros(2)

    def measure(self, parts: Sequence[LoosePart], centres: Floats, radii: Floats) -> None:
        """Sample the light barrier. centres (n, 3; m) and radii (n; m): spheres about the parts."""
        self.values[0] = 0.0
        for number in self._near(centres, radii):
            part = parts[number]
            if self._crosses(part):
                self.values[0] = 1.0
                self.values[1] = float((part.centre - self._beam.at_m) @ self._beam.along)
                return

    def _crosses(self, part: LoosePart) -> bool:
        """Whether the line meets the box (slab method, Kay and Kajiya 1986)."""
        begin = part.axes.T @ (self._beam.at_m - part.centre)
        along = part.axes.T @ self._beam.along
        first, last = 0.0, self._beam.length_m
        for at, rate, half in zip(
            begin.tolist(), along.tolist(), (0.5 * part.part.size_m).tolist(), strict=True
        ):
            if abs(rate) < 1e-12:
                if abs(at) > half:
                    return False
                continue
            low, high = sorted(((-half - at) / rate, (half - at) / rate))
            first, last = max(first, low), min(last, high)
        return first <= last

    def _near(self, centres: Floats, radii: Floats) -> list[int]:
        off = centres - self._beam.at_m
        way = np.clip(off @ self._beam.along, 0.0, self._beam.length_m)
        off -= way[:, None] * self._beam.along
        found: list[int] = np.flatnonzero(np.einsum("ij,ij->i", off, off) <= radii**2).tolist()
        return found
