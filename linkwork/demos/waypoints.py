"""Way-points of a motion that is known as a function of time, entered and left like a curve.

u runs with time, and is entered from rest by the ramp that curves have (`docs/trajectories.md`):
u' = 10 τ³ - 15 τ⁴ + 6 τ⁵ with τ from 0 to 1 over the ramp, which covers half its length in u.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any

Motion = Callable[[float], Mapping[str, tuple[float, float, float]]]
"""At u: value, first and second derivative by coordinate (rad or m, per s, per s²)."""
APART_S = 0.02


def along(motion: Motion, seconds: float, ramp_s: float) -> dict[str, Any]:
    """A trajectory: `motion` over 0 ≤ u ≤ seconds, with its ramps. Way-points at most APART_S apart."""
    ramps, between = max(1, ceil(ramp_s / APART_S)), max(1, ceil(seconds / APART_S))
    times = [ramp_s * i / ramps for i in range(ramps)]
    times += [ramp_s + seconds * i / between for i in range(between)]
    times += [ramp_s + seconds + ramp_s * i / ramps for i in range(ramps + 1)]
    points = []
    for time_s in times:
        u, rate, change = _ramped(time_s, seconds, ramp_s)
        here = list(motion(u).values())
        points.append(
            {
                "time_from_start_s": time_s,
                "positions": [value for value, _, _ in here],
                "velocities": [first * rate for _, first, _ in here],
                "accelerations": [second * rate**2 + first * change for _, first, second in here],
            }
        )
    points[-1]["velocities"] = [0.0] * len(here)
    return {"coordinates": list(motion(0.0)), "points": points}


def begin(trajectory: Mapping[str, Any]) -> dict[str, float]:
    """Return the first way-point."""
    first = trajectory["points"][0]["positions"]
    return dict(zip(trajectory["coordinates"], first, strict=True))


def _ramped(time_s: float, seconds: float, ramp_s: float) -> tuple[float, float, float]:
    """u, u' and u''."""
    if time_s < ramp_s:
        x = time_s / ramp_s
        u = ramp_s * x**4 * (2.5 - 3.0 * x + x**2) - ramp_s / 2.0
        return u, x**3 * (10.0 - 15.0 * x + 6.0 * x**2), 30.0 * x**2 * (1.0 - x) ** 2 / ramp_s
    if time_s <= ramp_s + seconds:
        return time_s - ramp_s, 1.0, 0.0
    u, rate, change = _ramped(2.0 * ramp_s + seconds - time_s, seconds, ramp_s)
    return seconds - u, rate, -change
