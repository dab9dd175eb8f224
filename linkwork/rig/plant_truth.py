"""Exact motion of a simulated machine during a record: from the plant's own record, not from its sensors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.multibody.mechanism import Mechanism

AT_REST = 2e-3
"""rad/s or m/s: a joint that is slower counts as at rest."""


@dataclass(frozen=True, eq=False)
class PlantTruth:
    """n periods of the plant: time_s (n,), q (n, nq), v (n, nv), joint effort (n, nv) over the period that
    follows (N m or N; motors and brakes).
    """

    machine: Machine
    time_s: Floats
    q: Floats
    v: Floats
    effort: Floats

    @property
    def _mechanism(self) -> Mechanism:
        return self.machine.plant_mechanism

    @cached_property
    def coordinates(self) -> Floats:
        """All the mechanism's coordinates (n, nc), rad or m."""
        from linkwork.multibody.tree.coordinates import coordinates
        from linkwork.multibody.tree.kinematics import kinematics

        work = self._mechanism.workspace()
        found = np.empty((len(self.q), len(self._mechanism.coordinate_names)))
        for row, q in enumerate(self.q):
            work.q[:] = q
            kinematics(*work.arguments)
            coordinates(*work.arguments)
            found[row] = work.theta
        return found

    @cached_property
    def closure_residual(self) -> Floats:
        """Residual of the closures (n,): typical lengths, or rad; zero without closures."""
        from linkwork.multibody.constraints.rows import constraint_rows
        from linkwork.multibody.formulations.projection import position_residual
        from linkwork.multibody.tree.kinematics import kinematics

        found = np.zeros(len(self.q))
        if not self.machine.is_constrained:
            return found
        work = self._mechanism.workspace()
        for row, q in enumerate(self.q):
            work.q[:] = q
            kinematics(*work.arguments)
            constraint_rows(*work.arguments)
            found[row] = position_residual(*work.arguments)
        return found

    @cached_property
    def energy(self) -> Floats:
        """Kinetic and potential energy (n, 2), J."""
        from linkwork.multibody.tree.dynamics import dynamics, energy

        work = self._mechanism.workspace()
        found = np.empty((len(self.q), 2))
        for row, (q, v) in enumerate(zip(self.q, self.v, strict=True)):
            work.q[:], work.v[:] = q, v
            dynamics(*work.arguments)
            energy(*work.arguments)
            found[row] = work.energy
        return found

    @property
    def work(self) -> Floats:
        """Work that motors and brakes have done on the joints since the first tick (n,), J.

        Over a period effort is constant: its work is effort × way, and the way that of the mean velocity.
        """
        way = 0.5 * (self.v[1:] + self.v[:-1]) * np.diff(self.time_s)[:, None]
        done = np.sum(self.effort[:-1] * way, axis=1)
        return np.concatenate([[0.0], np.cumsum(done)])

    @property
    def gain(self) -> Floats:
        """Energy that is there and that no motor brought (n,), J: negative where friction has taken some."""
        total = self.energy.sum(axis=1)
        difference: Floats = total - total[0] - self.work
        return difference
