"""A control law in a package of its own, with two kernels: computed torque."""

import numpy as np

from linkwork.controller.laws.feedback import lag
from linkwork.kernels import Floats, Integers, Model, Workspace, kernel, part


@part
def square(x: float) -> float:
    """x², where a kernel needs it."""
    return x * x


@kernel
def wanted_acceleration(
    w: Workspace, index: Integers, theta: Floats, velocity: Floats, omega: float, wanted: Floats
) -> None:
    """wanted (k) := the error dynamics' acceleration of the goal coordinates `index`, critically damped."""
    for i in range(len(index)):
        rate = 0.0
        for j in range(w.J.shape[1]):
            rate += w.J[index[i], j] * w.v[j]
        wanted[i] = square(omega) * (theta[i] - w.theta[index[i]]) + 2.0 * omega * (velocity[i] - rate)


@kernel
def computed_torque(m: Model, w: Workspace, wanted: Floats, force: Floats) -> None:
    """force (nv) := M wanted + h - friction."""
    for i in range(m.nv):
        force[i] = w.h[i] - w.friction[i]
        for j in range(m.nv):
            force[i] += w.M[i, j] * wanted[j]


class ComputedTorque:
    """For open chains whose goal coordinates are their joints, in their order."""

    def __init__(self, machine, _motors):
        self._omega = machine.controller.bandwidth_rad_s
        self._wanted = np.zeros(machine.mechanism.nv)

    def __call__(self, ahead, reference, force):
        """Write the force (nv; N m or N) at the predicted state `ahead`."""
        wanted_acceleration(
            ahead, reference.index, reference.theta, reference.velocity, self._omega, self._wanted
        )
        self._wanted += reference.acceleration
        computed_torque(*ahead.arguments, self._wanted, force)
        return 1.0

    def lag(self, period_s):
        """Return the feedback's share that makes up for the command's delay."""
        return lag(self._omega, 1.0, period_s)
