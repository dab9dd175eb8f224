"""Steps in minimal coordinates by the explicit solution of the closures that a machine's file names."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.assembly.closed_form import ClosedFormMotion
from linkwork.multibody.assembly.closed_form_search import CLOSED_FORMS
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.steps.step import ADAPTIVE_RK4, SEMI_IMPLICIT
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.offline.run_kernels import look


class ClosedFormSteps:
    """Steps of a workspace by closed forms, called as the kernels of run_kernels.py are."""

    stopped: str = ""

    def __init__(self, mechanism: Mechanism, work: Workspace, name: str) -> None:
        """Find the closed forms of that name in the mechanism, and begin at the state of `work`."""
        self._work = work
        self._motion = ClosedFormMotion(mechanism, CLOSED_FORMS[name](mechanism), work.q, work.v)

    def __call__(
        self,
        m: Model,
        w: Workspace,
        method: int,
        dt: float,
        count: int,
        rows: Floats,
        figures: Floats,
    ) -> int:
        """Advance by `count` steps of dt; return how many came out finite."""
        motion, work = self._motion, self._work
        motion.effort[:] = work.effort
        for done in range(count):
            if method == SEMI_IMPLICIT:
                motion.semi_implicit_step(dt)
            elif method == ADAPTIVE_RK4:
                motion.divided_step(dt)
            else:
                motion.step(dt)
            work.q[:], work.v[:], work.clock[0] = motion.q, motion.v, work.clock[0] + dt
            rows[done] = np.concatenate([work.q, work.v])
            if not np.isfinite(rows[done]).all():
                return done
            look(m, w, dt, figures)
        return count

    @property
    def switches(self) -> int:
        """Number of changes of the independent coordinates."""
        return self._motion.switches
