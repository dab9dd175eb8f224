"""Trajectories of demos: curves, and way-points of a motion that is known as a function of time.

u runs with time, and is entered from rest by the ramp that curves have (`docs/trajectories.md`):
u' = 10 τ³ - 15 τ⁴ + 6 τ⁵ with τ from 0 to 1 over the ramp, which covers half its length in u.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, cos, pi, sin
from typing import Any

Motion = Callable[[float], Mapping[str, tuple[float, float, float]]]
"""At u: value, first and second derivative by coordinate (rad or m, per s, per s²)."""
APART_S = 0.02
QUARTER = 0.5 * pi


def waves(speed: float, **wanted: tuple[float, float, float, float]) -> Motion:
    """Sines of mean and amplitude (rad or m), cycles a second, and phase (rad), at a share of their speed."""

    def motion(u: float) -> dict[str, tuple[float, float, float]]:
        found = {}
        for name, (mean, size, cycles_per_s, phase) in wanted.items():
            rate = 2.0 * pi * cycles_per_s * speed
            angle = rate * u + phase
            found[name] = mean + size * sin(angle), size * rate * cos(angle), -size * rate**2 * sin(angle)
        return found

    return motion


def circle(
    center_m: Sequence[float], radius_m: float, rate_rad_s: float, seconds: float, ramp_s: float,
    of: Sequence[str] = (), **more: Any,
) -> dict[str, Any]:  # fmt: skip
    """A circle in the plane of two coordinates, or a helix: with `pitch_speed_m_s`. Further keys follow."""
    shape = {"center_m": [*center_m], "radius_m": radius_m, "rate_rad_s": rate_rad_s}
    if "pitch_speed_m_s" in more:
        shape["pitch_speed_m_s"] = more.pop("pitch_speed_m_s")
    shape["duration_s"] = float(seconds)
    curve = {"circle": shape, "of": [*of]} if of else {"helix": shape}
    hold = {"hold": more.pop("hold")} if "hold" in more else {}
    return {"curve": curve, **hold, "entry": {"ramp_s": ramp_s}, **more}


def along(motion: Motion, seconds: float, ramp_s: float = 0.5) -> dict[str, Any]:
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
    """Return the first way-point, or the start of the extended curve: half a ramp before its own."""
    if "points" in trajectory:
        first = trajectory["points"][0]["positions"]
        return dict(zip(trajectory["coordinates"], first, strict=True))
    curve = trajectory["curve"]
    shape, t = curve.get("circle") or curve["helix"], -0.5 * trajectory["entry"]["ramp_s"]
    (x, y, z), radius, angle = shape["center_m"], shape["radius_m"], shape["rate_rad_s"] * t
    place = x + radius * sin(angle), y + radius * cos(angle), z + shape.get("pitch_speed_m_s", 0.0) * t
    return {**dict(zip(curve.get("of", "xyz"), place, strict=False)), **trajectory.get("hold", {})}


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
