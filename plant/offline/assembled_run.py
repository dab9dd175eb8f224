"""Steps with one of Aghili's three assemblies K v̇ = k of the projected equations, in plain numpy.

The classical Runge-Kutta step of `multibody.steps.integrate`, with accelerations by `plain`,
`symmetric` or `scaled` (formulations/projector.py). In a stage at a branch pose, where A loses rank, v̇ is
that of `projected`, which replaces the lost row by its next derivative.
"""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.dynamics.projection import onto_manifold
from linkwork.multibody.formulations.acceleration import Formulation, accelerate
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.kernels.layout import LOST
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.tree.rotations import coordinate_rates, normalise
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.offline.run_kernels import look

_WEIGHTS, _REACHES = (1 / 6, 1 / 3, 1 / 3, 1 / 6), (0.5, 0.5, 1.0, 1.0)


@kernel
def _rates_of(m: Model, q: Floats, v: Floats, rates: Floats) -> None:
    coordinate_rates(m, q, v, rates)


@kernel
def _normalise(m: Model, q: Floats) -> None:
    normalise(m, q)


class AssembledSteps:
    """Fixed steps of fourth order, called as the kernels of run_kernels.py are.

    `conditions`: smallest and largest condition number of K at the beginning of a step (2-norm, in scaled
    velocities).
    """

    switches: int | None = None
    stopped: str = ""

    def __init__(
        self, mechanism: Mechanism, work: Workspace, formulation: Formulation, gamma: float | None
    ) -> None:
        """Take the state and corrections from `work`; gamma: of `scaled` (kg m²; None: the size of M)."""
        self._mechanism, self._work = mechanism, work
        self._formulation, self._gamma = formulation, gamma
        self._rates = np.zeros(len(work.q))
        self.conditions = (np.inf, 0.0)

    def __call__(
        self, m: Model, w: Workspace, method: int, dt: float, count: int, rows: Floats, figures: Floats  # noqa: ARG002
    ) -> int:  # fmt: skip
        """Advance by `count` steps of dt; return how many came out finite."""
        work = self._work
        for step in range(count):
            self._step(dt)
            if not (np.isfinite(work.q).all() and np.isfinite(work.v).all()):
                return step
            rows[step] = np.concatenate([work.q, work.v])
            look(*work.arguments, dt, figures)
        return count

    def _step(self, dt: float) -> None:
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

    def _accelerate(self, *, counted: bool) -> Floats:
        work = self._work
        found = accelerate(self._mechanism, work, self._formulation, self._gamma)
        if counted and found.condition is not None:
            least, most = self.conditions
            self.conditions = min(least, found.condition), max(most, found.condition)
        if work.ranking[LOST] > 0.0:
            return accelerate(self._mechanism, work).vdot
        return found.vdot
