"""Hybrid control: motion where the machine is free, force where it is held (Aghili 2005).

With P = I - A⁺A the projector on the motions that the pressed rows A admit, c = A⁺b, μ = (I - P) M (M + P M -
M P)⁻¹ and u_F the wanted constraint force with its correction, the law reads

    f = h + μ M c + (I + μ) P M u_p - u_F          (the velocity term with M, which (51) and (54) leave out).

The wanted acceleration obeys A u_p = b, hence P u_p + c = u_p and μ (P M u_p + M c) = (I - P) M u_p, so that

    f = h + M u - u_F,        J u = θ̈_d + 2 ζ ω ė + ω² e - J̇ v,        A u = b,        u_F = A'λ,

which is computed here: v̇ = u and a constraint force of just u_F, at once. A pressed contact is a row N of
its gap's Jacobian; λ is the wanted force, its correction, and the damping d ṅ that the motors add along the
normal. Friction of the contact is taken off by the model, in the direction of the reference's motion.
"""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.controller.laws.contact_forces import contact_effort
from linkwork.controller.laws.feedback import lag, wanted_acceleration
from linkwork.controller.laws.law import (
    LawReport,
    Reference,
)
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.linalg.linear import lu_apply, lu_factor
from linkwork.multibody.workspace import Model


@kernel  # fmt: skip
def press_and_move(
    m: Model,
    w: Workspace,
    index: Integers,
    task: Floats,
    velocity: Floats,
    grip: Integers,
    gaps: Integers,
    contacts: Integers,
    wanted: Floats,
    push: Floats,
    damping: Floats,
    gap: Floats,
    omega: float,
    zeta: float,
    rows: Matrix,
    pivots: Integers,
    u: Floats,
    speed: Floats,
    force: Floats,
) -> float:
    """After `dynamics` and `coordinates`: force (nv) = M u + h - friction - contact, see above.

    index, task, velocity (k): goal coordinates, their wanted second derivatives less J̇ v, their reference's
    rates. One entry a force in grip … gap, as in `Forces`; gaps: their coordinates (-1: no contact),
    contacts: their numbers. omega, zeta: by which a gap is held. rows (nv × nv), pivots, u and speed (nv)
    are scratch. Returns the smallest pivot ratio; 0 where goal coordinates and gaps are not as many as
    joints.
    """
    nv, k = m.nv, len(index)
    for i in range(k):
        u[i], speed[i] = task[i], velocity[i]
        for j in range(nv):
            rows[i, j] = w.J[index[i], j]
    for f in range(len(grip)):
        if grip[f] == 0 or gaps[f] < 0:
            continue
        if k == nv:
            return 0.0
        row = gaps[f]
        u[k], speed[k] = -w.Jdv[row], 0.0
        for j in range(nv):
            rows[k, j] = w.J[row, j]
        if grip[f] == 2:
            rate = 0.0
            for j in range(nv):
                rate += w.J[row, j] * w.v[j]
            u[k] += omega * omega * (gap[f] - w.theta[row]) - 2.0 * zeta * omega * rate
        k += 1
    if k != nv:
        return 0.0
    ratio: float = lu_factor(rows, pivots)
    if ratio < 1e-12:
        return ratio
    lu_apply(rows, pivots, u)
    lu_apply(rows, pivots, speed)
    for j in range(nv):
        force[j] = 0.0
    for f in range(len(grip)):
        if grip[f] == 1 and gaps[f] >= 0:
            contact_effort(m, w, contacts[f], wanted[f], speed, force)
            more = push[f] - wanted[f]
            for j in range(nv):
                more += damping[f] * w.J[gaps[f], j] * w.v[j]
            for j in range(nv):
                force[j] += w.J[gaps[f], j] * more
    for i in range(nv):
        total = w.h[i] - w.friction[i] - force[i]
        for j in range(nv):
            total += w.M[i, j] * u[j]
        force[i] = total
    return ratio


class Hybrid:
    """The law for a machine without closures that touches surfaces."""

    def __init__(self, machine: Machine, report: LawReport) -> None:  # noqa: ARG002 - it limits nothing
        nv = machine.mechanism.nv
        self._omega = machine.controller.bandwidth_rad_s
        self._zeta = machine.controller.damping_ratio
        self._wraps = np.array(machine.mechanism.coordinate_wraps, np.bool_)
        self._gaps = np.array([row.gap for row in machine.force_rows], np.int64)
        self._contacts = np.array([row.index for row in machine.force_rows], np.int64)
        self._task, self._u, self._speed = np.zeros(nv), np.zeros(nv), np.zeros(nv)
        self._rows, self._pivots = np.zeros((nv, nv)), np.zeros(nv, np.int64)

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:
        """Write the force (nv; N m or N) for motion and contact forces; return the pivot ratio."""
        given, count = reference.forces, len(reference.index)
        wanted_acceleration(
            ahead.theta, ahead.J, ahead.Jdv, ahead.v, self._wraps, reference.index, reference.theta,
            reference.velocity, reference.acceleration, self._omega, self._zeta, self._task[:count],
        )  # fmt: skip
        ratio: float = press_and_move(
            *ahead.arguments, reference.index, self._task[:count], reference.velocity,
            given.grip, self._gaps, self._contacts, given.wanted, given.push, given.damping, given.gap,
            self._omega, self._zeta, self._rows, self._pivots, self._u, self._speed, force,
        )  # fmt: skip
        return ratio

    def lag(self, period_s: float) -> float:
        """Share by which the feedback corrects for its own command's effect up to the middle of the hold."""
        return lag(self._omega, self._zeta, period_s)
