"""Integration in Python: with adaptive steps by scipy, and with Aghili's assemblies (`AssembledSteps`).

The adaptive methods are DOP853 and LSODA with tight tolerances.

dt is the distance of samples, not the step: samples are taken from the method's own interpolation. Under
constraints (where projection is asked for) each sample is brought back onto the manifold. The integration
itself continues until its state is off the manifold by more than `APART` allows, and then restarts from the
projected state. Neither short samples nor constraints shorten the steps.

Where a stop or contact begins or ceases to press, the time is found on the method's own interpolation, and
the integration restarts there and at each sample; until then what presses is held, as in
step.py. The methods assume a smooth right side: friction that changes sign within a step, or a
pose where branches meet, costs them many steps. They stop where they hardly advance.
"""

from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.contact.compliant_forces import compliant_forces
from linkwork.multibody.dynamics.other_formulations import constrained_forward_dynamics
from linkwork.multibody.dynamics.projection import onto_manifold
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.formulations.acceleration import Formulation, accelerate
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.kernels.layout import LOST
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.steps.touch_search import MOST_PARTS, beyond_touch
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import coordinate_rates, normalise
from linkwork.multibody.workspace import Model, Workspace, touches
from linkwork.offline.offline_steps import SingleSteps

APART, LEAST_APART = 10.0, 1e-13
"""Largest scaled residual of position (typical lengths or rad) and per second before a restart, in relative
tolerances and at least."""
SCIPY_LEAST = 100.0 * float(np.finfo(np.float64).eps)
"""Least relative tolerance that scipy's constructors accept."""
_LOOKS = 8
"""Times within a step of the method at which the sides are looked at."""
_HALVINGS = 50
_WINDOW, _CRAWL = 4000, 1e-5
"""Steps over which the progress is judged; their least mean length, as a part of a sample."""
_SHORTEST = 1e-6
"""Shortest integration before a restart, as a part of a sample."""
_WEIGHTS, _REACHES = (1 / 6, 1 / 3, 1 / 3, 1 / 6), (0.5, 0.5, 1.0, 1.0)


@kernel
def _rates_of(m: Model, q: Floats, v: Floats, rates: Floats) -> None:
    coordinate_rates(m, q, v, rates)


@kernel
def _beyond(m: Model, w: Workspace) -> float:
    """Distance of the first side beyond the limit of the held force, N or N m."""
    kinematics(m, w)
    compliant_forces(m, w)
    return beyond_touch(w)


@kernel
def _apart(m: Model, w: Workspace) -> float:
    """Largest scaled residual of position or velocity."""
    kinematics(m, w)
    constraint_rows(m, w)
    worst = 0.0
    for i in range(m.n_rows):
        worst = max(worst, abs(m.row_scale[i] * w.phi[i]), abs(m.row_scale[i] * w.phi_rate[i]))
    return worst


@kernel
def _normalise(m: Model, q: Floats) -> None:
    normalise(m, q)


