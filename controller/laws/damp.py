"""Damping: takes the speed out of the machine where there is no path to stop on."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.laws.law import (
    LawReport,
    Reference,
)
from linkwork.machine import Machine
from linkwork.multibody import Workspace

RATE_PER_S = 10.0
"""Speeds decay with this rate, as far as the motors' limits allow."""


class Damp:
    """f = h − friction − c M v: v̇ = −c v, with the motors' limits behind it."""

    def __init__(self, machine: Machine, report: LawReport) -> None:  # noqa: ARG002 - it limits nothing
        self._work = np.zeros(machine.mechanism.nv)

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:  # noqa: ARG002 - damping has no reference
        """Write the force (nv; N m or N) that makes all speeds decay alike."""
        np.dot(ahead.M, ahead.v, out=self._work)
        np.multiply(self._work, -RATE_PER_S, out=force)
        force += ahead.h
        force -= ahead.friction
        return 1.0

    def lag(self, period_s: float) -> float:  # noqa: ARG002 - nothing of it comes back
        """Return 0: no feedback of position."""
        return 0.0
