"""Control laws for closed-chain machines: motion in a basis of the admitted velocities.

With Λ (nv × degrees of freedom) spanning the velocities that the constraints A v = 0 admit, an acceleration
that obeys A u = b and J u = task for the goal coordinates' Jacobian J is u = x + Λ z with A x = b and J Λ z =
task − J x. `motor_allocation` maps it to the motors. Joints without a motor get exactly zero force.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from linkwork.arrays import Flags, Floats, Integers, Matrix
from linkwork.controller.actuation.motor_allocation import BEYOND, drive, words
from linkwork.controller.actuation.redundant_motors import RedundantMotors
from linkwork.controller.laws.damp import RATE_PER_S
from linkwork.controller.laws.feedback import lag, wanted_acceleration
from linkwork.controller.laws.law import (
    LawReport,
    Reference,
)
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.closure.rank import admitted, particular
from linkwork.multibody.dynamics.constrained_dynamics import constrained_terms, motion_terms
from linkwork.multibody.dynamics.reduced_mass import motion_in_basis
from linkwork.multibody.kernels.compiling import block, kernel
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.linalg.linear import lu_apply, lu_factor, products
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.workspace import Model


@kernel
def evaluate_motion(m: Model, w: Workspace) -> None:
    """At the workspace's state: M, h, friction, coordinates, `basis`, and in `vdot` some x with A x = b."""
    motion_terms(m, w)
    particular(m, w, w.right_side, w.vdot)
    admitted(m, w)
    coordinates(m, w)


@kernel
def shorten(m: Model, w: Workspace) -> None:
    """After `evaluate_motion`: `vdot` becomes the x with A x = b that is shortest in the mass metric."""
    fill(w.sum_v, 0.0)
    motion_in_basis(m, w, m.nv - int(w.ranking[RANK]), w.sum_v, w.vdot)


@kernel
def evaluate_closed(m: Model, w: Workspace) -> None:
    """The same with the shortest x, and with how near other ranks are (rank.py)."""
    constrained_terms(m, w)
    particular(m, w, w.right_side, w.vdot)
    admitted(m, w)
    shorten(m, w)
    coordinates(m, w)


