"""Reference integration with adaptive steps, by scipy: DOP853 and LSODA with tight tolerances.

dt is the distance of samples, not the step. Under constraints each sample is brought back onto the manifold
(where projection is asked for) and integration begins anew from there. The methods assume a smooth right
side: friction that changes sign within a step, or a pose where branches meet, costs them many steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multibody.compiling import TOPOLOGY, VECTOR, kernel, void
from multibody.dynamics import forward_dynamics
from multibody.formulations import constrained_forward_dynamics
from multibody.model import Integers
from multibody.projection import onto_manifold
from multibody.rotations import coordinate_rates, normalise
from multibody.workspace import Workspace
from plant.offline_kernels import look

Floats = NDArray[np.float64]
RELATIVE, ABSOLUTE = 1e-11, 1e-13
"""Tolerances of one step: relative, and absolute in rad, m, rad/s and m/s."""


@kernel(void(TOPOLOGY, VECTOR, VECTOR, VECTOR))
def _rates_of(t: Integers, q: Floats, v: Floats, rates: Floats) -> None:
    coordinate_rates(t, q, v, rates)


@kernel(void(TOPOLOGY, VECTOR))
def _normalise(t: Integers, q: Floats) -> None:
    normalise(t, q)


class AdaptiveSteps:
    """Samples of a workspace's motion by scipy, called as the kernels of offline_kernels.py are."""

    switches: int | None = None
    stopped: str = ""

    def __init__(self, work: Workspace, method: str) -> None:
        """Take the state from `work`, whose formulation and corrections hold here too."""
        self._work, self._method, self._first = work, method, 0.0
        self._run = constrained_forward_dynamics if len(work.phi) else forward_dynamics
        self._rates = np.zeros(len(work.q))

    def _right_side(self, time_s: float, state: Floats) -> Floats:
        work, nq = self._work, len(self._work.q)
        work.q[:], work.v[:], work.clock[0] = state[:nq], state[nq:-1], time_s
        self._run(*work.arguments)
        _rates_of(work.topology, work.q, work.v, self._rates)
        power = -float(work.multipliers @ work.explicit)  # of constraints that move with time
        return np.concatenate([self._rates, work.vdot, [power]])

    def __call__(
        self,
        p: Floats,
        t: Integers,
        w: Floats,
        method: int,  # noqa: ARG002  of fixed steps
        dt: float,
        count: int,
        rows: Floats,
        figures: Floats,
    ) -> int:
        """Advance by `count` samples dt apart; returns how many were reached."""
        work = self._work
        for sample in range(count):
            if not self._reach(work.clock[0] + dt):
                return sample
            if len(work.phi) and work.choice[1] != 0.0:
                onto_manifold(p, t, w)
            rows[sample] = np.concatenate([work.q, work.v])
            look(p, t, w, dt, figures)
        return count

    def _reach(self, end_s: float) -> bool:
        """Integrate to a time; returns whether it was reached."""
        import scipy.integrate

        work = self._work
        begin_s = float(work.clock[0])
        options: dict[str, Any] = {"rtol": RELATIVE, "atol": ABSOLUTE}
        if 0.0 < self._first < end_s - begin_s:
            options["first_step"] = self._first
        kind = scipy.integrate.DOP853 if self._method == "dop853" else scipy.integrate.LSODA
        begin = np.concatenate([work.q, work.v, work.driven_work])
        solver = kind(self._right_side, begin_s, begin, end_s, **options)
        while solver.status == "running":
            solver.step()
            if not np.isfinite(solver.y).all():
                return False
            if solver.status == "running" and self._method == "dop853":
                self._first = float(solver.step_size)
        if solver.status != "finished":
            return False
        work.q[:], work.v[:], work.clock[0] = solver.y[: len(work.q)], solver.y[len(work.q) : -1], end_s
        work.driven_work[0] = solver.y[-1]
        _normalise(work.topology, work.q)
        return True
