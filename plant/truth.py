"""Ground truth of the simulated machine: its exact motion, period by period, without sensor errors.

A file is one line of JSON, `{"machine": …, "period_s": …, "columns": [names]}`, and then 64-bit floats,
little-endian, one for each column in each period: `tick` of the plant (whose states have the time tick ×
period), positions `q.NAME` and velocities `v.NAME` at it, and the motors' `effort.NAME` at every joint during
the period that follows. Of loose parts, `part.NAME.x`, `.y` and `.z` are the centre (m, world).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from linkwork.machine import Machine
from linkwork.plant.simulator import Simulator


class RecordedSimulator(Simulator):
    """A simulator that writes such a file. Raises OSError when it cannot be opened."""

    def __init__(self, machine: Machine, seed: int, path: Path) -> None:
        super().__init__(machine, seed)
        mechanism = machine.plant_mechanism
        columns = ["tick", *(f"q.{name}" for name in mechanism.position_names)]
        columns += [f"{kind}.{name}" for kind in ("v", "effort") for name in mechanism.joint_names]
        columns += [f"part.{part.part.name}.{axis}" for part in self.parts for axis in "xyz"]
        self._row = np.zeros(len(columns), "<f8")
        nq, nv = len(mechanism.position_names), len(mechanism.joint_names)
        self._of_q, self._of_v = self._row[1 : 1 + nq], self._row[1 + nq : 1 + nq + nv]
        self._of_effort = self._row[1 + nq + nv : 1 + nq + 2 * nv]
        self._of_parts = self._row[1 + nq + 2 * nv :].reshape(-1, 3)
        self._file = path.open("wb", buffering=0)
        head = {"machine": machine.name, "period_s": machine.plant.period_s, "columns": columns}
        self._file.write(json.dumps(head).encode() + b"\n")

    def integrate(self, periods: int = 1) -> None:
        """As the simulator's own; every period is a row."""
        for _ in range(periods):
            self._row[0] = self.tick
            self._of_q[:], self._of_v[:] = self.q, self.v
            for row, part in zip(self._of_parts, self.parts, strict=True):
                row[:] = part.centre
            super().integrate()
            self._of_effort[:] = self.joint_effort
            self._file.write(self._row.data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
