"""Sensors beyond those that a closed machine needs: their weights, and what their disagreement tells."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from machine import Machine
from multibody import layout

Floats = NDArray[np.float64]

IDEAL = 1e-7
"""Accuracy of a sensor of which the file says nothing, in typical lengths or rad."""


def scales(machine: Machine) -> Floats:
    """rad or m that stand beside one radian, for each sensor's joint."""
    t = machine.mechanism.topology
    columns = machine.mechanism.parameters[t[layout.COLUMN_SCALE] : t[layout.COLUMN_SCALE + 1]]
    return np.asarray(columns[[sensor.index for sensor in machine.sensors]])


def weights(machine: Machine) -> Floats:
    """One over each sensor's standard deviation (noise and rounding), such that the largest, scaled, is 1."""
    columns = scales(machine)
    deviation = [
        math.sqrt(sensor.noise**2 + sensor.resolution**2 / 12.0 + (IDEAL * scale) ** 2)
        for sensor, scale in zip(machine.sensors, columns, strict=True)
    ]
    return np.asarray(1.0 / np.array(deviation) / np.max(columns / deviation))
