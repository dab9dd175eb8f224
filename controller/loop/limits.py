"""The end of every tick: finite check, filter, rate limit, saturation, finite check. Always in that order."""

from __future__ import annotations

from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

from multibody.compiling import INTEGERS, VECTOR, float64, int64, kernel

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


@kernel(int64(VECTOR, INTEGERS, float64, VECTOR, VECTOR, float64, float64, VECTOR, VECTOR))
def limit_effort(
    force: Floats,
    motor: NDArray[np.int64],
    share: float,
    max_effort: Floats,
    max_rate: Floats,
    blend: float,
    dt: float,
    wanted: Floats,
    sent: Floats,
) -> int:
    """From the law's force (per joint) to the effort sent (per motor), N m or N; returns Limited bits.

    `motor` says which joint each motor drives, `share` how much of the law's effort is wanted while brakes
    change, `blend` is the first-order filter's share of the new value, 1 without a filter. `sent` holds the
    last command on entry. Writes `wanted` and `sent`; returns −1 − i, and leaves `sent` as it was, when entry
    i is not finite.
    """
    limited = 0
    for i in range(len(motor)):
        wanted[i] = share * force[motor[i]]
        if not np.isfinite(wanted[i]):
            return -1 - i
    share_of_change = 1.0
    for i in range(len(motor)):
        change, step = abs(blend * (wanted[i] - sent[i])), max_rate[i] * dt
        if change > step:
            share_of_change, limited = min(share_of_change, step / change), limited | 2
    for i in range(len(motor)):
        last = sent[i]
        effort = wanted[i]
        if blend < 1.0 or share_of_change < 1.0:
            effort = last + share_of_change * blend * (wanted[i] - last)
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