@kernel
def closed_acceleration(
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
    """After `evaluate_closed`: u (nv) with A u = b and J u = task on the rows `index`; coast, with −J̇ v.

    task (k), scratch rows (k × k), pivots and z (k). Returns the smallest pivot ratio of J Λ; 0 where there
    are not as many goal coordinates as degrees of freedom at this pose. Below a ratio of 1e-12 the outputs
    are unchanged.
    """
    nv, k = m.nv, len(index)
    if nv - int(w.ranking[RANK]) != k:
        return 0.0
    basis = w.basis[:k]
    for i in range(k):
        products(w.J[index[i]], basis, rows[i])
    ratio: float = lu_factor(rows, pivots)
    if ratio < 1e-12:
        return ratio
    for wanted in range(2):
        target = u if wanted == 1 else coast
        for i in range(k):
            z[i] = task[i] if wanted == 1 else -w.Jdv[index[i]]
            for c in range(nv):
                z[i] -= w.J[index[i], c] * w.vdot[c]
        lu_apply(rows, pivots, z)
        for c in range(nv):
            target[c] = w.vdot[c]
            for j in range(k):
                target[c] += basis[j, c] * z[j]
    return ratio


class ClosedDrive(Struct):
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
def closed_inverse_dynamics(
    given: ClosedDrive,
    index: Integers,
    theta: Floats,
    velocity: Floats,
    acceleration: Floats,
    wraps: Flags,
    omega: float,
    zeta: float,
    force: Floats,
) -> float:
    """After `evaluate_motion`: `wanted_acceleration`, `closed_acceleration` and `drive`, one after the other.

    index, theta, velocity, acceleration (k): the `Reference`; wraps (nc): coordinates
    that wrap; omega in rad/s. Returns the smallest pivot ratio of J Λ; force (nv; N m or N) is written if it
    is at least 1e-12.
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
    ratio: float = closed_acceleration(m, w, index, task, rows, given.pivots, z, u, coast)
    if ratio >= 1e-12:
        drive(
            m, w, given.motor, given.most, given.weight, given.preload,
            u, coast, given.scratch, force, given.told,
        )  # fmt: skip
    return ratio


class Motors:
    """The motors of one closed-chain machine, as kernel arguments. `dof`: its degrees of freedom.

    `preload` (per motor, N m or N): the efforts to stay close to where the motion leaves a choice.
    """

    def __init__(
        self, machine: Machine, report: LawReport | None = None, preload: Floats | None = None
    ) -> None:
        nv, motors = machine.mechanism.nv, machine.motors
        self.dof = machine.dof
        self.index = np.array([motor.index for motor in motors], np.int64)
        self.most = np.array([motor.max_effort for motor in motors])
        self.weight = machine.effort_weights
        self.preload = np.zeros(len(motors)) if preload is None else preload
        self.report = LawReport() if report is None else report
        self.scratch, self.told = np.zeros(words(nv, len(motors))), np.ones(3)
        self._allocation = None
        if len(motors) > machine.dof:
            self._allocation = RedundantMotors(machine.mechanism, self.index, self.most, self.weight)

    def drive(self, ahead: Workspace, u: Floats, coast: Floats, force: Floats) -> None:
        """Write the force (nv; N m or N) for the acceleration u (nv), or for as much of its direction as
        possible.

        coast (nv): the acceleration that takes priority over u. See `LawReport` for the rest.
        """
        scratch, told = self.scratch, self.told
        drive(
            *ahead.arguments, self.index, self.most, self.weight, self.preload,
            u, coast, scratch, force, told,
        )  # fmt: skip
        self.report_allocation(force)

    def report_allocation(self, force: Floats) -> None:
        """Report the result of `drive`; where motors are at their limits, allocate the force (nv) again."""
        report = self.report
        report.leverage, report.share, free = self.told.tolist()
        if report.share == BEYOND and self._allocation is not None:
            report.programs = 1
            report.share = self._allocation(self.scratch, int(free), self.preload, force)


class ClosedInverseDynamics:
    """Projected inverse dynamics with passive joints; also what `hold` uses."""

    def __init__(self, machine: Machine, motors: Motors) -> None:
        self._omega = machine.controller.bandwidth_rad_s
        self._zeta = machine.controller.damping_ratio
        self._wraps = np.array(machine.mechanism.coordinate_wraps, np.bool_)
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
            self._given = ClosedDrive(
                m=ahead.model, w=ahead, motor=motors.index, most=motors.most, weight=motors.weight,
                preload=motors.preload, scratch=motors.scratch, told=motors.told,
                pivots=self._pivots, room=self._room,
            )  # fmt: skip
        ratio: float = closed_inverse_dynamics(
            self._given, reference.index, reference.theta, reference.velocity, reference.acceleration,
            self._wraps, self._omega, self._zeta, force,
        )  # fmt: skip
        if ratio >= 1e-12:
            motors.report_allocation(force)
        return ratio

    def lag(self, period_s: float) -> float:
        """Share by which the feedback corrects for its own command's effect up to the middle of the hold."""
        return lag(self._omega, self._zeta, period_s)

    def tune(self, omega: float, zeta: float) -> None:
        """Set the bandwidth (rad/s) and the damping ratio of the error dynamics."""
        self._omega, self._zeta = omega, zeta


class ClosedFloat:
    """Gravity compensation by the motors alone: the force that holds the pose, at any speed."""

    def __init__(self, machine: Machine, motors: Motors) -> None:
        self._motors = motors
        self._still = machine.workspace()
        self._rest = np.zeros(machine.mechanism.nv)

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:  # noqa: ARG002 - a float has no reference
        """Write the force (nv; N m or N) that holds the pose against gravity."""
        self._still.q[:], self._still.v[:] = ahead.q, 0.0
        evaluate_motion(*self._still.arguments)
        self._motors.drive(self._still, self._rest, self._rest, force)
        return 1.0

    def lag(self, period_s: float) -> float:  # noqa: ARG002 - nothing of it comes back
        """Return 0: no feedback of position."""
        return 0.0


class ClosedDamp:
    """v̇ = −c v along the admitted motions, by the motors alone."""

    def __init__(self, machine: Machine, motors: Motors) -> None:
        self._motors = motors
        self._u = np.zeros(machine.mechanism.nv)

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:  # noqa: ARG002 - a float has no reference
        """Write the force (nv; N m or N) that makes all admitted speeds decay alike."""
        shorten(*ahead.arguments)
        np.multiply(ahead.v, -RATE_PER_S, out=self._u)
        self._u += ahead.vdot
        self._motors.drive(ahead, self._u, ahead.vdot, force)
        return 1.0

    def lag(self, period_s: float) -> float:  # noqa: ARG002 - nothing of it comes back
        """Return 0: no feedback of position."""
        return 0.0
