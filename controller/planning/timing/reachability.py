"""The fastest profile of x = ṙ² along a path's parameter r, in two passes over its intervals.

Between two stations r¨ is constant, so that x is linear in r, and every limit is a half-plane

    p x₀ + q x₁ ≤ k

of x at both ends of the interval. All contain (0, 0): the machine can rest everywhere. The pass backwards
finds, station by station, the largest x from which the path's end can be reached; the pass forwards takes
the largest x that can be reached and from which the end can be (Pham and Pham 2018).
"""

import math

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.kernels.compiling import kernel, part

ROUNDING = 1e-12
"""Share of x by which two half-planes may miss each other."""


@part
def _range(p: Floats, q: Floats, k: Floats, x: float, most: float) -> tuple[float, float, float, float]:
    """Return low and high of x₁ ≤ most at x₀ = x, and the slope of each over x₀."""
    low, high, slope_low, slope_high = 0.0, most, 0.0, 0.0
    for r in range(len(k)):
        room = k[r] - p[r] * x
        if q[r] > 0.0:
            if room < high * q[r]:
                high, slope_high = room / q[r], -p[r] / q[r]
        elif q[r] < 0.0 and room < low * q[r]:
            low, slope_low = room / q[r], -p[r] / q[r]
    return low, high, slope_low, slope_high


@part
def _largest(p: Floats, q: Floats, k: Floats, most: float, most_next: float) -> float:
    """The largest x₀ ≤ most for which an x₁ ≤ most_next exists.

    high - low is concave in x₀, so that Newton's method comes down to its zero in a few steps.
    """
    x = most
    for r in range(len(k)):
        if q[r] == 0.0 and p[r] * x > k[r]:
            x = k[r] / p[r]
    for _ in range(2 * len(k) + 2):
        low, high, slope_low, slope_high = _range(p, q, k, x, most_next)
        if low <= high or not slope_low > slope_high:
            return x
        x = max(x - (low - high) / (slope_low - slope_high), 0.0) * (1.0 - ROUNDING)
    return x


@kernel
def fastest_profile(p: Matrix, q: Matrix, k: Matrix, most: Floats, begin: float, x: Floats) -> int:
    """Write the fastest x (n + 1) at the stations; return -1, or the station from which there is no way on.

    p, q, k (n × rows): half-planes of the intervals. most (n + 1): largest x. begin: x at the first station;
    negative: free.
    """
    n = len(p)
    x[n] = most[n]
    for i in range(n - 1, -1, -1):
        x[i] = _largest(p[i], q[i], k[i], most[i], x[i + 1])
    if begin >= 0.0:
        if begin > x[0] * (1.0 + 1e-6):
            return 0
        x[0] = min(begin, x[0])
    for i in range(n):
        low, high, _, _ = _range(p[i], q[i], k[i], x[i], x[i + 1])
        if low > high + 1e-6 * math.fabs(low):
            return i
        x[i + 1] = high
    return -1
