"""Sensors of constraint loads: the multipliers of the constrained machine at the end of a period.

They belong to the efforts that acted in the period that has ended, as the `effort` of the same state does.
Brakes and damping motors act as they did at its end. Where rows depend on others, closure loads are not
determined: the multipliers of least norm are used, as in the model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.machine import Machine
from linkwork.machine.sections.force_sensors import ForceSensor
from linkwork.multibody.dynamics.other_formulations import constrained_forward_dynamics
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.simulator.plant_state import PlantState
from linkwork.plant.simulator.resistance import apply


@kernel
def sense_loads(
    m: Model, w: Workspace, s: PlantState, row: Integers, place: Integers, measured: Floats
) -> None:
    """Write the multiplier of row[i] to measured[place[i]], for `row` (n) and `place` (n).

    w: the plant's workspace or a copy; it changes. 0 before the first period has ended.
    """
    last = s.last_step[0]
    if last <= 0.0:
        for i in range(len(row)):
            measured[place[i]] = 0.0
        return
    apply(w, s)
    constrained_forward_dynamics(m, w)
    for i in range(len(row)):
        measured[place[i]] = w.multipliers[row[i]]


class LoadCells:
    """The force sensors of constraints of one machine."""

    def __init__(self, machine: Machine, sensors: Sequence[ForceSensor]) -> None:
        self._row = np.array([row for sensor in sensors for row in sensor.rows], np.int64)
        self._place = np.array(
            [sensor.first + i for sensor in sensors for i in range(len(sensor.rows))], np.int64
        )
        self._work = machine.plant_mechanism.workspace()

    def sample(self, m: Model, w: Workspace, s: PlantState, measured: Floats) -> None:
        """Write the readings (one flat array) at the plant's state, which is unchanged."""
        np.copyto(self._work.buffer, w.buffer)
        sense_loads(m, self._work, s, self._row, self._place, measured)
