"""Reference integration with adaptive steps, by scipy: DOP853 and LSODA with tight tolerances.

dt is the distance of samples, not the step. Under constraints each sample is brought back onto the manifold
(where projection is asked for) and integration begins anew from there. Where a stop or contact begins or
ceases to press, the time is found on the method's own interpolation, and integration begins anew there too;
until then what presses is held, as in compliant_steps.py. The methods assume a smooth right side: friction
that changes sign within a step, or a pose where branches meet, costs them many steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multibody.compiling import BUFFER, PARAMETERS, TOPOLOGY, VECTOR, float64, kernel, void
from multibody.compliant_forces import compliant_forces
from multibody.dynamics import dynamics, forward_dynamics
from multibody.formulations import constrained_forward_dynamics
from multibody.kinematics import kinematics
from multibody.model import Integers
from multibody.projection import onto_manifold
from multibody.rotations import coordinate_rates, normalise
from multibody.touch_search import MOST_PARTS, beyond_touch
from multibody.workspace import Workspace, touches
from plant.offline_kernels import look

Floats = NDArray[np.float64]
RELATIVE, ABSOLUTE = 1e-11, 1e-13
"""Tolerances of one step: relative, and absolute in rad, m, rad/s and m/s."""
_LOOKS = 8
"""Times within a step of the method at which the sides are looked at."""
_HALVINGS = 50
_SHORTEST = 1e-6
"""Part of a sample that integration goes on at least before it begins anew."""


@kernel(void(TOPOLOGY, VECTOR, VECTOR, VECTOR))
def _rates_of(t: Integers, q: Floats, v: Floats, rates: Floats) -> None:
    coordinate_rates(t, q, v, rates)


@kernel(float64(PARAMETERS, TOPOLOGY, BUFFER))
def _beyond(p: Floats, t: Integers, w: Floats) -> float:
    """How far the first side is beyond the end of what is held, N or N m."""
    kinematics(p, t, w)
    compliant_forces(p, t, w)
    beyond: float = beyond_touch(t, w)
    return beyond


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
        self._touches = touches(work)

    def _put(self, time_s: float, state: Floats) -> None:
        work, nq, nv = self._work, len(self._work.q), len(self._work.v)
        work.q[:], work.v[:], work.clock[0] = state[:nq], state[nq : nq + nv], time_s

    def _right_side(self, time_s: float, state: Floats) -> Floats:
        """Rates of q, v, the work of constraints that move with time, and of what is lost."""
        work = self._work
        self._put(time_s, state)
        self._run(*work.arguments)
        _rates_of(work.topology, work.q, work.v, self._rates)
        power = -float(work.multipliers @ work.explicit)
        return np.concatenate([self._rates, work.vdot, [power, work.losses[0]]])

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
        work, pieces = self._work, 0
        least = _SHORTEST * (end_s - float(work.clock[0]))
        while work.clock[0] < end_s:
            pieces += 1
            if not self._piece(end_s, least, looks=self._touches and pieces < MOST_PARTS):
                return False
        return True

    def _piece(self, end_s: float, least: float, *, looks: bool) -> bool:
        """Integrate to a time or, where it `looks`, to the next change of touch; returns whether it went."""
        import scipy.integrate

        work = self._work
        begin_s = float(work.clock[0])
        if self._touches:
            dynamics(*work.arguments)
        waiting = float(work.losses[3])
        work.held[0] = float(looks)
        options: dict[str, Any] = {"rtol": RELATIVE, "atol": ABSOLUTE}
        if 0.0 < self._first < end_s - begin_s:
            options["first_step"] = self._first
        kind = scipy.integrate.DOP853 if self._method == "dop853" else scipy.integrate.LSODA
        begin = np.concatenate([work.q, work.v, work.driven_work, [work.losses[2]]])
        solver, reached = kind(self._right_side, begin_s, begin, end_s, **options), None
        while solver.status == "running" and reached is None:
            solver.step()
            if not np.isfinite(solver.y).all():
                return False
            if solver.status == "running" and self._method == "dop853":
                self._first = float(solver.step_size)
            if looks and solver.status != "failed":
                reached = self._change(solver, begin_s + least)
        if solver.status == "failed":
            return False
        time_s, state = (solver.t, solver.y) if reached is None else reached
        self._put(time_s, state)
        work.driven_work[0], work.losses[2] = state[-2:]
        _normalise(work.topology, work.q)
        if looks:
            _beyond(*work.arguments)
            work.losses[2] += waiting - work.losses[3]
        work.held[0] = 0.0
        return True

    def _change(self, solver: Any, earliest_s: float) -> tuple[float, Floats] | None:
        """Within the solver's last step: when touch begins or ends first, just after it, and the state there.

        None where it does not, as far as looking at a few times tells.
        """
        along = solver.dense_output()

        def changed(time_s: float) -> bool:
            self._put(time_s, along(time_s))
            return bool(_beyond(*self._work.arguments) > 0.0)

        low = solver.t_old
        for high in np.linspace(solver.t_old, solver.t, _LOOKS + 1)[1:].tolist():
            if not changed(high):
                low = high
                continue
            for _ in range(_HALVINGS):
                middle = 0.5 * (low + high)
                low, high = (low, middle) if changed(middle) else (middle, high)
            high = min(max(high, earliest_s), solver.t)
            return high, along(high)
        return None
