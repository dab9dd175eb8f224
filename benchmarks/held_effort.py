"""The error law's sampled closed form where efforts are held, of a machine along a reference.

Along a motion of the reference the difference y = (x, ẋ) of two motions of the machine obeys, over a period
with the difference u of the efforts, y ← Φ y + Γ u; the efforts differ by E (x, ẋ, ẍ). All of them come
from the model alone: from its state on the reference, by differences of the machine's motion over one period
and of the effort in the middle. How the law closes the loop: `controller.laws.feedback`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.laws.feedback import lag
from linkwork.machine import Machine
from linkwork.multibody.dynamics.motion_basis import evaluate_shortest
from linkwork.multibody.dynamics.projection import correct_position
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.steps.integrate import rk4
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.rotations import move_by

CLOSE, MOST = 1e-14, 20
"""Residual to which poses are found, rad or m, and most steps there."""
BY_POSITION, BY_RATE, BY_ACCELERATION, BY_EFFORT = 2e-3, 1e-2, 1e-2, 1e-1
"""What is varied by how much, SI and radians. Next to a branch pose a pose is known to `CLOSE` over the
distance, so that smaller steps would tell less.
"""


@dataclass(frozen=True)
class ZeroOrderHold:
    """One period: Φ (2k × 2k) and Γ (2k × k) over all and over half of it, E (k × 3k) in the middle."""

    over: Floats
    by: Floats
    half_over: Floats
    half_by: Floats
    effort: Floats


def double_integrator(period_s: float) -> ZeroOrderHold:
    """The same of one coordinate whose effort is its acceleration."""
    t, h = period_s, 0.5 * period_s
    over, half_over = np.array([[1.0, t], [0.0, 1.0]]), np.array([[1.0, h], [0.0, 1.0]])
    by, half_by = np.array([[0.5 * t * t], [t]]), np.array([[0.5 * h * h], [h]])
    return ZeroOrderHold(over, by, half_over, half_by, np.array([[0.0, 0.0, 1.0]]))


def sampled(omega: float, period_s: float, periods: list[ZeroOrderHold]) -> Floats:
    """Error of each tick (n + 1, k), from 1 at rest in all k coordinates; damping ratio 1.

    periods (n): the holds of the commands of these ticks, each of which begins with the next tick.
    """
    k, own = len(periods[0].effort), lag(omega, 1.0, period_s)
    y, u = np.concatenate([np.ones(k), np.zeros(k)]), np.zeros(k)
    found = np.empty((len(periods) + 1, k))
    found[0] = y[:k]
    for i, held in enumerate(periods):
        found[i + 1] = y[:k]
        seen = held.half_over @ y + held.half_by @ u
        asked = -2.0 * omega * seen[k:] - omega * omega * seen[:k]
        u = (held.effort @ np.concatenate([seen, asked]) + own * u) / (1.0 + own)
        y = held.over @ y + held.by @ u
    return found


class Alone:
    """The closed machine, moved along a reference of the coordinates `index`, with a motor for each."""

    def __init__(self, machine: Machine, index: NDArray[np.int64]) -> None:
        self._work, self._index = machine.workspace(), index
        self._motor = np.array([motor.index for motor in machine.motors])
        self._q, self._v = machine.initial_q.copy(), np.zeros(machine.mechanism.nv)
        self._found: tuple[Floats, Floats, ZeroOrderHold] | None = None

    def come(self, theta: Floats, velocity: Floats, seconds: float) -> None:
        """Goes on to where the reference (k each) is after so many seconds."""
        work = self._work
        work.q[:] = self._q
        move_by(work.model, work.q, self._v, seconds)
        self._q = work.q.copy()
        self._place(theta, velocity)
        self._q, self._v = work.q.copy(), work.v.copy()

    def held(self, begin: Floats, middle: Floats, period_s: float) -> ZeroOrderHold:
        """After `come` to the beginning of a period; begin, middle (3, k): θ, θ̇, θ̈ of the reference there."""
        if self._found and np.array_equal(self._found[0], begin) and np.array_equal(self._found[1], middle):
            return self._found[2]
        k, effort = len(self._index), self._effort(middle.ravel())
        start, steps = begin[:2].ravel(), np.repeat([BY_POSITION, BY_RATE, BY_ACCELERATION], k)
        nothing = np.zeros(k)
        found = ZeroOrderHold(
            _differences(lambda y: self._after(y, effort, period_s), start, steps[: 2 * k]),
            _differences(lambda u: self._after(start, effort + u, period_s), nothing, nothing + BY_EFFORT),
            _differences(lambda y: self._after(y, effort, 0.5 * period_s), start, steps[: 2 * k]),
            _differences(
                lambda u: self._after(start, effort + u, 0.5 * period_s), nothing, nothing + BY_EFFORT
            ),
            _differences(self._effort, middle.ravel(), steps),
        )
        self._found = begin.copy(), middle.copy(), found
        return found

    def _motions(self) -> Floats:
        """After `evaluate_shortest`: Λ (J Λ)⁻¹, the joints' velocities (nv × k) of the coordinates' rates."""
        work = self._work
        basis = work.basis[: len(work.v) - int(work.ranking[RANK])].T
        return np.asarray(basis @ np.linalg.inv(work.J[self._index] @ basis))

    def _place(self, theta: Floats, velocity: Floats) -> None:
        """The machine in this state, next to where it came last."""
        work = self._work
        work.q[:], work.v[:] = self._q, self._v
        for _ in range(MOST):
            evaluate_shortest(*work.arguments)
            error = theta - work.theta[self._index]
            if np.abs(error).max() < CLOSE:
                break
            move_by(work.model, work.q, self._motions() @ error, 1.0)
            correct_position(*work.arguments, CLOSE, MOST)
        work.v[:] = self._motions() @ velocity

    def _effort(self, state: Floats) -> Floats:
        """The motors' efforts for θ, θ̇, θ̈ (3k)."""
        theta, velocity, acceleration = state.reshape(3, -1)
        self._place(theta, velocity)
        work = self._work
        evaluate_shortest(*work.arguments)
        motions, x = self._motions(), work.vdot
        u = x + motions @ (acceleration - (work.Jdv + work.J @ x)[self._index])
        needed = motions.T @ (work.h + work.M @ u - work.friction)
        return np.asarray(np.linalg.solve(motions[self._motor].T, needed))

    def _after(self, state: Floats, effort: Floats, seconds: float) -> Floats:
        """θ, θ̇ (2k) so many seconds after others, under efforts that are held."""
        theta, velocity = state.reshape(2, -1)
        self._place(theta, velocity)
        work = self._work
        work.effort[:] = 0.0
        work.effort[self._motor] = effort
        for _ in range(2):
            rk4(*work.arguments, 0.5 * seconds)
        coordinates(*work.arguments)
        return np.concatenate([work.theta[self._index], work.J[self._index] @ work.v])


def _differences(of: Callable[[Floats], Floats], at: Floats, by: Floats) -> Floats:
    """∂of/∂at (m × n) by central differences of fourth order."""
    columns = [
        (8.0 * (of(at + one) - of(at - one)) - of(at + 2.0 * one) + of(at - 2.0 * one)) / (12.0 * size)
        for one, size in zip(np.diag(by), by, strict=True)
    ]
    return np.stack(columns, axis=1)
