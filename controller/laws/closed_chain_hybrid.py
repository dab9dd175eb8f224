"""Hybrid control where joints close on each other: motion, forces of contacts, and forces of constraints.

As in hybrid.py the motors have to give f = h + M u - friction - A'λ on the rows whose force is wanted; what
the other constraints carry is their own affair. So those rows are taken for open: with Λ spanning the
velocities that the *other* constraints admit, only Λ'f matters, and

    τ = W B'Λ (Λ'B W B'Λ)⁻¹ Λ'f

is the smallest τ'W⁻¹τ that gives it. The acceleration u obeys all constraints, so that the opened rows stay
met and carry just λ. It takes a motor for each degree of freedom of the opened machine; where there are
fewer, the force follows from the motion and cannot be wanted.
"""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.controller.laws.closed_chain import Motors, closed_acceleration, evaluate_closed
from linkwork.controller.laws.contact_forces import contact_effort
from linkwork.controller.laws.feedback import lag, wanted_acceleration
from linkwork.controller.laws.force_reference import Grip
from linkwork.controller.laws.law import (
    Reference,
)
from linkwork.machine import Machine
from linkwork.machine.sections.force_settings import ForceRow
from linkwork.multibody import Workspace
from linkwork.multibody.kernels.layout import RANK

LEAST_LEVERAGE = 1e-7
"""Square of the smallest over the largest singular value of the motors' map; below it no force is applied."""
DEPENDENT = 1e-9
"""Singular value of the scaled rows, over the largest, below which a row depends on others."""


def opened_basis(work: Workspace, on: Floats, rows: list[ForceRow]) -> Floats:
    """Return the velocities (free × nv) that all rows of constraints but these admit, at the state in `work`.

    `on` (nk): which constraints hold. Leaves M, h and friction in `work`.
    """
    work.on[:] = on
    for row in rows:
        work.on[row.index] = 0.0 if row.whole else work.on[row.index]
    evaluate_closed(*work.arguments)
    if not all(row.whole for row in rows):
        return _without_rows(work, [row.row for row in rows])
    free = len(work.v) - int(work.ranking[RANK])
    basis: Floats = work.basis[:free]
    return basis


def _without_rows(work: Workspace, rows: list[int]) -> Floats:
    """After `evaluate_closed`: the velocities that all rows of A admit but these."""
    scale = work.model.column_scale
    kept = np.delete(work.A, rows, axis=0) * scale
    _, sizes, right = np.linalg.svd(kept)
    rank = int(np.count_nonzero(sizes > DEPENDENT * max(float(sizes.max(initial=0.0)), 1e-300)))
    return np.asarray(right[rank:] * scale)


def force_controllability(machine: Machine, row: ForceRow) -> str:
    """Why the motors cannot control the force of a row, in the initial pose; '' where they can."""
    motors = [motor.index for motor in machine.motors]
    work = machine.workspace()
    basis = opened_basis(work, work.on.copy(), [row])
    scale = np.array([motor.max_effort for motor in machine.motors])
    sizes = np.linalg.svd(basis[:, motors] * scale, compute_uv=False)
    held = int(np.count_nonzero(sizes > 1e-6 * max(float(sizes.max(initial=0.0)), 1e-300)))
    if len(basis) == machine.dof:
        return f"the force of {row.name} cannot be wanted: other constraints already ask for the same"
    if held < len(basis):
        return (
            f"the motors cannot control the force of {row.name} in addition to the motion: one motor is"
            " needed"
            f" for each of {len(basis)} degrees of freedom, and {len(motors)} motors hold {held}. The"
            " force follows from the motion"
            "makes it; add a motor, or leave the force out"
        )
    return ""


