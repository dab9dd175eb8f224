"""Trajectories of demos: curves, and way-points of a motion that is known as a function of time.

u runs with time, and is entered from rest by the ramp of curves (`controller/planning/paths/curves.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from math import ceil, cos, pi, sin
from typing import Any

import numpy as np

from linkwork.controller.planning.paths.curves import CurveProfile, shape_derivatives
from linkwork.protocol.trajectory import read_trajectory

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
    """Return a trajectory along a circle in the plane of the coordinates `of`, or along a helix without them.

    center_m, radius_m, rate_rad_s, seconds: of the curve. ramp_s: time in which it is entered and left. more:
    `pitch_speed_m_s`, and further keys of the trajectory.
    """
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
    ramped = np.transpose(CurveProfile(seconds, ramp_s)(np.array(times))).tolist()
    for time_s, (u, rate, change) in zip(times, ramped, strict=True):
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
    read = read_trajectory(trajectory)
    assert read.curve is not None
    assert read.entry is not None
    place = shape_derivatives(read.curve.shape, np.array([-0.5 * read.entry.ramp_s]))[0, 0].tolist()
    return {**dict(zip(read.curve.of, place, strict=False)), **trajectory.get("hold", {})}