class ReferenceSteps(SingleSteps):
    """Samples of a workspace's motion by scipy."""

    def __init__(self, work: Workspace, method: str, relative: float, absolute: float) -> None:
        """Take state, formulation and corrections from `work`; relative and absolute tolerance of a step."""
        super().__init__(work)
        self._method, self._first = method, 0.0
        self._relative, self._absolute = relative, absolute
        self._rates = np.zeros(len(work.q))
        self._touches = touches(work)
        self._taken, self._since_s = 0, 0.0

    def _crawls(self, time_s: float, sample_s: float) -> bool:
        """Count a step; return whether the last ones were so short that the run would not end."""
        self._taken += 1
        if self._taken % _WINDOW:
            return False
        mean_s, self._since_s = (time_s - self._since_s) / _WINDOW, time_s
        if mean_s >= _CRAWL * sample_s:
            return False
        stiff = "lsoda for stiff motion (such as steep dry friction) or " if self._method == "dop853" else ""
        more = min(0.1, 100.0 * self._relative)
        self.stopped = (
            f"the last {_WINDOW} steps of {self._method} have a mean length of {mean_s:.2g} s at its "
            f"relative tolerance of {self._relative:.2g}; set rtol to {more:.2g} or more, use integrator "
            f"{stiff}adaptive_rk4, or take samples (dt) {mean_s / _CRAWL:.2g} s apart to continue"
        )
        return True

    def _put(self, time_s: float, state: Floats, *, accounts: bool = False) -> None:
        work, nq, nv = self._work, len(self._work.q), len(self._work.v)
        work.q[:], work.v[:], work.clock[0] = state[:nq], state[nq : nq + nv], time_s
        if accounts:
            work.driven_work[0], work.losses[2] = state[-2:]
            _normalise(work.model, work.q)

    def _solver(self, end_s: float) -> Any:
        """A solver from the workspace's state to a time."""
        import scipy.integrate

        work = self._work
        options = {"rtol": max(self._relative, SCIPY_LEAST), "atol": self._absolute}
        begin_s = float(work.clock[0])
        if 0.0 < self._first < end_s - begin_s:
            options["first_step"] = self._first
        kind = scipy.integrate.DOP853 if self._method == "dop853" else scipy.integrate.LSODA
        begin = np.concatenate([work.q, work.v, work.driven_work, [work.losses[2]]])
        solver: Any = kind(self._right_side, begin_s, begin, end_s, **options)
        if self._method == "dop853":  # its estimate of the error holds below what scipy accepts
            solver.rtol = self._relative
        return solver

    def _right_side(self, time_s: float, state: Floats) -> Floats:
        """Rates of q, v, of the work of applied forces and moving constraints, and of the losses."""
        work = self._work
        self._put(time_s, state)
        constrained_forward_dynamics(*work.arguments)
        _rates_of(work.model, work.q, work.v, self._rates)
        return np.concatenate([self._rates, work.vdot, [work.driving_power, work.losses[0]]])

    def __call__(self, method: int, dt: float, count: int, rows: Floats, figures: Floats) -> int:
        """Advance by `count` samples dt apart; return how many were reached."""
        if not self._touches:
            return self._samples(dt, count, rows, figures)
        return super().__call__(method, dt, count, rows, figures)

    def _advance(self, method: int, dt: float) -> bool:  # noqa: ARG002  scipy has its own method
        return self._reach(self._work.clock[0] + dt, dt)

    @property
    def _projects(self) -> bool:
        return bool(len(self._work.phi)) and self._work.choice[1] != 0.0

    def _record(self, dt: float, row: Floats, figures: Floats) -> bool:
        """Write the workspace's state, brought back onto the manifold, as a sample."""
        if self._projects:
            onto_manifold(*self._work.arguments)
        return super()._record(dt, row, figures)

    def _samples(self, dt: float, count: int, rows: Floats, figures: Floats) -> int:
        """Fill samples of a motion without contact; return how many were reached."""
        begin_s = float(self._work.clock[0])
        end_s, done = begin_s + count * dt, 0
        solver = self._solver(end_s)
        while done < count:
            solver.step()
            if (
                solver.status == "failed"
                or not np.isfinite(solver.y).all()
                or self._crawls(float(solver.t), dt)
            ):
                return done
            if solver.status == "running" and self._method == "dop853":
                self._first = float(solver.h_abs)
            along = solver.dense_output() if solver.t > begin_s + (done + 1) * dt else None
            while done < count and (begin_s + (done + 1) * dt <= solver.t or solver.status == "finished"):
                ends = done + 1 == count
                time_s = end_s if ends else begin_s + (done + 1) * dt
                self._put(time_s, solver.y if ends or along is None else along(time_s), accounts=True)
                self._record(dt, rows[done], figures)
                done += 1
            solver = self._back_to_manifold(solver, end_s)
        return count

    def _back_to_manifold(self, solver: Any, end_s: float) -> Any:
        """This solver, or a new one from the manifold where its state is too far off."""
        work = self._work
        if not self._projects or solver.status != "running":
            return solver
        self._put(solver.t, solver.y, accounts=True)
        if _apart(*work.arguments) <= max(LEAST_APART, APART * self._relative):
            return solver
        onto_manifold(*work.arguments)
        return self._solver(end_s)

    def _reach(self, end_s: float, sample_s: float) -> bool:
        """Integrate to a time; return whether it was reached."""
        work, pieces = self._work, 0
        least = _SHORTEST * (end_s - float(work.clock[0]))
        while work.clock[0] < end_s:
            pieces += 1
            if not self._piece(end_s, least, sample_s, looks=pieces < MOST_PARTS):
                return False
        return True

    def _piece(self, end_s: float, least: float, sample_s: float, *, looks: bool) -> bool:
        """Integrate to a time or, where it `looks`, to the next change of touch; return whether it went."""
        work = self._work
        begin_s = float(work.clock[0])
        dynamics(*work.arguments)
        waiting = float(work.losses[3])
        work.held[0] = float(looks)
        solver, reached = self._solver(end_s), None
        while solver.status == "running" and reached is None:
            solver.step()
            if not np.isfinite(solver.y).all() or self._crawls(float(solver.t), sample_s):
                return False
            if solver.status == "running" and self._method == "dop853":
                self._first = float(solver.h_abs)
            if looks and solver.status != "failed":
                reached = self._change(solver, begin_s + least)
        if solver.status == "failed":
            return False
        time_s, state = (solver.t, solver.y) if reached is None else reached
        self._put(time_s, state, accounts=True)
        if looks:
            _beyond(*work.arguments)
            work.losses[2] += waiting - work.losses[3]
        work.held[0] = 0.0
        return True

    def _change(self, solver: Any, earliest_s: float) -> tuple[float, Floats] | None:
        """Find the first time within the solver's last step at which contact begins or ends, and the state
        there.

        None where there is none at a few sampled times.
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


class AssembledSteps(SingleSteps):
    """Fixed steps with one of Aghili's three assemblies K v̇ = k of the projected equations, in plain numpy.

    The classical Runge-Kutta step of `multibody.steps.integrate`, with accelerations by `plain`, `symmetric`
    or `scaled` (formulations/projector.py). In a stage at a branch pose, where A loses rank, v̇ is that of
    `projected`, which replaces the lost row by its next derivative.

    `conditions`: smallest and largest condition number of K at the beginning of a step (2-norm, in scaled
    velocities).
    """

    conditions: tuple[float, float]

    def __init__(
        self, mechanism: Mechanism, work: Workspace, formulation: Formulation, gamma: float | None
    ) -> None:
        """Take the state and corrections from `work`; gamma: of `scaled` (kg m²; None: the size of M)."""
        super().__init__(work)
        self._mechanism = mechanism
        self._formulation, self._gamma = formulation, gamma
        self._rates = np.zeros(len(work.q))
        self.conditions = (np.inf, 0.0)

    def _advance(self, method: int, dt: float) -> bool:  # noqa: ARG002  there is one method
        work, began = self._work, float(self._work.clock[0])
        start_q, start_v = work.q.copy(), work.v.copy()
        sum_q, sum_v = np.zeros_like(start_q), np.zeros_like(start_v)
        for stage, (weight, reach) in enumerate(zip(_WEIGHTS, _REACHES, strict=True)):
            vdot = self._accelerate(counted=stage == 0)
            _rates_of(work.model, work.q, work.v, self._rates)
            work.driven_work[0] += weight * dt * work.driving_power
            work.losses[2] += weight * dt * work.losses[0]
            work.clock[0] = began + reach * dt
            sum_q += weight * self._rates
            sum_v += weight * vdot
            work.q[:] = start_q + reach * dt * self._rates
            work.v[:] = start_v + reach * dt * vdot
        work.q[:], work.v[:] = start_q + dt * sum_q, start_v + dt * sum_v
        _normalise(work.model, work.q)
        if work.choice[1] != 0.0:
            onto_manifold(*work.arguments)
        return True

    def _accelerate(self, *, counted: bool) -> Floats:
        work = self._work
        found = accelerate(self._mechanism, work, self._formulation, self._gamma)
        if counted and found.condition is not None:
            least, most = self.conditions
            self.conditions = min(least, found.condition), max(most, found.condition)
        if work.ranking[LOST] > 0.0:
            return accelerate(self._mechanism, work).vdot
        return found.vdot
