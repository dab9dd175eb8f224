"""The end of every tick: finite check, filter, rate limit, saturation, finite check. Always in that order."""

from __future__ import annotations

from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

from multibody.compiling import VECTOR, float64, int64, kernel

Floats = NDArray[np.float64]


class Limited(IntFlag):
    """What a command was limited by. None of these is a fault."""

    NOTHING = 0
    EFFORT = 1
    EFFORT_RATE = 2
    JOG_VELOCITY = 4
    JOG_POSITION = 8


@kernel(int64(VECTOR, VECTOR, VECTOR, VECTOR, float64, float64, VECTOR))
def limit_effort(
    wanted: Floats, last: Floats, max_effort: Floats, max_rate: Floats, blend: float, dt: float, sent: Floats
) -> int:
    """Writes `sent`, one effort per motor (N m or N); returns Limited bits, or −1 − i when entry i is not
    finite.

    `blend` is the first-order filter's share of the new value, 1 without a filter. `sent` is left as it was
    on failure.
    """
    limited = 0
    for i in range(len(wanted)):
        if not np.isfinite(wanted[i]):
            return -1 - i
    for i in range(len(wanted)):
        effort = last[i] + blend * (wanted[i] - last[i]) if blend < 1.0 else wanted[i]
        step = max_rate[i] * dt
        if effort > last[i] + step:
            effort, limited = last[i] + step, limited | 2
        elif effort < last[i] - step:
            effort, limited = last[i] - step, limited | 2
        if effort > max_effort[i]:
            effort, limited = max_effort[i], limited | 1
        elif effort < -max_effort[i]:
            effort, limited = -max_effort[i], limited | 1
        if not np.isfinite(effort):
            return -1 - i
        sent[i] = effort
    return limited


def filter_share(cut_off_hz: float, period_s: float) -> float:
    """Share of the new value in a first-order low-pass of this cut-off, held over one period; 1 when the
    cut-off is 0 (off).
    """
    return 1.0 if cut_off_hz <= 0.0 else float(-np.expm1(-2.0 * np.pi * cut_off_hz * period_s))
