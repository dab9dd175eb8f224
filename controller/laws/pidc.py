"""Projected inverse dynamics in independent coordinates θ (Aghili 2005).

Without closures the projector is the identity and the law reads f = h + M u, where the acceleration u
satisfies

    J u = θ̈_d + 2 ζ ω (θ̇_d − J v) + ω² (θ_d − θ) − J̇ v,          J = ∂θ/∂q,

so that the error obeys ë + 2 ζ ω ė + ω² e = 0. Friction is compensated from the model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from controller.laws.bounds import keep_direction, within
from controller.laws.feedback import lag, wanted_acceleration
from controller.laws.law import Floats, LawReport, Reference
from machine import Machine
from multibody import Workspace
from multibody.compiling import INTEGERS, MATRIX, VECTOR, float64, kernel
from multibody.linear import lu_apply, lu_factor

Integers = NDArray[np.int64]


@kernel(
    float64(
        MATRIX, VECTOR, VECTOR, MATRIX, VECTOR, INTEGERS, VECTOR, INTEGERS, VECTOR,
        MATRIX, INTEGERS, VECTOR, VECTOR, VECTOR, VECTOR,
    )
)  # fmt: skip
def inverse_dynamics(
    M: Floats, h: Floats, friction: Floats, J: Floats, Jdv: Floats, index: Integers, task: Floats,
    motor: Integers, most: Floats, rows: Floats, pivots: Integers, u: Floats, coasting: Floats,
    force: Floats, share: Floats,
) -> float:  # fmt: skip
    """force = M u + h − friction with J u = task on the rows `index`; returns the smallest pivot ratio of J.

    M (n, n), h and friction (n), J (c, n), Jdv (c), task (n), scratch rows (n, n), pivots, u, coasting (n).
    Beyond the limits `most` of the motors at the joints `motor`, force is what is left of the direction of
    the motion (`controller.laws.bounds`); share (1) receives how much. Below a pivot ratio of 1e-12 nothing
    is divided and `force` is left as it was.
    """
    n = len(h)
    for i in range(n):
        for j in range(n):
            rows[i, j] = J[index[i], j]
    ratio: float = lu_factor(rows, pivots)
    share[0] = 1.0
    if ratio < 1e-12:
        return ratio
    for wanted in range(2):
        target = force if wanted == 0 else coasting
        for i in range(n):
            u[i] = task[i] if wanted == 0 else -Jdv[index[i]]
        lu_apply(rows, pivots, u)
        for i in range(n):
            total = h[i] - friction[i]
            for j in range(n):
                total += M[i, j] * u[j]
            target[i] = total
        if within(most, motor, force):
            return ratio
    share[0] = keep_direction(most, motor, coasting, force)
    return ratio


class ProjectedInverseDynamics:
    """The law for one machine; also what `hold` uses, with a reference that stands still."""

    def __init__(self, machine: Machine, report: LawReport | None = None) -> None:
        joints = machine.mechanism.nv
        self._omega = machine.controller.bandwidth_rad_s
        self._zeta = machine.controller.damping_ratio
        self._wraps = np.array(machine.mechanism.coordinate_wraps, np.bool_)
        self._motor = np.array([motor.index for motor in machine.motors], np.int64)
        self._most = np.array([motor.max_effort for motor in machine.motors])
        self._report = LawReport() if report is None else report
        self._task, self._u, self._coasting = np.zeros(joints), np.zeros(joints), np.zeros(joints)
        self._rows, self._pivots = np.zeros((joints, joints)), np.zeros(joints, np.int64)
        self._share = np.ones(1)

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:
        """See `Law`."""
        wanted_acceleration(
            ahead.theta, ahead.J, ahead.Jdv, ahead.v, self._wraps, reference.index, reference.theta,
            reference.velocity, reference.acceleration, self._omega, self._zeta, self._task,
        )  # fmt: skip
        ratio: float = inverse_dynamics(
            ahead.M, ahead.h, ahead.friction, ahead.J, ahead.Jdv, reference.index, self._task,
            self._motor, self._most, self._rows, self._pivots, self._u, self._coasting, force, self._share,
        )  # fmt: skip
        self._report.share = float(self._share[0])
        return ratio

    def lag(self, period_s: float) -> float:
        """See `Law`."""
        return lag(self._omega, self._zeta, period_s)

    def tune(self, omega: float, zeta: float) -> None:
        """See `Tunable`."""
        self._omega, self._zeta = omega, zeta
