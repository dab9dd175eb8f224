"""States of a closed machine from its independent coordinates alone.

Passive joints are never differentiated: at each sample the loops are closed for the measured independent
coordinates y, then v = G ẏ and v̇ = G ÿ + (the part that A v̇ = b asks for at ÿ = 0).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Flags, Floats
from linkwork.machine import Machine
from linkwork.machine.building.initial_assembly import admitted, independent
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.coordinate_scales import SINGULAR_BELOW
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move_by

_CLOSED = 1e-11
"""Largest scaled residual of a closed loop."""
_ITERATIONS = 12
_LONGEST = 0.1
"""Longest step, in scaled coordinates, from one sample to the next before the way is divided."""


@dataclass(frozen=True, eq=False)
class SampleStates:
    """n states: q (n × nq), v, v̇ (n × nv), and G (n × nv × independent) with v = G ẏ.

    usable (n): false where the loops cannot be closed or the independent coordinates do not determine them.
    """

    q: Floats
    v: Floats
    vdot: Floats
    gradient: Floats
    usable: Flags


def independent_joints(machine: Machine, measured: Sequence[str]) -> list[str]:
    """Return the first measured joints that determine the pose, motors first. Raises ValueError."""
    mechanism = machine.mechanism
    motors = [motor.joint for motor in machine.motors if motor.joint in measured]
    ordered = [*motors, *(name for name in measured if name not in motors)]
    tangents = admitted(mechanism, machine.initial_q)
    found = independent(mechanism, tangents, ordered)
    if len(found) < tangents.shape[1]:
        raise ValueError(
            f"the measured joints ({', '.join(measured) or 'none'}) do not determine the pose of "
            f"{machine.name}, which has {tangents.shape[1]} degrees of freedom"
        )
    return found


class ClosedPoses:
    """Follows the pose of a machine along its independent coordinates, sample after sample."""

    def __init__(self, mechanism: Mechanism, q: Floats, joints: Sequence[str]) -> None:
        """Begin at a closed pose q (nq) with these independent joints."""
        self.mechanism = mechanism
        self.independent = np.array([mechanism.joint_index(name) for name in joints])
        self._others = np.setdiff1d(np.arange(mechanism.nv), self.independent)
        self._work = mechanism.workspace()
        self._work.q[:] = q
        m = mechanism.model
        self._scale, self._rows = m.column_scale, m.row_scale[:, None]
        self._gradient = np.zeros((mechanism.nv, len(self.independent)))
        self._second = np.zeros(mechanism.nv)

    @property
    def pose(self) -> Floats:
        """The pose (nq) now."""
        return self._work.q.copy()

    def go_to(self, y: Floats) -> bool:
        """Move to the independent coordinates y (k); whether the loops could be closed on the way."""
        start = self._work.q[self.independent].copy()
        way = float(np.abs((y - start) / self._scale[self.independent]).max(initial=0.0))
        steps = max(1, int(np.ceil(way / _LONGEST)))
        if steps > 1:
            self._second[:] = 0.0
        shares = np.linspace(0.0, 1.0, steps + 1)[1:]
        return all(self._close(start + share * (y - start)) for share in shares)

    def samples(self, y: Floats, rate: Floats, acceleration: Floats, period_s: float) -> SampleStates:
        """Return the states for y, ẏ and ÿ (n × k each) of samples with this period (s)."""
        n, nv, mechanism = len(y), self.mechanism.nv, self.mechanism
        found = SampleStates(
            np.zeros((n, mechanism.nq)), np.zeros((n, nv)), np.zeros((n, nv)),
            np.zeros((n, nv, y.shape[1])), np.zeros(n, dtype=np.bool_),
        )  # fmt: skip
        kept = self._work.q.copy()
        for k in range(n):
            if not self.go_to(y[k]):
                self._work.q[:] = kept
                continue
            kept = self._work.q.copy()
            found.q[k] = kept
            found.usable[k] = self._complete(found, k, rate[k], acceleration[k])
            if found.usable[k]:
                self._gradient[:] = found.gradient[k]
                bent = found.vdot[k] - self._gradient @ acceleration[k]
                self._second[:] = 0.5 * period_s**2 * bent
        return found

    def _complete(self, found: SampleStates, k: int, rate: Floats, acceleration: Floats) -> bool:
        w, own, others, scale = self._work, self.independent, self._others, self._scale
        gradient = found.gradient[k]
        gradient[own, np.arange(len(own))] = 1.0
        if not len(others) or not self.mechanism.model.n_rows:
            found.v[k], found.vdot[k] = gradient @ rate, gradient @ acceleration
            return True
        a = self._rows * w.A
        dependent = a[:, others] * scale[others]
        normal = dependent.T @ dependent
        try:
            sides = np.linalg.solve(normal, dependent.T @ a[:, own])
        except np.linalg.LinAlgError:
            return False
        gradient[others] = -scale[others][:, None] * sides
        straight = float(np.abs(gradient[others] * scale[own] / scale[others][:, None]).max())
        if not straight < 1.0 / SINGULAR_BELOW:
            return False
        w.v[:] = found.v[k] = gradient @ rate
        kinematics(*w.arguments)
        constraint_rows(*w.arguments)
        bias = np.linalg.solve(normal, dependent.T @ (self._rows[:, 0] * w.b))
        found.vdot[k] = gradient @ acceleration
        found.vdot[k, others] += scale[others] * bias
        return True

    def _close(self, y: Floats) -> bool:
        """Newton's method on the dependent coordinates, at the independent ones."""
        w, others, scale = self._work, self._others, self._scale
        shift = self._gradient @ (y - w.q[self.independent]) + self._second  # a prediction
        shift[self.independent] = 0.0
        move_by(w.model, w.q, shift, 1.0)
        w.q[self.independent] = y
        for _ in range(_ITERATIONS):
            kinematics(*w.arguments)
            if not self.mechanism.model.n_rows:
                return True
            constraint_rows(*w.arguments)
            residual = self._rows[:, 0] * w.phi
            if float(np.abs(residual).max()) < _CLOSED:
                return True
            dependent = self._rows * w.A[:, others] * scale[others]
            try:
                step = np.linalg.solve(dependent.T @ dependent, dependent.T @ residual)
            except np.linalg.LinAlgError:
                return False
            if not float(np.abs(step).max()) < 1.0:
                return False
            shift[others] = -scale[others] * step
            move_by(w.model, w.q, shift, 1.0)
        return False


def chunks(count: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` that cover a range."""
    for start in range(0, count, size):
        yield slice(start, min(count, start + size))
