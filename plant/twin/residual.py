"""Unmodelled effort and energy of the machine, against its model.

Over a period T the model, begun in the estimated state and driven by what acts, arrives at v⁻ where the
machine is found to have v. With the mass matrix M there,

    f = M (v - v⁻) / T

is the generalized force that the model lacked. It is filtered as the observer of the generalized momentum
does (De Luca & Mattone 2005), of bandwidth ω:

    r := r + (1 - exp(-ω T)) (f - r)

so that a constant force F shows as F (1 - exp(-ω t)), and an error δ of one velocity as no more than ω M δ:
in the sum over the ticks the errors of the velocities in between cancel.

r lies in the space of all joints. Where closures tie joints together only its share along the admitted
motions Λ counts. From it follow the efforts along goal coordinates θ (θ˙ = J v), and the least efforts of the
motors (columns B, weights W: their largest efforts, squared) that would do the same:

    (J Λ)' r_θ = Λ' r,        Λ' B u = Λ' r,  u' W⁻¹ u least.

Its work is that of f over the way, with v₀ the velocity at the period's beginning, added over a window:

    E = Σ T f' (v₀ + v) / 2.
"""

from __future__ import annotations

import math

import numpy as np

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.machine import Machine
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.linalg.orthogonal import least_squares
from linkwork.multibody.workspace import Model, Workspace

NOTHING = 1e-6
"""Share of the largest singular value below which a direction is omitted: θ is singular there."""


class Residual:
    """The differences of one machine. After `add` or `forget` all of them are current.

    `effort` (goal coordinates) and `motor_effort` (motors): r_θ and u, N m or N. `power` (W): of the period
    compared last; `energy` (J): of the window.
    """

    def __init__(self, machine: Machine) -> None:
        settings, self._period_s = machine.twin, machine.period_s
        self._gain = -math.expm1(-settings.bandwidth_rad_s * self._period_s)
        goals = [machine.coordinate_index(name) for name in machine.goal_coordinates]
        self._goals = np.array(goals, np.int64)
        self._motors = np.array([motor.index for motor in machine.motors], np.int64)
        self._most = np.array([motor.max_effort for motor in machine.motors])
        self._force = np.zeros(machine.mechanism.nv)
        wide = max(len(self._goals), len(self._motors))
        self._scratch = np.zeros(scratch_words(machine.mechanism.nv, wide))
        self._works = np.zeros(max(1, round(settings.window_s / self._period_s)))
        self._at = 0
        self.effort, self.motor_effort = np.zeros(len(self._goals)), np.zeros(len(self._motors))
        self.power = self.energy = 0.0

    def add(self, work: Workspace, before: Floats, predicted: Floats) -> None:
        """A period is over. `work`: evaluated at the state found; `before`, `predicted` (nv): v₀ and v⁻."""
        force = work.M @ (work.v - predicted)
        force /= self._period_s
        self.power = 0.5 * float(force @ (before + work.v))
        self._add_up(self.power * self._period_s)
        force -= self._force
        force *= self._gain
        self._force += force
        self._spread(work)

    def skip(self) -> None:
        """End a period without a comparison: the last values stay, and no work is added."""
        self.power = 0.0
        self._add_up(0.0)

    def forget(self) -> None:
        """Start without a model state."""
        self._force[:] = self.effort[:] = self.motor_effort[:] = self._works[:] = 0.0
        self.power = self.energy = 0.0

    def _add_up(self, work: float) -> None:
        self._works[self._at] = work
        self._at = (self._at + 1) % len(self._works)
        self.energy = float(self._works.sum())

    def _spread(self, work: Workspace) -> None:
        """From the force on all joints to goal coordinates and motors."""
        spread(
            *work.arguments, self._force, self._goals, self._motors, self._most, self._scratch,
            self.effort, self.motor_effort,
        )  # fmt: skip


def scratch_words(nv: int, wide: int) -> int:
    """Numbers of scratch that `spread` needs; wide: goal coordinates or motors, whichever are more."""
    return nv * wide + 4 * nv


@part
def _share(basis: Matrix, force: Floats, needed: Floats) -> None:
    """needed := Λ' r."""
    for j in range(basis.shape[0]):
        needed[j] = 0.0
        for c in range(basis.shape[1]):
            needed[j] += basis[j, c] * force[c]


@part
def _solve(rows: Matrix, needed: Floats, scratch: Floats, x: Floats) -> None:
    """x := rows⁺ needed; all but x are destroyed."""
    largest = 0.0
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            largest = max(largest, abs(rows[i, j]))
    least_squares(rows, needed, NOTHING * largest, scratch, x)


@kernel
def spread(
    m: Model,
    w: Workspace,
    force: Floats,
    goals: Integers,
    motors: Integers,
    most: Floats,
    scratch: Floats,
    effort: Floats,
    motor_effort: Floats,
) -> None:
    """After `evaluate_motion`: efforts along goal coordinates and of motors that do what force (nv) does.

    most (motors): their largest efforts, by which the least are weighed. scratch: `scratch_words`.
    """
    nv = m.nv
    free = nv - int(w.ranking[RANK])
    basis = w.basis[:free]
    wide = max(len(goals), len(motors))
    needed, rest = block(scratch, nv * wide, 1, free)[0], block(scratch, nv * wide + nv, 1, 3 * nv)[0]
    rows = block(scratch, 0, free, len(goals))
    for j in range(free):
        for i in range(len(goals)):
            rows[j, i] = 0.0
            for c in range(nv):
                rows[j, i] += basis[j, c] * w.J[goals[i], c]
    _share(basis, force, needed)
    _solve(rows, needed, rest, effort)
    rows = block(scratch, 0, free, len(motors))
    for j in range(free):
        for i in range(len(motors)):
            rows[j, i] = basis[j, motors[i]] * most[i]
    _share(basis, force, needed)
    _solve(rows, needed, rest, motor_effort)
    for i in range(len(motors)):
        motor_effort[i] *= most[i]
