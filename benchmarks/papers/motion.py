"""Motion step by step in Python, for targets and efforts that change with time within a step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody import Mechanism, Workspace
from linkwork.multibody.assembly.assembly import assemble
from linkwork.multibody.dynamics.other_formulations import FORMULATIONS, constrained_forward_dynamics
from linkwork.multibody.dynamics.projection import onto_manifold
from linkwork.multibody.kernels.layout import ORDINARY

Law = Callable[[float, Workspace], Floats]
"""From the time (s) and a workspace with q and v, the effort (nv)."""


def begin(mechanism: Mechanism, q: Floats, v: Floats, formulation: str = "projected") -> Workspace:
    """A workspace at the consistent state near q and v, for one formulation."""
    found = assemble(mechanism, q, v)
    w = mechanism.workspace()
    w.q[:], w.v[:] = found.q, found.v
    w.ranking[ORDINARY] = found.ordinary_rank
    w.choice[0] = FORMULATIONS[formulation]
    return w


def under_law(w: Workspace, law: Law, at_s: float, dt: float) -> None:
    """One step of Runge and Kutta's fourth order with the effort of a continuous law, then onto the manifold.

    For mechanisms whose q̇ is v.
    """
    q, v = w.q.copy(), w.v.copy()
    sum_q, sum_v = np.zeros_like(q), np.zeros_like(v)
    for reach, weight, ahead in ((0.0, 1 / 6, 0.5), (0.5, 1 / 3, 0.5), (0.5, 1 / 3, 1.0), (1.0, 1 / 6, 0.0)):
        w.effort[:] = law(at_s + reach * dt, w)
        constrained_forward_dynamics(*w.arguments)
        sum_q += weight * w.v
        sum_v += weight * w.vdot
        w.q[:], w.v[:] = q + ahead * dt * w.v, v + ahead * dt * w.vdot
    w.q[:], w.v[:] = q + dt * sum_q, v + dt * sum_v
    onto_manifold(*w.arguments)
