"""The model that a tick uses for a machine whose joints close on each other.

From the joints that are measured to the whole state: the model carries the last estimate on to this tick; the
measured joints then take their measurements, and the others follow by what the constraints still ask for,
Newton steps for the positions and one linear step for the velocities, from the model's prediction. Near a
branch pose, where the measured joints no longer determine the others, the prediction stands.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from controller.laws.closed import evaluate_closed
from controller.loop.quality import Quality
from machine import Machine
from multibody.compiling import (
    BUFFER,
    INTEGERS,
    MATRIX,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    float64,
    int64,
    kernel,
    part,
    void,
)
from multibody.constrained_steps import constrained_rk4
from multibody.coordinates import coordinates
from multibody.kinematics import kinematics
from multibody.layout import (
    COLUMN_SCALE,
    EFFORT,
    LOST,
    N_ROWS,
    NV,
    PHI,
    PHI_RATE,
    RANK,
    REFERENCE_SIZE,
    ROW_SCALE,
    SHIFT,
    SMALLEST,
    A,
    Q,
    V,
)
from multibody.orthogonal import pivoted_qr
from multibody.projection import position_residual
from multibody.rank import admitted, back_substitute, exchange_back, factor, reflect
from multibody.rotations import move
from multibody.rows import constraint_rows
from multibody.views import copy, fill, matrix, vector

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

UNDETERMINED = 2e-3
"""Of the ordinary size of the scaled rows: directions of the unmeasured joints in which the constraints
ask for less are left to the prediction.
"""
CLOSED = 1e-12
"""Scaled residual at which the Newton steps end."""
STEPS, FIRST_STEPS = 5, 40
"""Most Newton steps of a tick, and of the first one, which may begin far away."""


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, BUFFER, INTEGERS, VECTOR, float64))
def predict_closed(
    p: Floats, t: Integers, now: Floats, ahead: Floats, motor: Integers, sent: Floats, seconds: float
) -> None:
    """Writes to `ahead` the state so many seconds later, under the efforts sent to the motors."""
    copy(vector(t, now, Q), vector(t, ahead, Q))
    copy(vector(t, now, V), vector(t, ahead, V))
    effort = vector(t, ahead, EFFORT)
    for i in range(len(motor)):
        effort[motor[i]] = sent[i]
    constrained_rk4(p, t, ahead, seconds)


@part
def _least(
    p: Floats, t: Integers, w: Floats, open_rows: Floats, others: Integers,
    rows: Floats, exchanges: Floats, reflected: Floats, right: Floats, motion: Floats,
) -> None:  # fmt: skip
    """motion (nv) += the change of the joints `others` that closes these rows (nr), as far as determined."""
    a, scale, columns = matrix(t, w, A, t[NV]), vector(t, p, ROW_SCALE), vector(t, p, COLUMN_SCALE)
    for i in range(t[N_ROWS]):
        right[i] = -scale[i] * open_rows[i]
        for j in range(len(others)):
            rows[i, j] = scale[i] * a[i, others[j]] * columns[others[j]]
    rank = pivoted_qr(rows, exchanges, reflected, UNDETERMINED * vector(t, p, REFERENCE_SIZE)[0])
    reflect(rows, reflected, rank, right)
    back_substitute(rows, rank, right)
    for i in range(rank, len(right)):
        right[i] = 0.0
    exchange_back(exchanges, rank, right)
    for j in range(len(others)):
        motion[others[j]] += columns[others[j]] * right[j]


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, int64, MATRIX, VECTOR, VECTOR, VECTOR))
def follow_closures(
    p: Floats, t: Integers, w: Floats, others: Integers, most: int,
    rows: Floats, exchanges: Floats, reflected: Floats, right: Floats,
) -> float:  # fmt: skip
    """Moves the joints `others` (indices) so that the constraints are met, and gives them admitted
    velocities.

    The remaining joints of q and v in w keep what they have. rows (nr × others) and the vectors, with as many
    entries as the larger of both, are scratch. Returns the scaled residual of position that is left.
    Afterwards kinematics, rows, basis and coordinates are those of the new state.
    """
    q, v, shift = vector(t, w, Q), vector(t, w, V), vector(t, w, SHIFT)
    kinematics(p, t, w)
    constraint_rows(p, t, w)
    for _ in range(most):
        if position_residual(p, t, w) <= CLOSED:
            break
        fill(shift, 0.0)
        _least(p, t, w, vector(t, w, PHI), others, rows, exchanges, reflected, right, shift)
        move(t, q, shift, 1.0)
        kinematics(p, t, w)
        constraint_rows(p, t, w)
    residual: float = position_residual(p, t, w)
    _least(p, t, w, vector(t, w, PHI_RATE), others, rows, exchanges, reflected, right, v)
    kinematics(p, t, w)
    constraint_rows(p, t, w)
    factor(p, t, w)
    admitted(p, t, w)
    coordinates(p, t, w)
    return residual


class Closed:
    """See `controller.loop.model.Model`."""

    def __init__(self, machine: Machine) -> None:
        self.now, self.ahead = machine.workspace(), machine.workspace()
        measured = {sensor.index for sensor in machine.sensors}
        nv, rows = machine.mechanism.nv, len(machine.mechanism.row_names)
        self.quality = Quality(rows)
        self._others = np.array([joint for joint in range(nv) if joint not in measured], np.int64)
        self._scratch = (
            np.zeros((rows, len(self._others))),
            *(np.zeros(max(rows, nv)) for _ in range(3)),
        )
        self._most = FIRST_STEPS

    def predict(self, motor: Integers, sent: Floats, seconds: float) -> None:
        """Writes to `ahead` the state that much later."""
        mechanism = self.now.arguments
        predict_closed(mechanism[0], mechanism[1], self.now.buffer, self.ahead.buffer, motor, sent, seconds)

    def settle(self) -> float:
        """After measurements were written into `now`: the joints that are not measured follow."""
        residual: float = follow_closures(*self.now.arguments, self._others, self._most, *self._scratch)
        self._most = STEPS
        quality, ranking = self.quality, self.now.ranking
        quality.closure_residual, quality.rank, quality.branch = residual, int(ranking[RANK]), 1
        quality.sigma_closures = 0.0 if ranking[LOST] > 0.0 else float(ranking[SMALLEST])
        return residual

    def evaluate(self) -> None:
        """What laws need, at the state in `ahead`."""
        evaluate_closed(*self.ahead.arguments)
