"""Projected inverse dynamics in independent coordinates θ (Aghili 2005).

Without closures the projector is the identity and the law reads f = h + M u, where the acceleration u
satisfies

    J u = θ̈_d + 2 ζ ω (θ̇_d − J v) + ω² (θ_d − θ) − J̇ v,          J = ∂θ/∂q,

so that the error obeys ë + 2 ζ ω ė + ω² e = 0. Friction is compensated from the model.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from linkwork.arrays import Flags, Floats, Integers
from linkwork.controller.actuation.effort_bounds import keep_direction, within
from linkwork.controller.laws.feedback import lag, wanted_acceleration
from linkwork.controller.laws.law import (
    LawReport,
    Reference,
)
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.kernels.compiling import block, kernel
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.linalg.linear import lu_apply, lu_factor
from linkwork.multibody.workspace import Model


class OpenDrive(Struct):
    """The motors and the scratch of `inverse_dynamics`.

    motor: their joints; most: N m or N; room: n × n and three times n numbers; share: written.
    """

    motor: Annotated[Integers, "motors"]
    most: Annotated[Floats, "motors"]
    pivots: Integers
    room: Floats
    share: Floats


@kernel
def inverse_dynamics(
    m: Model,
    w: Workspace,
    index: Integers,
    theta: Floats,
    velocity: Floats,
    acceleration: Floats,
    wraps: Flags,
    omega: float,
    zeta: float,
    given: OpenDrive,
    force: Floats,
) -> float:
    """force = M u + h − friction for the u above on the rows `index`; return the smallest pivot ratio of J.

    After dynamics and coordinates. theta, velocity, acceleration (n): the reference.
    Beyond the limits `most` of the motors at the joints `motor`, the force is scaled along the direction of
    the motion (`laws.effort_bounds`); share (1) receives the factor. Below a pivot ratio of 1e-12 `force` is
    unchanged.
    """
    n = m.nv
    motor, most, pivots, room, share = given.motor, given.most, given.pivots, given.room, given.share
    rows, vectors = block(room, 0, n, n), block(room, n * n, 3, n)
    task, u, coasting = vectors[0], vectors[1], vectors[2]
    wanted_acceleration(
        w.theta, w.J, w.Jdv, w.v, wraps, index, theta, velocity, acceleration,
        omega, zeta, task,
    )  # fmt: skip
    for i in range(n):
        for j in range(n):
            rows[i, j] = w.J[index[i], j]
    ratio: float = lu_factor(rows, pivots)
    share[0] = 1.0
    if ratio < 1e-12:
        return ratio
    for wanted in range(2):
        target = force if wanted == 0 else coasting
        for i in range(n):
            u[i] = task[i] if wanted == 0 else -w.Jdv[index[i]]
        lu_apply(rows, pivots, u)
        for i in range(n):
            total = w.h[i] - w.friction[i]
            for j in range(n):
                total += w.M[i, j] * u[j]
            target[i] = total
        if within(most, motor, force):
            return ratio
    share[0] = keep_direction(most, motor, coasting, force)
    return ratio


class ProjectedInverseDynamics:
    """The law for one machine; `hold` uses it too, with a reference at rest."""

    def __init__(self, machine: Machine, report: LawReport) -> None:
        joints = machine.mechanism.nv
        self._omega = machine.controller.bandwidth_rad_s
        self._zeta = machine.controller.damping_ratio
        self._wraps = np.array(machine.mechanism.coordinate_wraps, np.bool_)
        motor = np.array([motor.index for motor in machine.motors], np.int64)
        most = np.array([motor.max_effort for motor in machine.motors])
        self._report = report
        self._share = np.ones(1)
        pivots, room = np.zeros(joints, np.int64), np.zeros(joints * (joints + 3))
        self._drive = OpenDrive(motor=motor, most=most, pivots=pivots, room=room, share=self._share)

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:
        """Write the generalized force (nv; N m or N) that the motors should apply; return the pivot ratio."""
        ratio: float = inverse_dynamics(
            *ahead.arguments, reference.index, reference.theta, reference.velocity, reference.acceleration,
            self._wraps, self._omega, self._zeta, self._drive, force,
        )  # fmt: skip
        self._report.share = float(self._share[0])
        return ratio

    def lag(self, period_s: float) -> float:
        """Share by which the feedback corrects for its own command's effect up to the middle of the hold."""
        return lag(self._omega, self._zeta, period_s)

    def tune(self, omega: float, zeta: float) -> None:
        """Set the bandwidth (rad/s) and the damping ratio of the error dynamics."""
        self._omega, self._zeta = omega, zeta
