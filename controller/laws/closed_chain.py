"""Control laws for closed-chain machines: motion in a basis of the admitted velocities.

With Λ (nv × degrees of freedom) spanning the velocities that the constraints A v = 0 admit, an acceleration
that obeys A u = b and J u = task for the goal coordinates' Jacobian J is u = x + Λ z with A x = b and J Λ z =
task − J x. `motor_allocation` maps it to the motors. Joints without a motor get exactly zero force.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats, Integers
from linkwork.controller.laws.damp import RATE_PER_S
from linkwork.controller.laws.feedback import lag, wanted_acceleration
from linkwork.controller.laws.law import (
    LawReport,
    Reference,
)
from linkwork.controller.laws.motor_allocation import BEYOND, drive, words
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.formulations.constrained_dynamics import constrained_terms, motion_terms
from linkwork.multibody.formulations.rank import admitted, particular
from linkwork.multibody.formulations.reduced_mass import motion_in_basis
from linkwork.multibody.kernels.bundles import BUNDLE, Bundle, reader
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    FLAGS,
    INTEGERS,
    MATRIX,
    ON_MECHANISM,
    TOPOLOGY,
    VECTOR,
    float64,
    kernel,
)
from linkwork.multibody.kernels.layout import (
    BASIS,
    JDV,
    NV,
    RANK,
    RANKING,
    RIGHT_SIDE,
    SUM_V,
    THETA,
    VDOT,
    J,
    V,
)
from linkwork.multibody.kernels.views import block, fill, matrix, vector
from linkwork.multibody.linalg.linear import lu_apply, lu_factor, products
from linkwork.multibody.tree.coordinates import coordinates


@kernel(ON_MECHANISM)
def evaluate_motion(p: Floats, t: Integers, w: Floats) -> None:
    """At the workspace's state: M, h, friction, coordinates, `BASIS`, and in `VDOT` some x with A x = b."""
    motion_terms(p, t, w)
    particular(p, t, w, vector(t, w, RIGHT_SIDE), vector(t, w, VDOT))
    admitted(p, t, w)
    coordinates(p, t, w)


@kernel(ON_MECHANISM)
def shorten(p: Floats, t: Integers, w: Floats) -> None:  # noqa: ARG001  the arguments of every kernel
    """After `evaluate_motion`: `VDOT` becomes the x with A x = b that is shortest in the mass metric."""
    zero = vector(t, w, SUM_V)
    fill(zero, 0.0)
    motion_in_basis(t, w, t[NV] - int(vector(t, w, RANKING)[RANK]), zero, vector(t, w, VDOT))


@kernel(ON_MECHANISM)
def evaluate_closed(p: Floats, t: Integers, w: Floats) -> None:
    """The same with the shortest x, and with how near other ranks are (rank.py)."""
    constrained_terms(p, t, w)
    particular(p, t, w, vector(t, w, RIGHT_SIDE), vector(t, w, VDOT))
    admitted(p, t, w)
    shorten(p, t, w)
    coordinates(p, t, w)


@kernel(float64(TOPOLOGY, BUFFER, INTEGERS, VECTOR, MATRIX, INTEGERS, VECTOR, VECTOR, VECTOR))
def closed_acceleration(
    t: Integers, w: Floats, index: Integers, task: Floats,
    rows: Floats, pivots: Integers, z: Floats, u: Floats, coast: Floats,
) -> float:  # fmt: skip
    """After `evaluate_closed`: u (nv) with A u = b and J u = task on the rows `index`; coast, with −J̇ v.

    task (k), scratch rows (k × k), pivots and z (k). Returns the smallest pivot ratio of J Λ; 0 where there
    are not as many goal coordinates as degrees of freedom at this pose. Below a ratio of 1e-12 the outputs
    are unchanged.
    """
    nv, k = t[NV], len(index)
    if nv - int(vector(t, w, RANKING)[RANK]) != k:
        return 0.0
    basis, jacobian, x = block(w, t[BASIS], k, nv), matrix(t, w, J, nv), vector(t, w, VDOT)
    bias = vector(t, w, JDV)
    for i in range(k):
        products(jacobian[index[i]], basis, rows[i])
    ratio: float = lu_factor(rows, pivots)
    if ratio < 1e-12:
        return ratio
    for wanted in range(2):
        target = u if wanted == 1 else coast
        for i in range(k):
            z[i] = task[i] if wanted == 1 else -bias[index[i]]
            for c in range(nv):
                z[i] -= jacobian[index[i], c] * x[c]
        lu_apply(rows, pivots, z)
        for c in range(nv):
            target[c] = x[c]
            for j in range(k):
                target[c] += basis[j, c] * z[j]
    return ratio


