"""Laws without a reference: gravity compensation, and damping where there is no path to stop on."""

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.laws.law import Reference
from linkwork.controller.laws.law_motors import Motors
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.dynamics.motion_basis import evaluate_motion, shorten

RATE_PER_S = 10.0
"""Speeds decay with this rate, as far as the motors' limits allow."""


class Float:
    """The force of the motors that holds the pose against gravity, at any speed: the machine can be led by
    hand.
    """

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


class Damp:
    """v̇ = −c v along the admitted motions, with the motors' limits behind it."""

    def __init__(self, machine: Machine, motors: Motors) -> None:
        self._motors = motors
        self._u = np.zeros(machine.mechanism.nv)

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:  # noqa: ARG002 - damping has no reference
        """Write the force (nv; N m or N) that makes all admitted speeds decay alike."""
        shorten(*ahead.arguments)
        np.multiply(ahead.v, -RATE_PER_S, out=self._u)
        self._u += ahead.vdot
        self._motors.drive(ahead, self._u, ahead.vdot, force)
        return 1.0

    def lag(self, period_s: float) -> float:  # noqa: ARG002 - nothing of it comes back
        """Return 0: no feedback of position."""
        return 0.0
