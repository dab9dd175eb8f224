"""References of drives that close the position loop: positions and feed-forward efforts of the motors.

A drive interpolates, and arrives at its position when the period of the command ends. From the state q̂, v̂
that is predicted to the middle of that period T, the goal's reference θ_d at its end becomes joint positions
by one Newton step along the admitted motions Λ:

    q_d = q̂ + v̂ T/2 + Λ a,     J Λ a = θ_d − θ(q̂) − J v̂ T/2.

Its error is of the second order in the tracking error. In directions that the goal leaves free a is zero:
there the feed-forward alone acts, as in torque mode. It is the law's effort at q̂ without a tracking error.
"""

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.controller.laws.law import Law, Reference
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.kernels.layout import RANK

_SINGULAR = 1e-6
"""Share of the largest singular value of J Λ below which a direction counts as free."""


class DriveReferences:
    """The references of one machine's motors."""

    def __init__(self, machine: Machine) -> None:
        self._motors: Integers = np.array([motor.index for motor in machine.motors], np.int64)
        self._most = np.array([motor.max_effort for motor in machine.motors])
        self._wraps = np.array(machine.mechanism.coordinate_wraps, np.bool_)
        self._rest_s = 0.5 * machine.period_s
        """From the middle of a command's period to its end."""
        self._still = Reference.sized(machine.dof)
        self._force = np.zeros(machine.mechanism.nv)
        self._way = np.zeros(machine.mechanism.nv)

    def follow(self, law: Law, ahead: Workspace, reference: Reference) -> None:
        """Compute way and feed-forward from the reference of a law of positions at the predicted state."""
        still, index = self._still, reference.index
        if still.index is not index:
            still.fit(index)
        still.task, still.rest, still.forces = reference.task, reference.rest, reference.forces
        rows, place = ahead.J[index], ahead.theta[index]
        still.theta[:], still.acceleration[:] = place, reference.acceleration
        still.velocity[:] = rows @ ahead.v
        law(ahead, still, self._force)
        seconds = self._rest_s
        error = reference.theta - place + seconds * (reference.velocity - still.velocity)
        error += 0.5 * seconds**2 * reference.acceleration
        turns = self._wraps[index]
        error[turns] = np.remainder(error[turns] + np.pi, 2.0 * np.pi) - np.pi
        basis = ahead.basis[: len(self._way) - int(ahead.ranking[RANK])]
        self._way[:] = np.linalg.lstsq(rows @ basis.T, error, _SINGULAR)[0] @ basis + seconds * ahead.v

    def write(self, state: Workspace, share: float, out: Floats) -> None:
        """Write the references (2, motors) from the state to which the way leads; share: of the efforts."""
        out[0] = state.q[self._motors] + self._way[self._motors]
        np.clip(share * self._force[self._motors], -self._most, self._most, out=out[1])

    def rest(self) -> None:
        """Stay at the machine's position, without effort: the brakes hold it."""
        self._force[:] = self._way[:] = 0.0
