"""Forces of contacts as the model finds them where joints close on each other."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.laws.closed_chain import evaluate_closed
from linkwork.controller.laws.contact_forces import contact_effort
from linkwork.machine import Machine
from linkwork.machine.sections.force_settings import ForceRow
from linkwork.multibody.kernels.layout import RANK


class FeltThroughClosures:
    """The normal force (N) of a contact over a period, by the motions that the closures admit.

    As `force_sensing.felt_by_model`, but the forces are projected on Λ, which spans the admitted velocities,
    so that the closures' own multipliers drop out: with r = M Δv/dt + h − friction − effort, D the contact's
    generalized force for 1 N and N its gap's Jacobian

        λ = N Λ m⁻¹ Λ' r / (N Λ m⁻¹ Λ' D),      m = Λ' M Λ.
    """

    def __init__(self, machine: Machine, row: ForceRow) -> None:
        self._row, self._work = row, machine.workspace()
        self._motor = np.array([motor.index for motor in machine.motors], np.int64)
        self._one = np.zeros(machine.mechanism.nv)

    def __call__(self, q: Floats, v: Floats, change: Floats, effort: Floats) -> float:
        """q, v: in the middle of the period; change: of v, per second; effort: of the motors meanwhile."""
        work, one = self._work, self._one
        work.q[:], work.v[:] = q, v
        evaluate_closed(*work.arguments)
        along = work.basis[: len(v) - int(work.ranking[RANK])]
        left = work.M @ change + work.h - work.friction
        left[self._motor] -= effort
        one[:] = 0.0
        contact_effort(*work.arguments, self._row.index, 1.0, v, one)
        inertia = along @ work.M @ along.T
        row = np.linalg.solve(inertia, along @ work.J[self._row.gap])
        scale = float(row @ (along @ one))
        return float(row @ (along @ left)) / scale if scale > 0.0 else 0.0
