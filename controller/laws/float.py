"""Gravity compensation: the machine floats and can be led by hand."""

from __future__ import annotations

from linkwork.arrays import Floats
from linkwork.controller.laws.law import (
    LawReport,
    Reference,
)
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.dynamics.tree_dynamics import dynamics


class Float:
    """f = h(q, 0): the force that holds the pose against gravity, at any speed."""

    def __init__(self, machine: Machine, report: LawReport) -> None:  # noqa: ARG002 - it limits nothing
        self._still = machine.mechanism.workspace()

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:  # noqa: ARG002 - a float has no reference
        """Write the force (nv; N m or N) that holds the pose against gravity."""
        self._still.q[:] = ahead.q
        self._still.v[:] = 0.0
        dynamics(*self._still.arguments)
        force[:] = self._still.h
        return 1.0

    def lag(self, period_s: float) -> float:  # noqa: ARG002 - nothing of it comes back
        """Return 0: no feedback of position."""
        return 0.0
