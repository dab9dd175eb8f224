"""The trajectory as a rheonomic constraint (Xu & Liu 2017, after Udwadia & Kalaba).

The constraint θ(q) = θ_d(t), stabilised as Φ̈ + G_D Φ̇ + G_P Φ = 0, is A v̇ = b with A
= J. The motors supply the constraint force itself: f = M^(1/2) B⁺ (b − A a) with a = M⁻¹ (friction − h),
equation (8) with its exponent mended.
"""

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.laws.feedback import PositionFeedback, wanted_acceleration
from linkwork.controller.laws.law import Reference
from linkwork.controller.laws.law_motors import Motors
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.dynamics.udwadia_kalaba import UdwadiaKalabaAcceleration
from linkwork.multibody.tree.coordinates import coordinates

RANK_TOLERANCE = 1e-9
"""Directions of B this much shorter than B's rows at the initial pose count as no constraint."""


class Servo(PositionFeedback):
    """The law for one machine. Refused where joints are passive."""

    def __init__(self, machine: Machine, motors: Motors) -> None:  # noqa: ARG002 - it limits nothing
        super().__init__(machine)
        joints = machine.mechanism.nv
        self._b, self._r = np.zeros(joints), np.zeros(joints)
        self._A = np.zeros((joints, joints))
        self._solve = UdwadiaKalabaAcceleration(joints, joints, RANK_TOLERANCE * _size_of_rows(machine))

    def __call__(self, ahead: Workspace, reference: Reference, force: Floats) -> float:
        """Write the force (nv; N m or N) by Udwadia and Kalaba; return 0 where A has lost rank, else 1."""
        self.used = reference.index
        wanted_acceleration(
            ahead.theta, ahead.J, ahead.Jdv, ahead.v, self._feedback, reference.index, reference.theta,
            reference.velocity, reference.acceleration, self._b,
        )  # fmt: skip
        np.take(ahead.J, reference.index, axis=0, out=self._A)
        np.subtract(ahead.friction, ahead.h, out=self._r)
        rank = self._solve(ahead.M, self._r, self._A, self._b)
        force[:] = self._solve.constraint_force
        return 1.0 if rank == len(self._b) else 0.0


def _size_of_rows(machine: Machine) -> float:
    """The largest row of B = A M^(-1/2) at the initial pose."""
    mechanism = machine.mechanism
    work = mechanism.workspace(machine.initial_q)
    dynamics(*work.arguments)
    coordinates(*work.arguments)
    rows = np.linalg.solve(np.linalg.cholesky(work.M), work.J.T)
    return float(np.max(np.linalg.norm(rows, axis=0)))
