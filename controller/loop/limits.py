"""The end of every tick: finite check, filter, rate limit, saturation, finite check. Always in that order."""

from __future__ import annotations

from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

from multibody.compiling import INTEGERS, MATRIX, VECTOR, float64, int64, kernel

Floats = NDArray[np.float64]


class Limited(IntFlag):
    """What a command was limited by. None of these is a fault.

    EFFORT: a motor is at its largest effort; of the wanted motion the direction is kept. EFFORT_RATE: efforts
    may not change faster; all of them change by the same share. LEVERAGE: the motors hardly hold one of the
    machine's motions in this pose. PATH_RATE: the goal is slowed down on its path, because the motors could
    not follow. CONSTRAINT_FORCE: a bearing is above its limit.
    """

    NOTHING = 0
    EFFORT = 1
    EFFORT_RATE = 2
    JOG_VELOCITY = 4
    JOG_POSITION = 8
    LEVERAGE = 16
    PATH_RATE = 32
    CONSTRAINT_FORCE = 64


@kernel(int64(VECTOR, INTEGERS, float64, MATRIX, float64, *(VECTOR,) * 4))
def limit_effort(
    force: Floats, motor: NDArray[np.int64], share: float, bounds: Floats, blend: float,
    last: Floats, wanted: Floats, sent: Floats, out: Floats,
) -> int:  # fmt: skip
    """From the law's force (per joint) to the effort sent (per motor), N m or N; returns Limited bits.

    `motor` says which joint each motor drives, `share` how much of the law's effort is wanted while brakes
    change, `bounds` (motors × 2) the largest effort and its largest change in a tick, `blend` is the
    first-order filter's share of the new value, 1 without a filter. `last` is the command before. Writes
    `wanted`, and the command to `sent` and `out`; returns −1 − i when entry i is not finite.
    """
    limited = 0
    for i in range(len(motor)):
        wanted[i] = share * force[motor[i]]
        if not np.isfinite(wanted[i]):
            return -1 - i
    share_of_change = 1.0
    for i in range(len(motor)):
        change, step = abs(blend * (wanted[i] - last[i])), bounds[i, 1]
        if change > step:
            share_of_change, limited = min(share_of_change, step / change), limited | 2
    for i in range(len(motor)):
        effort, most = wanted[i], bounds[i, 0]
        if blend < 1.0 or share_of_change < 1.0:
            effort = last[i] + share_of_change * blend * (wanted[i] - last[i])
        if effort > most:
            effort, limited = most, limited | 1
        elif effort < -most:
            effort, limited = -most, limited | 1
        if not np.isfinite(effort):
            return -1 - i
        sent[i] = out[i] = effort
    return limited


def filter_share(cut_off_hz: float, period_s: float) -> float:
    """Share of the new value in a first-order low-pass of this cut-off, held over one period; 1 when the
    cut-off is 0 (off).
    """
    return 1.0 if cut_off_hz <= 0.0 else float(-np.expm1(-2.0 * np.pi * cut_off_hz * period_s))
