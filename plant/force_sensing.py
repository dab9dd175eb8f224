"""Force sensors of the simulated plant: the force of a contact on its point, as the sensor gives it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from machine import Machine
from multibody.compiling import (
    BUFFER,
    INTEGERS,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    kernel,
    void,
)
from multibody.compliant_forces import compliant_forces
from multibody.kinematics import kinematics
from multibody.layout import AXES, CONTACT_FORCE, CONTACTS, POINT_AXES, POINTS
from multibody.vectors import combine, dot, load
from multibody.views import matrix, table

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, INTEGERS, VECTOR, VECTOR, VECTOR, VECTOR))
def sense_forces(
    p: Floats, t: Integers, w: Floats, contact: Integers, in_body: Integers,
    resolution: Floats, noise: Floats, drawn: Floats, measured: Floats,
) -> None:  # fmt: skip
    """From q and v: three components (N) a sensor, along the world's axes or those of the point's body.

    resolution (0: ideal) and noise have one number a sensor, drawn (standard normal) and measured three.
    """
    kinematics(p, t, w)
    compliant_forces(p, t, w)
    forces, own, axes = matrix(t, w, CONTACT_FORCE, 3), matrix(t, p, POINT_AXES, 3), matrix(t, w, AXES, 3)
    for i in range(len(contact)):
        force = load(forces, contact[i])
        point = table(t, CONTACTS, 1)[contact[i], 0]
        link = table(t, POINTS, 1)[point, 0]
        if in_body[i] != 0 and link >= 0:
            x, y, z = load(axes, 3 * link), load(axes, 3 * link + 1), load(axes, 3 * link + 2)
            force = (
                dot(combine(x, y, z, load(own, 3 * point)), force),
                dot(combine(x, y, z, load(own, 3 * point + 1)), force),
                dot(combine(x, y, z, load(own, 3 * point + 2)), force),
            )
        measured[3 * i], measured[3 * i + 1], measured[3 * i + 2] = force
        for k in range(3 * i, 3 * i + 3):
            measured[k] += noise[i] * drawn[k]
            if resolution[i] > 0.0:
                measured[k] = resolution[i] * np.round(measured[k] / resolution[i])


class ForceSensing:
    """The force sensors of one machine; `measured` has three components (N) a sensor."""

    def __init__(self, machine: Machine, noise: np.random.Generator) -> None:
        sensors = machine.force_sensors
        self.measured = np.zeros(3 * len(sensors))
        self._generator = noise
        self._drawn = np.zeros(3 * len(sensors))
        self._noise = np.array([sensor.noise_N for sensor in sensors])
        self._resolution = np.array([sensor.resolution_N for sensor in sensors])
        self._contact = np.array([sensor.contact for sensor in sensors], np.int64)
        self._in_body = np.array([sensor.frame == "body" for sensor in sensors], np.int64)

    def look(self, p: Floats, t: Integers, w: Floats) -> None:
        """Samples the sensors at the state in w."""
        if np.any(self._noise):
            self._generator.standard_normal(out=self._drawn)
        sense_forces(
            p, t, w, self._contact, self._in_body, self._resolution, self._noise, self._drawn, self.measured
        )