class ClosedDrive(NamedTuple):
    """The arrays of `closed_inverse_dynamics`: (p, t, w), those of `drive`, and scratch.

    pivots (k); room: two vectors (nv), two (k) and a matrix (k × k).
    """

    p: Floats
    t: Integers
    w: Floats
    motor: Annotated[Integers, "motors"]
    most: Annotated[Floats, "motors"]
    weight: Annotated[Floats, "motors"]
    preload: Annotated[Floats, "motors"]
    scratch: Floats
    told: Floats
    pivots: Integers
    room: Floats


read_drive = reader(ClosedDrive)


@kernel(float64(BUNDLE, INTEGERS, *(VECTOR,) * 3, FLAGS, float64, float64, VECTOR))
def closed_inverse_dynamics(
    bundle: Integers, index: Integers, theta: Floats, velocity: Floats, acceleration: Floats,
    wraps: NDArray[np.bool_], omega: float, zeta: float, force: Floats,
) -> float:  # fmt: skip
    """After `evaluate_motion`: `wanted_acceleration`, `closed_acceleration` and `drive`, one after the other.

    bundle: `ClosedDrive`; index, theta, velocity, acceleration (k): the `Reference`; wraps (nc): coordinates
    that wrap; omega in rad/s. Returns the smallest pivot ratio of J Λ; force (nv; N m or N) is written if it
    is at least 1e-12.
    """
    given = read_drive(bundle)
    p, t, w, room = given.p, given.t, given.w, given.room
    nv, k = t[NV], len(index)
    accelerations, tasks = block(room, 0, 2, nv), block(room, 2 * nv, 2, k)
    u, coast, task, z = accelerations[0], accelerations[1], tasks[0], tasks[1]
    rows = block(room, 2 * nv + 2 * k, k, k)
    wanted_acceleration(
        vector(t, w, THETA), matrix(t, w, J, nv), vector(t, w, JDV), vector(t, w, V), wraps, index,
        theta, velocity, acceleration, omega, zeta, task,
    )  # fmt: skip
    ratio: float = closed_acceleration(t, w, index, task, rows, given.pivots, z, u, coast)
    if ratio >= 1e-12:
        drive(
            p, t, w, given.motor, given.most, given.weight, given.preload,
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
            from linkwork.controller.laws.redundant_motors import Allocation

            self._allocation = Allocation(machine.mechanism, self.index, self.most, self.weight)

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
        """The workspace that the bundle is for."""

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:
        """See `Law`."""
        motors = self._motors
        if len(reference.index) != motors.dof:
            return 0.0
        if ahead is not self._ahead:
            given = ClosedDrive(
                *ahead.arguments, motors.index, motors.most, motors.weight, motors.preload,
                motors.scratch, motors.told, self._pivots, self._room,
            )  # fmt: skip
            self._ahead, self._bundle = ahead, Bundle(given)
        ratio: float = closed_inverse_dynamics(
            self._bundle.words, reference.index, reference.theta, reference.velocity, reference.acceleration,
            self._wraps, self._omega, self._zeta, force,
        )  # fmt: skip
        if ratio >= 1e-12:
            motors.report_allocation(force)
        return ratio

    def lag(self, period_s: float) -> float:
        """See `Law`."""
        return lag(self._omega, self._zeta, period_s)

    def tune(self, omega: float, zeta: float) -> None:
        """See `Tunable`."""
        self._omega, self._zeta = omega, zeta


class ClosedFloat:
    """Gravity compensation by the motors alone: the force that holds the pose, at any speed."""

    def __init__(self, machine: Machine, motors: Motors) -> None:
        self._motors = motors
        self._still = machine.workspace()
        self._rest = np.zeros(machine.mechanism.nv)

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:  # noqa: ARG002 - a float has no reference
        """See `Law`."""
        self._still.q[:], self._still.v[:] = ahead.q, 0.0
        evaluate_motion(*self._still.arguments)
        self._motors.drive(self._still, self._rest, self._rest, force)
        return 1.0

    def lag(self, period_s: float) -> float:  # noqa: ARG002 - nothing of it comes back
        """See `Law`."""
        return 0.0


class ClosedDamp:
    """v̇ = −c v along the admitted motions, by the motors alone."""

    def __init__(self, machine: Machine, motors: Motors) -> None:
        self._motors = motors
        self._u = np.zeros(machine.mechanism.nv)

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:  # noqa: ARG002 - damping has no reference
        """See `Law`."""
        shorten(*ahead.arguments)
        np.multiply(ahead.v, -RATE_PER_S, out=self._u)
        self._u += ahead.vdot
        self._motors.drive(ahead, self._u, ahead.vdot, force)
        return 1.0

    def lag(self, period_s: float) -> float:  # noqa: ARG002 - nothing of it comes back
        """See `Law`."""
        return 0.0
