"""Projected inverse dynamics in independent coordinates θ (Aghili 2005).

The law asks for the acceleration u that the constraints A v = 0 admit, A u = b, and with which the error of
the goal coordinates obeys ë + 2 ζ ω ė + ω² e = 0:

    J u = t,     t = θ̈_d + 2 ζ ω (θ̇_d − J v) + ω² (θ_d − θ) − J̇ v,          J = ∂θ/∂q.

With Λ (nv × degrees of freedom) spanning the admitted velocities and A x = b it is u = x + Λ z with
J Λ z = t − J x. `motor_allocation` maps it to the motors, Λ' f = Λ' (h + M u − friction); joints without a
motor get exactly zero force. Without constraints Λ is the identity, x is zero, and f = h + M u − friction.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from linkwork.arrays import Flags, Floats, Integers, Matrix
from linkwork.controller.actuation.motor_allocation import drive
from linkwork.controller.laws.feedback import PositionFeedback, wanted_acceleration
from linkwork.controller.laws.law import Reference
from linkwork.controller.laws.law_motors import Motors
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.linalg.linear import lu_apply, lu_factor, products
from linkwork.multibody.workspace import Model

SINGULAR = 1e-12
"""Pivot ratio of J Λ below which no acceleration is computed."""


@part
def task_rows(w: Workspace, index: Integers, free: int, rows: Matrix) -> None:
    """rows (k × free) := J Λ, for the goal coordinates `index` (k)."""
    for i in range(len(index)):
        products(w.J[index[i]], w.basis[:free], rows[i])


@part
def task_motion(
    m: Model, w: Workspace, index: Integers, rows: Matrix, pivots: Integers, z: Floats, u: Floats
) -> None:
    """u (nv) := x + Λ z with J u = task, which z (k) holds on entry; rows, pivots: J Λ, factored."""
    k = len(index)
    for i in range(k):
        for c in range(m.nv):
            z[i] -= w.J[index[i], c] * w.vdot[c]
    lu_apply(rows, pivots, z)
    for c in range(m.nv):
        u[c] = w.vdot[c]
        for j in range(k):
            u[c] += w.basis[j, c] * z[j]


@kernel
def task_acceleration(
    m: Model,
    w: Workspace,
    index: Integers,
    task: Floats,
    rows: Matrix,
    pivots: Integers,
    z: Floats,
    u: Floats,
    coast: Floats,
) -> float:
    """After `evaluate_motion`: u (nv) with A u = b and J u = task on the rows `index`; coast, with −J̇ v.

    task (k), scratch rows (k × k), pivots and z (k). Returns the smallest pivot ratio of J Λ; 0 where there
    are not as many goal coordinates as degrees of freedom at this pose. Below a ratio of `SINGULAR` the
    outputs are unchanged.
    """
    k = len(index)
    if m.nv - int(w.ranking[RANK]) != k:
        return 0.0
    task_rows(w, index, k, rows)
    ratio: float = lu_factor(rows, pivots)
    if ratio < SINGULAR:
        return ratio
    for i in range(k):
        z[i] = -w.Jdv[index[i]]
    task_motion(m, w, index, rows, pivots, z, coast)
    for i in range(k):
        z[i] = task[i]
    task_motion(m, w, index, rows, pivots, z, u)
    return ratio


class MotionDrive(Struct):
    """The model, the workspace, the arrays of `drive`, and scratch.

    pivots (k); room: two vectors (nv), two (k) and a matrix (k × k).
    """

    m: Model
    w: Workspace
    motor: Annotated[Integers, "motors"]
    most: Annotated[Floats, "motors"]
    weight: Annotated[Floats, "motors"]
    preload: Annotated[Floats, "motors"]
    scratch: Floats
    told: Floats
    pivots: Integers
    room: Floats


@kernel
def inverse_dynamics(
    given: MotionDrive,
    index: Integers,
    theta: Floats,
    velocity: Floats,
    acceleration: Floats,
    wraps: Flags,
    omega: float,
    zeta: float,
    force: Floats,
) -> float:
    """After `evaluate_motion`: `wanted_acceleration`, `task_acceleration` and `drive`, one after the other.

    index, theta, velocity, acceleration (k): the `Reference`; wraps (nc): coordinates
    that wrap; omega in rad/s. Returns the smallest pivot ratio of J Λ; force (nv; N m or N) is written if it
    is at least `SINGULAR`.
    """
    m, w, room = given.m, given.w, given.room
    nv, k = m.nv, len(index)
    accelerations, tasks = block(room, 0, 2, nv), block(room, 2 * nv, 2, k)
    u, coast, task, z = accelerations[0], accelerations[1], tasks[0], tasks[1]
    rows = block(room, 2 * nv + 2 * k, k, k)
    wanted_acceleration(
        w.theta, w.J, w.Jdv, w.v, wraps, index,
        theta, velocity, acceleration, omega, zeta, task,
    )  # fmt: skip
    ratio: float = task_acceleration(m, w, index, task, rows, given.pivots, z, u, coast)
    if ratio >= SINGULAR:
        drive(
            m, w, given.motor, given.most, given.weight, given.preload,
            u, coast, given.scratch, force, given.told,
        )  # fmt: skip
    return ratio


class ProjectedInverseDynamics(PositionFeedback):
    """The law for one machine; `hold` uses it too, with a reference at rest."""

    def __init__(self, machine: Machine, motors: Motors) -> None:
        super().__init__(machine)
        self._motors = motors
        nv, k = machine.mechanism.nv, machine.dof
        room = np.zeros(2 * nv + 2 * k + k * k)
        self._pivots, self._room = np.zeros(k, np.int64), room
        self._ahead: Workspace | None = None
        """The workspace that `_given` is for."""

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:
        """Write the generalized force (nv; N m or N) that the motors should apply; return the pivot ratio."""
        motors = self._motors
        if len(reference.index) != motors.dof:
            return 0.0
        if ahead is not self._ahead:
            self._ahead = ahead
            self._given = MotionDrive(
                m=ahead.model, w=ahead, motor=motors.index, most=motors.most, weight=motors.weight,
                preload=motors.preload, scratch=motors.scratch, told=motors.told,
                pivots=self._pivots, room=self._room,
            )  # fmt: skip
        ratio: float = inverse_dynamics(
            self._given, reference.index, reference.theta, reference.velocity, reference.acceleration,
            self._wraps, self._omega, self._zeta, force,
        )  # fmt: skip
        if ratio >= SINGULAR:
            motors.report_allocation(force)
        return ratio

    def tune(self, omega: float, zeta: float) -> None:
        """Set the bandwidth (rad/s) and the damping ratio of the error dynamics."""
        self._omega, self._zeta = omega, zeta
