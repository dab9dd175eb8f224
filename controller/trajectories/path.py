"""A path while it is planned: knots of the path parameter and the goal coordinates' derivatives there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from controller.trajectories.block import pack_block
from controller.trajectories.force_part import ForcePart
from machine import Machine
from protocol.trajectory import Tolerance

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Path:
    """Goal coordinates over the path parameter s (seconds at the goal's own speed).

    `coordinates`: indices into the mechanism's coordinates (k). `knots`: n + 1 values from 0 to the duration.
    `values`: (n + 1) × rows × k; rows are θ, θ' (cubic pieces), or θ, θ', θ'' (quintic pieces). `full_speed`:
    where the path runs without lead-in and lead-out.
    """

    coordinates: tuple[int, ...]
    knots: Floats
    values: Floats
    full_speed: tuple[float, float]
    forces: ForcePart | None = None
    gaps: int = 0
    """How many of the coordinates, the last ones, are gaps of pressed contacts: the loop leaves them out."""

    @property
    def duration_s(self) -> float:
        """The path parameter at the end."""
        return float(self.knots[-1])

    def stretched(self, factor: float) -> Path:
        """The same path, `factor` times as slow everywhere."""
        scale = factor ** -np.arange(self.values.shape[1], dtype=np.float64)
        first, last = self.full_speed
        return replace(
            self,
            knots=self.knots * factor,
            values=self.values * scale[None, :, None],
            full_speed=(first * factor, last * factor),
            forces=None if self.forces is None else self.forces.stretched(factor),
        )

    def followed(self) -> Path:
        """The path as the loop follows it: without the gaps."""
        if not self.gaps:
            return self
        motion = len(self.coordinates) - self.gaps
        values = np.ascontiguousarray(self.values[:, :, :motion])
        return replace(self, coordinates=self.coordinates[:motion], values=values, gaps=0)

    def pack(
        self, machine: Machine, stopping: Floats, given: dict[str, Tolerance], goal_time_s: float | None
    ) -> Floats:
        """The block's words; tolerances not given are the machine file's."""
        names = [machine.mechanism.coordinate_names[i] for i in self.coordinates]
        own = [machine.controller.tolerances[i] for i in self.coordinates]
        asked = [given.get(name, Tolerance()) for name in names]
        return pack_block(
            self.coordinates,
            self.knots,
            self.values,
            path_tolerance=[want.path or have.path for want, have in zip(asked, own, strict=True)],
            goal_tolerance=[want.goal or have.goal for want, have in zip(asked, own, strict=True)],
            goal_time_s=machine.controller.goal_time_s if goal_time_s is None else goal_time_s,
            stopping=stopping,
            full_speed=self.full_speed,
            forces=self.forces,
        )
