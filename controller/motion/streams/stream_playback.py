"""Set-points of a stream, played back with a delay: clock offset, interpolation, and the way to rest.

A set-point has the sender's time stamp. The sender's clock differs from the device time by an unknown offset,
estimated as the least difference of arrival and stamp over the last one to two seconds: set-points that were
held up on their way do not count. The offset in use follows the estimate at a limited rate, so that playback
changes speed by a few per cent and does not jump.

At device time t the target is the piecewise cubic through the set-points at the stamp t - offset - delay.
Where a set-point has no velocities, they are those of the cubic through it, the next one and the two before.
A parabola through it and its neighbours would make the acceleration jump at each set-point by 2 h |x'''|,
with h the interval, which shows as ripple of the efforts.
"""

import numpy as np

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.kernels.compiling import kernel, part

KEPT = 1024
"""Set-points kept for playback."""
WINDOW_S = 1.0
"""The least difference of arrival and stamp is taken over one to two of these windows."""
SLEW = 0.02
"""Largest rate at which the offset in use changes: playback runs at 98 to 102 % meanwhile."""
_GIVEN = 1
"""Column of a set-point that says whether its velocities were given; the stamp is in column 0."""


@part
def _rate(points: Matrix, last: int, count: int, n: int, i: int, k: int) -> float:
    """Velocity of coordinate i at the set-point n before the newest, which is in row `last`."""
    size = len(points)
    row = (last - n) % size
    if points[row, _GIVEN] != 0.0:
        return float(points[row, 2 + k + i])
    newer, older = n > 0, n + 1 < count
    at, time = points[row, 2 + i], points[row, 0]
    if newer and older:
        a, b = (last - n + 1) % size, (last - n - 1) % size
        ahead, behind = points[a, 0] - time, time - points[b, 0]
        after, before = (points[a, 2 + i] - at) / ahead, (at - points[b, 2 + i]) / behind
        rate = (behind * after + ahead * before) / (ahead + behind)
        if n + 2 < count:
            c = (last - n - 2) % size
            gap, whole = points[b, 0] - points[c, 0], points[a, 0] - points[c, 0]
            earlier = (points[b, 2 + i] - points[c, 2 + i]) / gap
            bend = (after - before) / (ahead + behind) - (before - earlier) / (behind + gap)
            rate -= ahead * behind * bend / whole
        return float(rate)
    if newer:
        a = (last - n + 1) % size
        return float((points[a, 2 + i] - at) / (points[a, 0] - time))
    if older:
        b = (last - n - 1) % size
        slope, behind = (at - points[b, 2 + i]) / (time - points[b, 0]), time - points[b, 0]
        if n + 2 < count and points[b, _GIVEN] == 0.0:
            c = (last - n - 2) % size
            earlier, span = (points[b, 2 + i] - points[c, 2 + i]) / (points[b, 0] - points[c, 0]), 0.0
            span = time - points[c, 0]
            return float(slope + behind * (slope - earlier) / span)
        return float(slope)
    return 0.0


@kernel
def target_at(points: Matrix, last: int, count: int, stamp: float, out: Matrix) -> int:
    """Write position, velocity and acceleration (k × 3) at a stamp; return how many set-points are newer.

    points: rows of stamp, whether velocities are given, positions (k), velocities (k); the newest of `count`
    is in row `last`, older ones before it, cyclically. Before the first one the target rests there; behind
    the newest it moves on at constant velocity.
    """
    k, size = len(out), len(points)
    if stamp >= points[last, 0]:
        ahead = stamp - points[last, 0]
        for i in range(k):
            rate = _rate(points, last, count, 0, i, k)
            out[i, 0], out[i, 1], out[i, 2] = points[last, 2 + i] + rate * ahead, rate, 0.0
        return 0
    n = 1
    while n < count and points[(last - n) % size, 0] > stamp:
        n += 1
    if n == count:
        first = (last - count + 1) % size
        for i in range(k):
            out[i, 0], out[i, 1], out[i, 2] = points[first, 2 + i], 0.0, 0.0
        return count
    left, right = (last - n) % size, (last - n + 1) % size
    h = points[right, 0] - points[left, 0]
    x = stamp - points[left, 0]
    for i in range(k):
        a, b = points[left, 2 + i], points[right, 2 + i]
        slope = (b - a) / h
        d0, d1 = _rate(points, last, count, n, i, k), _rate(points, last, count, n - 1, i, k)
        c2, c3 = (3.0 * slope - 2.0 * d0 - d1) / h, (d0 + d1 - 2.0 * slope) / (h * h)
        out[i, 0] = a + x * (d0 + x * (c2 + x * c3))
        out[i, 1] = d0 + x * (2.0 * c2 + x * 3.0 * c3)
        out[i, 2] = 2.0 * c2 + 6.0 * c3 * x
    return n


