"""Limits at the samples of a path's stations, and the half-planes of reachability that follow from them."""

from typing import Annotated

import numpy as np

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.kernels.structs import Struct

_NO_SPEED = 1e-200


class LimitRows(Struct):
    """Limits in shares of them: |a u + b x + c| + more x + room ≤ 1 of each quantity, and speed x ≤ 1.

    The last quantities are efforts: they alone leave room to stop, linear about a profile.
    """

    a: Annotated[Floats, "quantities, samples"]
    b: Annotated[Floats, "quantities, samples"]
    c: Annotated[Floats, "quantities, samples"]
    more: Annotated[Floats, "efforts, samples"]
    room: Annotated[Floats, "efforts, samples"]
    speed: Annotated[Floats, "samples"]

    def at_rest(self) -> Floats:
        """Return the shares used at x = 0 (rows × samples)."""
        used = np.abs(self.c)
        used[len(used) - len(self.room) :] += self.room
        return used

    def at_rate_one(self) -> Floats:
        """Return the shares used at x = 1 and u = 0 (rows × samples): of the quantities and of speed."""
        used = np.concatenate([np.abs(self.b + self.c), self.speed[None]])
        used[len(self.a) - len(self.room) : -1] += self.more + self.room
        return used

    def sides(self, samples: slice = slice(None)) -> tuple[Floats, Floats, Floats]:
        """Return a, b and c (samples × rows) of a u + b x + c ≤ 1: both sides of every limit, then speed."""
        a, b, c = (part[:, samples] for part in (self.a, self.b, self.c))
        more, room, none = np.zeros_like(b), np.zeros_like(c), np.zeros((1, a.shape[1]))
        first = len(a) - len(self.room)
        more[first:], room[first:] = self.more[:, samples], self.room[:, samples]
        parts = [a, -a, none], [more + b, more - b, self.speed[None, samples]], [room + c, room - c, none]
        of_a, of_b, of_c = (np.ascontiguousarray(np.concatenate(part).T) for part in parts)
        return of_a, of_b, of_c


@kernel
def half_planes(
    rows: LimitRows, width: Floats, bound: Floats, p: Matrix, q: Matrix, k: Matrix, most: Floats
) -> None:
    """Write the limits at both ends of n intervals as p x₀ + q x₁ ≤ k (n × 4 quantities), and most (n + 1).

    bound (n): share of every limit that may be used. A row that both x lower becomes a bound of each.
    """
    n, quantities, efforts = len(width), len(rows.a), len(rows.room)
    samples = len(rows.speed) // n
    for i in range(n + 1):
        share, speed = 1.0, _NO_SPEED
        if i < n:
            share, speed = min(share, bound[i]), max(speed, rows.speed[i * samples])
        if i > 0:
            share, speed = min(share, bound[i - 1]), max(speed, rows.speed[i * samples - 1])
        most[i] = share / speed
    for i in range(n):
        steep = 0.5 / width[i]
        for j in range(quantities):
            effort = j - (quantities - efforts)
            for end in range(2):
                at = i * samples + end * (samples - 1)
                more, room = 0.0, 0.0
                if effort >= 0:
                    more, room = rows.more[effort, at], rows.room[effort, at]
                for side in range(2):
                    sign = 1.0 - 2.0 * side
                    slope = sign * steep * rows.a[j, at]
                    level = sign * rows.b[j, at] + more
                    r = 4 * j + 2 * end + side
                    p[i, r] = -slope + (level if end == 0 else 0.0)
                    q[i, r] = slope + (level if end == 1 else 0.0)
                    k[i, r] = bound[i] - sign * rows.c[j, at] - room
                    if p[i, r] > 0.0 and q[i, r] > 0.0:
                        cap = k[i, r] / (p[i, r] + q[i, r])
                        most[i], most[i + 1] = min(most[i], cap), min(most[i + 1], cap)
                        p[i, r] = q[i, r] = 0.0


@kernel
def largest_shares(rows: LimitRows, x: Floats, u: Floats, used: Floats) -> float:
    """Write the largest share of a limit in each of n intervals; return the largest of an effort.

    x: at the samples; u (n): constant in an interval.
    """
    n, quantities, efforts = len(u), len(rows.a), len(rows.room)
    samples = len(rows.speed) // n
    of_efforts = 0.0
    for i in range(n):
        most = 0.0
        for at in range(i * samples, (i + 1) * samples):
            most = max(most, rows.speed[at] * x[at])
        for j in range(quantities):
            effort = j - (quantities - efforts)
            for at in range(i * samples, (i + 1) * samples):
                share = abs(rows.a[j, at] * u[i] + rows.b[j, at] * x[at] + rows.c[j, at])
                if effort >= 0:
                    share += rows.more[effort, at] * x[at] + rows.room[effort, at]
                    of_efforts = max(of_efforts, share)
                most = max(most, share)
        used[i] = most
    return of_efforts
