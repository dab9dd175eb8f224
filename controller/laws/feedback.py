"""The feedback that pidc and servo share: what the goal coordinates' second derivative should be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multibody.compiling import FLAGS, INTEGERS, MATRIX, VECTOR, float64, kernel, void

Floats = NDArray[np.float64]


@kernel(
    void(VECTOR, MATRIX, VECTOR, VECTOR, FLAGS, INTEGERS, VECTOR, VECTOR, VECTOR, float64, float64, VECTOR)
)
def wanted_acceleration(
    theta: Floats, J: Floats, Jdv: Floats, v: Floats, wraps: NDArray[np.bool_], index: NDArray[np.int64],
    reference: Floats, velocity: Floats, acceleration: Floats, omega: float, zeta: float, task: Floats,
) -> None:  # fmt: skip
    """task = θ̈_d + 2 ζ ω ė + ω² e − J̇ v on the rows `index`, e taken the short way round where a coordinate
    wraps.

    theta, Jdv (c) and J (c, n) are for all coordinates; reference, its rates and task (k) for those in use.
    """
    for i in range(len(index)):
        row = index[i]
        rate = 0.0
        for j in range(len(v)):
            rate += J[row, j] * v[j]
        error = reference[i] - theta[row]
        if wraps[row]:
            error -= 2.0 * np.pi * np.round(error / (2.0 * np.pi))
        task[i] = (
            acceleration[i] + 2.0 * zeta * omega * (velocity[i] - rate) + omega * omega * error - Jdv[row]
        )
