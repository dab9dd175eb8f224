"""Streamed references of closed chains: poses on the closures, and the motion that these admit.

The step itself is that of stream_steps.py.
"""

from __future__ import annotations

from linkwork.arrays import Floats, Integers
from linkwork.controller.laws.closed_chain import evaluate_motion
from linkwork.controller.laws.motor_conditioning import leverage
from linkwork.controller.motion.stream_limits import StreamStep, read_step
from linkwork.controller.motion.stream_steps import BEGIN, NO_POSE, STEP, stepping
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.formulations.projection import position_residual
from linkwork.multibody.formulations.rank import admitted, factor, particular, scaled_right_side
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import BASIS, COLUMN_SCALE, LOST, NV, PHI, RANK, RANKING, RIGHT_SIDE
from linkwork.multibody.kernels.views import block, copy, vector


@part
def _tangents(g: StreamStep, step: Floats) -> float:
    """See `stepping`."""
    p, t, w = g.p, g.t, g.w
    nv, k = t[NV], len(g.chosen)
    constraint_rows(p, t, w)
    size: float = position_residual(p, t, w)
    factor(p, t, w)
    if vector(t, w, RANKING)[LOST] > 0.0 or nv - int(vector(t, w, RANKING)[RANK]) != k:
        return NO_POSE
    scaled_right_side(t, p, w, -1.0, PHI)
    particular(p, t, w, vector(t, w, RIGHT_SIDE), step)
    admitted(p, t, w)
    admitted_rows = block(w, t[BASIS], k, nv)
    for j in range(k):
        copy(admitted_rows[j], g.basis[j])
    return size


@part
def _motion(p: Floats, t: Integers, w: Floats, k: int) -> bool:
    """See `stepping`."""
    evaluate_motion(p, t, w)
    return bool(t[NV] - int(vector(t, w, RANKING)[RANK]) == k)


@part
def _lever(g: StreamStep) -> float:
    """See `stepping`."""
    return float(leverage(g.basis, vector(g.t, g.p, COLUMN_SCALE), g.motor, g.levers))


_begin, _advance = stepping(_tangents, _motion, _lever)


@kernel(STEP)
def stream_step(
    bundle: Integers, here: Floats, period: float, ease: float, least_hold: float, least_lever: float
) -> None:
    """See `stream_steps.stream_step`."""
    _advance(read_step(bundle), here, period, ease, least_hold, least_lever)


@kernel(BEGIN)
def begin_stream(bundle: Integers) -> int:
    """See `stream_steps.begin_stream`."""
    return int(_begin(read_step(bundle)))