class OpenedHybrid:
    """The law for a machine with constraints."""

    def __init__(self, machine: Machine, motors: Motors) -> None:
        nv, k = machine.mechanism.nv, machine.dof
        self._rows = machine.force_rows
        self._omega = machine.controller.bandwidth_rad_s
        self._zeta = machine.controller.damping_ratio
        self._wraps = np.array(machine.mechanism.coordinate_wraps, np.bool_)
        self._motor, self._weight = motors.index, motors.weight
        self._open = machine.workspace()
        self._on = self._open.on.copy()
        self._task, self._z = np.zeros(k), np.zeros(k)
        self._u, self._coast = np.zeros(nv), np.zeros(nv)
        self._solver, self._pivots = np.zeros((k, k)), np.zeros(k, np.int64)
        self._push = np.zeros(nv)

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:
        """Write the force (nv; N m or N) for motion and contact forces; return the pivot ratio."""
        count = len(reference.index)
        index = np.concatenate([reference.index, self._gaps(reference)])
        if len(index) != len(self._task):
            return 0.0
        wanted_acceleration(
            ahead.theta, ahead.J, ahead.Jdv, ahead.v, self._wraps, reference.index, reference.theta,
            reference.velocity, reference.acceleration, self._omega, self._zeta, self._task[:count],
        )  # fmt: skip
        self._hold_gaps(ahead, reference, index[count:], self._task[count:])
        ratio: float = closed_acceleration(
            *ahead.arguments, index, self._task, self._solver, self._pivots, self._z, self._u, self._coast
        )
        if ratio < 1e-12:
            return ratio
        self._pressed(ahead, reference)
        return min(ratio, self._drive(ahead, reference, force))

    def lag(self, period_s: float) -> float:
        """Share by which the feedback corrects for its own command's effect up to the middle of the hold."""
        return lag(self._omega, self._zeta, period_s)

    def _gaps(self, reference: Reference) -> Integers:
        grips = reference.forces.grip
        found = [row.gap for row, grip in zip(self._rows, grips, strict=True) if row.gap >= 0 and grip]
        return np.array(found, np.int64)

    def _hold_gaps(self, ahead: Workspace, reference: Reference, gaps: Integers, task: Floats) -> None:
        """Wanted accelerations of the gaps, less J̇ v: towards where it was, for a gap that is held."""
        task[:] = -ahead.Jdv[gaps]
        given = reference.forces
        pressed = [i for i, row in enumerate(self._rows) if row.gap >= 0 and given.grip[i]]
        for place, i in enumerate(pressed):
            if given.grip[i] == Grip.HOLD_GAP:
                rate = float(ahead.J[gaps[place]] @ ahead.v)
                error = given.gap[i] - ahead.theta[gaps[place]]
                task[place] += self._omega**2 * error - 2.0 * self._zeta * self._omega * rate

    def _pressed(self, ahead: Workspace, reference: Reference) -> None:
        """Write the generalized force of the pressed contacts to `_push` (nv)."""
        given, total = reference.forces, self._push
        total[:] = 0.0
        for i, row in enumerate(self._rows):
            if given.grip[i] != Grip.PRESS:
                continue
            if row.kind == "constraint":
                total += ahead.A[row.row] * given.push[i]
            else:
                contact_effort(*ahead.arguments, row.index, given.wanted[i], ahead.v, total)
                rate = float(ahead.J[row.gap] @ ahead.v)
                total += ahead.J[row.gap] * (given.push[i] - given.wanted[i] + given.damping[i] * rate)

    def _drive(self, ahead: Workspace, reference: Reference, force: Floats) -> float:
        work, grips = self._open, reference.forces.grip
        work.q[:], work.v[:] = ahead.q, ahead.v
        pressed = [
            row
            for row, grip in zip(self._rows, grips, strict=True)
            if row.kind == "constraint" and grip == Grip.PRESS
        ]
        basis = opened_basis(work, self._on, pressed)
        needed = basis @ (ahead.h - ahead.friction + ahead.M @ self._u - self._push)
        lever = basis[:, self._motor]
        held = (lever * self._weight) @ lever.T
        sizes = np.linalg.eigvalsh(held)
        force[:] = 0.0
        ratio = float(sizes[0] / sizes[-1]) if sizes[-1] > 0.0 else 0.0
        if ratio < LEAST_LEVERAGE:
            return 0.0
        force[self._motor] = self._weight * (lever.T @ np.linalg.solve(held, needed))
        return float(np.sqrt(ratio))
