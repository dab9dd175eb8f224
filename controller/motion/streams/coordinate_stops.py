"""One coordinate of a stream: its shortest motion to rest, whether a state is safe, and the tracking law.

The coordinate is a triple integrator with the state (p, v, a) and |v| ≤ V, |a| ≤ A, |jerk| ≤ J. Its *stop*
is the shortest motion to v = a = 0. A state is safe when its stop stays within the position and velocity
limits.

The tracking law moves relative to the target, in a cascade: position error → velocity → acceleration. Each
stage is linear for small errors, and for large ones the speed from which half of A and J suffice to stop.
"""

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.limit_tolerance import exceeds_in_kernel, passes_in_kernel
from linkwork.multibody.kernels.compiling import part

POSITION_GAIN, VELOCITY_GAIN, ACCELERATION_GAIN = 50.0, 100.0, 200.0
"""1/s: gains of the three stages of the tracking law for small errors."""
MOST_GAIN = 0.4
"""Largest product of a gain and the period."""


@part
def along(p: float, v: float, a: float, jerk: float, t: float) -> tuple[float, float, float]:
    """Return the state after t seconds at this jerk."""
    return p + t * (v + t * (a / 2.0 + t * jerk / 6.0)), v + t * (a + t * jerk / 2.0), a + t * jerk


@part
def stop_phases(v: float, a: float, most: float, jerk: float) -> tuple[float, float, float, float]:
    """Return the shortest motion from v, a to rest, with |a| ≤ most.

    The sign of the speed that it takes away, and the lengths (s) of its three phases, with jerks -sign jerk,
    0 and sign jerk.
    """
    side = 1.0 if v + a * abs(a) / (2.0 * jerk) > 0.0 else -1.0
    toward = side * a
    away = max(side * v + toward * toward / (2.0 * jerk), 0.0)
    deepest = max(min(np.sqrt(away * jerk), most), -toward)
    constant = max(away / deepest - deepest / jerk, 0.0) if deepest > 0.0 else 0.0
    return side, max((toward + deepest) / jerk, 0.0), constant, deepest / jerk


@part
def stopping(p: float, v: float, a: float, most: float, jerk: float, t: float) -> tuple[float, float, float]:
    """Return the state t seconds after this one on the shortest motion to rest."""
    side, first, second, third = stop_phases(v, a, most, jerk)
    p, v, a = along(p, v, a, -side * jerk, min(t, first))
    p, v, a = along(p, v, a, 0.0, min(max(t - first, 0.0), second))
    p, v, a = along(p, v, a, side * jerk, min(max(t - first - second, 0.0), third))
    if t >= first + second + third:
        return p, 0.0, 0.0
    return p, v, a


@part
def unsafe(p: float, v: float, a: float, limits: Floats) -> int:
    """Return 0 where the stop from this state keeps `limits` (5; V, A, J, lowest, highest position).

    1: a position, 2: the velocity is beyond its limit.
    """
    top, most, jerk, low, high = limits[0], limits[1], limits[2], limits[3], limits[4]
    side, first, second, third = stop_phases(v, a, most, jerk)
    peak = abs(v)
    if side * a > 0.0:
        peak = max(peak, side * v + a * a / (2.0 * jerk))
    if exceeds_in_kernel(peak, top):
        return 2
    end, _, _ = stopping(p, v, a, most, jerk, first + second + third)
    if passes_in_kernel(max(p, end), high) or passes_in_kernel(-min(p, end), -low):
        return 1
    if side * v < 0.0:  # it turns round on the way
        turn = (side * a - np.sqrt(max(a * a + 2.0 * jerk * side * v, 0.0))) / jerk
        back, _, _ = along(p, v, a, -side * jerk, min(turn, first))
        if passes_in_kernel(back, high) or passes_in_kernel(-back, -low):
            return 1
    return 0


@part
def _approach(error: float, gain: float, most: float, jerk: float) -> float:
    """Speed at which to close this distance: gain × error, or less, where the stop would be longer."""
    size = abs(error)
    knee = most * most / jerk
    if size >= knee * most / jerk:
        speed = np.sqrt(knee * knee / 4.0 + 2.0 * most * size) - knee / 2.0
    else:
        speed = np.cbrt(size * size * jerk)
    return float(np.copysign(min(gain * size, speed), error))


@part
def pull(
    state: Floats, now: Floats, then: Floats, limits: Floats, period: float, ease: float, cap: float
) -> float:
    """Return the acceleration that the tracking law asks for at the end of the period.

    state (3): position, velocity, acceleration; now (3), then (3): those of the target at the state's time
    and a period later. limits (5): see `unsafe`. ease, cap: shares of the acceleration and of the velocity
    limit.
    """
    top, most, jerk = cap * limits[0], limits[1], limits[2]
    fastest = MOST_GAIN / period
    target = min(max(now[1], -top), top)
    speed = target + _approach(
        now[0] - state[0], min(POSITION_GAIN, fastest / 4.0), 0.5 * ease * most, 0.5 * jerk
    )
    speed = min(max(speed, -top), top)
    given, following = min(max(now[2], -most), most), min(max(then[2], -most), most)
    error = speed - state[1]
    size = abs(error)
    wish = min(min(VELOCITY_GAIN, fastest / 2.0) * size, np.sqrt(jerk * size))
    share = min(ACCELERATION_GAIN * period, MOST_GAIN)
    apart = state[2] - given
    asked = following + apart + share * (np.copysign(wish, error) - apart)
    return float(min(max(asked, -ease * most), ease * most))
