"""Streamed references of closed chains: poses on the closures, and the motion that these admit.

The step itself is that of stream_steps.py.
"""

from __future__ import annotations

from linkwork.arrays import Floats
from linkwork.controller.laws.closed_chain import evaluate_motion
from linkwork.controller.laws.motor_conditioning import leverage
from linkwork.controller.motion.stream_limits import StreamStep
from linkwork.controller.motion.stream_steps import NO_POSE, stepping
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.formulations.projection import position_residual
from linkwork.multibody.formulations.rank import admitted, factor, particular, scaled_right_side
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import LOST, RANK
from linkwork.multibody.kernels.views import copy
from linkwork.multibody.workspace import Model, Workspace


@part
def _tangents(g: StreamStep, step: Floats) -> float:
    """See `stepping`."""
    m, w = g.m, g.w
    nv, k = m.nv, len(g.chosen)
    constraint_rows(m, w)
    size: float = position_residual(m, w)
    factor(m, w)
    if w.ranking[LOST] > 0.0 or nv - int(w.ranking[RANK]) != k:
        return NO_POSE
    scaled_right_side(m, w, -1.0, w.phi)
    particular(m, w, w.right_side, step)
    admitted(m, w)
    admitted_rows = w.basis[:k]
    for j in range(k):
        copy(admitted_rows[j], g.basis[j])
    return size


@part
def _motion(m: Model, w: Workspace, k: int) -> bool:
    """See `stepping`."""
    evaluate_motion(m, w)
    return bool(m.nv - int(w.ranking[RANK]) == k)


@part
def _lever(g: StreamStep) -> float:
    """See `stepping`."""
    return float(leverage(g.basis, g.m.column_scale, g.motor, g.levers))


_begin, _advance = stepping(_tangents, _motion, _lever)


@kernel
def stream_step(
    g: StreamStep, here: Floats, period: float, ease: float, least_hold: float, least_lever: float
) -> None:
    """See `stream_steps.stream_step`."""
    _advance(g, here, period, ease, least_hold, least_lever)


@kernel
def begin_stream(g: StreamStep) -> int:
    """See `stream_steps.begin_stream`."""
    return int(_begin(g))