@kernel
def between(start: Matrix, end: Matrix, period: float, t: float, out: Matrix) -> None:
    """Write the quintic from one state to another, t seconds after the first, to `out`.

    start, end, out (k × 3): position, velocity, acceleration; period (s): from start to end.
    """
    h = period
    x = t / h
    for i in range(len(out)):
        p0, v0, a0 = start[i, 0], start[i, 1] * h, start[i, 2] * h * h
        p1, v1, a1 = end[i, 0], end[i, 1] * h, end[i, 2] * h * h
        way = p1 - p0 - v0 - 0.5 * a0
        gain = v1 - v0 - a0
        bend = a1 - a0
        c3 = 10.0 * way - 4.0 * gain + 0.5 * bend
        c4 = -15.0 * way + 7.0 * gain - bend
        c5 = 6.0 * way - 3.0 * gain + 0.5 * bend
        out[i, 0] = p0 + x * (v0 + x * (0.5 * a0 + x * (c3 + x * (c4 + x * c5))))
        out[i, 1] = (v0 + x * (a0 + x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)))) / h
        out[i, 2] = (a0 + x * (6.0 * c3 + x * (12.0 * c4 + x * 20.0 * c5))) / (h * h)


class StreamClock:
    """The offset of device time from the sender's clock, from the arrivals of its stamps."""

    def __init__(self) -> None:
        self.offset_s = 0.0
        """The offset in use."""
        self._known = False
        self._least = self._least_before = 0.0
        self._window_ends_s = 0.0

    def arrive(self, time_s: float, stamp_s: float) -> None:
        """A set-point with this stamp arrives at this device time."""
        late = time_s - stamp_s
        if not self._known:
            self._known, self.offset_s = True, late
            self._least = self._least_before = late
            self._window_ends_s = time_s + WINDOW_S
        elif time_s >= self._window_ends_s:
            self._least_before, self._least = self._least, late
            self._window_ends_s = time_s + WINDOW_S
        else:
            self._least = min(self._least, late)

    def advance(self, seconds: float) -> None:
        """Move the offset in use towards the estimate."""
        wanted = min(self._least, self._least_before)
        step = SLEW * seconds
        self.offset_s += min(max(wanted - self.offset_s, -step), step)

    def restart(self) -> None:
        """Estimate the offset again from the next set-point on: the sender was away."""
        self._known = False


class SetPoints:
    """The latest set-points of k coordinates."""

    def __init__(self, coordinates: int) -> None:
        self._k = coordinates
        self._points = np.zeros((KEPT, 2 + 2 * coordinates))
        self._last, self._count = -1, 0

    @property
    def newest_s(self) -> float:
        """The newest stamp; -inf without any."""
        return float(self._points[self._last, 0]) if self._count else -np.inf

    @property
    def empty(self) -> bool:
        """Whether there is no set-point."""
        return self._count == 0

    def add(self, stamp_s: float, positions: Floats, velocities: Floats | None) -> bool:
        """Add a set-point: positions (k; rad or m), velocities (k) or None.

        Returns False, without adding, where it is not finite or not newer than the others.
        """
        if not (np.isfinite(stamp_s) and stamp_s > self.newest_s and np.all(np.isfinite(positions))):
            return False
        if velocities is not None and not np.all(np.isfinite(velocities)):
            return False
        self._last = (self._last + 1) % KEPT
        self._count = min(self._count + 1, KEPT)
        row, k = self._points[self._last], self._k
        row[0], row[_GIVEN], row[2 : 2 + k] = stamp_s, velocities is not None, positions
        if velocities is not None:
            row[2 + k :] = velocities
        return True

    def clear(self) -> None:
        """Drop all set-points but the newest."""
        self._count = min(self._count, 1)

    def target(self, stamp_s: float, out: Floats) -> None:
        """Write position, velocity and acceleration (k × 3) at a stamp."""
        target_at(self._points, self._last, self._count, stamp_s, out)
