"""The laws for machines whose joints close on each other: the motion in a basis of the admitted
velocities.

With Λ (nv × freedoms) spanning the velocities that the constraints A v = 0 admit, an acceleration that obeys
A u = b and J u = task for the goal coordinates' Jacobian J is u = x + Λ z with A x = b and J Λ z = task − J
x. It needs the generalized force f = h + M u − friction on all joints, of which only the component Λ' f moves
the machine; the rest would load the closures. The motors, selected by B, give the same component with

    τ = W B' Λ (Λ' B W B' Λ)⁻¹ Λ' f,

the smallest τ' W⁻¹ τ of all that do (Aghili 2005, passive joints, with a metric). W = diag(limit²) makes
newtons and newton-metres comparable. Joints without a motor get exactly nothing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from controller.laws.damp import RATE_PER_S
from controller.laws.feedback import lag, wanted_acceleration
from controller.laws.law import Floats, Reference
from machine import Machine
from multibody import Workspace
from multibody.compiling import (
    BUFFER,
    INTEGERS,
    MATRIX,
    ON_MECHANISM,
    TOPOLOGY,
    VECTOR,
    float64,
    kernel,
    part,
)
from multibody.constrained import constrained_terms, least_motion
from multibody.coordinates import coordinates
from multibody.layout import BASIS, FRICTION, NV, RANK, RANKING, SUM_V, VDOT, H, J, M
from multibody.linear import cholesky, cholesky_solve, lu_solve
from multibody.views import block, fill, matrix, vector

Integers = NDArray[np.int64]


@kernel(ON_MECHANISM)
def evaluate_closed(p: Floats, t: Integers, w: Floats) -> None:
    """At the workspace's state: M, h, friction, the coordinates, `BASIS`, and in `VDOT` the x with A x = b
    that is shortest in the mass metric.
    """
    constrained_terms(p, t, w)
    zero = vector(t, w, SUM_V)
    fill(zero, 0.0)
    least_motion(p, t, w, zero, vector(t, w, VDOT))
    coordinates(p, t, w)


@kernel(float64(TOPOLOGY, BUFFER, INTEGERS, VECTOR, MATRIX, INTEGERS, VECTOR, VECTOR))
def closed_acceleration(
    t: Integers, w: Floats, index: Integers, task: Floats,
    rows: Floats, pivots: Integers, z: Floats, u: Floats,
) -> float:  # fmt: skip
    """After `evaluate_closed`: u (nv) with A u = b and J u = task on the rows `index`.

    task (k), scratch rows (k × k), pivots and z (k). Returns the smallest pivot ratio of J Λ; 0 where there
    are not as many goal coordinates as freedoms at this pose. `u` is left as it is below a ratio of 1e-12.
    """
    nv, k = t[NV], len(index)
    if nv - int(vector(t, w, RANKING)[RANK]) != k:
        return 0.0
    basis, jacobian, x = block(w, t[BASIS], k, nv), matrix(t, w, J, nv), vector(t, w, VDOT)
    for i in range(k):
        z[i] = task[i]
        for c in range(nv):
            z[i] -= jacobian[index[i], c] * x[c]
        for j in range(k):
            rows[i, j] = 0.0
            for c in range(nv):
                rows[i, j] += jacobian[index[i], c] * basis[j, c]
    ratio: float = lu_solve(rows, pivots, z)
    if ratio < 1e-12:
        return ratio
    for c in range(nv):
        u[c] = x[c]
        for j in range(k):
            u[c] += basis[j, c] * z[j]
    return ratio


@part
def motor_forces(
    basis: Floats, motor: Integers, weight: Floats, square: Floats, needed: Floats, force: Floats
) -> float:
    """force (nv) := W B' Λ (Λ' B W B' Λ)⁻¹ needed, with needed = Λ' f (freedoms), which is overwritten.

    basis (freedoms × nv) is Λ'; motor: joints with motors; weight: W's diagonal; square: scratch for
    freedoms² numbers. Returns the square root of the smallest pivot ratio of Λ' B W B' Λ, how well the motors
    hold the machine; where that is not positive nothing is driven.
    """
    free = basis.shape[0]
    held = block(square, 0, free, free)
    for i in range(free):
        for j in range(i + 1):
            held[i, j] = 0.0
            for m in range(len(motor)):
                held[i, j] += basis[i, motor[m]] * weight[m] * basis[j, motor[m]]
    fill(force, 0.0)
    ratio = cholesky(held, held)
    if not ratio > 0.0:
        return 0.0
    cholesky_solve(held, needed)
    for m in range(len(motor)):
        c = motor[m]
        for i in range(free):
            force[c] += weight[m] * basis[i, c] * needed[i]
    return math.sqrt(ratio)


@kernel(float64(TOPOLOGY, BUFFER, INTEGERS, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR))
def drive(
    t: Integers, w: Floats, motor: Integers, weight: Floats, u: Floats,
    square: Floats, needed: Floats, force: Floats,
) -> float:  # fmt: skip
    """After `evaluate_closed`: the motors' forces (in `force`, nv) that make the admissible acceleration u.

    motor, weight, square and the result as of `motor_forces`; needed (freedoms) is scratch. 0 at a pose with
    more freedoms than the machine has by rights.
    """
    nv = t[NV]
    free = nv - int(vector(t, w, RANKING)[RANK])
    basis, mass = block(w, t[BASIS], free, nv), matrix(t, w, M, nv)
    h, friction = vector(t, w, H), vector(t, w, FRICTION)
    fill(force, 0.0)
    if free > len(needed):
        return 0.0
    fill(needed, 0.0)
    for c in range(nv):
        y = h[c] - friction[c]
        for d in range(nv):
            y += mass[c, d] * u[d]
        for i in range(free):
            needed[i] += basis[i, c] * y
    ratio: float = motor_forces(basis, motor, weight, square, needed[:free], force)
    return ratio


class Motors:
    """The motors of one machine with closures, as the kernels want them. `freedoms`: of the machine."""

    def __init__(self, machine: Machine) -> None:
        self.freedoms = machine.freedoms
        self.index = np.array([motor.index for motor in machine.motors], np.int64)
        self.weight = np.array([motor.max_effort**2 for motor in machine.motors])
        self._square, self._needed = np.zeros(self.freedoms**2), np.zeros(self.freedoms)

    def drive(self, ahead: Workspace, u: Floats, force: Floats) -> float:
        """Writes the forces for this acceleration (nv); returns how well the motors hold the machine."""
        ratio: float = drive(
            *ahead.arguments[1:], self.index, self.weight, u, self._square, self._needed, force
        )
        return ratio


class ClosedInverseDynamics:
    """Projected inverse dynamics with passive joints; also what `hold` uses."""

    def __init__(self, machine: Machine) -> None:
        nv, k = machine.mechanism.nv, machine.freedoms
        self._omega = machine.controller.bandwidth_rad_s
        self._zeta = machine.controller.damping_ratio
        self._wraps = np.array(machine.mechanism.coordinate_wraps, np.bool_)
        self._motors = Motors(machine)
        self._task, self._z, self._u = np.zeros(k), np.zeros(k), np.zeros(nv)
        self._rows, self._pivots = np.zeros((k, k)), np.zeros(k, np.int64)

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:
        """See `Law`."""
        wanted_acceleration(
            ahead.theta, ahead.J, ahead.Jdv, ahead.v, self._wraps, reference.index, reference.theta,
            reference.velocity, reference.acceleration, self._omega, self._zeta, self._task,
        )  # fmt: skip
        ratio: float = closed_acceleration(
            *ahead.arguments[1:], reference.index, self._task, self._rows, self._pivots, self._z, self._u
        )
        if ratio < 1e-12:
            return ratio
        return min(ratio, self._motors.drive(ahead, self._u, force))

    def lag(self, period_s: float) -> float:
        """See `Law`."""
        return lag(self._omega, self._zeta, period_s)


class ClosedFloat:
    """Gravity compensation by the motors alone: the force that holds the pose, whatever the speed."""

    def __init__(self, machine: Machine) -> None:
        self._motors = Motors(machine)
        self._still = machine.workspace()
        self._rest = np.zeros(machine.mechanism.nv)

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:  # noqa: ARG002 - a float has no reference
        """See `Law`."""
        self._still.q[:], self._still.v[:] = ahead.q, 0.0
        evaluate_closed(*self._still.arguments)
        return self._motors.drive(self._still, self._rest, force)

    def lag(self, period_s: float) -> float:  # noqa: ARG002 - nothing of it comes back
        """See `Law`."""
        return 0.0


class ClosedDamp:
    """v̇ = −c v along the admitted motions, by the motors alone."""

    def __init__(self, machine: Machine) -> None:
        self._motors = Motors(machine)
        self._u = np.zeros(machine.mechanism.nv)

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:  # noqa: ARG002 - damping has no reference
        """See `Law`."""
        np.multiply(ahead.v, -RATE_PER_S, out=self._u)
        self._u += ahead.vdot
        return self._motors.drive(ahead, self._u, force)

    def lag(self, period_s: float) -> float:  # noqa: ARG002 - nothing of it comes back
        """See `Law`."""
        return 0.0
