"""Largest changes of the path rate at which every motor stays within its effort.

At rate r ≤ 1 with s¨ the effort is e(r²) + inertia s¨, where e lies between lines in x = r² (friction f is
odd and concave for r > 0, so that f x ≤ f(r) ≤ f):

    rest + (motion + f) x   and   rest + motion x + f

Corners of x and s¨ therefore bound it. For a stop from s at the deceleration D, reached with the jerk j, the
rate obeys

    r² ≤ min(1, 1 - 2 D (σ - s - D / j))   at σ ≥ s

Each deceleration of a descending list is tried along the path that it needs; the first that fits is the
answer.
"""

import math

import numpy as np

from linkwork.arrays import Floats, Matrix
from linkwork.controller.limit_tolerance import exceeds_in_kernel
from linkwork.multibody.kernels.compiling import kernel, part

AT_LEAST = 0.25
"""1/s: every goal must leave room for so much slowing down and speeding up everywhere: a stop in 4 s."""
AT_MOST = 50.0
"""1/s: no stop is quicker than 20 ms."""
STEEPEST_JERK = 2500.0
WINDOW_S = 0.02
MOST_WINDOWS = 4096
_FINER = 0.85


def stopping_tables(
    s: Floats,
    duration_s: float,
    inertia: Floats,
    rest: Floats,
    motion: Floats,
    friction: Floats,
    limit: Floats,
    steepest: Floats,
    jerk: float,
) -> Floats:
    """Per window: largest deceleration, largest acceleration (1/s), jerk (1/s²) of the path parameter: 3 × w.

    s (n, ascending); inertia, rest, motion, friction at full speed (n × nv); limit (nv), effort. steepest
    (n): the most that other limits allow at each sample. jerk: the most that limits of jerk and of effort
    rate allow anywhere.
    """
    windows = max(1, min(MOST_WINDOWS, math.ceil(duration_s / WINDOW_S)))
    tables = np.empty((3, windows))
    jerk = min(jerk, STEEPEST_JERK)
    tables[2] = jerk
    fill_tables(s, duration_s, inertia, rest, motion, friction, limit, steepest, jerk, tables)
    return tables


@part
def _fits(
    inertia: Matrix,
    rest: Matrix,
    motion: Matrix,
    friction: Matrix,
    limit: Floats,
    n: int,
    x: float,
    change: float,
) -> bool:
    """Whether sample n stays within the efforts at rates up to r² = x and changes of rate up to `change`."""
    for j in range(len(limit)):
        e0, e1 = rest[n, j], rest[n, j] + friction[n, j]
        e2, e3 = e0 + (motion[n, j] + friction[n, j]) * x, e1 + motion[n, j] * x
        extra = inertia[n, j] * change
        high = max(max(e0, e1), max(e2, e3)) + max(extra, 0.0)
        low = min(min(e0, e1), min(e2, e3)) + min(extra, 0.0)
        if exceeds_in_kernel(max(high, -low), limit[j]):
            return False
    return True


@kernel
def fill_tables(
    s: Floats,
    duration: float,
    inertia: Matrix,
    rest: Matrix,
    motion: Matrix,
    friction: Matrix,
    limit: Floats,
    steepest: Floats,
    jerk: float,
    tables: Matrix,
) -> None:
    """Write rows 0 and 1 of `tables` (3 × windows), see `stopping_tables`."""
    windows = tables.shape[1]
    most = min(AT_MOST, math.sqrt(jerk))
    first = 0
    for w in range(windows):
        begin, end = duration * w / windows, duration * (w + 1) / windows
        while first + 1 < len(s) and s[first + 1] <= begin:
            first += 1
        for row in range(2):
            change = most
            while change > AT_LEAST:
                fits = True
                lag = end + change / jerk
                far = end + 0.5 * (1.0 / change + change / jerk)
                for n in range(first, len(s)):
                    x = 1.0
                    if row == 0:
                        x = 1.0 - 2.0 * change * max(0.0, s[n] - lag)
                    if x <= 0.0 or (row == 1 and s[n] > far):
                        break
                    signed = -change if row == 0 else change
                    if change > steepest[n] or not _fits(
                        inertia, rest, motion, friction, limit, n, x, signed
                    ):
                        fits = False
                        break
                if fits:
                    break
                change *= _FINER
            tables[row, w] = max(change, AT_LEAST)
