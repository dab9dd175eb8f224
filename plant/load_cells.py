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
from linkwork.multibody.formulations.other_formulations import constrained_forward_dynamics
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    INTEGERS,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    kernel,
    void,
)
from linkwork.multibody.kernels.layout import MULTIPLIERS
from linkwork.multibody.kernels.views import vector
from linkwork.plant.plant_layout import LAST_STEP, PlantArrays
from linkwork.plant.resistance import apply


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, BUFFER, INTEGERS, INTEGERS, VECTOR))
def sense_loads(
    p: Floats, t: Integers, w: Floats, s: Integers, b: Floats,
    row: Integers, place: Integers, measured: Floats,
) -> None:  # fmt: skip
    """Write the multiplier of row[i] to measured[place[i]], for `row` (n) and `place` (n).

    w: the plant's workspace or a copy; it changes. 0 before the first period has ended.
    """
    last = vector(s, b, LAST_STEP)[0]
    if last <= 0.0:
        for i in range(len(row)):
            measured[place[i]] = 0.0
        return
    apply(t, w, s, b)
    constrained_forward_dynamics(p, t, w)
    multipliers = vector(t, w, MULTIPLIERS)
    for i in range(len(row)):
        measured[place[i]] = multipliers[row[i]]


class LoadCells:
    """The force sensors of constraints of one machine."""

    def __init__(self, machine: Machine, sensors: Sequence[ForceSensor]) -> None:
        self._row = np.array([row for sensor in sensors for row in sensor.rows], np.int64)
        self._place = np.array(
            [sensor.first + i for sensor in sensors for i in range(len(sensor.rows))], np.int64
        )
        self._buffer = machine.plant_mechanism.workspace().buffer

    def sample(self, plant: PlantArrays, measured: Floats) -> None:
        """Write the readings (one flat array) at the plant's state, which is unchanged."""
        p, t, w, s, b = plant
        np.copyto(self._buffer, w)
        sense_loads(p, t, self._buffer, s, b, self._row, self._place, measured)
